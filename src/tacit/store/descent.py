"""What descends from what: all that a store keeps, and some sources → everything that came from them.

One law for every store, over domain values; it reads and writes nothing itself. A version descends from the attempts it was
learned from, from its parents, and from the same content elsewhere. What was shown or found out under a version descends
from it: a run that saw something bad is no evidence about anything.
"""

from __future__ import annotations

import os.path
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tacit.domain.candidate import Verdict
from tacit.domain.entry import Entry
from tacit.domain.errors import GateRefusal
from tacit.domain.evidence import Evidence, Use
from tacit.domain.lifecycle import RECALLABLE, Status, Transition
from tacit.domain.ports import Episode, Stored
from tacit.domain.purging import Descent, Purge, Source, SourceKind, Tombstone, purge_stone, session_stone
from tacit.domain.remark import Remark
from tacit.domain.skill import SkillVersion
from tacit.domain.trajectory import Trajectory
from tacit.domain.trust import Approval
from tacit.domain.working import Jotting
from tacit.store import invariants

HASH = "sha256:"
LEAST_HASH = 12
"""Hex digits of a hash that name a content."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """All that a store keeps, as far as descent shows in it."""

    episodes: Sequence[Episode]
    versions: Sequence[Stored]
    lives: Mapping[str, Sequence[Transition]]
    verdicts: Sequence[Verdict]
    approvals: Sequence[Approval]
    uses: Sequence[Use]
    evidence: Sequence[Evidence]
    remarks: Sequence[Remark]
    entries: Sequence[Entry]
    jottings: Sequence[Jotting]
    whole: Callable[[str], Trajectory]


def descend(kept: Kept, sources: Iterable[Source]) -> Descent:
    """Everything that came from these sources."""
    sources = tuple(dict.fromkeys(source for source in sources if source.value))
    trajectories = _trajectories(kept, sources)
    seeds = {stored.version.id for stored in kept.versions if any(_is_from(kept, stored, each) for each in sources)}
    gone = _versions(kept, trajectories, seeds)
    names = _values(sources, SourceKind.PRINCIPAL)
    sessions = _sessions(kept, sources)
    uses = {use.id for use in kept.uses if gone & set(use.version_ids) or (use.session_id in sessions)}
    evidence = {
        piece.id
        for piece in kept.evidence
        if piece.version_id in gone or piece.use_id in uses or piece.trajectory_id in trajectories or piece.by in names
    }
    hashes = {stored.version.hash for stored in kept.versions if stored.version.id in gone}
    verdicts = {
        verdict.id
        for verdict in kept.verdicts
        if verdict.version_id in gone or verdict.content_hash in hashes or trajectories & set(verdict.trajectory_ids)
    }
    approvals = {each.id for each in kept.approvals if each.version_id in gone or each.by in names}
    shown = {use.session_id for use in kept.uses if gone & set(use.version_ids) and use.session_id}
    left = {stored.skill.id for stored in kept.versions if stored.version.id not in gone}
    skills = tuple(dict.fromkeys(s.skill.id for s in kept.versions if s.skill.id not in left))
    lost = {*gone, *skills, *trajectories}
    remarks = (each.id for each in kept.remarks if lost & {each.subject, each.other} or each.by in names)
    sessions |= _ended(kept, trajectories)
    return Descent(
        sources=sources,
        trajectories=_ordered(trajectories, (episode.id for episode in kept.episodes)),
        versions=_ordered(gone, (stored.version.id for stored in kept.versions)),
        skills=skills,
        verdicts=_ordered(verdicts, (verdict.id for verdict in kept.verdicts)),
        approvals=_ordered(approvals, (approval.id for approval in kept.approvals)),
        uses=_ordered(uses, (use.id for use in kept.uses)),
        evidence=_ordered(evidence, (piece.id for piece in kept.evidence)),
        remarks=tuple(remarks),
        entries=_entries(kept, lost | uses | _values(sources, SourceKind.TRAJECTORY), sessions, names),
        jottings=tuple(each.id for each in kept.jottings if each.session_id in sessions),
        hashes=_survivors(kept, gone, trajectories, seeds),
        relearned=_relearned(kept, gone, trajectories),
        demoted=_demoted(kept, gone, lost=approvals | verdicts | evidence),
        exposed=tuple(e.id for e in kept.episodes if e.session_id in shown and e.id not in trajectories),
    )


def check_may_enter(trajectory: Trajectory, stone: Callable[[str], Tombstone | None]) -> None:
    """Raise if this attempt, or its whole session, was purged."""
    sessions = {session for session in (trajectory.session_id, trajectory.parent_session_id) if session}
    for identity in (trajectory.id, *map(session_stone, sorted(sessions))):
        if stone(identity):
            raise refused(f"the attempt {trajectory.id}")


def check_may_return(version: SkillVersion, stone: Callable[[str], Tombstone | None]) -> None:
    """Raise if this content was purged, unless it was learned anew from attempts that the purge left over."""
    buried = stone(version.hash)
    if buried is None:
        return
    learned_from = sources_of(version)
    clean = not version.provenance.source and not any(stone(identity) for identity in learned_from)
    if not (clean and learned_from & set(buried.survivors)):
        raise refused(f"the content {version.hash}")


def check_may_stand(entry: Entry, stone: Callable[[str], Tombstone | None]) -> None:
    """Raise if this entry, its session or something that it rests on was purged."""
    session = [session_stone(entry.session_id)] if entry.session_id else []
    if any(stone(identity) for identity in (entry.id, *session, *sorted(_rests_on(entry)))):
        raise refused(f"the {entry.SORT} {entry.key}")


def stones_of(descent: Descent, purge: Purge) -> list[Tombstone]:
    """The tombstones for what goes: attempts, versions and their contents, entries, and whole sessions that were named.

    Each tells why; where none of these goes, one for the purge itself does.
    """
    stone = Tombstone(id="", by=purge.by, at=purge.at, reason=purge.reason)
    sessions = [source.value for source in descent.sources if source.kind is SourceKind.SESSION]
    plain = [*descent.trajectories, *descent.versions, *descent.entries, *map(session_stone, sessions)]
    contents = [replace(stone, id=hash_, survivors=left) for hash_, left in descent.hashes.items()]
    if purge.reason and not plain and not contents:
        plain = [purge_stone(purge.at)]
    return [*(replace(stone, id=identity) for identity in plain), *contents]


def demotion(stored: Stored, purge: Purge) -> Transition:
    """The step back to waiting for a person."""
    return Transition(
        version_id=stored.version.id,
        content_hash=stored.version.hash,
        before=stored.status,
        after=Status.CANDIDATE,
        reason=f"what it was approved by was purged{': ' if purge.reason else ''}{purge.reason}",
        by=purge.by,
        at=purge.at,
    )


def subject_of(value: object, identity: str) -> str:
    """Whose history a record belongs to."""
    if isinstance(value, Verdict):
        return invariants.verdict_subject(value)
    if isinstance(value, Remark):
        return value.subject
    if isinstance(value, Entry):
        return value.key
    return value.version_id if isinstance(value, Approval | Evidence) else identity


def refused(what: str) -> GateRefusal:
    """The error for something that was purged and would come back."""
    return GateRefusal(f"{what} was purged and stays away", hint="see `tacit history` for who purged it, and why")


def sources_of(version: SkillVersion) -> set[str]:
    """The attempts that a version says it was made from."""
    spans = version.provenance.grounding.values()
    return {*version.provenance.trajectory_ids, *(span.trajectory_id for found in spans for span in found)}


def _values(sources: Sequence[Source], kind: SourceKind) -> set[str]:
    return {source.value for source in sources if source.kind is kind and source.value}


def _sessions(kept: Kept, sources: Sequence[Source]) -> set[str]:
    """The sessions named, with those that they started."""
    found = _values(sources, SourceKind.SESSION)
    while more := {e.session_id for e in kept.episodes if e.parent_session_id in found and e.session_id} - found:
        found |= more
    return found


def _ended(kept: Kept, trajectories: set[str]) -> set[str]:
    """The sessions of which no attempt is left."""
    left = {episode.session_id for episode in kept.episodes if episode.id not in trajectories}
    return {e.session_id for e in kept.episodes if e.id in trajectories and e.session_id} - left


def _entries(kept: Kept, lost: set[str], sessions: set[str], names: set[str]) -> tuple[str, ...]:
    """Entries that rest on what goes, with all versions of a thing whose text went into a skill that goes."""
    things = {(each.SORT, each.key) for each in kept.entries if _version_of(each) in lost}
    return tuple(
        each.id
        for each in kept.entries
        if lost & {each.id, *_rests_on(each)}
        or each.session_id in sessions
        or each.by in names
        or (each.SORT, each.key) in things
    )


def _rests_on(entry: Entry) -> set[str]:
    return {*entry.sources, _version_of(entry)} - {""}


def _version_of(entry: Entry) -> str:
    """The skill's version that says the same, of sorts that have one."""
    return str(getattr(entry, "version_id", ""))


