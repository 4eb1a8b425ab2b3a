"""Purging: finds what descends from a source, deletes its rows, and adds a link of the audit chain for each, and tombstones.

A version descends from the trajectories it was learned from, from its parents, and from versions with its content. Uses and
evidence of a version descend from it: a run that saw bad text is no evidence about anything.

All in the caller's transaction. The chain stays whole: its links hold ids and digests, never content. `secure_delete` and
`Connection.wipe` leave nothing in the file's free space and log.
"""

from __future__ import annotations

import json
import os.path
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

from tacit.domain.archive import Descent, Purge, Source, SourceKind, Tombstone, purge_tombstone, session_tombstone
from tacit.domain.candidate import Verdict
from tacit.domain.evidence import Evidence, Use
from tacit.domain.ledger import Remark, StoredEntry
from tacit.domain.lifecycle import RECALLABLE, Status, Transition
from tacit.domain.stored import Episode, SessionNote, StoredVersion
from tacit.domain.trajectory import Trajectory
from tacit.domain.trust import Approval
from tacit.store import invariants
from tacit.store.audit import AuditNote, record_path
from tacit.store.passage_table import passages_path
from tacit.store.record_log import AppendedRecords
from tacit.store.rows import Rows, Values
from tacit.store.skills import version_path
from tacit.store.tables import Tables
from tacit.store.word_index import without_triggers

HASH = "sha256:"
LEAST_HASH = 12
"""The fewest hex digits of a hash that name a content."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreContents:
    """Everything in a store that has provenance."""

    episodes: Sequence[Episode]
    versions: Sequence[StoredVersion]
    transitions: Mapping[str, Sequence[Transition]]
    """By version, oldest first."""
    verdicts: Sequence[Verdict]
    approvals: Sequence[Approval]
    uses: Sequence[Use]
    evidence: Sequence[Evidence]
    remarks: Sequence[Remark]
    entries: Sequence[StoredEntry]
    notes: Sequence[SessionNote]
    trajectory: Callable[[str], Trajectory]


def find_descent(contents: StoreContents, sources: Iterable[Source]) -> Descent:
    """Everything that came from these sources."""
    sources = tuple(dict.fromkeys(source for source in sources if source.value))
    trajectories = _trajectories(contents, sources)
    seeds = {
        stored.version.id
        for stored in contents.versions
        if any(_is_version_from(contents, stored, each) for each in sources)
    }
    gone = _versions(contents, trajectories, seeds)
    names = _values(sources, SourceKind.PRINCIPAL)
    sessions = _sessions(contents, sources)
    uses = {use.id for use in contents.uses if gone & set(use.version_ids) or (use.session_id in sessions)}
    evidence = {
        piece.id
        for piece in contents.evidence
        if piece.version_id in gone or piece.use_id in uses or piece.trajectory_id in trajectories or piece.by in names
    }
    hashes = {stored.version.hash for stored in contents.versions if stored.version.id in gone}
    verdicts = {
        verdict.id
        for verdict in contents.verdicts
        if verdict.version_id in gone or verdict.content_hash in hashes or trajectories & set(verdict.trajectory_ids)
    }
    approvals = {each.id for each in contents.approvals if each.version_id in gone or each.by in names}
    shown = {use.session_id for use in contents.uses if gone & set(use.version_ids) and use.session_id}
    left = {stored.skill.id for stored in contents.versions if stored.version.id not in gone}
    skills = tuple(dict.fromkeys(s.skill.id for s in contents.versions if s.skill.id not in left))
    lost = {*gone, *skills, *trajectories}
    remarks = (each.id for each in contents.remarks if lost & {each.subject, each.other} or each.by in names)
    sessions |= _ended(contents, trajectories)
    return Descent(
        sources=sources,
        trajectories=_ordered(trajectories, (episode.id for episode in contents.episodes)),
        versions=_ordered(gone, (stored.version.id for stored in contents.versions)),
        skills=skills,
        verdicts=_ordered(verdicts, (verdict.id for verdict in contents.verdicts)),
        approvals=_ordered(approvals, (approval.id for approval in contents.approvals)),
        uses=_ordered(uses, (use.id for use in contents.uses)),
        evidence=_ordered(evidence, (piece.id for piece in contents.evidence)),
        remarks=tuple(remarks),
        entries=_entries(contents, lost | uses | _values(sources, SourceKind.TRAJECTORY), sessions, names),
        notes=tuple(each.id for each in contents.notes if each.session_id in sessions),
        hashes=_survivors(contents, gone, trajectories, seeds),
        relearned=_relearned(contents, gone, trajectories),
        demoted=_demoted(contents, gone, lost=approvals | verdicts | evidence),
        exposed=tuple(e.id for e in contents.episodes if e.session_id in shown and e.id not in trajectories),
    )


def tombstones_of(descent: Descent, purge: Purge) -> list[Tombstone]:
    """The tombstones for what is purged: trajectories, versions and their contents, entries, and the named sessions.

    Each holds the reason; where nothing of these is purged, a tombstone of the purge itself does.
    """
    tombstone = Tombstone(id="", by=purge.by, at=purge.at, reason=purge.reason)
    sessions = [source.value for source in descent.sources if source.kind is SourceKind.SESSION]
    plain = [*descent.trajectories, *descent.versions, *descent.entries, *map(session_tombstone, sessions)]
    hashes = [replace(tombstone, id=hash_, survivors=left) for hash_, left in descent.hashes.items()]
    if purge.reason and not plain and not hashes:
        plain = [purge_tombstone(purge.at)]
    return [*(replace(tombstone, id=identity) for identity in plain), *hashes]


def demotion(stored: StoredVersion, purge: Purge) -> Transition:
    """The transition back to waiting for review."""
    return Transition(
        version_id=stored.version.id,
        content_hash=stored.version.hash,
        before=stored.status,
        after=Status.CANDIDATE,
        reason=f"what it was approved by was purged{': ' if purge.reason else ''}{purge.reason}",
        by=purge.by,
        at=purge.at,
    )


def _values(sources: Sequence[Source], kind: SourceKind) -> set[str]:
    return {source.value for source in sources if source.kind is kind and source.value}


def _sessions(contents: StoreContents, sources: Sequence[Source]) -> set[str]:
    """The named sessions, with their subagents' sessions."""
    found = _values(sources, SourceKind.SESSION)
    while more := {e.session_id for e in contents.episodes if e.parent_session_id in found and e.session_id} - found:
        found |= more
    return found


