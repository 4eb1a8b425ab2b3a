"""Removes what descends from a source: ids in → rows gone, a link of the chain for each, and tombstones in their place.

All in the caller's transaction. The chain stays whole: its links hold ids and digests, never content. That nothing is left in
the file's free space is the connection's doing (`secure_delete`) and that of `wipe`, which empties the log.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

from tacit.domain.purging import Descent, Purge, Source
from tacit.store.appended_records import Outcomes, owned_path
from tacit.store.audit import Audit, Note, record_path
from tacit.store.connection import Connection
from tacit.store.descent import Kept, demotion, descend, stones_of
from tacit.store.ledger import entry_path
from tacit.store.passages import Passages, passages_path
from tacit.store.reindex import unguarded
from tacit.store.remarks import remark_path
from tacit.store.rows import Records, Rows, T, Values
from tacit.store.session_notes import Jottings
from tacit.store.skills import Skills, version_path
from tacit.store.tombstones import Tombstones
from tacit.store.trajectories import TABLE as TRAJECTORIES
from tacit.store.trajectories import Trajectories
from tacit.store.vectors import Vectors

_GUARDED = (
    "approvals", "evidence", "uses", "verdicts", "transitions", "versions", "skills", "trajectories", "version_words",
    "episode_words", "remarks", "entries", "passages", "passage_words",
)  # fmt: skip
_IN = "IN (SELECT value FROM json_each(?))"
_RECALLABLE_COUNTS = (
    "INSERT INTO recallable_counts SELECT term, count(*) FROM (SELECT DISTINCT seq, term FROM ({terms}) "
    "WHERE seq IN (SELECT seq FROM versions WHERE status IN ('trial', 'trusted'))) GROUP BY term"
)


class Purging:
    """Finds and removes what descends from a source, in every table."""

    def __init__(
        self, connection: Connection, audit: Audit, *, skills: Skills, trajectories: Trajectories, outcomes: Outcomes,
        vectors: Vectors,
    ) -> None:  # fmt: skip
        self._connection = connection
        self._audit = audit
        self._skills = skills
        self._trajectories = trajectories
        self._outcomes = outcomes
        self._vectors = vectors
        self._passages = Passages(connection, audit, skills)
        self._jottings = Jottings(connection)

    def descent(self, sources: Iterable[Source]) -> Descent:
        """Everything that came from these sources."""
        return descend(self._kept(), sources)

    def carry_out(self, descent: Descent, purge: Purge, tombstones: Tombstones) -> None:
        """Remove it all, and let what is left be learned from and decided on again."""
        for trajectory_id in descent.relearned:
            self._trajectories.unlearn(trajectory_id, at=purge.at)
        with unguarded(self._connection, *_GUARDED):
            self._remove(descent, purge)
        for version_id in descent.demoted:
            self._skills.change(demotion(self._skills.version(version_id), purge))
        self._index_anew("version", ("name", "description", "body", "extra"))
        self._index_anew("episode", ("task", "files", "project"))
        self._index_anew("passage", ("section", "text"))
        self._vectors.tidy()
        for stone in stones_of(descent, purge):
            tombstones.add(stone)

    def _kept(self) -> Kept:
        skills, outcomes, trajectories = self._skills, self._outcomes, self._trajectories
        versions = [skills.versions.at(seq) for seq in skills.versions.all_numbers()]
        return Kept(
            episodes=trajectories.episodes(unlearned=False, outcome=None, limit=None),
            versions=[skills.stored(row) for row in versions],
            lives={row["id"]: skills.life_of(row) for row in versions},
            verdicts=_values(outcomes.verdicts),
            approvals=_values(outcomes.approvals),
            uses=_values(outcomes.uses),
            evidence=_values(outcomes.evidence),
            remarks=_values(outcomes.remarks.rows),
            entries=_values(outcomes.ledger.rows),
            jottings=_values(self._jottings.rows),
            whole=trajectories.whole,
        )

    def _remove(self, descent: Descent, purge: Purge) -> None:
        skills, outcomes, run = self._skills, self._outcomes, self._connection.run
        shaken = [row["version_id"] for row in outcomes.evidence.named(descent.evidence)]
        run(f"DELETE FROM renderings WHERE id {_IN}", json.dumps([*descent.versions, *shaken]))
        run(f"DELETE FROM outlines WHERE id {_IN}", json.dumps([*descent.trajectories, *descent.relearned]))
        for rows, ids in (
            (outcomes.approvals, descent.approvals),
            (outcomes.evidence, descent.evidence),
            (outcomes.verdicts, descent.verdicts),
        ):
            found = _in_order(rows.named(ids))
            self._delete(rows, found, [owned_path(rows.table, row) for row in found], purge)
        remarks = _in_order(outcomes.remarks.rows.named(descent.remarks))
        self._delete(outcomes.remarks.rows, remarks, [*map(remark_path, remarks)], purge)
        entries = _in_order(outcomes.ledger.rows.named(descent.entries))
        self._delete(outcomes.ledger.rows, entries, [*map(entry_path, entries)], purge)
        run(f"DELETE FROM jottings WHERE id {_IN}", json.dumps(descent.jottings))
        self._plainly(outcomes.uses, descent.uses, purge)
        run(f"DELETE FROM transitions WHERE version_id {_IN}", json.dumps(descent.versions))
        versions = _in_order(skills.versions.named(descent.versions))
        run(f"DELETE FROM version_words WHERE seq {_IN}", json.dumps([row["seq"] for row in versions]))
        self._remove_passages(versions, purge)
        skills.composites.unrender({str(row["name"]) for row in versions})
        self._delete(skills.versions, versions, [*map(version_path, versions)], purge)
        skills.composites.forget()
        skills.written += 1
        self._plainly(skills.skills, descent.skills, purge)
        attempts = _in_order(self._trajectories.rows.named(descent.trajectories))
        run(f"DELETE FROM episode_words WHERE seq {_IN}", json.dumps([row["seq"] for row in attempts]))
        run(f"DELETE FROM blobs WHERE hash {_IN}", json.dumps([row["blob"] for row in attempts]))
        self._delete(
            self._trajectories.rows, attempts, [record_path(TRAJECTORIES, row["id"]) for row in attempts], purge
        )

    def _remove_passages(self, versions: Sequence[Values], purge: Purge) -> None:
        for version in versions:
            rows = self._passages.rows_of(version["seq"])
            self._connection.run(f"DELETE FROM passage_words WHERE seq {_IN}", json.dumps([row["seq"] for row in rows]))
            self._delete(self._passages.rows, rows, [passages_path(version["id"])] if rows else [], purge)

    def _plainly(self, rows: Rows, ids: Sequence[str], purge: Purge) -> None:
        found = _in_order(rows.named(ids))
        self._delete(rows, found, [record_path(rows.table, row["id"]) for row in found], purge)

    def _delete(self, rows: Rows, found: Sequence[Values], paths: Sequence[str], purge: Purge) -> None:
        """Delete rows and note each under the subject that the chain knows it by."""
        self._connection.run(f"DELETE FROM {rows.table} WHERE seq {_IN}", json.dumps([row["seq"] for row in found]))
        for path in paths:
            last = "SELECT subject FROM audit WHERE record = ? ORDER BY seq DESC LIMIT 1"
            subject = str(self._connection.single(last, path) or path.rsplit("/", 1)[-1])
            note = Note(action="purge", subject=subject, record=path, actor=purge.by, at=purge.at)
            self._audit.append(note, digest="")

    def _index_anew(self, name: str, fields: Sequence[str]) -> None:
        """Make a full-text index and its counts from the words that are left; a deleted entry would stay in its pages."""
        run = self._connection.run
        run(f"INSERT INTO {name}_index ({name}_index) VALUES ('rebuild')")
        run(f"DELETE FROM {name}_counts")
        run(f"INSERT INTO {name}_counts SELECT term, doc FROM {name}_terms")
        if name == "version":
            words = " || ' ' || ".join(fields)
            listed = f"""json_each('["' || replace({words}, ' ', '","') || '"]')"""
            terms = f"SELECT version_words.seq AS seq, value AS term FROM version_words, {listed} WHERE value <> ''"
            run("DELETE FROM recallable_counts")
            run(_RECALLABLE_COUNTS.format(terms=terms))


def purging_on(connection: Connection) -> Purging:
    """The same for a connection alone."""
    audit = Audit(connection)
    skills = Skills(connection, audit)
    return Purging(
        connection,
        audit,
        skills=skills,
        trajectories=Trajectories(connection, audit),
        outcomes=Outcomes(connection, audit),
        vectors=Vectors(connection, skills),
    )


def _in_order(rows: list[Values]) -> list[Values]:
    return sorted(rows, key=lambda row: int(row["seq"]))


def _values(rows: Records[T]) -> list[T]:
    return [rows.value(rows.at(seq)) for seq in rows.all_numbers()]
