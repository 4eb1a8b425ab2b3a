"""Mirroring: copies what a person approved for organisation or global from their own store into a project's store.

So recall, hooks and evidence work on one file. A mirror has the identity, origins, sources and approvals of its
original and follows it: what is retired, changed or purged there changes here at the next synchronisation, unless a
person decided otherwise here. Results from here are reported back, so that reliability covers all projects. Mirroring
approves nothing: what today's checks object to arrives as waiting.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from tacit.config.location import MEMORY
from tacit.config.settings import Policy
from tacit.domain.archive import Source, SourceKind
from tacit.domain.care import MIRROR
from tacit.domain.errors import GateRefusal, StoreOutage
from tacit.domain.ledger import About, pinned
from tacit.domain.lifecycle import RECALLABLE, Status, coded, joined_text
from tacit.domain.scope import Level, Scope
from tacit.domain.stored import StoredVersion
from tacit.gate.content_checks import examine_version
from tacit.gate.review_rules import check_approval
from tacit.maintain.portability import home_store
from tacit.maintain.promotion import HOME_LEVELS, hand_over, open_nominations, promotion_request
from tacit.maintain.status_changes import apply_status_changes
from tacit.recall import publishing
from tacit.store import Store, queries
from tacit.store.context import StoreContext

LEAST_PROJECTS = 2
"""Results change a status in the person's store only when so many projects report on a version."""
_HASH, _VERSION = "sha256:", "v_"
_FOLLOWED_STATUSES = frozenset({Status.STALE, Status.QUARANTINED, Status.CANDIDATE})
"""Statuses that a mirror takes over from its original; for any other that is not recallable it retires."""
_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Synchronised:
    """What a synchronisation with the person's store changed, as ids of versions."""

    added: tuple[str, ...] = ()
    followed: tuple[str, ...] = ()
    """Mirrors that followed a status change of their original."""
    purged: tuple[str, ...] = ()
    reported: tuple[str, ...] = ()
    """Versions whose results were reported to the person's store."""

    def __bool__(self) -> bool:
        return bool(self.added or self.followed or self.purged or self.reported)


def synchronise(context: StoreContext) -> Synchronised:
    """Mirror the person's store here, hand nominations over, and let the person's store apply reported results.

    Only a project's own store is synchronised, not one that was named by hand. If the person's store cannot be opened,
    nothing is mirrored, and learning here goes on.
    """
    place = context.place
    if place is None or place.database == MEMORY or not place.is_projects_own:
        return Synchronised()
    done, request = Synchronised(), promotion_request(context)
    try:
        create = bool(open_nominations(context.store, Level.ORGANISATION))
        with home_store(place, signers=context.store.signers, create=create) as store:
            if store is not None:
                home = context.with_store(store, Scope(Level.ORGANISATION))
                scope = Scope(Level.PROJECT, context.scope.key or request.source.project)
                done = mirror(context.store, store, policy=context.config.policy, scope=scope, at=request.at)
                hand_over(context.store, home, request)
                if several := reported_by_several(store, done.reported):
                    with store.transaction():
                        if apply_status_changes(store, home.config.policy, at=home.now(), version_ids=several):
                            publishing.publish(store, home.embedder)
    except StoreOutage as fault:
        _LOG.warning("the personal store was not mirrored: %s", fault.code)
    return done


def purged_but_at_home(context: StoreContext) -> list[StoredVersion]:
    """Return what the person's store still has although it was purged here: the same text, or a promoted copy."""
    purged = {stone.id for stone in context.store.tombstones()}
    with home_store(context.place, signers=context.store.signers) as home:
        kept = home.catalogue() if home and purged else []
    return [stored for stored in kept if purged & {stored.version.id, stored.version.hash, *stored.version.parents}]


def mirror(project: Store, home: Store, *, policy: Policy, scope: Scope, at: datetime) -> Synchronised:
    """Bring a project's store in step with the person's store, and report results back. Repeating it changes nothing."""
    if project is home:
        return Synchronised()
    purged = tuple(_purge(project, home, at=at))
    mirrors = _mirrors(project)
    with project.transaction():
        added = tuple(_add(project, home, policy=policy, at=at))
        followed = tuple(_follow(project, home, mirrors, at=at))
    return Synchronised(added=added, followed=followed, purged=purged, reported=_report(project, home, mirrors, scope))


def _mirrors(project: Store) -> list[StoredVersion]:
    """What was copied from the person's store."""
    broad = [stored for stored in project.catalogue() if stored.skill.scope.level in HOME_LEVELS]
    return [stored for stored in broad if project.transitions(stored.version.id)[0].by == MIRROR]


