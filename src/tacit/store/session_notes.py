"""Notes that the agents of a running session share: one sealed row each, until it expires or is dropped.

Notes come and go, so they are not in the audit chain. Limits on their number and size are set elsewhere.
"""

from __future__ import annotations

from datetime import datetime

from tacit.domain.session import NoteKind, SessionNote
from tacit.store.connection import Connection, reads, writes
from tacit.store.encoding import aware, clean, stamp
from tacit.store.rows import Records, Values

COLUMNS = ("id", "session_id", "drawer", "agent", "expires_at")
"""The stored names of the table; `drawer` holds the kind of a note."""


class SessionNotes:
    """The table `jottings`, as session notes are stored."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self.rows = Records(connection, "jottings", kind=SessionNote, lookup=_note_columns, columns=COLUMNS)

    @writes
    def put(self, note: SessionNote) -> None:
        """Keep a note, in place of the one with its id."""
        aware(note.at)
        self.rows.replace(self.rows.columns_of(note))

    @reads
    def list(
        self, session_id: str, *, at: datetime, kind: NoteKind | None = None, agent: str | None = None
    ) -> list[SessionNote]:
        """The notes of a session that have not expired at a time, oldest first."""
        numbers = self.rows.numbers("session_id = ? AND expires_at > ?", clean(session_id), stamp(at))
        found = [self.rows.value(row) for row in self.rows.among(numbers)]
        return [
            note
            for note in found
            if note.session_id == session_id and kind in (None, note.kind) and agent in (None, note.agent)
        ]

    @writes
    def forget(self, *, session_id: str = "", at: datetime | None = None) -> int:
        """Drop the notes of a session, or those that have expired, or both conditions together; returns how many."""
        conditions = [("session_id = ?", clean(session_id))] if session_id else []
        conditions += [("expires_at <= ?", stamp(at))] if at is not None else []
        if not conditions:
            return 0
        condition, values = " AND ".join(each for each, _ in conditions), [value for _, value in conditions]
        count = int(self._connection.single(f"SELECT count(*) FROM jottings WHERE {condition}", *values))
        if count:
            self._connection.run(f"DELETE FROM jottings WHERE {condition}", *values)
        return count


def _note_columns(note: SessionNote) -> Values:
    return {
        "id": clean(note.id),
        "session_id": clean(note.session_id),
        "drawer": str(note.kind),
        "agent": clean(note.agent),
        "expires_at": stamp(note.expires_at),
    }
