"""Cares → what comes of them: moves appended, candidates put before the gate, remarks kept. One transaction for each.

Nothing is carried out against a skill that is pinned, nor where a version is no longer as it was looked at.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from datetime import datetime
from typing import Protocol

from tacit.domain.candidate import Candidate, Decision, Verdict
from tacit.domain.care import Care, CareKind
from tacit.domain.errors import GateRefusal, IllegalTransition, NotFound, StaleVersion
from tacit.domain.lifecycle import Status
from tacit.domain.ports import Store
from tacit.domain.remark import About, pinned
from tacit.maintain.care.library import BY

_GONE = frozenset({Status.REJECTED, Status.RETIRED, Status.QUARANTINED})


class Door(Protocol):
    """The loop's side: the one door that everything comes through."""

    def admit(self, candidate: Candidate) -> Verdict:
        """Judge a candidate and keep what comes of it."""


def carry_out(cares: Iterable[Care], door: Door, store: Store, *, by: str, at: datetime) -> list[Care]:
    """Carry out each, and tell of each whether that was done; where it was not, the advice says why."""
    left_alone = pinned(store.remarks(about=About.PIN))
    done: list[Care] = []
    for care in cares:
        if not left_alone.isdisjoint(changed_by(care)) or not (care.move or care.candidate or care.remark):
            done.append(care)
            continue
        try:
            with store.transaction():
                _carry_out(care, door, store, by=by, at=at)
        except (StaleVersion, IllegalTransition, NotFound, GateRefusal) as refusal:
            done.append(dataclasses.replace(care, advice=f"not done: {refusal.message}; look again: tacit tend"))
        else:
            done.append(dataclasses.replace(care, applied=True))
    return done


def changed_by(care: Care) -> set[str]:
    """Ids of the skills that a care speaks of and would change."""
    return {care.skill_id, care.candidate.revises} if care.candidate else {care.skill_id}


def _carry_out(care: Care, door: Door, store: Store, *, by: str, at: datetime) -> None:
    if care.candidate:
        _require_standing(store, care.candidate)
        verdict = door.admit(care.candidate)
        if verdict.decision is Decision.REJECT:
            raise GateRefusal(f"the gate turned it away: {'; '.join(each.message for each in verdict.findings[:2])}")
    if care.move:
        who = BY if care.kind is CareKind.STANDING else by  # what evidence does is nobody's decision
        store.add_transition(dataclasses.replace(care.move, by=who, at=at, id=""))
    if care.remark:
        store.add_remark(care.remark)


def _require_standing(store: Store, candidate: Candidate) -> None:
    """Raise where something that a candidate is made of was turned down or has left meanwhile."""
    for parent in candidate.parents:
        held = store.version(parent)
        if held.status in _GONE:
            raise StaleVersion(f"`{held.version.name}` is {held.status} by now", hint="look again")
