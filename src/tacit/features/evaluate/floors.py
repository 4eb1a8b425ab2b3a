"""The floor of a suite: right answers → what an agent would earn that answers everything alike, and who is above it. Pure.

Where one answer is the whole attempt, a bare model may fail at the form of every answer; whatever has the form then wins
over it, even if it knows nothing. The commonest answer is what must be beaten.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from tacit.features.evaluate.comparing import Difference, paired, telling
from tacit.features.evaluate.suite import Exercise, Row

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
    wholly: Difference | None = None
    """The same in wholly right answers, where these are known: one tool for everything has none, and the end has all ends."""

    @property
    def is_shown(self) -> bool:
        """Whether the arm does better than one answer to everything, in one of the two figures."""
        return self.above.is_better or (self.wholly is not None and self.wholly.is_better)


def right_answers(exercises: Iterable[Exercise]) -> dict[str, str]:
    """Exercise → the tool that is to be called next; empty where nothing is left to do."""
    return {each.key: each.answer[0].tool if each.answer else "" for each in exercises}


def floor_of(rows: Sequence[Row], right: Mapping[str, str]) -> Floor | None:
    """What always the same answer would earn; nothing where one answer is no attempt, or not every answer is known."""
    known = [right[exercise] for exercise in {row.exercise for row in rows} if exercise in right]
    answer = _commonest(rows, right)
    return None if answer is None else Floor(answer or DONE, known.count(answer) / len(known))


def height_of(rows: Sequence[Row], right: Mapping[str, str]) -> Height | None:
    """How far these rows of one arm are above their floor; nothing where there is none."""
    floor, answer = floor_of(rows, right), _commonest(rows, right)
    if floor is None:
        return None
    above = paired(rows, [_with_success(row, answer == right[row.exercise]) for row in rows])
    if above is None:
        return None
    if all(row.score.exact is None for row in rows):
        return Height(floor, above)
    ending = [_with_success(row, not right[row.exercise]) for row in rows]
    whole = [_with_success(row, row.score.success if row.score.exact is None else row.score.exact) for row in rows]
    return Height(floor, above, wholly=paired(whole, ending))


def _commonest(rows: Sequence[Row], right: Mapping[str, str]) -> str | None:
    """The answer that is right most often, empty for the end; nothing where there is no floor."""
    exercises = {row.exercise for row in rows}
    known = [right[exercise] for exercise in exercises if exercise in right]
    if not any(known) or len(known) < len(exercises) or "steps" in telling(rows):
        return None
    return min(Counter(known).items(), key=lambda found: (-found[1], found[0]))[0]


def _with_success(row: Row, success: bool) -> Row:
    return replace(row, score=replace(row.score, success=success))
