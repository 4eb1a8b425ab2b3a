"""Skills that contradict each other: library → one care per pair that nobody has looked at yet.

Fetches pairs that speak of the same, lets the gate compare them and the rules of refinement tell the kind. A pair is
settled once: the remark on it says how, and it is not brought up again unless one of the two has a new version. Only a
genuine tension is told as long as both are in use; nothing is noted of it twice.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from itertools import chain, combinations

from tacit import evidence as outcome
from tacit import gate
from tacit.domain.candidate import Candidate, Finding
from tacit.domain.care import BY_ITSELF, Care, CareKind
from tacit.domain.lifecycle import RECALLABLE, Status
from tacit.domain.ports import Store, Stored
from tacit.domain.remark import About, Remark
from tacit.domain.skill import Kind
from tacit.maintain.refinement.contradiction import RESOLUTION, Discord, Side, discord
from tacit.store.queries import NEIGHBOURS, neighbours, newest_recallable
from tacit.text.words import terms

MOST_OF_ONE_TOOL = 60
"""Of procedures that use one tool alike only the latest are compared with each other."""
_LAYS_DOWN = frozenset({Kind.NORM, Kind.PREFERENCE, Kind.LESSON})


def cares(store: Store, *, at: datetime) -> list[Care]:
    """Pairs of usable skills that cannot both be followed, each once, with what is to be done about it."""
    settled = {frozenset((each.subject, each.other)) for each in store.remarks(about=About.CONTRADICTION)}
    found: list[Care] = []
    for one, other, why in _pairs(store):
        kind = discord(_side(store, one), _side(store, other))
        care = _care(one, other, kind, why=why, at=at)
        if frozenset((one.version.id, other.version.id)) not in settled:
            found.append(care)
        elif kind is Discord.TENSION:
            found.append(dataclasses.replace(care, remark=None, reason=f"still open: {care.reason}"))
    return found


def contradicted(store: Store, stored: Stored) -> list[Finding]:
    """What a version contradicts of all that is in use now, whatever was said when it came."""
    version, skill = stored.version, stored.skill
    as_candidate = Candidate(
        content=version.content,
        scope=skill.scope,
        origins=version.origins,
        provenance=version.provenance,
        revises=skill.id,
    )
    return list(gate.disagreements(as_candidate, neighbours(store, as_candidate)))


def _pairs(store: Store) -> Iterator[tuple[Stored, Stored, str]]:
    """Usable skills that contradict each other, the older first."""
    by_skill: dict[str, list[Stored]] = {}
    for stored in store.catalogue(statuses=RECALLABLE):
        by_skill.setdefault(stored.skill.id, []).append(stored)
    current = {stored.version.id: stored for stored in map(newest_recallable, by_skill.values())}
    seen: set[frozenset[str]] = set()
    for stored, near in chain(_beside_rules(store, current), _with_one_tool(current.values())):
        pair = frozenset((stored.version.id, near.version.id))
        if len(pair) < 2 or pair in seen:
            continue
        seen.add(pair)
        older, newer = sorted((stored, near), key=lambda held: (held.version.created_at, held.sequence))
        if why := gate.disagreement(older.version.content, newer.version.content):
            yield older, newer, why


def _beside_rules(store: Store, current: Mapping[str, Stored]) -> Iterator[tuple[Stored, Stored]]:
    """Each rule or lesson, and what speaks of the same: of two procedures neither lays anything down for the other."""
    for stored in current.values():
        content = stored.version.content
        if content.kind not in _LAYS_DOWN:
            continue
        words = terms(f"{content.name} {content.description} {content.body}"[:2000])
        for hit in store.search(words, statuses=RECALLABLE, limit=NEIGHBOURS):
            if hit.stored.version.id in current:
                yield stored, hit.stored


def _with_one_tool(held: Iterable[Stored]) -> Iterator[tuple[Stored, Stored]]:
    """Procedures that give one tool a fixed value for the same argument, and say of no case that it is for."""
    using: dict[tuple[str, str], list[Stored]] = {}
    for stored in held:
        for call in gate.fixed_arguments(stored.version.content):
            using.setdefault(call, []).append(stored)
    for together in using.values():
        yield from combinations(together[-MOST_OF_ONE_TOOL:], 2)


def _care(older: Stored, newer: Stored, kind: Discord, *, why: str, at: datetime) -> Care:
    told = f"contradicts `{newer.version.name}` ({kind}): {why}"
    remark = Remark(
        subject=older.version.id,
        other=newer.version.id,
        about=About.CONTRADICTION,
        text=f"{kind}: {RESOLUTION[kind]}",
        by=BY_ITSELF,
        at=at,
    )
    move = older.moved(Status.STALE, f"obsolete: {told}", by=BY_ITSELF, at=at)
    ways = [
        f"tacit review {gone.version.id[:14]} --retire (`{stays.version.name}` stays)"
        for gone, stays in ((older, newer), (newer, older))
    ]
    return Care(
        kind=CareKind.CONTRADICTION,
        subject=older.version.id,
        name=older.version.name,
        reason=f"{told}; {RESOLUTION[kind]}",
        skill_id=older.skill.id,
        move=move if kind is Discord.OBSOLETE else None,
        remark=remark,
        advice=", or ".join(ways) if kind is Discord.TENSION else "",
    )


def _side(store: Store, stored: Stored) -> Side:
    version = stored.version
    evidence = store.evidence([version.id])[version.id]
    worked = [each.at for each in evidence if each.grade.verified and each.outcome == "success" and not each.control]
    return Side(
        content=version.content,
        scope=stored.skill.scope,
        status=stored.status,
        made_at=version.created_at,
        confirmed_at=max(worked, default=None),
        confirmations=outcome.reinforced(version, evidence),
    )
