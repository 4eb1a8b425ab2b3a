"""The guarded connection: transactions are all or nothing even when the database drops one, and errors have names."""

from __future__ import annotations

from collections.abc import Callable

import apsw
import pytest

from tacit.domain.errors import Mistake, StoreOutage
from tacit.store.connection import Connection, StoreDamaged, store_error, translate_errors
from tests.raising import raises


@pytest.fixture
def connection() -> Connection:
    made = Connection(":memory:")
    made.run("CREATE TABLE t (x TEXT) STRICT")
    return made


def write(connection: Connection, text: str) -> None:
    with connection.writing():
        connection.run("INSERT INTO t VALUES (?)", text)


def write_and_lose_the_transaction(connection: Connection, *, then: Callable[[], None] = lambda: None) -> None:
    """Write, let the database drop the transaction as it does after some failures, and go on."""
    with connection.writing():
        write(connection, "a")
        connection.raw.execute("ROLLBACK")
        then()


def test_a_transaction_that_the_database_dropped_is_not_committed(connection: Connection) -> None:
    with raises(StoreOutage, "rolled_back"):
        write_and_lose_the_transaction(connection)
    assert connection.run("SELECT * FROM t") == []
    write(connection, "b")
    assert connection.run("SELECT * FROM t") == [("b",)]


def test_nothing_more_is_written_once_the_database_dropped_the_transaction(connection: Connection) -> None:
    def write_again() -> None:
        with raises(StoreOutage, "rolled_back"):
            write(connection, "b")

    with pytest.raises(StoreOutage):
        write_and_lose_the_transaction(connection, then=write_again)
    assert connection.run("SELECT * FROM t") == []


def test_a_connection_is_usable_after_a_failed_transaction(connection: Connection) -> None:
    with pytest.raises(ZeroDivisionError), connection.writing():
        connection.run(f"INSERT INTO t VALUES ('{1 // 0}')")
    write(connection, "c")
    assert connection.single("SELECT x FROM t") == "c"


def test_a_write_inside_a_read_is_a_bug(connection: Connection) -> None:
    with connection.reading(), pytest.raises(AssertionError), connection.writing():
        pass


def test_a_text_that_no_database_accepts_is_bound_in_a_clean_form(connection: Connection) -> None:
    connection.run("INSERT INTO t VALUES (?)", "a\ud800b")
    assert connection.single("SELECT x FROM t") == "a?b"


def test_a_text_that_is_not_utf8_is_damage(connection: Connection) -> None:
    connection.run("INSERT INTO t VALUES (CAST(x'ff' AS TEXT))")
    with pytest.raises(StoreDamaged):
        connection.run("SELECT x FROM t")


@pytest.mark.parametrize(
    ("error", "code", "retryable"),
    [
        (apsw.BusyError("database is locked"), "store_locked", True),
        (apsw.FullError("database or disk is full"), "disk_full", False),
        (apsw.IOError("disk I/O error"), "disk_error", False),
        (apsw.CorruptError("malformed"), "bad_file", False),
        (apsw.NotADBError("file is not a database"), "not_a_database", False),
        (apsw.CantOpenError("unable to open"), "store_not_writable", False),
        (apsw.ReadOnlyError("readonly"), "store_not_writable", False),
        (apsw.SQLError("no such table: versions"), "schema_changed", False),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else None,
)
def test_every_failure_of_the_world_names_the_file_and_says_what_to_do(
    error: apsw.Error, code: str, retryable: bool
) -> None:
    meant = store_error(error, "some/tacit.db")
    assert isinstance(meant, StoreOutage)
    assert meant.code == code
    assert "some/tacit.db" in meant.message
    assert meant.hint
    assert meant.retryable is retryable


def test_a_record_beyond_the_limit_is_the_callers_mistake() -> None:
    assert isinstance(store_error(apsw.TooBigError("too big"), "x.db"), Mistake)


def test_a_wrong_statement_is_a_bug_and_passes_through(connection: Connection) -> None:
    with pytest.raises(apsw.SQLError, match="SELEKT"):
        connection.run("SELEKT 1")
    with pytest.raises(apsw.MisuseError), translate_errors("x.db"):
        raise apsw.MisuseError
