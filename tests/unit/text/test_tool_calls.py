"""tests.unit.text.test_tool_calls."""

from __future__ import annotations

from typing import Any

import pytest

from tacit.domain.trajectory import Role, Step, StepResult
from tacit.text.tool_calls import (
    Effect,
    ToolKind,
    leaves,
    named_file,
    operations_of,
    plain_name,
    tool_call,
    tool_calls,
)
from tests.unit.learn.attempts import attempt, bash, call, read


def step(tool: str, arguments: dict[str, Any] | None = None, **more: Any) -> Step:
    return Step(index=0, role=Role.AGENT, tool=tool, arguments=arguments or {}, **more)


@pytest.mark.parametrize(
    ("command", "effect"),
    [
        ("ls -la && cat README.md", Effect.READ),
        ("git status", Effect.READ),
        ("git log --oneline | head -5", Effect.READ),
        ("python3 manage.py --help", Effect.READ),
        ("sed -n 1,20p a.py", Effect.READ),
        ("find . -name '*.py'", Effect.READ),
        ("sed -i s/a/b/ a.py", Effect.WRITE),
        ("find . -name '*.pyc' -delete", Effect.WRITE),
        ("echo x > notes.txt", Effect.WRITE),
        ("ls 2>/dev/null", Effect.READ),
        ("git branch feature", Effect.WRITE),
        ("git commit -m 'ls'", Effect.WRITE),
        ("cd sub && make build", Effect.CHECK),
        ("python -m pytest -q | tail", Effect.CHECK),
        ("docker compose up -d", Effect.WRITE),
        ("tacit recall 'add a column'", Effect.INTERNAL),
    ],
)
def test_shell_text_is_reading_writing_or_checking(command: str, effect: Effect) -> None:
    assert tool_call(step("Bash", {"command": command})).effect is effect


@pytest.mark.parametrize(
    ("tool", "effect"),
    [
        ("Read", Effect.READ),
        ("Grep", Effect.READ),
        ("WebFetch", Effect.READ),
        ("Edit", Effect.WRITE),
        ("apply_patch", Effect.WRITE),
        ("TodoWrite", Effect.INTERNAL),
        ("Skill", Effect.INTERNAL),
        ("think", Effect.INTERNAL),
        ("mcp__tacit__recall", Effect.INTERNAL),
        ("mcp__shop__get_order", Effect.READ),
        ("get_order_details", Effect.READ),
        ("calculate", Effect.READ),
        ("run_speed_test", Effect.READ),
        ("cancel_pending_order", Effect.WRITE),
        ("checkout_cart", Effect.WRITE),
        ("Agent", Effect.WRITE),
    ],
)
def test_other_tools_are_known_by_their_names(tool: str, effect: Effect) -> None:
    assert tool_call(step(tool)).effect is effect


def test_shell_text_may_come_as_a_list_of_words() -> None:
    action = tool_call(step("shell", {"command": ["bash", "-lc", "npm test"]}))
    assert (action.kind, action.command, action.effect) == (ToolKind.SHELL, "npm test", Effect.CHECK)


def test_label_names_program_and_subcommand() -> None:
    assert (
        tool_call(step("Bash", {"command": "cd /x && python3 manage.py sync --all"})).label == "python3 manage.py sync"
    )
    assert tool_call(step("get_order", {"id": 1})).label == "get_order"


def test_answer_that_is_an_error_message_did_not_work() -> None:
    assert not tool_call(step("find_user", observation="Error: user not found", result=StepResult.OK)).worked
    assert tool_call(step("find_user", observation="error_7", result=StepResult.OK)).worked
    assert tool_call(step("Bash", {"command": "cat log"}, observation="Error: x", result=StepResult.OK)).worked


def test_unknown_result_counts_as_worked_but_not_surely() -> None:
    action = tool_call(step("find_user", observation="u1"))
    assert action.worked
    assert not action.surely_worked


def test_asides_are_not_meaningful_actions() -> None:
    trajectory = attempt("x", call("TodoWrite"), bash("tacit recall x"), read("a.py"), call("Skill", {"name": "x"}))
    assert [action.step.tool for action in tool_calls(trajectory)] == ["Read"]


def test_leaves_carry_the_nearest_key() -> None:
    nest = {"order": {"id": "W1", "items": ["a", "b"]}, "none": None}
    assert list(leaves(nest)) == [("id", "W1"), ("items", "a"), ("items", "b")]


@pytest.mark.parametrize(
    "command",
    [
        "tacit recall 'add a column'",
        "python -m tacit recall x",
        "python3 -m tacit stats --json | head -20",
        "uvx tacit learn",
        "uvx --from tacit-memory tacit learn",
        "uv run tacit skills",
        "pipx run tacit stats",
        ".venv/bin/tacit show v_1",
        "cd sub && tacit recall x && echo done",
        "cat .tacit/hook.log",
        "ls -la /workspace/app/.tacit",
        "sqlite3 .tacit/tacit.db 'select * from versions'",
        "bash -lc 'tacit recall x'",
    ],
)
def test_what_tacit_says_and_keeps_is_set_aside(command: str) -> None:
    assert tool_call(step("Bash", {"command": command})).effect is Effect.INTERNAL
    assert tool_call(step("exec_command", {"cmd": command})).effect is Effect.INTERNAL


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("Read", {"file_path": "/workspace/app/.tacit/sessions/claude-code-1.jsonl"}),
        ("Write", {"file_path": ".tacit/notes", "content": "x"}),
        ("Grep", {"pattern": "x", "path": "/workspace/app/.tacit/"}),
        ("mcp__tacit__apply", {"name": "x"}),
    ],
)
def test_tools_that_touch_what_tacit_keeps_are_set_aside(tool: str, arguments: dict[str, Any]) -> None:
    assert tool_call(step(tool, arguments)).effect is Effect.INTERNAL


