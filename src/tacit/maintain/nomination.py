"""Nomination: find skills that qualify for a broader scope by themselves, and hand nominations over to the person's
store."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime

from tacit.domain.care import Advice, Care, CareKind, CareReason
from tacit.domain.errors import GateRefusal
from tacit.domain.ledger import About, Remark, promotion_fields
from tacit.domain.lifecycle import RECALLABLE, CodedReason, Status, coded
from tacit.domain.scope import Level, Scope
from tacit.domain.skill import Kind
from tacit.domain.stored import StoredVersion
from tacit.maintain.promotion import (
    BY_PROMOTION,
    NOMINATED,
    PROMOTED,
    REFUSED,
    PromotionRequest,
    candidate_of,
    find_same,
    is_promoted,
    nominate,
    nominee_of,
    projects_of,
    promotion_remark,
    record_objections,
    recurrences,
)
from tacit.maintain.promotion_rules import SameMeaning, scope_gates, sessions_of
from tacit.maintain.source_project import home_store, source_project
from tacit.maintain.status_changes import care_of
from tacit.store import Store, queries
from tacit.store.context import StoreContext

MOST_NOMINATED = 5
"""New nominations reported at once; one that a second project confirms is always reported."""
_LOG = logging.getLogger(__name__)


def cares(context: StoreContext, *, at: datetime) -> list[Care]:
    """Find what qualifies for a broader scope. Applied, it becomes a waiting candidate, or a note for the person's
    store."""
    store, same = context.store, SameMeaning(context.embedder, context.config.policy)
    request = PromotionRequest(by=BY_PROMOTION, at=at, source=source_project(context.place), same=same)
    with home_store(context.place) as home:
        return [
            *_for_sessions(store, request),
            *_for_project(store, context.scope, request),
            *_for_home(store, home, request),
        ]


def hand_over(here: Store, home: StoreContext, request: PromotionRequest) -> None:
    """Copy what was nominated here to the person's store, once; a refusal there is recorded and not tried again."""
    level = home.scope.level
    for skill_id in open_nominations(here, level):
        stored = queries.newest_recallable(here.versions(skill_id))
        try:
            nominate(here, home, stored, replace(request, by=BY_PROMOTION))
        except GateRefusal as refusal:
            _LOG.info("%s was refused in the personal store: %s", stored.version.id, refusal.code)
            here.add(promotion_remark(skill_id, "", request, step=REFUSED, to=level))


def open_nominations(store: Store, to: Level) -> list[str]:
    """Return the ids of skills that were nominated for a level and not answered since."""
    waiting: dict[str, None] = {}
    for remark in store.remarks(about=About.PROMOTION):
        fields = promotion_fields(remark)
        if fields.get("to") != str(to):
            continue
        if fields.get("step") == NOMINATED:
            waiting[remark.subject] = None
        else:
            waiting.pop(remark.subject, None)
    return list(waiting)


def _for_sessions(store: Store, request: PromotionRequest) -> Iterator[Care]:
    """What a team has learned and nothing contradicts: the session may keep it."""
    for stored in store.catalogue(statuses={Status.CANDIDATE, *RECALLABLE}):
        if stored.skill.scope.level is not Level.TEAM or _was_recorded(store, stored, Level.SESSION):
            continue
        [gate] = scope_gates(nominee_of(store, stored, request, to=Level.SESSION), Level.SESSION)
        if gate.open:
            yield _care(stored, gate.fulfilled[:1], to=Level.SESSION)


def _for_project(store: Store, scope: Scope, request: PromotionRequest) -> Iterator[Care]:
    """What enough sessions have learned independently, and the project does not have yet."""
    groups = recurrences(store, request.same)
    known = store.catalogue() if groups else []
    for group in groups:
        versions = [store.version(each.version_id) for each in group]
        newest = versions[-1]
        [gate] = scope_gates(nominee_of(store, newest, request, to=Level.PROJECT, groups=[group]), Level.PROJECT)
        if not gate.open or find_same(known, newest.version.content, scope, request.same):
            continue
        attempts = dict.fromkeys(each for stored in versions for each in stored.version.provenance.trajectory_ids)
        made = replace(
            candidate_of(newest, newest.version.content, scope, by=BY_PROMOTION),
            provenance=replace(newest.version.provenance, trajectory_ids=tuple(attempts)),
            parents=tuple(stored.version.id for stored in versions),
        )
        reason = coded(CareReason.SEEN_IN_SESSIONS, sessions=len(sessions_of(group)))
        remark = promotion_remark(newest.skill.id, newest.version.id, request, step=PROMOTED, to=Level.PROJECT)
        yield replace(_care(newest, (reason,), to=Level.PROJECT, remark=remark), candidate=made)


def _for_home(store: Store, home: Store | None, request: PromotionRequest) -> Iterator[Care]:
    """What makes sense beyond the project: a nomination for the person's store, where two projects together qualify it."""
    level, new = Level.ORGANISATION, 0
    broad = [other for other in (home or store).catalogue() if other.skill.scope.level.breadth >= level.breadth]
    for stored in store.catalogue(statuses=RECALLABLE):
        if stored.skill.scope.level is not Level.PROJECT or _was_recorded(store, stored, level):
            continue
        if is_promoted(broad, stored, level):
            continue
        content = stored.version.content
        there = find_same(broad, content, Scope(level), request.same)
        projects = projects_of(home or store, there.skill.id) if there else set()
        elsewhere = there is not None and projects != {request.source.identity}
        qualifies = elsewhere or (stored.status is Status.TRUSTED and new < MOST_NOMINATED)
        if not qualifies or content.kind in (Kind.PREFERENCE, Kind.REFERENCE):
            continue  # the checks below take longer
        nominee = nominee_of(store, stored, request, to=level, projects=projects)
        if nominee.local or any(record_objections(store, stored)):
            continue
        [gate] = scope_gates(nominee, level)
        new += not elsewhere
        remark = promotion_remark(stored.skill.id, there.version.id if there else "", request, step=NOMINATED, to=level)
        reason = coded(CareReason.KNOWN_ELSEWHERE if elsewhere else CareReason.TRUSTED_AND_PORTABLE)
        yield _care(stored, (reason, *gate.fulfilled), to=level, remark=remark)


def _care(stored: StoredVersion, reasons: tuple[CodedReason, ...], *, to: Level, remark: Remark | None = None) -> Care:
    advice = coded(Advice.PROMOTE, name=stored.version.name, to=str(to))
    return care_of(stored, CareKind.PROMOTION, reasons, remark=remark, advice=(advice,))


def _was_recorded(store: Store, stored: StoredVersion, to: Level) -> bool:
    """Whether it was promoted as far as this level, or nominated for it, before."""
    remarks = store.remarks(stored.skill.id, about=About.PROMOTION)
    far_enough = {str(level) for level in Level if level.breadth >= to.breadth}
    return any(promotion_fields(remark).get("to") in far_enough for remark in remarks)
