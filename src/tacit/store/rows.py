"""Tables of sealed rows: a row is returned only if its seal still fits. `seals` defines what a seal covers."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime
from operator import attrgetter
from typing import Any, Generic, TypeVar

from tacit.store.connection import Connection, Row, StoreDamaged
from tacit.store.encoding import UnreadableRecord, clean, pack, stamp, unpack
from tacit.store.seals import seal_of

T = TypeVar("T")
Values = dict[str, Any]
"""Column → value, with `seq` and `seal`."""


class Rows:
    """The sealed rows of one table. `columns` leaves out `seq` and `seal`, which every table has."""

    def __init__(self, connection: Connection, table: str, columns: Sequence[str], *, hint: str = "") -> None:
        """`hint` says what to do about a damaged row, if not to restore a backup."""
        self.table = table
        self._hint = hint
        self._connection = connection
        self._columns = ("seq", *columns)
        self._all_columns = (*self._columns, "seal")
        listed = ", ".join(self._all_columns)
        marks = ", ".join("?" * (len(self._columns) + 1))
        self._insert = f"INSERT INTO {table} ({listed}) VALUES ({marks})"
        self._select = f"SELECT {listed} FROM {table} WHERE seq = ?"
        self._select_among = f"SELECT {listed} FROM {table} WHERE seq IN (SELECT value FROM json_each(?))"
        self._label = "id" if "id" in columns else "seq"

    def next_seq(self) -> int:
        """The number that the next row gets."""
        return int(self._connection.single(f"SELECT coalesce(max(seq), 0) + 1 FROM {self.table}"))

    def add(self, values: Mapping[str, Any], *, seq: int | None = None) -> Values:
        """Append a row and return it as it was written."""
        row = {"seq": self.next_seq() if seq is None else seq, **values}
        ordered = [_kept(row[column]) for column in self._columns]
        seal = seal_of(self.table, ordered)
        self._connection.run(self._insert, *ordered, seal)
        return {**dict(zip(self._columns, ordered, strict=True)), "seal": seal}

    def change(self, row: Values, **changes: Any) -> Values:
        """Write changed columns of a row that was just read, with a new seal."""
        new = {**row, **{column: _kept(value) for column, value in changes.items()}}
        new["seal"] = seal_of(self.table, [new[column] for column in self._columns])
        assignments = ", ".join(f"{column} = ?" for column in (*changes, "seal"))
        values = [new[column] for column in (*changes, "seal")]
        self._connection.run(f"UPDATE {self.table} SET {assignments} WHERE seq = ?", *values, row["seq"])
        return new

    def at(self, seq: int) -> Values:
        """Read one row by its number; raises if it is missing or its seal does not fit."""
        try:
            found = self._connection.run(self._select, seq)
        except StoreDamaged as error:
            raise self.damage(seq, error.code, detail=error.detail) from error
        if not found:
            raise self.damage(seq, "missing")
        return self.checked(found[0])

    def replace(self, values: Mapping[str, Any]) -> Values:
        """Append a row, in place of the one with its id."""
        self._connection.run(f"DELETE FROM {self.table} WHERE id = ?", values["id"])
        return self.add(values)

    def among(self, numbers: Sequence[int]) -> list[Values]:
        """Read rows by their numbers, in that order, in one statement; raises as `at` does."""
        try:
            rows = self._connection.run(self._select_among, json.dumps(list(numbers)))
        except StoreDamaged:
            rows = []  # `at` finds out which
        found = {row[0]: row for row in rows}
        return [self.checked(found[seq]) if seq in found else self.at(seq) for seq in numbers]

    def find(self, identity: str) -> Values | None:
        """Read one row by its id; `None` if there is none."""
        seq = self._connection.single(f"SELECT seq FROM {self.table} WHERE id = ?", identity)
        if seq is None:
            return None
        row = self.at(seq)
        if row["id"] != clean(identity):
            raise self.damage(identity, "wrong_index")
        return row

    def named(self, identities: Collection[str]) -> list[Values]:
        """Read the rows with these ids; missing ones are left out."""
        wanted = {clean(identity) for identity in identities}
        sql = f"SELECT seq FROM {self.table} WHERE id IN (SELECT value FROM json_each(?))"
        rows = self.among([row[0] for row in self._connection.run(sql, json.dumps(list(wanted)))])
        for row in (row for row in rows if row["id"] not in wanted):
            raise self.damage(row["id"], "wrong_index")
        return rows

    def numbers(self, condition: str = "TRUE", *values: Any, order: str = "seq") -> list[int]:
        """The numbers of the rows that meet a condition."""
        sql = f"SELECT seq FROM {self.table} WHERE {condition} ORDER BY {order}"
        return [row[0] for row in self._connection.run(sql, *values)]

    def all_numbers(self) -> list[int]:
        """The numbers of all rows, oldest first; raises if the table and its index of ids differ: then a row is lost."""
        numbers = [row[0] for row in self._connection.run(f"SELECT seq FROM {self.table} NOT INDEXED ORDER BY seq")]
        self.check_census(len(numbers), sum(numbers))
        return numbers

    def latest_numbers(self, count: int) -> list[int]:
        """The numbers of the newest rows, oldest first."""
        found = self._connection.run(f"SELECT seq FROM {self.table} NOT INDEXED ORDER BY seq DESC LIMIT ?", count)
        return [row[0] for row in found][::-1]

    def check_census(self, count: int, total: int) -> None:
        """Raise unless the index of ids has this many rows, with numbers that sum to this total."""
        index = f"sqlite_autoindex_{self.table}_1"
        known = self._connection.run(f"SELECT count(*), coalesce(sum(seq), 0) FROM {self.table} INDEXED BY {index}")
        if known != [(count, total)]:
            raise StoreDamaged(self._connection.path, f"the table {self.table}", "row_count")

    def damage(self, label: object, code: str, *, detail: str = "") -> StoreDamaged:
        """The error for one of this table's rows."""
        error = StoreDamaged(self._connection.path, f"{self.table} {label}", code, detail)
        error.hint = self._hint or error.hint
        return error

    def checked(self, values: Row) -> Values:
        """A row that was just read, as a dictionary; raises unless its seal fits."""
        row = dict(zip(self._all_columns, values, strict=True))
        if row["seal"] != seal_of(self.table, values[:-1]):
            raise self.damage(row[self._label], "wrong_seal")
        return row


