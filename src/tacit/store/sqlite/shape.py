"""The schema that a file should have, by building it anew, against the one it has → what is missing and what is extra.

Exact but for the tables that full-text indexes keep for themselves: those are SQLite's own, and their text is its choice.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from tacit.domain.errors import StoreOutage
from tacit.store.sqlite.connection import Connection
from tacit.store.sqlite.migrations import Migration
from tacit.store.sqlite.places import MEMORY

_OBJECTS = "SELECT type, name, tbl_name, coalesce(sql, '') FROM sqlite_schema"


@dataclass(frozen=True, slots=True, order=True)
class SchemaObject:
    """A table, index, trigger or view, as the file describes it."""

    kind: str
    name: str
    table: str
    sql: str

    def __str__(self) -> str:
        return f"{self.kind} {self.name}"


def differences(
    connection: Connection, migrations: Sequence[Migration]
) -> tuple[list[SchemaObject], list[SchemaObject]]:
    """What the schema lacks, and what it has that no migration made."""
    expected, shadows = _expected(tuple(migrations))
    present = _present(connection, shadows)
    return sorted(expected - present), sorted(present - expected)


def check_triggers(connection: Connection, migrations: Sequence[Migration]) -> None:
    """Raise for a trigger that no migration made, for it would run at the next write; `migrations` are those applied."""
    _, extra = differences(connection, migrations)
    for strange in extra:
        if strange.kind == "trigger":
            raise StoreOutage(
                f"the store {connection.path} holds a trigger that Tacit did not make: {strange.name!r}",
                hint="somebody changed the file; restore a backup, or remove the trigger if you know what it does",
            )


def _present(connection: Connection, shadows: frozenset[str]) -> set[SchemaObject]:
    found = (SchemaObject(*map(str, row)) for row in connection.run(_OBJECTS))
    return {SchemaObject(o.kind, o.name, o.table, "") if o.name in shadows else o for o in found}


@lru_cache(maxsize=8)
def _expected(migrations: tuple[Migration, ...]) -> tuple[frozenset[SchemaObject], frozenset[str]]:
    """Everything that these migrations make, and the names of SQLite's own tables among it."""
    fresh = Connection(MEMORY)
    try:
        with fresh.writing():
            for step in migrations:
                step.apply(fresh)
        listed = fresh.run("SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'shadow'")
        shadows = frozenset(str(row[0]) for row in listed)
        return frozenset(_present(fresh, shadows)), shadows
    finally:
        fresh.close()