def _purge(project: Store, home: Store, *, at: datetime) -> Iterator[str]:
    """Purge here what was purged in the person's store, with every copy of the same text, and refuse it from now on."""
    tombstones = [stone for stone in home.tombstones() if stone.id.startswith((_HASH, _VERSION))]
    known = {stone.id for stone in project.tombstones()}
    new = {stone.id: stone for stone in tombstones if stone.id not in known}
    if not new:
        return
    for stored in _mirrors(project):
        stone = new.get(stored.version.id) or new.get(stored.version.hash)
        if stone is None:
            continue
        descent = project.descent(Source(kind=SourceKind.IMPORTED, value=stored.version.hash))
        if not descent.is_empty:  # otherwise it was removed together with another copy
            reason = f"purged at home{': ' if stone.reason else ''}{stone.reason}"
            project.purge(descent, by=stone.by or MIRROR, at=at, reason=reason)
        yield stored.version.id
    with project.transaction():
        for stone in new.values():
            project.add(stone)


def _add(project: Store, home: Store, *, policy: Policy, at: datetime) -> Iterator[str]:
    """Add the current version of each skill that a person approved in their store, unless it is here."""
    for stored in queries.current(home, statuses=RECALLABLE):
        version = stored.version
        if stored.skill.scope.level not in HOME_LEVELS or version.id in project.resolve(version.id):
            continue
        approvals = home.approvals(version.id)
        if not approvals:
            continue  # no person has approved it
        arriving = replace(stored, status=Status.CANDIDATE)
        mirrored = arriving.transition_to(Status.CANDIDATE, str(coded("mirrored")), by=MIRROR, at=at)
        birth = replace(mirrored, before=None, id="")
        try:
            project.add_version(stored.skill, version, birth)
        except GateRefusal:  # it was purged here
            continue
        for approval in approvals:
            project.add(approval)
        for remark in home.remarks(stored.skill.id, about=About.PROMOTION):
            project.add(remark)  # its source project and record
        # An approval holds for the person who gave it; another policy of the project does not change the text. Under
        # today's checks the mirror may have to wait, or is quarantined.
        approval = replace(project.approvals(version.id)[-1], policy_hash=policy.hash(), id="")
        check = check_approval(approval, version, examination=examine_version(version), policy=policy)
        if check:
            approved = str(coded("approved_at_home", by=approval.by))
            project.add_transition(arriving.transition_to(Status.TRIAL, approved, by=MIRROR, at=at))
        elif check.is_severe:
            void = str(coded("approval_void", why=joined_text(check.reasons)))
            project.add_transition(arriving.transition_to(Status.QUARANTINED, void, by=MIRROR, at=at))
        yield version.id


def _follow(project: Store, home: Store, mirrors: Sequence[StoredVersion], *, at: datetime) -> Iterator[str]:
    """Let mirrors follow the status of their originals, unless a person decided otherwise here."""
    originals = {stored.version.id: stored for stored in home.catalogue()} if mirrors else {}
    for copy in mirrors:
        if pinned(project.remarks(copy.skill.id, about=About.PIN)):
            continue
        original = originals.get(copy.version.id)
        here, there = copy.status, original.status if original else None
        if here in RECALLABLE and there is None:
            after, reason = Status.RETIRED, coded("unknown_at_home")
        elif here in RECALLABLE and there is not None and there not in RECALLABLE:
            after = there if there in _FOLLOWED_STATUSES else Status.RETIRED
            reason = coded("status_at_home", status=str(there))
        elif (
            here in (Status.RETIRED, Status.STALE)
            and there in RECALLABLE
            and project.transitions(copy.version.id)[-1].by == MIRROR  # no person decided otherwise here
        ):
            after, reason = Status.TRIAL, coded("recallable_at_home")
        else:
            continue
        project.add_transition(copy.transition_to(after, str(reason), by=MIRROR, at=at))
        yield copy.version.id


def _report(project: Store, home: Store, mirrors: Sequence[StoredVersion], scope: Scope) -> tuple[str, ...]:
    """Report the results of mirrors to the person's store, each once."""
    mirrored = [stored.version.id for stored in mirrors]
    if not mirrored:
        return ()
    found = project.evidence(mirrored)
    at_home = {stored.version.id for stored in home.catalogue()}
    known = {each.id for rows in home.evidence([v for v in mirrored if v in at_home]).values() for each in rows}
    new = [
        replace(row, scope=row.scope or str(scope))
        for version_id, rows in found.items()
        for row in rows
        if version_id in at_home and row.id not in known
    ]
    if new:
        with home.transaction():
            for row in new:
                home.add(row)
    return tuple(dict.fromkeys(row.version_id for row in new))


def reported_by_several(home: Store, version_ids: Iterable[str]) -> list[str]:
    """Return those versions that have verified results from at least two projects: one project does not decide for all."""
    found = home.evidence(version_ids)
    return [
        version_id
        for version_id, rows in found.items()
        if len({row.scope for row in rows if row.grade.verified and not row.control}) >= LEAST_PROJECTS
    ]
