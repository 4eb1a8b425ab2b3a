"""A small suite to act in: cold flats with faults, each told in the words of whoever lives there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tacit.features.evaluate.suite import AttemptScore, Exercise
from tacit.features.evaluate.tool import Call, Tool, Turn
from tests.unit.features.evaluate.heating import TASK, TOOLS, Heating

FIXES = {
    "power": Call(tool="switch_power"),
    "valve": Call(tool="open_valve"),
    "water": Call(tool="refill", arguments={"boiler_id": "b-2", "litres": 8}),
}
LET = (("power",), ("valve",), ("power", "valve"))


class Flat:
    """A heating system in which one attempt is made."""

    def __init__(self, faults: Sequence[str], *, task: str = TASK) -> None:
        self._heating = Heating(*faults, task=task)
        self._needed = {FIXES[fault].tool for fault in faults}
        self._turns: list[Turn] = []
        self.ended = False
        self.abstained = ""

    @property
    def task(self) -> str:
        return self._heating.task

    @property
    def tools(self) -> Sequence[Tool]:
        return TOOLS

    @property
    def turns(self) -> Sequence[Turn]:
        return self._turns

    @property
    def over(self) -> bool:
        return self.ended

    def call(self, tool: str, /, **arguments: Any) -> tuple[str, bool]:
        text, failed = self._heating.call(tool, **arguments)
        self._turns.append(Turn(call=Call(tool=tool, arguments=arguments), observation=text, failed=failed))
        return text, failed

    def finish(self) -> None:
        self.ended = True

    def abstain(self, reason: str) -> None:
        self.ended, self.abstained = True, reason

    def score(self) -> AttemptScore:
        first = next((turn.call.tool for turn in self._turns), "")
        solved = self._heating.solved and not self.abstained
        return AttemptScore(success=solved, first_right=first in self._needed, abstained=bool(self.abstained))

    def state(self) -> str:
        return " ".join(sorted(self._heating.faults))


class Flats:
    """One exercise for each combination of faults."""

    def __init__(self, faults: Sequence[Sequence[str]] = LET, *, name: str = "flats") -> None:
        self.name = name
        self.begun = 0
        self._faults = {"+".join(each): tuple(each) for each in faults}

    def exercises(self) -> list[Exercise]:
        return [
            Exercise(
                key=key,
                group=key,
                task=f"{TASK} Complaint {number}.",
                tools=TOOLS,
                answer=tuple(FIXES[fault] for fault in faults),
            )
            for number, (key, faults) in enumerate(self._faults.items())
        ]

    def begin(self, exercise: Exercise) -> Flat:
        self.begun += 1
        return Flat(self._faults[exercise.key], task=exercise.task)
