"""Attempts at made-up errands for tests of datasets: every one differs by its number and by nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tacit.domain.evidence import Assessment, Grade, Outcome
from tacit.domain.trajectory import Role, Step, StepResult, Task, Trajectory
from tacit.features.evaluate.tool import Tool
from tacit.features.evaluate.verified_attempts import VerifiedAttempt

PASSED = Assessment(outcome=Outcome.SUCCESS, grade=Grade.MACHINE, verifier="pytest")
WAYS = (
    ("get_order", "cancel_order"),
    ("get_order", "return_items"),
    ("get_order", "get_user", "move_order"),
    ("cancel_order",),
    ("get_user", "rename_user"),
    ("get_user", "cancel_order", "return_items"),
)
"""Orders of tools; tasks take them in turn."""
TOOLS = tuple(Tool(name=name, required=("id",)) for name in sorted({name for way in WAYS for name in way}))
_PEOPLE = "Ann Bob Cem Dora Eli Fay Gus Hana Ida Jo".split()
_THINGS = "kettle tablet lamp camera jacket watch bottle puzzle mat grill".split()


def solved_task(number: int, *, steps: Sequence[Step] | None = None, text: str = "", **more: Any) -> VerifiedAttempt:
    """A verified attempt at a task of its own."""
    person, thing = _PEOPLE[number % 10], _THINGS[number // 10 % 10]
    asked = text or f"{person} wants order {1000 + number} with the {thing} settled, reference {number * 7919}"
    text_seen = Step(index=0, role=more.pop("role", Role.USER), text=asked)
    made = steps if steps is not None else calls(*WAYS[number % len(WAYS)], about=1000 + number)
    trajectory = Trajectory(
        task=Task(text=asked), steps=(text_seen, *made), session_id=more.pop("session", f"s{number}")
    )
    more.setdefault("assessment", PASSED)
    return VerifiedAttempt(trajectory=trajectory, task_key=more.pop("key", f"task-{number}"), tools=TOOLS, **more)


def calls(*names: str, about: int | str, result: StepResult = StepResult.OK, seen: str = "done") -> list[Step]:
    """Calls of these tools, all with one id."""
    return [
        Step(index=place, role=Role.AGENT, tool=name, arguments={"id": str(about)}, observation=seen, result=result)
        for place, name in enumerate(names, start=1)
    ]


def attempts(count: int = 120, **more: Any) -> list[VerifiedAttempt]:
    """So many attempts, each at a task of its own."""
    return [solved_task(number, **more) for number in range(count)]