def _ended(contents: StoreContents, trajectories: set[str]) -> set[str]:
    """The sessions without any trajectory left."""
    left = {episode.session_id for episode in contents.episodes if episode.id not in trajectories}
    return {e.session_id for e in contents.episodes if e.id in trajectories and e.session_id} - left


def _entries(contents: StoreContents, lost: set[str], sessions: set[str], names: set[str]) -> tuple[str, ...]:
    """Entries based on what is purged, with all versions of a thing whose text became a purged skill."""
    things = {(each.sort, each.key) for each in contents.entries if each.version_id in lost}
    return tuple(
        each.id
        for each in contents.entries
        if lost & {each.id, *invariants.bases_of(each)}
        or each.session_id in sessions
        or each.by in names
        or (each.sort, each.key) in things
    )


def _trajectories(contents: StoreContents, sources: Sequence[Source]) -> set[str]:
    sessions, named = _sessions(contents, sources), _values(sources, SourceKind.TRAJECTORY)
    places = [source for source in sources if source.kind is SourceKind.IMPORTED]
    names = _values(sources, SourceKind.PRINCIPAL)
    chosen = [
        e for e in contents.episodes if e.id in named or e.session_id in sessions or e.parent_session_id in sessions
    ]
    if places or names:
        for episode in contents.episodes:
            whole = None if episode.pruned else contents.trajectory(episode.id)
            if whole is not None and (any(is_from(whole.source, each) for each in places) or whole.task.by in names):
                chosen.append(episode)
    return {
        e.id for e in contents.episodes if any(e.id == each.id or invariants.same_attempt(e, each) for each in chosen)
    }


def _is_version_from(contents: StoreContents, stored: StoredVersion, source: Source) -> bool:
    version = stored.version
    if source.kind is SourceKind.IMPORTED:
        digits = source.value.removeprefix(HASH)
        is_hash = len(digits) >= LEAST_HASH and version.hash.removeprefix(HASH).startswith(digits)
        return is_hash or is_from(version.provenance.source, source)
    if source.kind is SourceKind.PRINCIPAL:
        birth = next(iter(contents.transitions.get(version.id, ())), None)
        return version.provenance.made_by == source.value or (birth is not None and birth.by == source.value)
    return False


def _versions(contents: StoreContents, trajectories: set[str], seeds: set[str]) -> set[str]:
    gone = seeds | {s.version.id for s in contents.versions if invariants.trajectories_of(s.version) & trajectories}
    while True:
        hashes = {stored.version.hash for stored in contents.versions if stored.version.id in gone}
        more = {
            s.version.id for s in contents.versions if gone & set(s.version.parents) or s.version.hash in hashes
        } - gone
        if not more:
            return gone
        gone |= more


