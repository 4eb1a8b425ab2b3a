"""Finds what an arm knows beforehand: tasks of the suite in the memory, and answers in aids.

A memory with attempts at the suite's tasks measures remembering, not learning. A task is recognised by its key, or by its
words together with its solution (see `task_overlap`): if all tasks of a suite have the same wording, words alone prove
nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tacit.domain.trajectory import Trajectory
from tacit.features.evaluate.suite import Aid, AidKind, Exercise
from tacit.features.evaluate.task_overlap import TaskProfile, find_leaks, initial_observations
from tacit.features.evaluate.tool import Call, Turn, turns_of
from tacit.text.facts import identifiers

_SENTENCE_WORDS = 5
"""A text of this many words belongs to one task."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PastAttempt:
    """A past attempt in a memory."""

    id: str
    session_id: str = ""
    """The session or document it came from."""
    task: str = ""
    turns: tuple[Turn, ...] = ()

    @classmethod
    def of(cls, trajectory: Trajectory) -> PastAttempt:
        """Return a trajectory as a past attempt."""
        turns = tuple(turns_of(trajectory))
        return cls(id=trajectory.id, session_id=trajectory.session_id, task=trajectory.task.text, turns=turns)


@dataclass(frozen=True, slots=True)
class KnownTask:
    """A task of the suite that the memory has an attempt at."""

    group: str
    trajectory_id: str
    reason: str


def known_tasks(exercises: Sequence[Exercise], past: Iterable[PastAttempt]) -> list[KnownTask]:
    """Return the suite's tasks that past attempts were about, each once, in the suite's order."""
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
    """Return values that occur in the answers of more than one task and so identify none."""
    groups: dict[str, set[str]] = {}
    for exercise in exercises:
        for call in exercise.answer:
            for value in _particulars(call.arguments):
                groups.setdefault(value, set()).add(exercise.group)
    return frozenset(value for value, holders in groups.items() if len(holders) > 1)


def answer_in(aid: Aid, exercise: Exercise, *, shared: Collection[str] = ()) -> Call | None:
    """Return the first call of the answer that an aid contains with all its specific values; never for the oracle.

    A call without specific values, such as `restart()`, belongs to many tasks and is what skills teach. Values shared by
    several tasks (see `shared_values`) are not specific.
    """
    if aid.kind is AidKind.ORACLE:
        return None
    for call in exercise.answer:
        values = [value for value in _particulars(call.arguments) if value not in shared]
        is_named = call.tool in aid.text and all(value in aid.text for value in values)
        if values and (is_named or call in aid.calls):
            return call
    return None


def _task_profiles(exercises: Sequence[Exercise]) -> Iterator[TaskProfile]:
    """Yield each task once, with its longest answer and the state it begins from: the same words and calls in another
    state are another task."""
    groups: dict[str, list[Exercise]] = {}
    for exercise in exercises:
        groups.setdefault(exercise.group, []).append(exercise)
    for group, own in groups.items():
        whole, last = max(own, key=lambda each: len(each.answer)), max(own, key=lambda each: len(each.turns))
        yield TaskProfile(key=group, text=whole.task, calls=whole.answer, seen=initial_observations(last.turns))


def _particulars(value: Any) -> Iterator[str]:
    """Yield values that belong to one task: names with digits, and whole sentences."""
    if isinstance(value, str):
        if identifiers(value) or len(value.split()) >= _SENTENCE_WORDS:
            yield value
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from _particulars(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _particulars(item)
