"""The floor of a suite: right answers → what an agent would earn that answers everything alike, and who is above it. Pure.

Where one answer is the whole attempt, a bare model may fail at the form of every answer; whatever has the form then wins
over it, even if it knows nothing. The commonest answer is what must be beaten.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from tacit.evaluation.comparing import Difference, paired, telling
from tacit.evaluation.suite import Exercise, Row

DONE = "done"


@dataclass(frozen=True, slots=True)
class Floor:
    """What an agent would come to that gives one answer to everything: the commonest right one."""

    answer: str
    success: float


@dataclass(frozen=True, slots=True)
class Height:
    """How far an arm is above the floor, by pairs."""

    floor: Floor
    above: Difference


def right_answers(exercises: Iterable[Exercise]) -> dict[str, str]:
    """Exercise → the tool that is to be called next; empty where nothing is left to do."""
    return {each.key: each.answer[0].tool if each.answer else "" for each in exercises}


def floor_of(rows: Sequence[Row], right: Mapping[str, str]) -> Floor | None:
    """What always the same answer would earn; nothing where one answer is no attempt, or not every answer is known."""
    exercises = {row.exercise for row in rows}
    known = [right[exercise] for exercise in exercises if exercise in right]
    if not any(known) or len(known) < len(exercises) or "steps" in telling(rows):
        return None
    answer, count = min(Counter(known).items(), key=lambda found: (-found[1], found[0]))
    return Floor(answer or DONE, count / len(known))


def height_of(rows: Sequence[Row], right: Mapping[str, str]) -> Height | None:
    """How far these rows of one arm are above their floor; nothing where there is none."""
    floor = floor_of(rows, right)
    if floor is None:
        return None
    alike = [
        replace(row, score=replace(row.score, success=(right[row.exercise] or DONE) == floor.answer)) for row in rows
    ]
    above = paired(rows, alike)
    return Height(floor, above) if above else None
