"""Attempts → goal checks: what a reading shows at the end of every success, and neither before it nor after failures.

Attempts at one kind of task confirm by the same reading, so for each reading that attempts end with there is at most one
check, asked only of tasks that speak of what those attempts' tasks spoke of. Pure; does not look at what was done.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from tacit.domain.skill import Condition
from tacit.learn.mining.literals import Literal, literals_of
from tacit.text.facts import Facts
from tacit.text.words import term_set

MIN_ENDS = 2
"""Successes that ended with a reading before it is taken for a check."""
MIN_TELLING = 0.6
"""Of the states that are not the goal, the share that a check must tell from it."""


class Ended(Protocol):
    """What goal checks are made from."""

    @property
    def known(self) -> Mapping[str, Facts]:
        """Facts by reading, before anything was done."""

    @property
    def final(self) -> Mapping[str, Facts] | None:
        """Facts by reading, after the last effect."""

    @property
    def task(self) -> str:
        """The words of the task."""

    @property
    def succeeded(self) -> bool:
        """Whether it was verified to have worked."""


@dataclass(frozen=True, slots=True)
class _State:
    known: Mapping[str, Facts]
    task: str


def goal_checks(attempts: Sequence[Ended]) -> tuple[Condition, ...]:
    """What shows that the task is done, one condition for each kind of task; empty where attempts do not confirm."""
    kinds = _kinds(attempts)
    checks = []
    for readings, members in sorted(kinds.items()):
        best = _best(members, readings)
        if best:
            others = [each for other, them in kinds.items() if other != readings for each in them]
            near = _subject(best, members)
            checks.append(dataclasses.replace(best.condition, when=_mark(members, others, near)))
    return tuple(checks)


def _kinds(attempts: Sequence[Ended]) -> dict[tuple[str, ...], list[Ended]]:
    """Attempts by the readings that their successes end with; a failure joins the kind whose readings it ended with."""
    kinds: dict[tuple[str, ...], list[Ended]] = {}
    for attempt in attempts:
        if attempt.final:
            kinds.setdefault(tuple(sorted(attempt.final)), []).append(attempt)
    return {
        readings: members
        for readings, members in kinds.items()
        if sum(member.succeeded for member in members) >= MIN_ENDS
    }


def _best(members: Sequence[Ended], readings: Sequence[str]) -> Literal | None:
    goal = [_State(each.final or {}, each.task) for each in members if each.succeeded]
    short = [_State(each.final or {}, each.task) for each in members if not each.succeeded]
    short += [_State(each.known, each.task) for each in members if set(readings) & set(each.known)]
    words = term_set(" ".join(state.task for state in goal))
    ranked = []
    for literal in literals_of(goal):
        if literal.of_task or not all(literal.holds(state) for state in goal):
            continue
        asked = [state for state in short if literal.reading in state.known]
        told = sum(not literal.holds(state) for state in asked)
        if not asked or told >= MIN_TELLING * len(asked):
            near = len(words & _subject(literal, members))
            ranked.append((-told, literal.surprise, -near, len(literal.words), literal))
    return min(ranked)[-1] if ranked else None


def _subject(literal: Literal, members: Sequence[Ended]) -> frozenset[str]:
    """The words of a check, and of what stood in its place before the task was done."""
    before = [value for each in members for value in each.known.get(literal.reading, {}).get(literal.key, ())]
    return term_set(" ".join([literal.words, *dict.fromkeys(before)]).replace("_", " "))


def _mark(members: Sequence[Ended], others: Sequence[Ended], near: frozenset[str]) -> str:
    """The word that these tasks share and the others lack, best one that the check speaks of; empty without others."""
    if not others:
        return ""
    tasks = [term_set(each.task) for each in members if each.succeeded]
    rest = [term_set(each.task) for each in others if each.succeeded]
    shared = frozenset.intersection(*tasks)
    strange = sorted(word for word in shared if word.isalpha())
    return min(strange, key=lambda word: (sum(word in task for task in rest), word not in near, word), default="")