def _trajectories(kept: Kept, sources: Sequence[Source]) -> set[str]:
    sessions, named = _sessions(kept, sources), _values(sources, SourceKind.TRAJECTORY)
    places = [source for source in sources if source.kind is SourceKind.IMPORTED]
    names = _values(sources, SourceKind.PRINCIPAL)
    chosen = [e for e in kept.episodes if e.id in named or e.session_id in sessions or e.parent_session_id in sessions]
    if places or names:
        for episode in kept.episodes:
            whole = None if episode.pruned else kept.whole(episode.id)
            if whole is not None and (any(is_from(whole.source, each) for each in places) or whole.task.by in names):
                chosen.append(episode)
    return {e.id for e in kept.episodes if any(e.id == each.id or invariants.same_attempt(e, each) for each in chosen)}


def _is_from(kept: Kept, stored: Stored, source: Source) -> bool:
    version = stored.version
    if source.kind is SourceKind.IMPORTED:
        digits = source.value.removeprefix(HASH)
        is_hash = len(digits) >= LEAST_HASH and version.hash.removeprefix(HASH).startswith(digits)
        return is_hash or is_from(version.provenance.source, source)
    if source.kind is SourceKind.PRINCIPAL:
        birth = next(iter(kept.lives.get(version.id, ())), None)
        return version.provenance.made_by == source.value or (birth is not None and birth.by == source.value)
    return False


