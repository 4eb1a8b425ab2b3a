"""All tables of one store, opened over one connection."""

from __future__ import annotations

from tacit.store.audit import Audit
from tacit.store.connection import Connection
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