def test_a_skill_that_tacit_wrote_is_not_read_as_news() -> None:
    own = "1\t---\n2\tname: add-column\n3\tmetadata:\n4\t  tacit-category: database\n5\t---\n"
    path = {"file_path": "/workspace/app/.claude/skills/add-column/SKILL.md"}
    assert tool_call(step("Read", path, observation=own)).effect is Effect.INTERNAL
    shown = own.replace("\t", " ")
    assert tool_call(step("Bash", {"command": "cat skills/a/SKILL.md"}, observation=shown)).effect is Effect.INTERNAL
    assert tool_call(step("Read", path, observation="1\t---\n2\tname: by-hand\n3\t---\n")).effect is Effect.READ


@pytest.mark.parametrize("command", ["cat tacit.md", "pip install tacit-python", "ls notacit/", "grep -r tacit src"])
def test_the_mere_word_is_not_tacit_itself(command: str) -> None:
    assert tool_call(step("Bash", {"command": command})).effect is not Effect.INTERNAL


def test_actions_of_two_clients_on_two_machines_compare_alike() -> None:
    one = tool_call(step("Bash", {"command": "cd /srv/ann/app/web && npm test 2>&1 | tail -5"}), "/srv/ann/app")
    other = tool_call(step("exec_command", {"cmd": "npm test", "workdir": "/srv/app/web"}), "/srv/app")
    listed = tool_call(step("shell", {"command": ["bash", "-lc", "npm --prefix web test"]}), "/srv/app")
    assert one.canonical == other.canonical == listed.canonical == "web$ npm test"
    assert tool_call(step("Read", {"file_path": "a"})).canonical == ""


def test_edits_of_two_clients_compare_alike() -> None:
    patch = "*** Begin Patch\n*** Update File: a.py\n@@\n x\n-1\n+2\n*** End Patch"
    arguments = {"file_path": "/srv/ann/app/a.py", "old_string": "1", "new_string": "2"}
    claude = tool_call(step("Edit", arguments), "/srv/ann/app")
    codex = tool_call(step("apply_patch", {"input": patch}), "/srv/app")
    assert claude.edits == codex.edits
    assert [(edit.file, edit.hunks[0].new) for edit in codex.edits] == [("a.py", "2")]
    assert codex.path == "a.py"
    assert tool_call(step("Read", arguments)).edits == ()


def test_the_workspace_of_an_attempt_is_known_to_its_actions() -> None:
    (action,) = tool_calls(attempt("look", bash("cat /workspace/app/a.py")))
    assert action.canonical == "cat a.py"


LOOKING = (
    "ls -la", "sed -n 1,5p app.py", "git log --oneline", "git branch", "pip3 list", "pip show rich", "gh repo view",
    "gh pr checks", "glab issue list", "find . -name a.py", "make --help", "docker ps", "kubectl get pods", "cat app.py",
)  # fmt: skip
CHANGING = (
    "sed -i s/a/b/ app.py", "sed -ni p app.py", "git branch new", "pip3 install rich", "gh pr create", "find . -delete",
    "cat app.py > other.py", "docker run it", "kubectl apply -f a.yml", "cargo add serde", "perl -pi -e s/a/b/ app.py",
)  # fmt: skip


def both(tool: str, arguments: dict[str, Any]) -> tuple[Effect, Effect]:
    learned = tool_call(Step(index=0, role=Role.AGENT, tool=tool, arguments=arguments)).effect
    return learned, operations_of(tool, arguments)[0].effect


@pytest.mark.parametrize("command", LOOKING)
def test_a_command_that_only_looks_is_a_reading_to_both(command: str) -> None:
    assert both("Bash", {"command": command}) == (Effect.READ, Effect.READ)


@pytest.mark.parametrize("command", CHANGING)
def test_a_command_that_does_something_is_a_change_to_both(command: str) -> None:
    assert both("Bash", {"command": command}) == (Effect.WRITE, Effect.WRITE)


@pytest.mark.parametrize(
    "tool", ["Read", "mcp__files__grep", "WebFetch", "web_fetch_url", "get_order", "run_speed_test"]
)
def test_a_tool_that_only_looks_is_a_reading_to_both(tool: str) -> None:
    assert both(tool, {"path": "a.py"}) == (Effect.READ, Effect.READ)


@pytest.mark.parametrize("tool", ["Edit", "mcp__files__write_file", "apply_patch", "cancel_order", "send_message"])
def test_a_tool_that_does_something_is_a_change_to_both(tool: str) -> None:
    assert both(tool, {"path": "a.py"}) == (Effect.WRITE, Effect.WRITE)


def test_what_only_serves_the_agent_is_no_part_of_the_work():
    for tool in ("TodoWrite", "mcp__plan__update_plan"):
        assert tool_call(Step(index=0, role=Role.AGENT, tool=tool)).effect is Effect.INTERNAL
        assert operations_of(tool, {}) == ()


def test_a_file_is_named_by_the_surest_argument_and_a_tool_without_its_server():
    assert named_file({"path": "b", "file_path": "a"}) == "a"
    assert named_file({"path": 3, "filename": "c"}) == "c"
    assert named_file({"query": "x"}) is None
    assert (plain_name("mcp__files__Read"), plain_name("functions.Bash")) == ("read", "bash")
