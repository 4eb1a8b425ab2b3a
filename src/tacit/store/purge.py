"""Purging: deletes the rows that descend from a source, adds a link of the audit chain for each, and tombstones.

All in the caller's transaction. The chain stays whole: its links hold ids and digests, never content. `secure_delete` and
`Connection.wipe` leave nothing in the file's free space and log.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import TypeVar

from tacit.domain.archive import Descent, Purge, Source
from tacit.store.audit import AuditNote, record_path
from tacit.store.descent import StoreContents, demotion, find_descent, tombstones_of
from tacit.store.passage_table import passages_path
from tacit.store.record_log import AppendedRecords
from tacit.store.rows import Rows, Values
from tacit.store.skills import version_path
from tacit.store.tables import Tables
from tacit.store.word_index import without_triggers

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
        for index in (self._tables.skills.index, self._tables.trajectories.index, self._tables.passages.index):
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
