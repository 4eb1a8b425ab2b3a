"""One SQLite file, opened safely: statements in, rows out, inside transactions that are all or nothing.

Write transactions begin IMMEDIATE and wait their turn; readers see one snapshot. The connection may be used from any
thread, one at a time. Knows nothing of tables.
"""

from __future__ import annotations

import os
import random
import stat
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import apsw

from tacit.domain.errors import Mistake, StoreOutage, TacitError
from tacit.store.encoding import clean

T = TypeVar("T")
Row = tuple[Any, ...]

BUSY_TIMEOUT_S = 30.0
PATIENCE_S = 120.0
_LONGEST_NAP_S = 0.02

_PRAGMAS = (
    "PRAGMA foreign_keys = ON",
    "PRAGMA trusted_schema = OFF",
    "PRAGMA cell_size_check = ON",
    "PRAGMA synchronous = FULL",
    "PRAGMA secure_delete = ON",
    "PRAGMA cache_size = -32768",  # KiB; the 2 MB that SQLite takes hold one hundredth of a large store
)


class Connection:
    """A guarded connection. `patience_s` bounds how long a locked store is waited for before that becomes an error."""

    def __init__(self, path: str | Path, *, patience_s: float = PATIENCE_S) -> None:
        self.path = checked(path)
        self._patience_s = patience_s
        self._lock = threading.RLock()
        self._depth = 0
        self._writes = False
        self._undone = 0
        self._closed = False
        self._process = os.getpid()
        self._db = _open_file(self.path)
        self._db.set_busy_handler(_wait(min(BUSY_TIMEOUT_S, patience_s)))
        self.patiently(self._set_up)

    @property
    def raw(self) -> apsw.Connection:
        """The driver's own connection, for copies and migrations."""
        return self._db

    @property
    def read_only(self) -> bool:
        """Whether the file may only be read."""
        with translated(self.path):
            return self._db.readonly("main")

    @property
    def has_written(self) -> bool:
        """Whether anything was changed through this connection, while it is open."""
        with self._lock, translated(self.path):
            return not self._closed and self._db.total_changes() > 0

    def wipe(self) -> bool:
        """Leave no trace of what was deleted: write every page anew and empty the log.

        Deleted rows are overwritten anyway, but pages that were rearranged before may hold older copies of them. False if
        that must wait: inside a transaction, while others read or write, or without space.
        """
        with self._lock, translated(self.path):
            if self._depth:
                return False
            try:
                self._execute("VACUUM")
                if self.path == MEMORY:
                    return True
                return not self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()[0][0]
            except (apsw.BusyError, apsw.LockedError, apsw.FullError, apsw.IOError):
                return False

    @contextmanager
    def outside(self, what: str) -> Iterator[None]:
        """Do what cannot be done inside a transaction, once other threads have finished theirs."""
        with self._lock:
            if self._depth:
                raise Mistake(f"{what} cannot be taken inside a transaction", hint="finish the transaction first")
            yield

    def run(self, sql: str, *values: Any) -> list[Row]:
        """Execute one statement and fetch all its rows."""
        bound = tuple(clean(value) if isinstance(value, str) else value for value in values)
        with self._lock, translated(self.path):
            return self._db.execute(sql, bound).fetchall()

    def single(self, sql: str, *values: Any) -> Any:
        """The first column of the first row, or `None`."""
        rows = self.run(sql, *values)
        return rows[0][0] if rows else None

    def stamp(self) -> tuple[int, int, int]:
        """Changes whenever what this connection sees may have changed: others' commits, own writes, own writes undone."""
        with self._lock, translated(self.path):
            return self.single("PRAGMA data_version"), self._db.total_changes(), self._undone

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Make the writes inside one; nested use is part of the outer one, and undone alone if it alone fails."""
        with self._lock:
            if self._depth:
                with self._joined():
                    yield
                return
            self._check_process()
            self.patiently(lambda: self._execute("BEGIN IMMEDIATE"))
            with self._outermost(writes=True):
                yield

    @contextmanager
    def reading(self) -> Iterator[None]:
        """See one unchanging state of the store."""
        with self._lock:
            if self._depth:
                yield
                return
            self._check_process()
            self.patiently(self._begin_snapshot)
            with self._outermost(writes=False):
                yield

    def patiently(self, attempt: Callable[[], T]) -> T:
        """Try until it is no longer locked, for as long as patience lasts."""
        give_up_at = time.monotonic() + self._patience_s
        while True:
            try:
                with translated(self.path):
                    return attempt()
            except StoreOutage as error:
                if not error.retryable or time.monotonic() >= give_up_at:
                    raise
            time.sleep(random.uniform(0.002, 0.05))

    def close(self) -> None:
        """Release the file; closing twice is harmless."""
        with self._lock, translated(self.path):
            self._closed = True
            self._db.close()

    def _set_up(self) -> None:
        for pragma in _PRAGMAS:
            self._execute(pragma)

    def _execute(self, sql: str) -> None:
        self._db.execute(sql).fetchall()

    def _begin_snapshot(self) -> None:
        self._execute("BEGIN")
        try:
            self._execute("SELECT count(*) FROM sqlite_schema")
        except BaseException:
            self._roll_back()
            raise

    @contextmanager
    def _outermost(self, *, writes: bool) -> Iterator[None]:
        self._depth, self._writes = 1, writes
        try:
            yield
            self._check_alive()
            with translated(self.path):
                self._execute("COMMIT")
        except BaseException:
            self._roll_back()
            raise
        finally:
            self._depth, self._writes = 0, False

    @contextmanager
    def _joined(self) -> Iterator[None]:
        if not self._writes:
            raise AssertionError("a write inside a read transaction")
        self._check_alive()
        self._depth += 1
        point = f"depth_{self._depth}"
        with translated(self.path):
            self._execute(f"SAVEPOINT {point}")
        try:
            yield
            self._check_alive()
            with translated(self.path):
                self._execute(f"RELEASE {point}")
        except BaseException:
            self._undone += 1
            with translated(self.path):
                if self._db.in_transaction:
                    self._execute(f"ROLLBACK TO {point}")
                    self._execute(f"RELEASE {point}")
            raise
        finally:
            self._depth -= 1

    def _check_alive(self) -> None:
        """After a full disk SQLite may have undone the whole transaction; going on would write without one."""
        with translated(self.path):
            alive = self._db.in_transaction
        if not alive:
            raise StoreOutage(f"the transaction on {self.path} was undone by an earlier failure; nothing was written")

    def _check_process(self) -> None:
        if os.getpid() != self._process:
            raise StoreOutage(
                f"the store {self.path} was opened by another process", hint="open it again after forking"
            )

    def _roll_back(self) -> None:
        self._undone += 1
        with translated(self.path):
            if self._db.in_transaction:
                self._execute("ROLLBACK")


def _wait(timeout_s: float) -> Callable[[int], bool]:
    """Wait for a lock in short, uneven naps: SQLite's own, growing to a tenth of a second, let one writer starve others."""
    begun = 0.0

    def again(tries: int) -> bool:
        nonlocal begun
        if tries == 0:
            begun = time.monotonic()
        time.sleep(random.uniform(0.0005, min(0.001 * (tries + 1), _LONGEST_NAP_S)))
        return time.monotonic() - begun < timeout_s

    return again