def _survivors(
    contents: StoreContents, gone: set[str], trajectories: set[str], seeds: set[str]
) -> dict[str, tuple[str, ...]]:
    """Content hash → remaining trajectories. What was imported, or made by a purged name, may not return at all."""
    known = [episode.id for episode in contents.episodes if episode.id not in trajectories]
    found: dict[str, tuple[str, ...]] = {}
    for stored in contents.versions:
        if stored.version.id in gone:
            barred = stored.version.id in seeds or stored.version.provenance.source
            left = () if barred else _ordered(invariants.trajectories_of(stored.version), known)
            found[stored.version.hash] = _ordered({*found.get(stored.version.hash, left)} & {*left}, known)
    return found


def _relearned(contents: StoreContents, gone: set[str], trajectories: set[str]) -> tuple[str, ...]:
    sources = {
        identity
        for s in contents.versions
        if s.version.id in gone
        for identity in invariants.trajectories_of(s.version)
    }
    sources |= {identity for v in contents.verdicts if v.version_id in gone for identity in v.trajectory_ids}
    sources |= {piece.trajectory_id for piece in contents.evidence if piece.version_id in gone}
    waiting = sources - trajectories
    return tuple(e.id for e in contents.episodes if e.id in waiting and not e.superseded and not e.pruned)


def _demoted(contents: StoreContents, gone: set[str], *, lost: set[str]) -> tuple[str, ...]:
    """Recallable versions that lose every approval, or, if they have none, something that policy relied on."""
    found = []
    for stored in contents.versions:
        version_id = stored.version.id
        if version_id in gone or stored.status not in RECALLABLE:
            continue
        own = {each.id for each in contents.approvals if each.version_id == version_id}
        if own <= lost if own else _policy_grounds(contents, version_id) & lost:
            found.append(version_id)
    return tuple(found)


def _policy_grounds(contents: StoreContents, version_id: str) -> set[str]:
    """Ids of what policy relied on, if policy made a version recallable."""
    life = contents.transitions.get(version_id, ())
    entry = next((step for step in reversed(life) if step.after is Status.TRIAL), None)
    if entry is None or not (entry.before is None or entry.by.startswith("tacit") or entry.by == "policy"):
        return set()
    verdicts = {verdict.id for verdict in contents.verdicts if verdict.version_id == version_id}
    return verdicts | {piece.id for piece in contents.evidence if piece.version_id == version_id}


def _ordered(chosen: set[str], order: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(identity for identity in order if identity in chosen))


_NO_PATHS = frozenset({"cli", "mcp"})
"""Sources of what did not come from a file."""
_ADDRESS = "://"
_SKILL = "skill.md"


def is_from(recorded: str, asked: Source) -> bool:
    """Whether a recorded source is the one asked for, below it (a folder, an archive), or the folder of its SKILL.md.

    Paths are compared as text, since a source may no longer exist.
    """
    if not recorded or recorded == asked.value:
        return bool(recorded)
    if not is_path(recorded) or not is_path(asked.value):
        return False
    there, here = (os.path.normpath(Path(asked.root) / path) for path in (recorded, asked.value))
    folder, name = os.path.split(here)
    return (
        there == here or there.startswith(here.rstrip(os.sep) + os.sep) or (name.lower() == _SKILL and there == folder)
    )


def is_path(recorded: str) -> bool:
    """Whether a source names a file or folder."""
    return bool(recorded) and recorded not in _NO_PATHS and _ADDRESS not in recorded and "\0" not in recorded


T = TypeVar("T")
_GUARDED = (
    "approvals", "evidence", "uses", "verdicts", "transitions", "versions", "skills", "trajectories", "version_words",
    "episode_words", "remarks", "entries", "passages", "passage_words",
)  # fmt: skip
_IN = "IN (SELECT value FROM json_each(?))"