Columns = Mapping[str, str | Callable[[Any], Any] | None]
"""Column → the attribute or function of a value that it repeats; nothing where the caller gives what the column holds."""


def same_names(*names: str) -> dict[str, str]:
    """Columns that hold the attributes of the same names."""
    return {name: name for name in names}


class Records(Rows, Generic[T]):
    """Sealed rows that each hold one domain value, and columns derived from it to look it up by."""

    def __init__(self, connection: Connection, table: str, *, kind: type[T], columns: Columns) -> None:
        super().__init__(connection, table, (*columns, "record"))
        self._kind = kind
        self._derived = {
            column: attrgetter(source) if isinstance(source, str) else source
            for column, source in columns.items()
            if source is not None
        }

    def columns_of(self, value: T) -> Values:
        """The value as columns: those it is looked up by, and the record itself."""
        return {**self._lookup(value), "record": pack(value)}

    def value(self, row: Values, kind: type[T] | None = None) -> T:
        """Read the value in a row; raises unless the columns fit it."""
        try:
            value = unpack(row["record"], kind or self._kind)
        except UnreadableRecord as error:
            raise self.damage(row["id"], "unreadable", detail=str(error)) from error
        if any(row[column] != expected for column, expected in self._lookup(value).items()):
            raise self.damage(row["id"], "wrong_record")
        return value

    def _lookup(self, value: T) -> Values:
        found = {column: source(value) for column, source in self._derived.items()}
        return {column: stamp(each) if isinstance(each, datetime) else _kept(each) for column, each in found.items()}


def _kept(value: Any) -> Any:
    """A value as SQLite keeps it."""
    if isinstance(value, str):
        return clean(str(value))
    return int(value) if isinstance(value, bool) else value
