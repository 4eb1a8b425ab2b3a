"""The mirror: what a person approved for organisation or global, kept in their own store → the same in a project's store.

So recall, hooks and evidence work on one file. A mirror has the identity, origins, sources and approvals of what it mirrors
and follows it: what is retired, changed or purged at home is so here at the next meeting. What somebody decides about it
here stands here. Results gained here are told home, where a skill's reliability is of all projects. Nothing is approved by
being mirrored: what today's checks object to arrives waiting.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from tacit import gate
from tacit.config.settings import Policy
from tacit.domain.errors import GateRefusal
from tacit.domain.lifecycle import RECALLABLE, Status, Transition
from tacit.domain.ports import Store, Stored
from tacit.domain.purging import Source, SourceKind, Tombstone
from tacit.domain.remark import About, pinned
from tacit.domain.scope import Scope
from tacit.maintain.promotion.moving import AT_HOME
from tacit.store import queries as shelf

MIRROR = "tacit.mirror"
"""Who brings a version from home, and takes it away again."""
LEAST_PROJECTS = 2
"""So many must have seen how a version does before results from projects move it at home."""
_HASH, _VERSION = "sha256:", "v_"
_FOLLOWS = {
    Status.STALE: Status.STALE,
    Status.QUARANTINED: Status.QUARANTINED,
    Status.CANDIDATE: Status.CANDIDATE,
}
"""Where a mirror goes when its original is no longer recallable; otherwise it retires."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Adopted:
    """What a meeting of a project's store with home brought."""

    added: tuple[str, ...] = ()
    """Ids of versions."""
    followed: tuple[str, ...] = ()
    purged: tuple[str, ...] = ()
    told: tuple[str, ...] = ()
    """Versions of which results were told home."""

    def __bool__(self) -> bool:
        return bool(self.added or self.followed or self.purged or self.told)


def adopt(project: Store, home: Store, *, policy: Policy, scope: Scope, at: datetime) -> Adopted:
    """Bring a project's store in step with home, and tell home what was found out here. Doing it again changes nothing."""
    if project is home:
        return Adopted()
    purged = tuple(_purge(project, home, at=at))
    mirrors = _mirrors(project)
    with project.transaction():
        added = tuple(_add(project, home, policy=policy, at=at))
        followed = tuple(_follow(project, home, mirrors, at=at))
    return Adopted(added=added, followed=followed, purged=purged, told=_tell(project, home, mirrors, scope))


def is_mirror(store: Store, stored: Stored) -> bool:
    """Whether a version was brought from home."""
    return stored.skill.scope.level in AT_HOME and store.transitions(stored.version.id)[0].by == MIRROR


def _mirrors(project: Store) -> list[Stored]:
    broad = [stored for stored in project.catalogue() if stored.skill.scope.level in AT_HOME]
    return [stored for stored in broad if is_mirror(project, stored)]


def _purge(project: Store, home: Store, *, at: datetime) -> Iterator[str]:
    """Forget here what was purged at home, with everything that says the very same, and refuse it from now on."""
    stones = [stone for stone in home.tombstones() if stone.id.startswith((_HASH, _VERSION))]
    known = {stone.id for stone in project.tombstones()}
    news = [stone for stone in stones if stone.id not in known]
    if not news:
        return
    gone = {stone.id: stone for stone in news}
    for stored in _mirrors(project):
        stone = gone.get(stored.version.id) or gone.get(stored.version.hash)
        if stone is not None:
            _forget(project, stored, stone, at=at)
            yield stored.version.id
    project.bury(news)


def _forget(project: Store, stored: Stored, stone: Tombstone, *, at: datetime) -> None:
    descent = project.descent(Source(kind=SourceKind.IMPORTED, value=stored.version.hash))
    if descent.is_empty:  # it went with another one that says the same
        return
    reason = f"purged at home{': ' if stone.reason else ''}{stone.reason}"
    project.purge(descent, by=stone.by or MIRROR, at=at, reason=reason)


