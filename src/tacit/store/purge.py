"""Purging: finds what descends from a source, deletes its rows, and adds a link of the audit chain for each, and tombstones.

A version descends from the trajectories it was learned from, from its parents, and from versions with its content. Uses and
evidence of a version descend from it: a run that saw bad text is no evidence about anything.

All in the caller's transaction. The chain stays whole: its links hold ids and digests, never content. `secure_delete` and
`Connection.wipe` leave nothing in the file's free space and log.
"""

from __future__ import annotations

import json
import os.path
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from tacit.domain.archive import Descent, Purge, Source, SourceKind, Tombstone, purge_tombstone, session_tombstone
from tacit.domain.lifecycle import RECALLABLE, Status, Transition
from tacit.domain.stored import StoredVersion
from tacit.store import invariants
from tacit.store.audit import AuditNote, record_path
from tacit.store.passage_table import passages_path
from tacit.store.rows import Rows, Values
from tacit.store.skills import version_path
from tacit.store.tables import Tables
from tacit.store.word_index import without_triggers

HASH = "sha256:"
LEAST_HASH = 12
"""The fewest hex digits of a hash that name a content."""


class DescentSearch:
    """Finds what came from some sources, in everything of a store that has provenance."""

    def __init__(self, tables: Tables) -> None:
        skills, records, notes = tables.skills, tables.records, tables.notes.rows
        rows = [skills.versions.at(seq) for seq in skills.versions.all_numbers()]
        self.episodes = tables.trajectories.episodes()
        self.trajectory = tables.trajectories.whole
        self.versions = [skills.stored(row) for row in rows]
        self.transitions: dict[str, list[Transition]] = {row["id"]: skills.checked_transitions(row) for row in rows}
        """By version, oldest first."""
        self.verdicts = records.verdicts.all()
        self.approvals = records.approvals.all()
        self.uses = records.uses.all()
        self.evidence = records.evidence.all()
        self.remarks = records.remarks.all()
        self.entries = records.all_entries()
        self.notes = [notes.value(row) for row in notes.among(notes.all_numbers())]

    def find(self, sources: Iterable[Source]) -> Descent:
        """Everything that came from these sources."""
        sources = tuple(dict.fromkeys(source for source in sources if source.value))
        names, sessions = _values(sources, SourceKind.PRINCIPAL), self._sessions(sources)
        trajectories = self._trajectories(sources, sessions, names)
        seeds = {s.version.id for s in self.versions if any(self._is_version_from(s, each) for each in sources)}
        gone = self._versions(trajectories, seeds)
        versions = [stored for stored in self.versions if stored.version.id in gone]
        gone_or_same = gone | {stored.version.hash for stored in versions}
        left = {stored.skill.id for stored in self.versions if stored.version.id not in gone}
        skills = tuple(dict.fromkeys(stored.skill.id for stored in versions if stored.skill.id not in left))
        shown = {use.session_id for use in self.uses if gone & set(use.version_ids) and use.session_id}
        uses = tuple(use.id for use in self.uses if gone & set(use.version_ids) or use.session_id in sessions)
        origins = {*gone, *uses, *trajectories}
        evidence = tuple(
            piece.id
            for piece in self.evidence
            if origins & {piece.version_id, piece.use_id, piece.trajectory_id} or piece.by in names
        )
        verdicts = tuple(
            verdict.id
            for verdict in self.verdicts
            if gone_or_same & {verdict.version_id, verdict.content_hash} or trajectories & set(verdict.trajectory_ids)
        )
        approvals = tuple(each.id for each in self.approvals if each.version_id in gone or each.by in names)
        lost = {*gone, *skills, *trajectories}
        remarks = (each.id for each in self.remarks if lost & {each.subject, each.other} or each.by in names)
        with_attempts = {episode.session_id for episode in self.episodes if episode.id not in trajectories}
        sessions |= {e.session_id for e in self.episodes if e.id in trajectories and e.session_id} - with_attempts
        named = _values(sources, SourceKind.TRAJECTORY)
        return Descent(
            sources=sources,
            trajectories=tuple(episode.id for episode in self.episodes if episode.id in trajectories),
            versions=tuple(stored.version.id for stored in versions),
            skills=skills,
            verdicts=verdicts,
            approvals=approvals,
            uses=uses,
            evidence=evidence,
            remarks=tuple(remarks),
            entries=self._entries({*lost, *uses, *named}, sessions, names),
            notes=tuple(each.id for each in self.notes if each.session_id in sessions),
            hashes=self._survivors(versions, trajectories, seeds),
            relearned=self._relearned(versions, trajectories),
            demoted=self._demoted(gone, lost={*approvals, *verdicts, *evidence}),
            exposed=tuple(e.id for e in self.episodes if e.session_id in shown and e.id not in trajectories),
        )

    def _sessions(self, sources: Sequence[Source]) -> set[str]:
        """The named sessions, with their subagents' sessions."""
        found = _values(sources, SourceKind.SESSION)
        while more := {e.session_id for e in self.episodes if e.parent_session_id in found and e.session_id} - found:
            found |= more
        return found

    def _entries(self, lost: set[str], sessions: set[str], names: set[str]) -> tuple[str, ...]:
        """Entries based on what is purged, with all versions of a thing whose text became a purged skill."""
        things = {(each.sort, each.key) for each in self.entries if each.version_id in lost}
        return tuple(
            each.id
            for each in self.entries
            if lost & {each.id, *invariants.bases_of(each)}
            or each.session_id in sessions
            or each.by in names
            or (each.sort, each.key) in things
        )

    def _trajectories(self, sources: Sequence[Source], sessions: set[str], names: set[str]) -> set[str]:
        """The trajectories that came from the sources, in all captures of them."""
        named = _values(sources, SourceKind.TRAJECTORY)
        places = [source for source in sources if source.kind is SourceKind.IMPORTED]
        chosen = []
        for episode in self.episodes:
            is_chosen = episode.id in named or not sessions.isdisjoint({episode.session_id, episode.parent_session_id})
            if not is_chosen and (places or names) and not episode.pruned:
                whole = self.trajectory(episode.id)
                is_chosen = whole.task.by in names or any(is_from(whole.source, each) for each in places)
            if is_chosen:
                chosen.append(episode)
        return {
            e.id for e in self.episodes if any(e.id == each.id or invariants.same_attempt(e, each) for each in chosen)
        }

    def _is_version_from(self, stored: StoredVersion, source: Source) -> bool:
        version = stored.version
        if source.kind is SourceKind.IMPORTED:
            digits = source.value.removeprefix(HASH)
            is_hash = len(digits) >= LEAST_HASH and version.hash.removeprefix(HASH).startswith(digits)
            return is_hash or is_from(version.provenance.source, source)
        if source.kind is SourceKind.PRINCIPAL:
            birth = next(iter(self.transitions.get(version.id, ())), None)
            return version.provenance.made_by == source.value or (birth is not None and birth.by == source.value)
        return False

    def _versions(self, trajectories: set[str], seeds: set[str]) -> set[str]:
        """The seeds and what was learned from the trajectories, with all that descends from these or has their content."""
        gone = seeds | {s.version.id for s in self.versions if invariants.trajectories_of(s.version) & trajectories}
        while True:
            hashes = {stored.version.hash for stored in self.versions if stored.version.id in gone}
            more = {s.version.id for s in self.versions if gone & set(s.version.parents) or s.version.hash in hashes}
            if more <= gone:
                return gone
            gone |= more

    def _survivors(
        self, versions: Sequence[StoredVersion], trajectories: set[str], seeds: set[str]
    ) -> dict[str, tuple[str, ...]]:
        """Content hash → remaining trajectories. What was imported, or made by a purged name, may not return at all."""
        known = [episode.id for episode in self.episodes if episode.id not in trajectories]
        found: dict[str, set[str]] = {}
        for stored in versions:
            version = stored.version
            barred = version.id in seeds or version.provenance.source
            left = set() if barred else invariants.trajectories_of(version)
            found[version.hash] = found.get(version.hash, left) & left
        return {hash_: tuple(identity for identity in known if identity in left) for hash_, left in found.items()}

    def _relearned(self, versions: Sequence[StoredVersion], trajectories: set[str]) -> tuple[str, ...]:
        """The trajectories that remain and from which a purged version was made, decided on or confirmed."""
        gone = {stored.version.id for stored in versions}
        sources = set().union(*(invariants.trajectories_of(stored.version) for stored in versions))
        sources |= {identity for v in self.verdicts if v.version_id in gone for identity in v.trajectory_ids}
        sources |= {piece.trajectory_id for piece in self.evidence if piece.version_id in gone}
        waiting = sources - trajectories
        return tuple(e.id for e in self.episodes if e.id in waiting and not e.superseded and not e.pruned)

    def _demoted(self, gone: set[str], *, lost: set[str]) -> tuple[str, ...]:
        """Recallable versions that lose every approval, or, if they have none, something that policy relied on."""
        found = []
        for stored in self.versions:
            version_id = stored.version.id
            if version_id in gone or stored.status not in RECALLABLE:
                continue
            own = {each.id for each in self.approvals if each.version_id == version_id}
            if own <= lost if own else self._policy_grounds(version_id) & lost:
                found.append(version_id)
        return tuple(found)

    def _policy_grounds(self, version_id: str) -> set[str]:
        """Ids of what policy relied on, if policy made a version recallable."""
        life = self.transitions.get(version_id, ())
        entry = next((step for step in reversed(life) if step.after is Status.TRIAL), None)
        if entry is None or not (entry.before is None or entry.by.startswith("tacit") or entry.by == "policy"):
            return set()
        verdicts = {verdict.id for verdict in self.verdicts if verdict.version_id == version_id}
        return verdicts | {piece.id for piece in self.evidence if piece.version_id == version_id}


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


