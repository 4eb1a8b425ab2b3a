"""How far each growing file has been taken in: one sealed row per file, rewritten as the file grows.

A bookmark says nothing about experience itself, so it is not in the audit chain, and a damaged one counts as none: the
file is read from its beginning again, what is known already adds nothing, and the next bookmark takes its place.
"""

from __future__ import annotations

from tacit.domain.bookmark import Bookmark
from tacit.store.connection import Connection, Damaged
from tacit.store.encoding import clean
from tacit.store.rows import Records, Values


class Bookmarks:
    """The table `bookmarks`."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self.rows = Records(connection, "bookmarks", kind=Bookmark, derive=_of_bookmark, columns=("id",))

    def find(self, path: str) -> Bookmark | None:
        """Fetch the bookmark of a file."""
        try:
            row = self.rows.find(path)
            return self.rows.value(row) if row else None
        except Damaged:
            return None

    def keep(self, bookmark: Bookmark) -> None:
        """Write it, in place of the one before."""
        columns = self.rows.columns_of(bookmark)
        self._connection.run("DELETE FROM bookmarks WHERE id = ?", columns["id"])
        self.rows.add(columns)


def _of_bookmark(bookmark: Bookmark) -> Values:
    return {"id": clean(bookmark.path)}