def _add(project: Store, home: Store, *, policy: Policy, at: datetime) -> Iterator[str]:
    """Bring in the current version of each skill that a person approved at home, unless it is here."""
    for stored in shelf.current(home, statuses=RECALLABLE):
        version = stored.version
        if stored.skill.scope.level not in AT_HOME or version.id in project.resolve(version.id):
            continue
        approvals = home.approvals(version.id)
        if not approvals:
            continue  # no person has said yes to it
        birth = _step(stored, None, Status.CANDIDATE, "mirrors the person's own store", at=at)
        try:
            project.add_version(stored.skill, version, birth)
        except GateRefusal:  # it was purged here, and stays away here
            continue
        for approval in approvals:
            project.add_approval(approval)
        for remark in home.remarks(stored.skill.id, about=About.PROMOTION):
            project.add_remark(remark)  # where it came from, and how it did there
        _let_in(project, stored, policy=policy, at=at)
        yield version.id


def _let_in(project: Store, stored: Stored, *, policy: Policy, at: datetime) -> None:
    """Let a mirror be recalled if the approval holds under today's checks; otherwise it waits here, and says why."""
    version = stored.version
    approval = project.approvals(version.id)[-1]
    # A yes holds for whoever gave it; under which dial of policy a project stands does not change the text.
    same_dial = replace(approval, policy_hash=policy.hash(), id="")
    holding = gate.holds(same_dial, version, examination=gate.examined_version(version), policy=policy)
    if holding:
        project.add_transition(
            _step(stored, Status.CANDIDATE, Status.TRIAL, f"approved at home by {approval.by}", at=at)
        )
    elif holding.grave:
        why = f"the approval at home no longer holds: {'; '.join(holding.reasons)}"
        project.add_transition(_step(stored, Status.CANDIDATE, Status.QUARANTINED, why, at=at))


def _follow(project: Store, home: Store, mirrors: Sequence[Stored], *, at: datetime) -> Iterator[str]:
    """Let mirrors go where their originals went, and come back with them, unless somebody decided otherwise here."""
    originals = {stored.version.id: stored for stored in home.catalogue()} if mirrors else {}
    for mirror in mirrors:
        if pinned(project.remarks(mirror.skill.id, about=About.PIN)):
            continue
        original = originals.get(mirror.version.id)
        here, there = mirror.status, original.status if original else None
        if here in RECALLABLE and there not in RECALLABLE:
            after = _FOLLOWS.get(there, Status.RETIRED) if there else Status.RETIRED
            reason = f"{there} at home" if there else "unknown at home"
        elif here in (Status.RETIRED, Status.STALE) and there in RECALLABLE and _left_with_home(project, mirror):
            after, reason = Status.TRIAL, "recallable at home again"
        else:
            continue
        project.add_transition(_step(mirror, here, after, reason, at=at))
        yield mirror.version.id


def _left_with_home(project: Store, mirror: Stored) -> bool:
    return project.transitions(mirror.version.id)[-1].by == MIRROR


def _tell(project: Store, home: Store, mirrors: Sequence[Stored], scope: Scope) -> tuple[str, ...]:
    """Tell home what came of mirrors here; what it knows is not told again."""
    mirrored = [stored.version.id for stored in mirrors]
    if not mirrored:
        return ()
    found = project.evidence(mirrored)
    at_home = {stored.version.id for stored in home.catalogue()}
    known = {each.id for pieces in home.evidence([v for v in mirrored if v in at_home]).values() for each in pieces}
    news = [
        replace(piece, scope=piece.scope or str(scope))
        for version_id, pieces in found.items()
        for piece in pieces
        if version_id in at_home and piece.id not in known
    ]
    if news:
        with home.transaction():
            for piece in news:
                home.add_evidence(piece)
    return tuple(dict.fromkeys(piece.version_id for piece in news))


def spoken_of_by_several(home: Store, version_ids: Iterable[str]) -> list[str]:
    """Of these the versions that verified results of at least two projects speak of: one project decides for nobody else."""
    found = home.evidence(version_ids)
    return [
        version_id
        for version_id, pieces in found.items()
        if len({piece.scope for piece in pieces if piece.grade.verified and not piece.control}) >= LEAST_PROJECTS
    ]


def _step(stored: Stored, before: Status | None, after: Status, reason: str, *, at: datetime) -> Transition:
    return Transition(
        version_id=stored.version.id,
        content_hash=stored.version.hash,
        before=before,
        after=after,
        reason=reason,
        by=MIRROR,
        at=at,
    )