class Purger:
    """Finds and removes what descends from a source, in every table."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables
        self._connection = tables.connection

    def descent(self, sources: Iterable[Source]) -> Descent:
        """Everything that came from these sources."""
        return find_descent(self._contents(), sources)

    def remove(self, descent: Descent, purge: Purge) -> None:
        """Remove it all; what remains waits to be learned from and decided on again."""
        for trajectory_id in descent.relearned:
            self._tables.trajectories.unlearn(trajectory_id, at=purge.at)
        with without_triggers(self._connection, *_GUARDED):
            self._delete_all(descent, purge)
        for version_id in descent.demoted:
            self._tables.skills.change(demotion(self._tables.skills.version(version_id), purge))
        for index in self._tables.word_indexes:
            index.rebuild_from_words()  # deleted entries would stay in the pages of the index
        self._tables.vectors.pack_after_removal()
        for tombstone in tombstones_of(descent, purge):
            self._tables.records.add(tombstone)

    def _contents(self) -> StoreContents:
        skills, records, trajectories = self._tables.skills, self._tables.records, self._tables.trajectories
        notes = self._tables.notes.rows
        versions = [skills.versions.at(seq) for seq in skills.versions.all_numbers()]
        return StoreContents(
            episodes=trajectories.episodes(unlearned=False, outcome=None, limit=None),
            versions=[skills.stored(row) for row in versions],
            transitions={row["id"]: skills.checked_transitions(row) for row in versions},
            verdicts=records.verdicts.all(),
            approvals=records.approvals.all(),
            uses=records.uses.all(),
            evidence=records.evidence.all(),
            remarks=records.remarks.all(),
            entries=records.all_entries(),
            notes=[notes.value(row) for row in notes.among(notes.all_numbers())],
            trajectory=trajectories.whole,
        )

    def _delete_all(self, descent: Descent, purge: Purge) -> None:
        skills, records, run = self._tables.skills, self._tables.records, self._connection.run
        outdated = [row["version_id"] for row in records.evidence.named(descent.evidence)]
        run(f"DELETE FROM renderings WHERE id {_IN}", json.dumps([*descent.versions, *outdated]))
        run(f"DELETE FROM outlines WHERE id {_IN}", json.dumps([*descent.trajectories, *descent.relearned]))
        self._delete_records(records.approvals, descent.approvals, purge)
        self._delete_records(records.evidence, descent.evidence, purge)
        self._delete_records(records.verdicts, descent.verdicts, purge)
        self._delete_records(records.remarks, descent.remarks, purge)
        self._delete_records(records.entries, descent.entries, purge)
        run(f"DELETE FROM jottings WHERE id {_IN}", json.dumps(descent.notes))
        self._delete_records(records.uses, descent.uses, purge)
        run(f"DELETE FROM transitions WHERE version_id {_IN}", json.dumps(descent.versions))
        versions = _in_order(skills.versions.named(descent.versions))
        run(f"DELETE FROM version_words WHERE seq {_IN}", json.dumps([row["seq"] for row in versions]))
        self._delete_passages(versions, purge)
        skills.composites.unrender({str(row["name"]) for row in versions})
        self._delete(skills.versions, versions, [*map(version_path, versions)], purge)
        skills.composites.forget()
        skills.written += 1
        families = _in_order(skills.skills.named(descent.skills))
        self._delete(skills.skills, families, [record_path("skills", row["id"]) for row in families], purge)
        attempts = _in_order(self._tables.trajectories.rows.named(descent.trajectories))
        run(f"DELETE FROM episode_words WHERE seq {_IN}", json.dumps([row["seq"] for row in attempts]))
        run(f"DELETE FROM blobs WHERE hash {_IN}", json.dumps([row["blob"] for row in attempts]))
        self._delete(
            self._tables.trajectories.rows,
            attempts,
            [record_path("trajectories", row["id"]) for row in attempts],
            purge,
        )

    def _delete_passages(self, versions: Sequence[Values], purge: Purge) -> None:
        for version in versions:
            rows = self._tables.passages.rows_of(version["seq"])
            self._connection.run(f"DELETE FROM passage_words WHERE seq {_IN}", json.dumps([row["seq"] for row in rows]))
            self._delete(self._tables.passages.rows, rows, [passages_path(version["id"])] if rows else [], purge)

    def _delete_records(self, table: AppendedRecords[T], ids: Sequence[str], purge: Purge) -> None:
        found = _in_order(table.named(ids))
        self._delete(table, found, [table.path(row) for row in found], purge)

    def _delete(self, rows: Rows, found: Sequence[Values], paths: Sequence[str], purge: Purge) -> None:
        """Delete rows, and add a link for each under the subject that the chain knows it by."""
        self._connection.run(f"DELETE FROM {rows.table} WHERE seq {_IN}", json.dumps([row["seq"] for row in found]))
        for path in paths:
            last = "SELECT subject FROM audit WHERE record = ? ORDER BY seq DESC LIMIT 1"
            subject = str(self._connection.single(last, path) or path.rsplit("/", 1)[-1])
            note = AuditNote(action="purge", subject=subject, actor=purge.by, at=purge.at)
            self._tables.audit.append(note, record=path, digest="")


def _in_order(rows: list[Values]) -> list[Values]:
    return sorted(rows, key=lambda row: int(row["seq"]))
