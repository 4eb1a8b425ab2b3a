"""What evidence makes of a version. Votes → moves that are carried out by themselves, and cares about what is of no use.

The rules are those of `refinement`; here the library's evidence is brought to them, and their answers to the store.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterable
from contextlib import suppress
from datetime import datetime

from tacit import evidence as outcome
from tacit.config.settings import Policy
from tacit.domain.care import Care, CareKind
from tacit.domain.errors import StaleVersion
from tacit.domain.evidence import Evidence
from tacit.domain.lifecycle import RECALLABLE, Status, Transition
from tacit.domain.ports import Store, Stored
from tacit.evidence import controls
from tacit.evidence.lift import lift
from tacit.maintain import refinement
from tacit.maintain.care.library import BY, Library


def settle(store: Store, policy: Policy, *, at: datetime, version_ids: Iterable[str] | None = None) -> list[Transition]:
    """Let verified evidence move recallable versions, all or those named; pinned skills stay. Returns what was moved."""
    library = Library(store, policy, at=at, version_ids=version_ids)
    moves: list[Transition] = []
    for care in standings(library):
        if care.move is None or care.skill_id in library.pinned:
            continue
        with suppress(StaleVersion):  # another process was faster
            store.add_transition(care.move)
            moves.append(care.move)
    return moves


def standings(library: Library) -> list[Care]:
    """What `settle` would do now."""
    found: list[Care] = []
    for stored in library.recallable:
        evidence = library.evidence.get(stored.version.id)
        moved = _move(library.store, stored, evidence, library.at) if evidence else None
        if moved is not None:
            found.append(_care(CareKind.STANDING, stored, moved, f"tacit skills show {stored.version.name}"))
    return found


def suspended(library: Library) -> list[Care]:
    """What evidence has set aside and nobody has looked at since, with how to bring it back; nothing is moved."""
    found: list[Care] = []
    for versions in library.skills.values():
        known = [stored for stored in versions if stored.status in {*RECALLABLE, Status.STALE}]
        for stored in known[-1:] if known and known[-1].status is Status.STALE else ():
            move = library.store.transitions(stored.version.id)[-1]
            if move.by == BY:
                short = stored.version.id[:12]
                advice = f"tacit review {short} --restore brings it back, tacit review {short} --retire lets it go"
                told = _care(CareKind.STANDING, stored, move, advice)
                found.append(
                    dataclasses.replace(told, move=None, reason=f"suspended since {move.at:%Y-%m-%d}: {move.reason}")
                )
    return found


def values(library: Library) -> list[Care]:
    """What is shown and does not help: nobody follows it, or runs without it do better."""
    measured = [stored for stored in library.recallable if library.evidence.get(stored.version.id)]
    uses = library.store.uses() if measured else []
    shown = Counter(version_id for use in uses if not use.held_back for version_id in use.version_ids)
    found: list[Care] = []
    for stored in measured:
        evidence = library.evidence[stored.version.id]
        gain = lift(evidence, session=controls.sessions(library.store, evidence)).success
        interval = (gain.low, gain.high) if gain else None
        told = refinement.value(stored.status, evidence, shown=shown[stored.version.id], lift=interval)
        if told is not None:
            moved = stored.moved(told.after, told.reason, by=BY, at=library.at, evidence_ids=told.evidence_ids)
            advice = f"better it, or let it go; tacit review {stored.version.name} --restore brings it back"
            found.append(_care(CareKind.VALUE, stored, moved, advice))
    return found


def _move(store: Store, stored: Stored, evidence: Iterable[Evidence], at: datetime) -> Transition | None:
    """The status that its votes have earned a version; nothing where it stays as it is."""
    cast = outcome.votes(evidence)
    told = refinement.standing(stored.status, store.transitions(stored.version.id), cast) if cast else None
    return stored.moved(told.after, told.reason, by=BY, at=at, evidence_ids=told.evidence_ids) if told else None


def _care(kind: CareKind, stored: Stored, moved: Transition, advice: str) -> Care:
    return Care(
        kind=kind,
        subject=stored.version.id,
        skill_id=stored.skill.id,
        name=stored.version.name,
        reason=moved.reason,
        move=moved,
        evidence_ids=moved.evidence_ids,
        advice=advice,
    )
