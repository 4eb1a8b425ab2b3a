"""Brings a file to the newest schema, in numbered steps; each step is one transaction.

A new file gets all steps in one transaction. An existing one is copied next to itself before each step. A file that is newer
than this program, or not a store, is refused and left unchanged.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tacit.domain.errors import StoreOutage
from tacit.store.backup import copy_store
from tacit.store.connection import MEMORY, Connection

APPLICATION_ID = 0x54414349  # "TACI"


@dataclass(frozen=True, slots=True, kw_only=True)
class Migration:
    """One step: the schema number it leads to, and the statements that lead there."""

    number: int
    apply: Callable[[Connection], None]


Check = Callable[[Connection, Sequence[Migration]], None]


def migrate(connection: Connection, migrations: Sequence[Migration], *, check: Check | None = None) -> None:
    """Check that the file is a store, put it into WAL mode and apply missing steps. Safe for many processes at once.

    `check` is called with the file, and the steps it already has, before anything is written.
    """
    numbers = [step.number for step in migrations]
    if numbers != list(range(1, len(numbers) + 1)):
        raise ValueError("migrations are numbered 1, 2, 3, …")
    with connection.reading():  # one state: another process may be upgrading it
        version = _recognise(connection)
        _check_known(connection, version, newest=numbers[-1])
        if check:
            check(connection, migrations[:version])
    _use_wal(connection)
    if version == 0:
        _create(connection, migrations)
    for step in migrations:
        _upgrade(connection, step)


def schema_of(connection: Connection) -> int:
    """The schema of a file; raises if it is not a store."""
    version = _recognise(connection)
    if version < 1:
        raise StoreOutage(f"{connection.path} is empty", code="not_a_store", hint="choose another file")
    return version


def _recognise(connection: Connection) -> int:
    application = connection.single("PRAGMA application_id")
    version = connection.single("PRAGMA user_version")
    objects = connection.single("SELECT count(*) FROM sqlite_schema")
    empty = (application, version, objects) == (0, 0, 0)
    if not empty and application != APPLICATION_ID:
        raise StoreOutage(
            f"{connection.path} is a database, but not a Tacit store (or its header is damaged)",
            code="not_a_store",
            hint="choose another file with --store, or restore a backup; this file was not changed",
        )
    return int(version)


def _check_known(connection: Connection, version: int, *, newest: int) -> None:
    if not 0 <= version <= newest:
        raise StoreOutage(
            f"the store {connection.path} has schema {version}, this program knows up to {newest}",
            code="store_too_new",
            hint="upgrade tacit: the store was written by a newer version",
        )


def _use_wal(connection: Connection) -> None:
    if connection.path == MEMORY or connection.read_only:
        return
    mode = connection.patiently(lambda: connection.single("PRAGMA journal_mode = WAL"))
    if mode != "wal":
        raise StoreOutage(
            f"the store {connection.path} cannot use write-ahead logging (mode {mode})",
            code="no_write_ahead_log",
            hint="keep it on a local disk; network file systems are not safe for it",
        )


def _create(connection: Connection, migrations: Sequence[Migration]) -> None:
    with connection.writing():
        if connection.single("PRAGMA user_version") != 0:
            return  # another process was faster
        connection.run(f"PRAGMA application_id = {APPLICATION_ID}")
        for step in migrations:
            step.apply(connection)
        connection.run(f"PRAGMA user_version = {migrations[-1].number}")


def _upgrade(connection: Connection, step: Migration) -> None:
    if connection.single("PRAGMA user_version") >= step.number:
        return
    with connection.writing():
        if connection.single("PRAGMA user_version") >= step.number:
            return
        if connection.path != MEMORY:  # we hold the write lock: the copy is the state before this step
            path = Path(connection.path)
            copy_store(connection.path, path.with_name(f"{path.name}.before-{step.number}.bak"), overwrite=True)
        step.apply(connection)
        connection.run(f"PRAGMA user_version = {step.number}")