def _open_file(path: str) -> apsw.Connection:
    """Open, creating folder and file where missing; a new file is its owner's only, for it holds transcripts."""
    if path == MEMORY:
        return apsw.Connection(path)
    file = Path(path)
    try:
        is_new = not check_kind(file)
        file.parent.mkdir(parents=True, exist_ok=True)
        with translated(path):
            connection = _open_still(file) if _is_still(file) else apsw.Connection(path)
        if is_new:  # by name: opening and closing a handle of our own would drop SQLite's locks on the file
            file.chmod(0o600)
    except OSError as error:
        raise cannot_open(path, error) from error
    return connection


def _is_still(file: Path) -> bool:
    """Whether neither file nor folder may be written and no log lies beside it: SQLite then cannot make its log."""
    if not os.access(file, os.R_OK) or os.access(file, os.W_OK) or os.access(file.parent, os.W_OK):
        return False
    return not any(file.with_name(f"{file.name}{end}").exists() for end in ("-wal", "-journal"))


def _open_still(file: Path) -> apsw.Connection:
    """Open for reading a file that does not change, which needs neither log nor locks."""
    flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
    return apsw.Connection(f"{file.absolute().as_uri()}?immutable=1", flags=flags)


MEMORY = ":memory:"
_HINT = "choose another file with --store"


def checked(path: str | Path) -> str:
    """The path as text; raises for one that SQLite, or the file system, cannot name."""
    text = str(path)
    if not text or "\0" in text:
        raise Mistake(f"{shown(text)!r} is no possible path", hint=_HINT)
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        raise Mistake(f"the path {shown(text)} is not valid UTF-8, which SQLite needs", hint=_HINT) from None
    return text


