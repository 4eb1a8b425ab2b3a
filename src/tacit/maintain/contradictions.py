"""Contradictions: find pairs of usable skills that cannot both be followed, and say what to do about each.

A pair is reported once; the stored remark settles it until one of the two has a new version. A genuine tension is
reported as long as both are in use. Nothing is deleted: an obsolete skill is set aside and can be restored.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from itertools import combinations

from tacit.domain.candidate import Candidate, Finding
from tacit.domain.care import BY_ITSELF, Advice, Care, CareKind, CareReason
from tacit.domain.ledger import About, Remark
from tacit.domain.lifecycle import RECALLABLE, CodedReason, Status, coded
from tacit.domain.scope import Scope
from tacit.domain.skill import STATED_KINDS, SkillContent
from tacit.domain.stored import StoredVersion
from tacit.gate.duplicates import disagreement, disagreements, fixed_arguments
from tacit.maintain.status_changes import care_of
from tacit.store import Store, queries
from tacit.text.words import terms

MOST_PER_TOOL = 60
"""Of the procedures that use one tool alike only the latest are compared with each other."""
FAR_APART = timedelta(days=90)
"""Of two versions made so far apart the older may be out of date."""


class ContradictionKind(StrEnum):
    """What sort of contradiction it is, which decides what is done about it."""

    OBSOLETE = "obsolete"
    """One is much older and was not confirmed since the other came: it is set aside."""
    SCOPE = "scope-dependent"
    """Each holds in a scope or case of its own: both stay."""
    TENSION = "genuine tension"
    """Both hold: a person decides."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ContradictionSide:
    """One of the two skills, as far as the kind of the contradiction depends on it."""

    content: SkillContent
    scope: Scope
    made_at: datetime
    confirmed_at: datetime | None = None
    """When a verified success last confirmed it."""


def cares(store: Store, *, at: datetime) -> Iterator[Care]:
    """Find the pairs of usable skills that cannot both be followed, each once."""
    settled = {frozenset((each.subject, each.other)) for each in store.remarks(about=About.CONTRADICTION)}
    for one, other, why in _contradicting_pairs(store):
        kind = contradiction_kind(_side(store, one), _side(store, other))
        care = _care(one, other, kind, why=why, at=at)
        if frozenset((one.version.id, other.version.id)) not in settled:
            yield care
        elif kind is ContradictionKind.TENSION:
            still_open = (coded(CareReason.CONTRADICTION_OPEN), *care.reasons)
            yield dataclasses.replace(care, remark=None, reasons=still_open)


def contradicted(store: Store, stored: StoredVersion) -> list[Finding]:
    """Return the contradictions between a version and everything in use now."""
    version, skill = stored.version, stored.skill
    as_candidate = Candidate(
        content=version.content,
        scope=skill.scope,
        origins=version.origins,
        provenance=version.provenance,
        revises=skill.id,
    )
    return list(disagreements(as_candidate, queries.neighbours(store, as_candidate)))


def contradiction_kind(one: ContradictionSide, other: ContradictionSide) -> ContradictionKind:
    """Return the kind of a contradiction; the order of the two makes no difference."""
    older, newer = sorted((one, other), key=lambda side: (side.made_at, side.content.hash()))
    ours, theirs = _case_conditions(one.content), _case_conditions(other.content)
    if one.scope != other.scope or (ours and theirs and ours.isdisjoint(theirs)):
        return ContradictionKind.SCOPE
    last = older.confirmed_at or older.made_at
    if newer.made_at - older.made_at >= FAR_APART and last < newer.made_at:
        return ContradictionKind.OBSOLETE
    return ContradictionKind.TENSION


def _case_conditions(content: SkillContent) -> frozenset[str]:
    cases = (condition.text for case in content.cases for condition in case.conditions)
    return frozenset([*cases, *(condition.text for condition in content.preconditions)])


def _contradicting_pairs(store: Store) -> Iterator[tuple[StoredVersion, StoredVersion, str]]:
    """Usable skills that contradict each other, the older first, with the gate's explanation.

    Each rule or lesson is compared with the skills on the same subject, and procedures that give one tool a fixed value
    for the same argument with each other; other procedures do not regulate each other.
    """
    current = {stored.version.id: stored for stored in queries.current(store, statuses=RECALLABLE)}
    pairs: list[tuple[StoredVersion, StoredVersion]] = []
    using: dict[tuple[str, str], list[StoredVersion]] = {}
    for stored in current.values():
        content = stored.version.content
        if content.kind in STATED_KINDS:
            words = terms(f"{content.name} {content.description} {content.body}"[:2000])
            hits = store.search(words, statuses=RECALLABLE, limit=queries.NEIGHBOURS)
            pairs += [(stored, hit.stored) for hit in hits if hit.stored.version.id in current]
        for call in fixed_arguments(content):
            using.setdefault(call, []).append(stored)
    for together in using.values():
        pairs += combinations(together[-MOST_PER_TOOL:], 2)
    seen: set[frozenset[str]] = set()
    for stored, near in pairs:
        pair = frozenset((stored.version.id, near.version.id))
        if len(pair) < 2 or pair in seen:
            continue
        seen.add(pair)
        older, newer = sorted((stored, near), key=lambda other: (other.version.created_at, other.sequence))
        if why := disagreement(older.version.content, newer.version.content):
            yield older, newer, why


def _care(older: StoredVersion, newer: StoredVersion, kind: ContradictionKind, *, why: str, at: datetime) -> Care:
    reason = coded(CareReason.CONTRADICTS, other=newer.version.name, kind=str(kind), why=why)
    remark = Remark(
        subject=older.version.id,
        other=newer.version.id,
        about=About.CONTRADICTION,
        text=str(kind),
        by=BY_ITSELF,
        at=at,
    )
    move, advice = None, tuple[CodedReason, ...]()
    if kind is ContradictionKind.OBSOLETE:
        obsolete = str(coded(CareReason.OBSOLETE, other=newer.version.name, why=why))
        move = older.transition_to(Status.STALE, obsolete, by=BY_ITSELF, at=at)
    elif kind is ContradictionKind.TENSION:
        advice = tuple(
            coded(Advice.RETIRE_ONE, id=gone.version.id[:14], stays=stays.version.name)
            for gone, stays in ((older, newer), (newer, older))
        )
    return care_of(older, CareKind.CONTRADICTION, (reason,), move=move, remark=remark, advice=advice)


def _side(store: Store, stored: StoredVersion) -> ContradictionSide:
    version = stored.version
    evidence = store.evidence([version.id])[version.id]
    worked = [each.at for each in evidence if each.grade.verified and each.outcome == "success" and not each.control]
    return ContradictionSide(
        content=version.content,
        scope=stored.skill.scope,
        made_at=version.created_at,
        confirmed_at=max(worked, default=None),
    )