def _versions(kept: Kept, trajectories: set[str], seeds: set[str]) -> set[str]:
    gone = seeds | {s.version.id for s in kept.versions if sources_of(s.version) & trajectories}
    while True:
        hashes = {stored.version.hash for stored in kept.versions if stored.version.id in gone}
        more = {s.version.id for s in kept.versions if gone & set(s.version.parents) or s.version.hash in hashes} - gone
        if not more:
            return gone
        gone |= more


def _survivors(kept: Kept, gone: set[str], trajectories: set[str], seeds: set[str]) -> dict[str, tuple[str, ...]]:
    """Content hash → attempts left over. What was imported, or comes from a name, may not return at all."""
    known = [episode.id for episode in kept.episodes if episode.id not in trajectories]
    found: dict[str, tuple[str, ...]] = {}
    for stored in kept.versions:
        if stored.version.id in gone:
            barred = stored.version.id in seeds or stored.version.provenance.source
            left = () if barred else _ordered(sources_of(stored.version), known)
            found[stored.version.hash] = _ordered({*found.get(stored.version.hash, left)} & {*left}, known)
    return found


def _relearned(kept: Kept, gone: set[str], trajectories: set[str]) -> tuple[str, ...]:
    sources = {identity for s in kept.versions if s.version.id in gone for identity in sources_of(s.version)}
    sources |= {identity for v in kept.verdicts if v.version_id in gone for identity in v.trajectory_ids}
    sources |= {piece.trajectory_id for piece in kept.evidence if piece.version_id in gone}
    waiting = sources - trajectories
    return tuple(e.id for e in kept.episodes if e.id in waiting and not e.superseded and not e.pruned)


def _demoted(kept: Kept, gone: set[str], *, lost: set[str]) -> tuple[str, ...]:
    """Recallable versions that lost every approval, or, where none was ever kept, something that policy went by."""
    found = []
    for stored in kept.versions:
        version_id = stored.version.id
        if version_id in gone or stored.status not in RECALLABLE:
            continue
        own = {each.id for each in kept.approvals if each.version_id == version_id}
        if own <= lost if own else _grounds(kept, version_id) & lost:
            found.append(version_id)
    return tuple(found)


def _grounds(kept: Kept, version_id: str) -> set[str]:
    """What policy went by, if it was policy that made a version recallable."""
    life = kept.lives.get(version_id, ())
    entry = next((step for step in reversed(life) if step.after is Status.TRIAL), None)
    if entry is None or not (entry.before is None or entry.by.startswith("tacit") or entry.by == "policy"):
        return set()
    verdicts = {verdict.id for verdict in kept.verdicts if verdict.version_id == version_id}
    return verdicts | {piece.id for piece in kept.evidence if piece.version_id == version_id}


def _ordered(chosen: set[str], order: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(identity for identity in order if identity in chosen))


_NO_PATHS = frozenset({"cli", "mcp"})
"""What is kept as the source of something that came from no file."""
_ADDRESS = "://"
_SKILL = "skill.md"


def is_from(told: str, asked: Source) -> bool:
    """Whether `told` is the source asked for, lies below it (a folder, an archive), or is the folder of its SKILL.md."""
    if not told or told == asked.value:
        return bool(told)
    if not is_path(told) or not is_path(asked.value):
        return False
    there, here = (os.path.normpath(Path(asked.root) / path) for path in (told, asked.value))
    folder, name = os.path.split(here)
    return (
        there == here or there.startswith(here.rstrip(os.sep) + os.sep) or (name.lower() == _SKILL and there == folder)
    )


def is_path(told: str) -> bool:
    """Whether a source names a file or folder."""
    return bool(told) and told not in _NO_PATHS and _ADDRESS not in told and "\0" not in told
