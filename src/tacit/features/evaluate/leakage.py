"""Did an arm know what it should find out? Exercises, past attempts and aids in, what was known beforehand out. Pure.

A memory that holds an attempt at one of the suite's own tasks measures how well it remembers, not what it learned. A task is
known again by its key; and by its words together with what solves it, as datasets part training from test (`overlaps`): in a
suite whose tasks are all worded alike, words alone say nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tacit.domain.tool import Call, Turn, turns_of
from tacit.domain.trajectory import Trajectory
from tacit.features.evaluate.suite import Aid, AidKind, Exercise
from tacit.features.evaluate.task_overlap import TaskProfile, find_leaks, initial_observations
from tacit.text.facts import identifiers

_SENTENCE_WORDS = 5
"""A text of so many words is written for one task."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PastAttempt:
    """A past attempt that a memory holds."""

    id: str
    session_id: str = ""
    """The session or document that it came from."""
    task: str = ""
    turns: tuple[Turn, ...] = ()

    @classmethod
    def of(cls, trajectory: Trajectory) -> PastAttempt:
        """An attempt as it would be remembered."""
        turns = tuple(turns_of(trajectory))
        return cls(id=trajectory.id, session_id=trajectory.session_id, task=trajectory.task.text, turns=turns)


@dataclass(frozen=True, slots=True)
class KnownTask:
    """A task of the suite that the memory holds an attempt at."""

    group: str
    trajectory_id: str
    reason: str


def known_tasks(exercises: Sequence[Exercise], past: Iterable[PastAttempt]) -> list[KnownTask]:
    """The suite's tasks that past attempts were about, each once, in the suite's order."""
    past = list(past)
    keys = {name: exercise.group for exercise in exercises for name in (exercise.group, exercise.key)}
    found: dict[str, KnownTask] = {}
    for each in past:
        for name in (each.id, each.session_id):
            if name in keys:
                found.setdefault(keys[name], KnownTask(keys[name], each.id, f"the attempt is called {name}"))
    train = [TaskProfile.of(each.id, each.task, each.turns) for each in past]
    for leak in find_leaks(train, list(_task_profiles(exercises))):
        reason = f"{leak.share:.0%} of its own words or its very solution are the same"
        found.setdefault(leak.test, KnownTask(leak.test, leak.task, reason))
    order = {exercise.group: number for number, exercise in enumerate(exercises)}
    return sorted(found.values(), key=lambda known: order[known.group])


def shared_values(exercises: Iterable[Exercise]) -> frozenset[str]:
    """Values that stand in the answers of more than one task, and so tell none of them from the others."""
    groups: dict[str, set[str]] = {}
    for exercise in exercises:
        for call in exercise.answer:
            for value in _particulars(call.arguments):
                groups.setdefault(value, set()).add(exercise.group)
    return frozenset(value for value, holders in groups.items() if len(holders) > 1)


def answer_in(aid: Aid, exercise: Exercise, *, shared: Collection[str] = ()) -> Call | None:
    """The first call of the answer that an aid gives away with all its particulars; the oracle's may.

    A call without particulars, such as `restart()`, belongs to many tasks: to know it is what skills are for. Values that
    the answers of several tasks share (see `shared_values`) are no particulars either.
    """
    if aid.kind is AidKind.ORACLE:
        return None
    for call in exercise.answer:
        values = [value for value in _particulars(call.arguments) if value not in shared]
        said = call.tool in aid.text and all(value in aid.text for value in values)
        if values and (said or call in aid.calls):
            return call
    return None


def _task_profiles(exercises: Sequence[Exercise]) -> Iterator[TaskProfile]:
    """Each task once, with the longest answer that any of its exercises has, which is the whole solution, and with what is
    known of the state that it begins from: the same words and calls in another state are another task."""
    groups: dict[str, list[Exercise]] = {}
    for exercise in exercises:
        groups.setdefault(exercise.group, []).append(exercise)
    for group, own in groups.items():
        whole, last = max(own, key=lambda each: len(each.answer)), max(own, key=lambda each: len(each.turns))
        yield TaskProfile(key=group, text=whole.task, calls=whole.answer, seen=initial_observations(last.turns))


def _particulars(value: Any) -> Iterator[str]:
    """Values that belong to one task: names with digits in them, and whole sentences."""
    if isinstance(value, str):
        if identifiers(value) or len(value.split()) >= _SENTENCE_WORDS:
            yield value
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from _particulars(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _particulars(item)
