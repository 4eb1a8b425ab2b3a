"""A small domain of plain tool calls for tests of mining: a greenhouse with a few faults, and attempts at fixing them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from tacit.domain.evidence import Assessment, Grade, Outcome
from tacit.domain.outline import Outline
from tacit.domain.trajectory import Role, Step, StepResult, Task, Trajectory
from tacit.learn.attempt_outlines import outline_of
from tacit.store import open_store

WORKED = Assessment(outcome=Outcome.SUCCESS, grade=Grade.MACHINE)
FAILED = Assessment(outcome=Outcome.FAILURE, grade=Grade.MACHINE)

Call = tuple[str, Mapping[str, Any], str]
"""Tool, arguments and answer."""


def attempt(task: str, *calls: Call, session: str = "") -> Trajectory:
    """Somebody asks, and the agent makes these calls."""
    steps = [Step(index=0, role=Role.USER, text=task)]
    for tool, arguments, answer in calls:
        steps.append(
            Step(
                index=len(steps),
                role=Role.AGENT,
                tool=tool,
                arguments=dict(arguments),
                observation=answer,
                result=StepResult.OK,
            )
        )
    return Trajectory(task=Task(text=task), steps=tuple(steps), session_id=session)


class AttemptStore:
    """A store that outlines each attempt it is given."""

    def __init__(self) -> None:
        self.store = open_store(":memory:")

    def add(self, trajectory: Trajectory, assessment: Assessment = WORKED) -> Outline:
        self.store.add_trajectory(trajectory, assessment, at=datetime(2026, 5, 1, tzinfo=UTC))
        return outline_of(trajectory, assessment)


def greenhouse(number: int, *, heater: bool, vents: bool, pump: bool) -> Trajectory:
    """One visit to a greenhouse: look at everything, then mend what is wrong, then look again."""
    house = f"H{number:03}"
    looks: list[Call] = [
        ("find_house", {"name": f"house {number}"}, f'{{"house_id": "{house}", "name": "house {number}"}}'),
        ("check_heating", {"house_id": house}, f"Heater: {'OFF' if heater else 'ON'}\nTarget: 18"),
        ("check_air", {"house_id": house}, f"Vents: {'stuck' if vents else 'open'}"),
        ("check_water", {"house_id": house}, f"Pump: {'idle' if pump else 'running'}"),
    ]
    mends: list[Call] = []
    if heater:
        mends.append(("switch_heater", {"house_id": house}, "Heater is now ON"))
    if vents:
        mends += [("grease_vents", {"house_id": house}, "greased"), ("move_vents", {"house_id": house}, "Vents open")]
    if pump:
        mends.append(("prime_pump", {"house_id": house, "seconds": 30}, "Pump is running"))
    seen: Sequence[Call] = [("check_plants", {"house_id": house}, "Plants: well")]
    return attempt(f"The plants in house {number} look bad, please see to it.", *looks, *mends, *seen)


def season() -> list[Trajectory]:
    """Visits with all the faults in different mixes."""
    mixes = [(a, b, c) for a in (True, False) for b in (True, False) for c in (True, False) if a or b or c]
    return [
        greenhouse(number, heater=heater, vents=vents, pump=pump)
        for number, (heater, vents, pump) in enumerate(mixes * 2, start=1)
    ]
