from __future__ import annotations

from typing import Any

import pytest

from tacit.domain.trajectory import Role, Step, StepResult
from tacit.synthesis.actions import Effect, Family, action_of, actions_of, leaves, same_call
from tests.unit.synthesis.attempts import attempt, bash, call, read


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
        ("tacit recall 'add a column'", Effect.ASIDE),
    ],
)
def test_shell_text_is_reading_writing_or_checking(command: str, effect: Effect) -> None:
    assert action_of(step("Bash", {"command": command})).effect is effect


@pytest.mark.parametrize(
    ("tool", "effect"),
    [
        ("Read", Effect.READ),
        ("Grep", Effect.READ),
        ("WebFetch", Effect.READ),
        ("Edit", Effect.WRITE),
        ("apply_patch", Effect.WRITE),
        ("TodoWrite", Effect.ASIDE),
        ("Skill", Effect.ASIDE),
        ("think", Effect.ASIDE),
        ("mcp__tacit__recall", Effect.ASIDE),
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
    assert action_of(step(tool)).effect is effect


def test_shell_text_may_come_as_a_list_of_words() -> None:
    action = action_of(step("shell", {"command": ["bash", "-lc", "npm test"]}))
    assert (action.family, action.command, action.effect) == (Family.SHELL, "npm test", Effect.CHECK)


def test_label_names_program_and_subcommand() -> None:
    assert (
        action_of(step("Bash", {"command": "cd /x && python3 manage.py sync --all"})).label == "python3 manage.py sync"
    )
    assert action_of(step("get_order", {"id": 1})).label == "get_order"


def test_answer_that_is_an_error_message_did_not_work() -> None:
    assert not action_of(step("find_user", observation="Error: user not found", result=StepResult.OK)).worked
    assert action_of(step("find_user", observation="error_7", result=StepResult.OK)).worked
    assert action_of(step("Bash", {"command": "cat log"}, observation="Error: x", result=StepResult.OK)).worked


def test_unknown_result_counts_as_worked_but_not_surely() -> None:
    action = action_of(step("find_user", observation="u1"))
    assert action.worked
    assert not action.surely_worked


def test_asides_are_not_meaningful_actions() -> None:
    trajectory = attempt("x", call("TodoWrite"), bash("tacit recall x"), read("a.py"), call("Skill", {"name": "x"}))
    assert [action.step.tool for action in actions_of(trajectory)] == ["Read"]


def test_same_call_ignores_what_only_describes_it() -> None:
    first = step("Bash", {"command": "make", "description": "Build"})
    assert same_call(first, step("Bash", {"command": "make", "description": "Build again", "timeout": 5}))
    assert not same_call(first, step("Bash", {"command": "make all"}))


def test_leaves_carry_the_nearest_key() -> None:
    nest = {"order": {"id": "W1", "items": ["a", "b"]}, "none": None}
    assert list(leaves(nest)) == [("id", "W1"), ("items", "a"), ("items", "b")]
