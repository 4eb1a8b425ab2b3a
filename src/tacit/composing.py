"""Skills put together: names → a composite before the gate; and the composites whose parts have changed since.

Fetches the parts as they may be used now. A composite keeps the versions it was made of as its parents, so that what has
changed can be told, and so that a purge of a part takes the composite with it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from datetime import datetime

from tacit import shelf
from tacit.domain.candidate import Candidate
from tacit.domain.care import Care, CareKind
from tacit.domain.errors import Mistake
from tacit.domain.lifecycle import RECALLABLE, Status
from tacit.domain.ports import Store, Stored
from tacit.domain.skill import SkillContent, SkillVersion
from tacit.refinement.composition import composed, outdated
from tacit.retrieval import parts_of

BY_ITSELF = "tacit.tend"
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
    gone = [name for name in composite.content.sub_skills if name not in now and _went(store, name)]
    return outdated(gone, now, made_of=_made_of(store, composite))


def cares(store: Store, *, at: datetime) -> list[Care]:
    """Recallable composites that no longer say what their parts say: set aside where a part is gone, otherwise told."""
    return [care for stored in store.catalogue(statuses=RECALLABLE) for care in _looked_at(store, stored, at)]


def _looked_at(store: Store, stored: Stored, at: datetime) -> Iterator[Care]:
    version = stored.version
    told = changed_parts(store, version)
    if not told:
        return
    reason = "; ".join(told)
    parts = " ".join(version.content.sub_skills)
    yield Care(
        kind=CareKind.COMPOSITE,
        subject=version.id,
        name=version.name,
        reason=reason,
        skill_id=stored.skill.id,
        move=stored.moved(Status.STALE, reason, by=BY_ITSELF, at=at),
        advice=f"tacit compose {version.name} {parts}",
    )


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
    return shelf.newest_recallable(named).version.content.sub_skills if named else ()
