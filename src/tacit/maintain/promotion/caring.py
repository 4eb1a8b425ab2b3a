"""Cares of promotion: store → what has earned a broader scope, and what a second project would confirm. Changes nothing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime

from tacit.config.place import Place
from tacit.domain.care import Care, CareKind
from tacit.domain.lifecycle import RECALLABLE, Status
from tacit.domain.ports import Store, Stored
from tacit.domain.remark import About, Remark, noted
from tacit.domain.scope import Level, Scope
from tacit.domain.skill import Kind
from tacit.maintain.promotion.meaning import Sameness
from tacit.maintain.promotion.moving import (
    BY_ITSELF,
    NOMINATED,
    Ask,
    already_there,
    candidate_of,
    is_up,
    merged_provenance,
    nominee_of,
    note,
    projects_of,
    recurrences,
)
from tacit.maintain.promotion.objecting import spoken_against
from tacit.maintain.promotion.whence import Whence, home_store
from tacit.maintain.promotion.whence import whence as whence_of
from tacit.maintain.refinement.promotion import Same, passages, sessions_of

MOST_NOMINATED = 5
"""New nominations told at once; a second project's word on something known is always told."""


def cares(
    store: Store,
    *,
    at: datetime,
    scope: Scope | None = None,
    whence: Whence | None = None,
    same: Same | None = None,
    home: Store | None = None,
) -> list[Care]:
    """What has earned a broader scope by itself. Carried out, it becomes a candidate that waits, or is noted for home."""
    ask = Ask(by=BY_ITSELF, at=at, whence=whence or Whence(), same=same or Sameness())
    return [*_kept(store, ask), *_recurring(store, scope or Scope(Level.PROJECT), ask), *_beyond(store, home, ask)]


def cares_at(
    place: Place | None, store: Store, *, at: datetime, scope: Scope | None = None, same: Same | None = None
) -> list[Care]:
    """The same as `cares`, with the project and the home that a place has: what `tacit promote` goes by too."""
    with home_store(place) as home:
        return cares(store, at=at, scope=scope, whence=whence_of(place), same=same, home=home)


def _kept(store: Store, ask: Ask) -> Iterator[Care]:
    """What a team has learned and nothing speaks against: a session may keep it."""
    for stored in store.catalogue(statuses={Status.CANDIDATE, *RECALLABLE}):
        if stored.skill.scope.level is not Level.TEAM or _was_noted(store, stored, Level.SESSION):
            continue
        nominee = nominee_of(store, stored, ask, to=Level.SESSION)
        [gate] = passages(nominee, Level.SESSION)
        if gate.open:
            yield _care(stored, gate.there[0], to=Level.SESSION)


def _recurring(store: Store, scope: Scope, ask: Ask) -> Iterator[Care]:
    """What enough sessions have learned, each by itself, and the project does not know yet."""
    groups = recurrences(store, ask.same)
    known = store.catalogue() if groups else []
    for group in groups:
        versions = [store.version(each.version_id) for each in group]
        newest = versions[-1]
        nominee = nominee_of(store, newest, ask, to=Level.PROJECT, groups=[group])
        [gate] = passages(nominee, Level.PROJECT)
        if not gate.open or already_there(known, newest.version.content, scope, ask.same):
            continue
        made = replace(
            candidate_of(newest, newest.version.content, scope, by=BY_ITSELF),
            provenance=merged_provenance(versions),
            parents=tuple(stored.version.id for stored in versions),
        )
        reason = f"the same learning in {len(sessions_of(group))} distinct sessions"
        remark = note(newest.skill.id, newest.version.id, ask, step="promoted", to=Level.PROJECT)
        yield replace(_care(newest, reason, to=Level.PROJECT, remark=remark), candidate=made)


def _beyond(store: Store, home: Store | None, ask: Ask) -> Iterator[Care]:
    """What would make sense beyond the project: a note for home, where two projects earn it a place."""
    level, new = Level.ORGANISATION, 0
    broad = [held for held in (home or store).catalogue() if held.skill.scope.level.breadth >= level.breadth]
    for stored in store.catalogue(statuses=RECALLABLE):
        if stored.skill.scope.level is not Level.PROJECT or _was_noted(store, stored, level):
            continue
        if is_up(broad, stored, level):
            continue
        content = stored.version.content
        there = already_there(broad, content, Scope(level), ask.same)
        projects = projects_of(home or store, there.skill.id) if there else set()
        elsewhere = there is not None and projects != {ask.whence.identity}
        earned = elsewhere or (stored.status is Status.TRUSTED and new < MOST_NOMINATED)
        if not earned or content.kind in (Kind.PREFERENCE, Kind.REFERENCE):
            continue  # before anything that takes time
        nominee = nominee_of(store, stored, ask, to=level, projects=projects)
        if nominee.local or any(spoken_against(store, stored)):
            continue
        [gate] = passages(nominee, level)
        new += not elsewhere
        remark = note(stored.skill.id, there.version.id if there else "", ask, step=NOMINATED, to=level)
        known = "another project knows it too" if elsewhere else "trusted here, and portable by lint"
        yield _care(stored, f"{known}; {', '.join(gate.there)}", to=level, remark=remark)


def _care(stored: Stored, reason: str, *, to: Level, remark: Remark | None = None) -> Care:
    return Care(
        kind=CareKind.PROMOTION,
        subject=stored.version.id,
        name=stored.version.name,
        reason=reason,
        skill_id=stored.skill.id,
        remark=remark,
        advice=f"tacit promote {stored.version.name} --to {to}",
    )


def _was_noted(store: Store, stored: Stored, to: Level) -> bool:
    """Whether it was moved as far as this level, or nominated for it, before."""
    remarks = store.remarks(stored.skill.id, about=About.PROMOTION)
    far_enough = {str(level) for level in Level if level.breadth >= to.breadth}
    return any(noted(remark).get("to") in far_enough for remark in remarks)
