"""What nothing has confirmed for long. Library → cares that set it aside as stale.

Not by age alone: a verified success of a use, or a verified attempt that went the same way, starts the time anew. What a
person asked for as a rule holds until they say otherwise.
"""

from __future__ import annotations

from contextlib import suppress
from datetime import datetime, timedelta

from tacit import evidence as outcome
from tacit.domain.candidate import Relation
from tacit.domain.care import Care, CareKind
from tacit.domain.errors import NotFound
from tacit.domain.ports import Store, Stored
from tacit.domain.skill import Kind
from tacit.maintain import refinement
from tacit.maintain.care.library import BY, Library
from tacit.maintain.refinement.standing import STALE_DAYS
from tacit.store.queries import RULES

_LASTING = RULES | {Kind.REFERENCE}
"""Nobody verifies a rule or a document."""
LOOKED_AT = 12
"""Answers of the gate about a version, the newest, that are looked at for attempts that went its way."""


def stale(library: Library) -> list[Care]:
    """Set aside what had no verified success for so long."""
    found: list[Care] = []
    for stored in library.recallable:
        version, moves = stored.version, library.store.transitions(stored.version.id)
        cast = outcome.votes(library.evidence.get(version.id, ()))
        told = refinement.staleness(stored.status, moves, cast, now=library.at)
        if told is None or stored.skill.kind in _LASTING or _was_seen_again(library.store, stored, library.at):
            continue
        advice = f"verify a use of it, or pin it; tacit review {version.name} --restore brings it back"
        found.append(
            Care(
                kind=CareKind.STALE,
                subject=version.id,
                skill_id=stored.skill.id,
                name=version.name,
                reason=told.reason,
                move=stored.moved(told.after, told.reason, by=BY, at=library.at, evidence_ids=told.evidence_ids),
                evidence_ids=told.evidence_ids,
                advice=advice,
            )
        )
    return found


def _was_seen_again(store: Store, stored: Stored, now: datetime) -> bool:
    """Whether a verified attempt at the same work went its way lately."""
    answers = store.verdicts(version_id=stored.version.id, limit=LOOKED_AT)
    again = {i for each in answers if each.relation is Relation.REINFORCE for i in each.trajectory_ids}
    for trajectory_id in again:
        with suppress(NotFound):  # it may be purged
            episode = store.episode(trajectory_id)
            at = episode.started_at or episode.captured_at
            if episode.assessment.verified_success and now - at < timedelta(days=STALE_DAYS):
                return True
    return False
