"""How far each growing file has been taken in: one sealed row per file, rewritten as the file grows.

A bookmark says nothing about experience itself, so it is not in the audit chain: without it a file is read from its
beginning again, and what is known already adds nothing.
"""

from __future__ import annotations

from tacit.domain.ports import Bookmark
from tacit.memory.records import clean
from tacit.memory.sqlite.connection import Connection
from tacit.memory.sqlite.rows import Records, Values


class Bookmarks:
    """The table `bookmarks`."""

    def __init__(self, connection: Connection) -> None:
        self.rows = Records(connection, "bookmarks", kind=Bookmark, derive=_of_bookmark, columns=("id",))

    def find(self, path: str) -> Bookmark | None:
        """Fetch the bookmark of a file."""
        row = self.rows.find(clean(path))
        return self.rows.value(row) if row else None

    def keep(self, bookmark: Bookmark) -> None:
        """Write it, in place of the one before."""
        columns = self.rows.columns_of(bookmark)
        row = self.rows.find(columns["id"])
        if row is None:
            self.rows.add(columns)
        else:
            self.rows.change(row, record=columns["record"])


def _of_bookmark(bookmark: Bookmark) -> Values:
    return {"id": clean(bookmark.path)}
