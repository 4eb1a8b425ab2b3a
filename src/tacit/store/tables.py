"""All tables of one store, opened over one connection; how much they hold, and which ids begin with a prefix."""

from __future__ import annotations

from enum import StrEnum

from tacit.domain.evidence import Grade, Outcome
from tacit.domain.lifecycle import RECALLABLE, Status
from tacit.domain.skill import Kind
from tacit.domain.stored import Counts
from tacit.store.audit import Audit, is_gone
from tacit.store.connection import Connection, StoreDamaged
from tacit.store.passage_table import Passages
from tacit.store.progress import Bookmarks, Outlines, SessionNotes
from tacit.store.record_log import USE_KEYS_SINCE, RecordLog
from tacit.store.renderings import Renderings
from tacit.store.skills import Skills
from tacit.store.trajectories import Trajectories
from tacit.store.vectors import Vectors


class Tables:
    """The tables. Their methods run in the caller's transaction unless they say otherwise."""

    def __init__(self, connection: Connection, *, schema: int = USE_KEYS_SINCE) -> None:
        self.connection = connection
        self.audit = Audit(connection)
        self.records = RecordLog(connection, self.audit, schema=schema)
        self.trajectories = Trajectories(connection, self.audit, self.records.tombstone)
        self.skills = Skills(connection, self.audit, self.records.tombstone)
        self.renderings = Renderings(connection, self.skills)
        self.vectors = Vectors(connection, self.skills)
        self.passages = Passages(connection, self.audit, self.skills)
        self.bookmarks = Bookmarks(connection)
        self.outlines = Outlines(connection)
        self.notes = SessionNotes(connection)
        self.word_indexes = (self.skills.index, self.trajectories.index, self.passages.index)


MAX_IDS = 10
_END = "\U0010ffff"
_NAMED = ("skills", "versions", "trajectories", "uses")
_CURRENT = """
SELECT status, count(*) FROM (
  SELECT status, row_number() OVER (PARTITION BY skill_id ORDER BY status IN ({recallable}) DESC, seq DESC) AS place
  FROM versions)
WHERE place = 1 GROUP BY status
"""


def count_all(connection: Connection) -> Counts:
    """Count everything; superseded trajectories are not counted."""

    def counted(sql: str, known: type[StrEnum]) -> dict[str, int]:
        found: dict[str, int] = dict(connection.run(sql))
        for wrong in found.keys() - {str(value) for value in known}:
            raise StoreDamaged(connection.path, f"a {known.__name__.lower()}", "unknown_value", repr(wrong))
        return {str(value): found[value] for value in known if value in found}

    attempts = "FROM trajectories WHERE NOT superseded"
    recallable = ", ".join(f"'{status}'" for status in sorted(RECALLABLE))
    pages, free, size = (connection.single(f"PRAGMA {name}") for name in ("page_count", "freelist_count", "page_size"))
    return Counts(
        trajectories=connection.single(f"SELECT count(*) {attempts}"),
        learned=connection.single(f"SELECT count(*) {attempts} AND learned"),
        outcomes=counted(f"SELECT outcome, count(*) {attempts} GROUP BY outcome", Outcome),
        skills=counted(_CURRENT.format(recallable=recallable), Status),
        kinds=counted("SELECT kind, count(*) FROM skills GROUP BY kind", Kind),
        versions=connection.single("SELECT count(*) FROM versions"),
        uses=connection.single("SELECT count(*) FROM uses"),
        evidence=counted("SELECT grade, count(*) FROM evidence GROUP BY grade", Grade),
        audit=connection.single("SELECT count(*) FROM audit"),
        bytes=int((pages - free) * size),
    )


def ids_with_prefix(connection: Connection, prefix: str) -> list[str]:
    """The first ids, in order, that begin with `prefix`."""
    found: set[str] = set()
    for table in _NAMED:
        sql = f"SELECT id FROM {table} WHERE id >= ? AND id < ? ORDER BY id LIMIT {MAX_IDS}"
        found.update(row[0] for row in connection.run(sql, prefix, prefix + _END))
    if not found:  # an id that the audit chain knows and no table has is damage and not a typing error
        sql = "SELECT record, subject, action FROM audit WHERE subject >= ? AND subject < ? ORDER BY seq"
        last = {record: (subject, action) for record, subject, action in connection.run(sql, prefix, prefix + _END)}
        for record, (subject, action) in last.items():
            if record.startswith(tuple(f"{table}/" for table in _NAMED)) and not is_gone(action):
                raise StoreDamaged(connection.path, subject, "missing")
    return sorted(found)[:MAX_IDS]
