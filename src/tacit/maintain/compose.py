"""Skills put together: names → a composite before the gate; and the composites whose parts have changed since.

Fetches the parts as they may be used now. A composite keeps the versions it was made of as its parents, so that what has
changed can be told, and so that a purge of a part takes the composite with it.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator, Sequence
from datetime import datetime

from tacit.domain.candidate import Candidate
from tacit.domain.care import BY_ITSELF, Care, CareKind
from tacit.domain.errors import Mistake
from tacit.domain.lifecycle import RECALLABLE, Status
from tacit.domain.ports import Store, Stored
from tacit.domain.skill import SkillContent, SkillVersion
from tacit.maintain.refinement.composition import LEAST_PARTS, composed, outdated
from tacit.recall.retrieval import parts_of
from tacit.store import queries as shelf

_MERGED = re.compile(re.escape(shelf.MERGED) + r"`([^`]+)`")
_GONE = frozenset({Status.STALE, Status.RETIRED, Status.QUARANTINED})


def compose(store: Store, name: str, description: str, parts: Sequence[str]) -> tuple[SkillContent, list[Stored]]:
    """The composite of skills that may be used now, and what it is made of."""
    held = [shelf.find(store, part) for part in parts]
    idle = next((each for each in held if each.status not in RECALLABLE), None)
    if idle is not None:
        raise Mistake(f"`{idle.version.name}` is {idle.status}", hint="compose what was approved; see `tacit review`")
    contents = [each.version.content for each in held]
    told = description.strip() or "; then ".join(content.description.rstrip(".") for content in contents) + "."
    return composed(name, told, contents, parts_of=lambda part: _names_below(store, part)), held


def derived(candidate: Candidate, parts: Sequence[Stored]) -> Candidate:
    """The candidate with the versions that it is made of as parents, beside the one that it revises."""
    made_of = tuple(each.version.id for each in parts)
    return dataclasses.replace(candidate, parents=(*candidate.parents, *made_of))


def changed_parts(store: Store, composite: SkillVersion) -> list[str]:
    """What has changed about the parts of a composite since it was made; empty for whatever is none."""
    if not composite.content.sub_skills:
        return []
    now = {part.name: part.content for part in parts_of(store, composite)}
    return outdated(_gone(store, composite), now, made_of=_made_of(store, composite))


def cares(store: Store, *, at: datetime) -> list[Care]:
    """Recallable composites that no longer say what their parts say: set aside where a part is gone, otherwise told."""
    return [care for stored in store.catalogue(statuses=RECALLABLE) for care in _looked_at(store, stored, at)]


def _looked_at(store: Store, stored: Stored, at: datetime) -> Iterator[Care]:
    version = stored.version
    told = changed_parts(store, version)
    if not told:
        return
    reason = "; ".join(told)
    yield Care(
        kind=CareKind.COMPOSITE,
        subject=version.id,
        name=version.name,
        reason=reason,
        skill_id=stored.skill.id,
        move=stored.moved(Status.STALE, reason, by=BY_ITSELF, at=at),
        advice=_advice(store, version),
    )


def _advice(store: Store, composite: SkillVersion) -> str:
    """How to compose it anew, of what is there: a part that was merged by what it was merged into."""
    gone, name = _gone(store, composite), composite.name
    left = list(dict.fromkeys(gone.get(part, part) for part in composite.content.sub_skills))
    lost = [part for part in gone if not gone[part]]
    if lost:
        back = f"`{lost[0]}` is gone: tacit review {lost[0]} --restore brings it back"
        there = [part for part in left if part]
        anew = (
            f"tacit compose {name} {' '.join(there)}" if len(there) >= LEAST_PARTS else f"tacit review {name} --retire"
        )
        return f"{back}; without it: {anew}"
    return f"tacit compose {name} {' '.join(left)}" if len(left) >= LEAST_PARTS else f"tacit review {name} --retire"


def _gone(store: Store, composite: SkillVersion) -> dict[str, str]:
    """The parts that may not be used any more, each with the name of what stands in its place, or nothing."""
    now = {part.name for part in parts_of(store, composite)}
    gone = [name for name in composite.content.sub_skills if name not in now and _went(store, name)]
    return {name: _successor(store, name) for name in gone}


def _successor(store: Store, name: str) -> str:
    """The usable skill that one was merged into, however often that was merged itself; empty where there is none."""
    seen: set[str] = set()
    while name not in seen:
        seen.add(name)
        held = store.catalogue(name=name)
        if any(each.status in RECALLABLE for each in held):
            return name
        moves = (store.transitions(each.version.id)[-1] for each in sorted(held, key=lambda each: -each.sequence))
        name = next((found[1] for move in moves if (found := _MERGED.match(move.reason))), name)
    return ""


def _made_of(store: Store, composite: SkillVersion) -> dict[str, SkillContent]:
    """The parts as they were when the composite took over their steps; one that only names its parts took over nothing."""
    parents = [store.version(version_id).version for version_id in composite.parents]
    own = {version.name: version.content for version in parents if version.skill_id != composite.skill_id}
    return {name: own[name] for name in composite.content.sub_skills if name in own}


def _went(store: Store, name: str) -> bool:
    """Whether a part was usable once and is not any more; one that still waits for its approval never was."""
    return any(held.status in _GONE for held in store.catalogue(name=name)) or not store.catalogue(name=name)


def _names_below(store: Store, name: str) -> tuple[str, ...]:
    """The parts of a skill as it is now."""
    named = store.catalogue(name=name)
    return shelf.meant_by(named).version.content.sub_skills if named else ()
