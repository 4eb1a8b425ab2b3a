"""The ledger: entries of every sort, appended once, never changed, each a link of the chain under its key.

What an entry means, and which of several under one key holds, is its readers' business.
"""

from __future__ import annotations

from tacit.domain.entry import E, Entry
from tacit.domain.ledger import SORTS
from tacit.store import invariants
from tacit.store.audit import Audit, Note, record_path
from tacit.store.connection import Connection
from tacit.store.encoding import clean, stamp
from tacit.store.rows import Records, Values

TABLE = "entries"


class EntryRecords(Records[Entry]):
    """Rows of which each says what sort of entry it keeps."""

    def kind_of(self, row: Values) -> type[Entry]:
        """The type that is kept under the sort's name."""
        if row["sort"] not in SORTS:
            raise self.damage(row["id"], f"is of an unknown sort: {row['sort']!r}")
        return SORTS[row["sort"]]


class Ledger:
    """The table `entries`."""

    def __init__(self, connection: Connection, audit: Audit) -> None:
        self._audit = audit
        columns = ("id", "sort", "key", "session_id", "at")
        self.rows = EntryRecords(connection, TABLE, kind=Entry, derive=_of_entry, columns=columns)

    def add(self, entry: Entry) -> bool:
        """Append it; False if this very entry is known."""
        invariants.check_entry(entry)
        columns = self.rows.columns_of(entry)
        known = self.rows.find(columns["id"])
        if known is not None:
            if known["record"] != columns["record"]:
                raise invariants.same_id(type(entry).__name__.lower(), entry.id)
            return False
        row = self.rows.add(columns)
        note = Note(
            action=invariants.entry_action(entry), subject=entry.key, record=entry_path(row), actor=entry.by, at=entry.at
        )
        self._audit.append(note, digest=row["seal"])
        return True

    def list(self, sort: type[E], *, key: str, session_id: str) -> list[E]:
        """What is held of one sort, in order of arrival; of one session as far as it is found, else whole or it raises."""
        if key:
            rows = self.rows.among(self.rows.numbers("sort = ? AND key = ?", sort.SORT, clean(key)))
            self._audit.check_complete(TABLE, _owner(sort.SORT, key), found={entry_path(row) for row in rows})
        elif session_id:
            asked = "session_id = ? AND session_id <> '' AND sort = ?"  # as the index on sessions says it
            rows = self.rows.among(self.rows.numbers(asked, clean(session_id), sort.SORT))
        else:
            rows = self.rows.among(self.rows.numbers("sort = ?", sort.SORT))
            self._audit.check_all(TABLE, _owner(sort.SORT, ""), found={entry_path(row) for row in rows})
        found = [self.rows.value(row) for row in rows]
        return [entry for entry in found if isinstance(entry, sort) and session_id in ("", entry.session_id)]


def entry_path(row: Values) -> str:
    """The chain's name for an entry."""
    return record_path(TABLE, _owner(row["sort"], row["key"]), row["id"])


def _owner(sort: str, key: str) -> str:
    return f"{sort}/{key}"


def _of_entry(entry: Entry) -> Values:
    return {
        "id": clean(entry.id),
        "sort": entry.SORT,
        "key": clean(entry.key),
        "session_id": clean(entry.session_id),
        "at": stamp(entry.at),
    }
