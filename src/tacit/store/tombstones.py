"""What stays of purged records: one sealed and audited row per id or hash, so that it is refused when it comes back."""

from __future__ import annotations

from tacit.domain.purging import Tombstone
from tacit.store.audit import Audit, Note, record_path
from tacit.store.connection import Connection, damaged
from tacit.store.encoding import aware, clean
from tacit.store.rows import Records, Values

TABLE = "tombstones"
SINCE = 6
"""The schema that brought the table."""


class Tombstones:
    """The table `tombstones`; in a store of an earlier schema nothing was ever purged."""

    def __init__(self, connection: Connection, audit: Audit, *, schema: int = SINCE) -> None:
        self.rows = Records(connection, TABLE, kind=Tombstone, derive=_of_stone, columns=("id",))
        self._connection = connection
        self._audit = audit
        self._known = schema >= SINCE

    def find(self, identity: str) -> Tombstone | None:
        """The stone of an id or hash; raises if there was one that is gone."""
        if not self._known:
            return None
        row = self.rows.find(identity)
        if row is not None:
            return self.rows.value(row)
        if self._connection.single("SELECT 1 FROM audit WHERE record = ?", record_path(TABLE, identity)):
            raise damaged(self._connection.path, f"{TABLE} {identity}", "is missing")
        return None

    def all(self) -> list[Tombstone]:
        """Every stone, oldest first; raises if one is missing."""
        return [self.rows.value(self.rows.at(seq)) for seq in self.rows.all_numbers()] if self._known else []

    def add(self, stone: Tombstone) -> None:
        """Set a stone where there is none."""
        if self.find(stone.id) is not None:
            return
        row = self.rows.add(self.rows.columns_of(stone))
        path = record_path(TABLE, stone.id)
        note = Note(action="tombstone", subject=stone.id, record=path, actor=stone.by, at=aware(stone.at))
        self._audit.append(note, digest=row["seal"])


def _of_stone(stone: Tombstone) -> Values:
    return {"id": clean(stone.id)}
