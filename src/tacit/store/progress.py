"""What is not in the audit chain: a bookmark per file that was read, an outline per trajectory, notes of running sessions.

Bookmarks and outlines can be made again, so a damaged row counts as missing: the file is read from its
beginning, the outline is made from its trajectory, and the new row takes the old one's place.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from datetime import datetime

from tacit.domain.outline import OUTLINE_VERSION, Outline
from tacit.domain.stored import Bookmark, NoteKind, SessionNote
from tacit.store.connection import Connection, StoreDamaged, reads, writes
from tacit.store.encoding import aware, clean, stamp
from tacit.store.rows import Records, same_names

_CURRENT = "(SELECT id FROM trajectories WHERE pruned = 0 AND superseded = 0)"


class Bookmarks:
    """The table `bookmarks`: how far each growing file has been read."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self.rows = Records(connection, "bookmarks", kind=Bookmark, columns={"id": "path"})

    @reads
    def get(self, path: str) -> Bookmark | None:
        """The bookmark of a file, if there is one."""
        try:
            row = self.rows.find(path)
            return self.rows.value(row) if row else None
        except StoreDamaged:
            return None

    @writes
    def put(self, bookmark: Bookmark) -> None:
        """Keep a bookmark, in place of the file's previous one."""
        self.rows.replace(self.rows.columns_of(bookmark))


class Outlines:
    """The table `outlines`: trajectories in outline, and whether mining has seen each."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        columns = {"id": "trajectory_id", "version": "version", "mined": None}
        self.rows = Records(connection, "outlines", kind=Outline, columns=columns)

    @writes
    def put(self, outline: Outline) -> None:
        """Keep an outline, in place of the trajectory's previous one; it then waits to be mined."""
        self.rows.replace({**self.rows.columns_of(outline), "mined": 0})

    @reads
    def all(self) -> list[Outline]:
        """The outlines of all trajectories that are neither superseded nor pruned, oldest first."""
        found = []
        for seq in self.rows.numbers(f"version = {OUTLINE_VERSION} AND id IN {_CURRENT}"):
            try:
                found.append(self.rows.value(self.rows.at(seq)))
            except StoreDamaged:
                continue  # `verify` reports it, `missing` names it
        return found

    @reads
    def of(self, trajectory_ids: Iterable[str]) -> list[Outline]:
        """The outlines of these trajectories, in this order, without those that are missing."""
        found = []
        for trajectory_id in trajectory_ids:
            with suppress(StoreDamaged):
                row = self.rows.find(trajectory_id)
                if row and row["version"] == OUTLINE_VERSION:
                    found.append(self.rows.value(row))
        return found

    @reads
    def missing(self) -> list[str]:
        """Ids of learned trajectories without a readable outline of the present version."""
        readable = {outline.trajectory_id for outline in self.all()}
        sql = "SELECT id FROM trajectories WHERE learned = 1 AND pruned = 0 AND superseded = 0 ORDER BY seq"
        return [identity for (identity,) in self._connection.run(sql) if identity not in readable]

    @reads
    def unmined(self) -> list[str]:
        """Ids of trajectories whose outlines wait to be mined, oldest first."""
        sql = f"SELECT id FROM outlines WHERE mined = 0 AND id IN {_CURRENT} ORDER BY seq"
        return [row[0] for row in self._connection.run(sql)]

    @writes
    def mark_mined(self, trajectory_ids: Iterable[str]) -> None:
        """Note that these outlines have been mined."""
        for trajectory_id in trajectory_ids:
            try:
                row = self.rows.find(trajectory_id)
            except StoreDamaged:
                self._connection.run("DELETE FROM outlines WHERE id = ?", clean(trajectory_id))
                continue
            if row and not row["mined"]:
                self.rows.change(row, mined=1)

    def forget_pruned(self) -> None:
        """Drop the outlines of pruned trajectories: retention covers them too."""
        self._connection.run("DELETE FROM outlines WHERE id IN (SELECT id FROM trajectories WHERE pruned = 1)")


class SessionNotes:
    """The table `jottings`, as session notes are stored."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        columns = {**same_names("id", "session_id"), "drawer": "kind", **same_names("agent", "expires_at")}
        self.rows = Records(connection, "jottings", kind=SessionNote, columns=columns)

    @writes
    def put(self, note: SessionNote) -> None:
        """Keep a note, in place of the one with its id."""
        aware(note.at)
        self.rows.replace(self.rows.columns_of(note))

    @reads
    def list(self, session_id: str, *, at: datetime, kind: NoteKind | None = None) -> list[SessionNote]:
        """The notes of a session that have not expired at a time, oldest first."""
        numbers = self.rows.numbers("session_id = ? AND expires_at > ?", session_id, stamp(at))
        found = [self.rows.value(row) for row in self.rows.among(numbers)]
        return [note for note in found if note.session_id == session_id and kind in (None, note.kind)]

    @writes
    def forget(self, *, session_id: str = "", at: datetime | None = None) -> int:
        """Drop the notes of a session, or those that have expired, or both conditions together; returns how many."""
        if not session_id and at is None:
            return 0
        ended = None if at is None else stamp(at)
        asked = "(? = '' OR session_id = ?) AND (? IS NULL OR expires_at <= ?)"
        sql = f"DELETE FROM jottings WHERE {asked} RETURNING seq"
        return len(self._connection.run(sql, session_id, session_id, ended, ended))
