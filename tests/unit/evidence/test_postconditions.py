"""Commands that the person named as the condition of success."""

from __future__ import annotations

import dataclasses

import pytest

from tacit.domain.evidence import Grade, Outcome
from tacit.domain.trajectory import Role, Step, StepResult, Task, Trajectory
from tacit.evidence import assess
from tacit.evidence.user_reply import checks_named_by_user
from tests.unit.making import edit, shell

CHANGE = edit("app/server.py")
HEALTH = "curl -fsS localhost:8080/health"


def asked(text: str, *steps: Step, by: str = "") -> Trajectory:
    statement = Step(index=0, role=Role.USER, text=text)
    numbered = tuple(dataclasses.replace(step, index=index) for index, step in enumerate((statement, *steps)))
    return Trajectory(task=Task(text=text, by=by), steps=numbered)


@pytest.mark.parametrize(
    ("text", "commands"),
    [
        (f"Start the server. `{HEALTH}` must work.", [HEALTH]),
        (
            "Make sure that `./check.sh` and `node scripts/smoke.js --fast` pass",
            ["./check.sh", "node scripts/smoke.js --fast"],
        ),
        ("done when `cd web && node smoke.js` exits with status 0", ["node smoke.js"]),
        ("Rename `parse date` everywhere. The function is slow.", []),
        ("Make sure it works. Then look at `ls -la build`.", []),
        ("make sure `echo done` passes", []),
        ("make sure that `a; b` passes", []),
        ("It should pass.", []),
    ],
)
def test_conditions_are_commands_in_sentences_that_demand_something(text: str, commands: list[str]) -> None:
    assert list(checks_named_by_user(asked(text))) == commands


def test_a_named_condition_that_holds_after_the_last_change_is_a_machine_verified_success() -> None:
    found = assess(asked(f"`{HEALTH}` must work", CHANGE, shell(HEALTH, seen="ok", code=0)))
    assert (found.outcome, found.grade, found.verifier) == (Outcome.SUCCESS, Grade.MACHINE, HEALTH)


def test_a_named_condition_that_fails_is_a_machine_verified_failure() -> None:
    failed = shell(HEALTH, StepResult.FAILED, code=7)
    assert assess(asked(f"`{HEALTH}` must work", CHANGE, failed)).verified_failure


@pytest.mark.parametrize(
    "steps",
    [
        (shell(HEALTH, code=0), CHANGE),
        (CHANGE, shell(f"{HEALTH} || true", code=0)),
        (CHANGE, shell(f"{HEALTH} | cat", code=0)),
        (CHANGE, shell("curl localhost:8080", code=0)),
    ],
    ids=["changed later", "masked", "piped", "another command"],
)
def test_a_named_condition_is_held_to_the_rules_of_every_check(steps: tuple[Step, ...]) -> None:
    assert assess(asked(f"`{HEALTH}` must work", *steps)).outcome is Outcome.UNKNOWN


def test_a_condition_that_the_agent_wrote_itself_proves_nothing() -> None:
    wrote = edit("check.sh", tool="Write")
    assert (
        assess(asked("make sure `./check.sh now` passes", wrote, shell("./check.sh now", code=0))).outcome
        is Outcome.UNKNOWN
    )


def test_agents_cannot_name_conditions_for_each_other() -> None:
    by_agent = asked(f"`{HEALTH}` must work", CHANGE, shell(HEALTH, code=0), by="agent")
    assert assess(by_agent).outcome is Outcome.UNKNOWN
    statement = Step(index=0, role=Role.AGENT, text=f"`{HEALTH}` must work")
    assert assess(asked("start the server", statement, CHANGE, shell(HEALTH, code=0))).outcome is Outcome.UNKNOWN


def test_a_condition_counts_only_once_it_was_named() -> None:
    named = Step(index=0, role=Role.USER, text=f"`{HEALTH}` should work")
    assert assess(asked("start it", CHANGE, shell(HEALTH, code=0), named)).outcome is Outcome.UNKNOWN
    assert assess(asked("start it", CHANGE, named, shell(HEALTH, code=0))).verified_success
