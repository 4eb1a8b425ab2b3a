"""Working memory of sessions: one sealed row for each thing, until it expires or is forgotten.

It is written and taken away again, so it is not in the audit chain. How much may lie there is not decided here.
"""

from __future__ import annotations

from datetime import datetime

from tacit.domain.working import Drawer, Jotting
from tacit.store.connection import Connection
from tacit.store.encoding import aware, clean, stamp
from tacit.store.rows import Records, Values


class Jottings:
    """The table `jottings`."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        columns = ("id", "session_id", "drawer", "agent", "expires_at")
        self.rows = Records(connection, "jottings", kind=Jotting, derive=_of_jotting, columns=columns)

    def put(self, jotting: Jotting) -> None:
        """Keep it, in place of what lay there."""
        aware(jotting.at)
        columns = self.rows.columns_of(jotting)
        self._connection.run("DELETE FROM jottings WHERE id = ?", columns["id"])
        self.rows.add(columns)

    def list(self, session_id: str, *, at: datetime, drawer: Drawer | None, agent: str | None) -> list[Jotting]:
        """What a session holds that has not expired, in the order in which it was written."""
        numbers = self.rows.numbers("session_id = ? AND expires_at > ?", clean(session_id), stamp(at))
        found = [self.rows.value(row) for row in self.rows.among(numbers)]
        return [
            each
            for each in found
            if each.session_id == session_id and drawer in (None, each.drawer) and agent in (None, each.agent)
        ]

    def forget(self, *, session_id: str, at: datetime | None) -> int:
        """Drop what a session holds, or what has expired; with both, what of that session has expired."""
        asked = [("session_id = ?", clean(session_id))] if session_id else []
        asked += [("expires_at <= ?", stamp(at))] if at is not None else []
        if not asked:
            return 0
        condition, values = " AND ".join(each for each, _ in asked), [value for _, value in asked]
        gone = int(self._connection.single(f"SELECT count(*) FROM jottings WHERE {condition}", *values))
        if gone:
            self._connection.run(f"DELETE FROM jottings WHERE {condition}", *values)
        return gone


def _of_jotting(jotting: Jotting) -> Values:
    return {
        "id": clean(jotting.id),
        "session_id": clean(jotting.session_id),
        "drawer": str(jotting.drawer),
        "agent": clean(jotting.agent),
        "expires_at": stamp(jotting.expires_at),
    }
