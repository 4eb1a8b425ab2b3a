"""Acts: what a call does, and whether it is what a skill asks for."""

from __future__ import annotations

import pytest

from tacit.text.operation_matching import OperationMatch, compare_operations, is_independent, is_specific, value_matches
from tacit.text.tool_calls import Effect, operations_of, shell_operations

SAME, OPPOSED, DIFFERENT = OperationMatch.SAME, OperationMatch.OPPOSED, OperationMatch.DIFFERENT


def shell(line: str):
    (act,) = shell_operations(line)
    return act


def call(tool: str, **arguments):
    (act,) = operations_of(tool, arguments)
    return act


@pytest.mark.parametrize(
    ("wanted", "done", "expected"),
    [
        ("pytest -q", "python -m pytest tests/test_a.py", SAME),
        ("pytest", "cd web && uv run pytest -x", SAME),
        ("npm install --legacy-peer-deps", "npm install", DIFFERENT),
        ("npm install", "npm install --legacy-peer-deps", SAME),
        ("git push --force", "git push", DIFFERENT),
        ("git commit --no-verify -m {message}", "git commit --verify -m x", OPPOSED),
        ("rm -rf build", "rm -r -f build", SAME),
        ("rm -rf build", "rm -rf dist", DIFFERENT),
        ("pip install {package}", "pip install flask", SAME),
        ("pip install requests", "pip install flask", DIFFERENT),
        ("serve --port=8000", "serve --port=9000", OPPOSED),
        ("CI=1 npm test", "npm test", DIFFERENT),
        ("CI=1 npm test", "CI=0 npm test", OPPOSED),
        ("git status", "git log", DIFFERENT),
        ("python manage.py migrate", "python3 manage.py migrate payments", SAME),
    ],
)
def test_commands_are_compared_by_program_subcommand_and_what_decides(wanted, done, expected):
    assert compare_operations(shell(wanted), shell(done)) is expected


def test_a_frame_around_any_command_is_found_and_a_wholly_open_one_is_not_looked_for():
    frame, open_one = shell("xvfb-run {command}"), shell("{command}")
    assert compare_operations(frame, shell("xvfb-run npm test")) is SAME
    assert compare_operations(frame, shell("npm test")) is DIFFERENT
    assert is_specific(frame)
    assert not is_specific(open_one)


@pytest.mark.parametrize(
    ("wanted", "done", "expected"),
    [
        ({"mode": "4g"}, {"mode": "4g"}, SAME),
        ({"mode": "4g"}, {"mode": "2g"}, OPPOSED),
        ({"mode": "{mode}"}, {"mode": "2g"}, SAME),
        ({"mode": "4g"}, {}, DIFFERENT),
        ({"gb": 2.0, "line": "{line}"}, {"gb": 2, "line": "L1", "note": "x"}, SAME),
        ({"order": "W1", "reason": "late"}, {"order": "W2", "reason": "no longer needed"}, DIFFERENT),
        ({"items": ["a", "b"]}, {"items": ["b", "a"]}, SAME),
        ({"items": ["a", "{more}"]}, {"items": ["b", "a", "c"]}, SAME),
        ({"items": ["a"]}, {"items": ["b"]}, OPPOSED),
        ({"summary": "the customer wants to have their money back for it"}, {"summary": "refund"}, SAME),
        ({"mode": "4g", "description": "set it"}, {"mode": "4g", "description": "x"}, SAME),
        ({"where": {"city": "Berlin", "zip": "{zip}"}}, {"where": {"city": "berlin", "zip": "10115"}}, SAME),
        ({"path": "src/{name}.py"}, {"path": "src/a.py"}, SAME),
        ({"path": "src/{name}.py"}, {"path": "lib/a.py"}, OPPOSED),
    ],
)
def test_calls_are_compared_by_the_values_that_are_laid_down(wanted, done, expected):
    assert compare_operations(call("set_mode", **wanted), call("mcp__phone__set_mode", **done)) is expected


def test_files_are_the_same_from_the_workspace_and_from_the_root_whichever_editor_is_used():
    (wanted,) = operations_of("Edit", {"file_path": "src/a.py"})
    (done,) = operations_of("write_file", {"path": "/srv/ann/shop/src/a.py"}, workspace="/srv/ann/shop")
    assert compare_operations(wanted, done) is SAME
    assert compare_operations(wanted, shell("sed -i s/a/b/ src/a.py")) is SAME
    assert compare_operations(wanted, shell("sed -n 1p src/a.py")) is DIFFERENT
    assert compare_operations(wanted, call("Edit", file_path="src/b.py")) is DIFFERENT
    assert compare_operations(wanted, call("Read", file_path="src/a.py")) is DIFFERENT
    assert compare_operations(call("Edit", file_path="{file}"), call("Edit", file_path="b.py")) is SAME


def test_what_a_line_does_is_told_command_by_command_without_its_scenery():
    acts = shell_operations("cd web && export A=1; npm ci && bash -c 'npm test | tail -3' > log.txt")
    assert [act.label for act in acts] == ["npm ci", "npm test", "tail"]
    assert shell_operations("tacit recall x") == ()
    for tool, arguments in (("Skill", {"skill": "x"}), ("mcp__tacit__recall", {"task": "x"}), ("", {})):
        assert operations_of(tool, arguments) == ()


@pytest.mark.parametrize(
    ("act", "effect"),
    [
        (shell("git log --oneline"), Effect.READ),
        (shell("git branch new"), Effect.WRITE),
        (shell("cat a > b"), Effect.WRITE),
        (shell("find . -delete"), Effect.WRITE),
        (shell("gh pr view 7"), Effect.READ),
        (shell("gh pr create"), Effect.WRITE),
        (shell("pytest"), Effect.CHECK),
        (call("get_order", id=1), Effect.READ),
        (call("run_speed_test"), Effect.READ),
        (call("cancel_order", id=1), Effect.WRITE),
    ],
)
def test_what_an_act_does_to_the_world(act, effect):
    assert act.effect is effect


def test_the_order_of_acts_on_different_things_makes_no_difference_and_of_commands_nothing_is_known():
    one, other = call("cancel", order_id="W1"), call("ship", order_id="W2")
    assert is_independent(one, other)
    assert not is_independent(one, call("ship", order_id="W1"))
    assert not is_independent(one, call("reboot"))
    assert not is_independent(shell("rm a"), shell("rm b"))
    assert is_independent(call("Edit", file_path="a"), call("Edit", file_path="b"))


def test_true_is_not_one():
    assert not value_matches(True, 1)
    assert value_matches(2, "2.0")