def _values(sources: Sequence[Source], kind: SourceKind) -> set[str]:
    return {source.value for source in sources if source.kind is kind}


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


_GUARDED = (
    "approvals", "evidence", "uses", "verdicts", "transitions", "versions", "skills", "trajectories", "version_words",
    "episode_words", "remarks", "entries", "passages", "passage_words",
)  # fmt: skip


class Purger:
    """Finds and removes what descends from a source, in every table."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables
        self._connection = tables.connection

    def descent(self, sources: Iterable[Source]) -> Descent:
        """Everything that came from these sources."""
        return DescentSearch(self._tables).find(sources)

    def remove(self, descent: Descent, purge: Purge) -> None:
        """Remove it all; what remains waits to be learned from and decided on again."""
        for trajectory_id in descent.relearned:
            self._tables.trajectories.unlearn(trajectory_id, at=purge.at)
        with without_triggers(self._connection, *_GUARDED):
            self._delete_all(descent, purge)
        reason = f"what it was approved by was purged{': ' if purge.reason else ''}{purge.reason}"
        for version_id in descent.demoted:
            stored = self._tables.skills.version(version_id)
            self._tables.skills.change(stored.transition_to(Status.CANDIDATE, reason, by=purge.by, at=purge.at))
        for index in self._tables.word_indexes:
            index.rebuild_from_words()  # deleted entries would stay in the pages of the index
        self._tables.vectors.pack_after_removal()
        for tombstone in tombstones_of(descent, purge):
            self._tables.records.add(tombstone)

    def _delete_all(self, descent: Descent, purge: Purge) -> None:
        skills, records, passages = self._tables.skills, self._tables.records, self._tables.passages
        attempts = self._tables.trajectories.rows
        outdated = [row["version_id"] for row in records.evidence.named(descent.evidence)]
        self._drop("renderings", "id", [*descent.versions, *outdated])
        self._drop("outlines", "id", [*descent.trajectories, *descent.relearned])
        self._drop("jottings", "id", descent.notes)
        for table, ids in (
            (records.approvals, descent.approvals),
            (records.evidence, descent.evidence),
            (records.verdicts, descent.verdicts),
            (records.remarks, descent.remarks),
            (records.entries, descent.entries),
            (records.uses, descent.uses),
        ):
            found = _in_order(table.named(ids))
            self._delete(table, found, [table.path(row) for row in found], purge)
        self._drop("transitions", "version_id", descent.versions)
        versions = _in_order(skills.versions.named(descent.versions))
        self._drop("version_words", "seq", [row["seq"] for row in versions])
        for version in versions:
            rows = passages.rows_of(version["seq"])
            self._drop("passage_words", "seq", [row["seq"] for row in rows])
            self._delete(passages.rows, rows, [passages_path(version["id"])] if rows else [], purge)
        skills.composites.unrender({str(row["name"]) for row in versions})
        self._delete(skills.versions, versions, [*map(version_path, versions)], purge)
        skills.composites.forget()
        skills.written += 1
        families = _in_order(skills.skills.named(descent.skills))
        self._delete(skills.skills, families, [record_path("skills", row["id"]) for row in families], purge)
        gone = _in_order(attempts.named(descent.trajectories))
        self._drop("episode_words", "seq", [row["seq"] for row in gone])
        self._drop("blobs", "hash", [row["blob"] for row in gone])
        self._delete(attempts, gone, [record_path("trajectories", row["id"]) for row in gone], purge)

    def _delete(self, rows: Rows, found: Sequence[Values], paths: Sequence[str], purge: Purge) -> None:
        """Delete rows, and add a link for each under the subject that the chain knows it by."""
        self._drop(rows.table, "seq", [row["seq"] for row in found])
        for path in paths:
            last = "SELECT subject FROM audit WHERE record = ? ORDER BY seq DESC LIMIT 1"
            subject = str(self._connection.single(last, path) or path.rsplit("/", 1)[-1])
            note = AuditNote(action="purge", subject=subject, actor=purge.by, at=purge.at)
            self._tables.audit.append(note, record=path, digest="")

    def _drop(self, table: str, column: str, values: Sequence[str | int]) -> None:
        sql = f"DELETE FROM {table} WHERE {column} IN (SELECT value FROM json_each(?))"
        self._connection.run(sql, json.dumps(values))


def _in_order(rows: list[Values]) -> list[Values]:
    return sorted(rows, key=lambda row: int(row["seq"]))