def kind_of(file: Path) -> str:
    """What lies at a path: ``file``, ``folder``, ``other``, or nothing; raises `StoreOutage` if that cannot be told."""
    try:
        mode = file.stat().st_mode
    except FileNotFoundError:
        return ""
    except OSError as error:
        raise cannot_open(str(file), error) from error
    return "file" if stat.S_ISREG(mode) else "folder" if stat.S_ISDIR(mode) else "other"


def check_kind(file: Path) -> bool:
    """Whether there is a file already; raises `Mistake` for a folder, a pipe or a device."""
    kind = kind_of(file)
    if kind == "folder":
        raise Mistake(
            f"{shown(file)} is a folder, not a store", hint=f"name a file, such as {shown(file / 'tacit.db')}"
        )
    if kind == "other":
        raise Mistake(f"{shown(file)} is no plain file, so it cannot be a store", hint=_HINT)
    return kind == "file"


def cannot_open(path: str, error: OSError) -> StoreOutage:
    """The error for a file that the system does not let us open."""
    return StoreOutage(
        f"the store {shown(path)} cannot be opened for writing: {error.strerror}",
        hint="check that its folder is writable, or choose another with --store",
    )


def shown(path: str | Path) -> str:
    """A path as text that every output can carry; a very long one is cut."""
    text = str(path).encode("utf-8", "backslashreplace").decode().replace("\0", "\\x00")
    return text if len(text) <= 300 else f"{text[:200]}…{text[-60:]}"


DAMAGE_HINT = "run `tacit verify` to see what is damaged, and restore a backup"

_BUGS = (
    "near ",
    "incomplete input",
    "unrecognized token",
    "cannot ",
    "no such savepoint",
    "too many ",
)
"""How messages about a wrong statement begin. Every other complaint about fixed, tested statements means that the file's
schema, or an index's own tables, are no longer as they were made."""


class Damaged(StoreOutage):
    """A row or file that is not as it was written; keeps what `verify` reports of it."""

    def __init__(self, message: str, *, subject: str, problem: str) -> None:
        super().__init__(message, hint=DAMAGE_HINT)
        self.subject = subject
        self.problem = problem


def damaged(path: str, subject: str, problem: str) -> Damaged:
    """The error for something in the store that is not as it was written."""
    return Damaged(f"the store {path} is damaged: {subject} {problem}", subject=subject, problem=problem)


@contextmanager
def translated(path: str) -> Iterator[None]:
    """Run database calls, turning what they raise into the error tree."""
    try:
        yield
    except apsw.Error as error:
        meant = outage(error, path)
        if meant is None:
            raise
        raise meant from error
    except UnicodeDecodeError as error:
        raise damaged(path, "a text", "is not valid UTF-8") from error


def outage(error: apsw.Error, path: str) -> TacitError | None:
    """The Tacit error for a database error; `None` for one that means a bug."""
    if isinstance(error, apsw.BusyError | apsw.LockedError):
        return StoreOutage(f"the store {path} is locked by another process", hint="try again", retryable=True)
    if isinstance(error, apsw.FullError):
        return StoreOutage(f"the disk is full: {path}", hint="free some space and try again; nothing was written")
    if isinstance(error, apsw.IOError):
        return StoreOutage(
            f"the store {path} cannot be read or written: {error}",
            hint="check free space, quota and the disk, then try again; nothing was written",
        )
    if isinstance(error, apsw.NotADBError):
        return damaged(path, "the file", "is not a SQLite database")
    if isinstance(error, apsw.CorruptError | apsw.FormatError | apsw.ConstraintError | apsw.MismatchError):
        return damaged(path, "the file", f"is not well formed: {error}")
    if isinstance(error, apsw.CantOpenError | apsw.ReadOnlyError | apsw.PermissionsError | apsw.AuthError):
        return StoreOutage(
            f"the store {path} cannot be opened for writing: {error}",
            hint="check that the file and its folder exist and are writable, or choose another with --store",
        )
    if isinstance(error, apsw.ConnectionClosedError | apsw.CursorClosedError):
        return StoreOutage(f"the store {path} is closed", hint="open it again")
    if isinstance(error, apsw.TooBigError):
        return Mistake("the record is larger than the store can hold", hint="the limit is about one gigabyte")
    if isinstance(error, apsw.SQLError) and not str(error).startswith(_BUGS):
        return damaged(path, "the schema", f"is not as it was made: {error}")
    return None
