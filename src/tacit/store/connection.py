"""One SQLite file, opened safely: statements run in transactions that are all or nothing; errors and damage become Tacit's.

Write transactions begin IMMEDIATE and wait their turn; readers see one snapshot. The connection may be used from any
thread, one at a time.
"""

from __future__ import annotations

import os
import random
import stat
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import partial, wraps
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

import apsw

from tacit.domain.errors import Mistake, StoreOutage, TacitError
from tacit.domain.stored import Damage
from tacit.store.encoding import clean

PROBLEMS = {
    "anchor_unreadable": "cannot be used",
    "bad_chain_order": "does not follow the link before it",
    "bad_file": "is damaged",
    "bad_manifest": "is not a manifest",
    "changed_since_audit": "is not what the audit chain last saw",
    "chain_rewritten": "was cut or rewritten: it lacks a link that was noted outside the file",
    "manifest_mismatch": "has another value than the file",
    "missing": "is missing",
    "missing_audited": "is in the audit chain, but is missing or cannot be read",
    "missing_parent": "refers to a missing row",
    "missing_steps": "has lost its steps",
    "no_trajectory": "belongs to no trajectory",
    "not_a_database": "is not a SQLite database",
    "not_a_space": "is not a space of vectors",
    "not_audited": "is not in the audit chain",
    "not_recallable": "belongs to a version that is not recallable",
    "not_utf8": "is not valid UTF-8",
    "overlapping_blocks": "covers what another block covers",
    "row_count": "has lost or gained rows",
    "schema_changed": "was changed",
    "schema_extra": "has something that Tacit did not create",
    "schema_lacks": "lacks something",
    "unknown_subject": "is about something that does not exist",
    "unknown_value": "has an unknown value",
    "unreadable": "cannot be read",
    "version_missing": "belongs to a missing version",
    "wrong_block": "does not hold the vectors that it covers",
    "wrong_content": "does not hold the content that its id names",
    "wrong_content_approved": "is of another content than its version has",
    "wrong_dimensions": "does not have the length of its space",
    "wrong_hash": "does not fit its hash",
    "wrong_index": "is not where its index says",
    "wrong_index_terms": "does not count a term as the words do",
    "wrong_owner": "belongs to another version or place",
    "wrong_record": "does not fit its record",
    "wrong_rendering": "does not render what its version says",
    "wrong_seal": "does not fit its seal",
    "wrong_transitions": "does not fit its transitions",
    "wrong_use_index": "is not indexed under what it belongs to",
    "wrong_words": "does not have the words of what it indexes",
}
"""Code → what is wrong, to be read after the name of what is damaged."""


class StoreDamaged(StoreOutage):
    """A damaged row or file: its name (`subject`), the code of the problem, and its text, as `verify` reports them."""

    def __init__(self, path: str, subject: str, code: str, detail: str = "") -> None:
        self.subject = subject
        self.problem = problem_text(code, detail)
        self.detail = detail
        hint = "run `tacit store verify` to see what is damaged, and restore a backup"
        super().__init__(f"the store {path} is damaged: {subject} {self.problem}", code=code, hint=hint)


def problem_text(code: str, detail: str = "") -> str:
    """The English for a problem."""
    return f"{PROBLEMS[code]}: {detail}" if detail else PROBLEMS[code]


def damage_of(subject: str, code: str, *, detail: str = "") -> Damage:
    """One piece of damage, for a report."""
    return Damage(subject=subject, problem=problem_text(code, detail), code=code)


T = TypeVar("T")
P = ParamSpec("P")
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
        self.path = check_path(path)
        self._patience_s = patience_s
        self._lock = threading.RLock()
        self._depth = 0
        self._writes = False
        self._undone = 0
        self._closed = False
        self._process = os.getpid()
        self._db = _open_file(self.path)
        self._db.set_busy_handler(_wait(min(BUSY_TIMEOUT_S, patience_s)))
        for pragma in _PRAGMAS:
            self.patiently(partial(self._execute, pragma))

    @property
    def raw(self) -> apsw.Connection:
        """The driver's own connection, for copies and migrations."""
        return self._db

    @property
    def read_only(self) -> bool:
        """Whether the file may only be read."""
        with translate_errors(self.path):
            return self._db.readonly("main")

    @property
    def has_written(self) -> bool:
        """Whether anything was changed through this connection, while it is open."""
        with self._lock, translate_errors(self.path):
            return not self._closed and self._db.total_changes() > 0

    def wipe(self) -> bool:
        """Leave no trace of deleted rows: rewrite every page and empty the log.

        Deleted rows are overwritten anyway, but pages that were rearranged before may hold older copies of them. False if
        that must wait: inside a transaction, while others read or write, or without space.
        """
        with self._lock, translate_errors(self.path):
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
        """Run what is not possible inside a transaction, once other threads have finished theirs."""
        with self._lock:
            if self._depth:
                raise Mistake(
                    f"{what} is not possible inside a transaction",
                    code="inside_transaction",
                    hint="finish the transaction first",
                )
            yield

    def run(self, sql: str, *values: Any) -> list[Row]:
        """Execute one statement and fetch all its rows."""
        bound = tuple(clean(value) if isinstance(value, str) else value for value in values)
        with self._lock, translate_errors(self.path):
            return self._db.execute(sql, bound).fetchall()

    def single(self, sql: str, *values: Any) -> Any:
        """The first column of the first row, or `None`."""
        rows = self.run(sql, *values)
        return rows[0][0] if rows else None

    def stamp(self) -> tuple[int, int, int]:
        """Changes whenever what this connection sees may have changed: others' commits, own writes, own writes undone."""
        with self._lock, translate_errors(self.path):
            return self.single("PRAGMA data_version"), self._db.total_changes(), self._undone

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Run a write transaction; a nested one joins the outer one, and is rolled back alone if it alone fails."""
        with self._lock, self._joined() if self._depth else self._outermost("BEGIN IMMEDIATE", writes=True):
            yield

    @contextmanager
    def reading(self) -> Iterator[None]:
        """See one unchanging state of the store."""
        with self._lock:
            if self._depth:
                yield
                return
            with self._outermost("BEGIN", "SELECT count(*) FROM sqlite_schema", writes=False):
                yield

    def patiently(self, attempt: Callable[[], T]) -> T:
        """Retry while the store is locked, for as long as patience lasts."""
        give_up_at = time.monotonic() + self._patience_s
        while True:
            try:
                with translate_errors(self.path):
                    return attempt()
            except StoreOutage as error:
                if not error.retryable or time.monotonic() >= give_up_at:
                    raise
            time.sleep(random.uniform(0.002, 0.05))

    def close(self) -> None:
        """Release the file; closing twice is harmless."""
        with self._lock, translate_errors(self.path):
            self._closed = True
            self._db.close()

    def _execute(self, sql: str) -> None:
        self._db.execute(sql).fetchall()

    def _begin(self, statements: Sequence[str]) -> None:
        try:
            for sql in statements:
                self._execute(sql)
        except BaseException:
            self._roll_back()
            raise

    @contextmanager
    def _outermost(self, *statements: str, writes: bool) -> Iterator[None]:
        """A transaction that these statements begin."""
        if os.getpid() != self._process:
            raise StoreOutage(
                f"the store {self.path} was opened by another process",
                code="opened_before_fork",
                hint="open it again after forking",
            )
        self.patiently(lambda: self._begin(statements))
        self._depth, self._writes = 1, writes
        try:
            yield
            self._check_alive()
            with translate_errors(self.path):
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
        with translate_errors(self.path):
            self._execute(f"SAVEPOINT {point}")
        try:
            yield
            self._check_alive()
            with translate_errors(self.path):
                self._execute(f"RELEASE {point}")
        except BaseException:
            self._undone += 1
            with translate_errors(self.path):
                if self._db.in_transaction:
                    self._execute(f"ROLLBACK TO {point}")
                    self._execute(f"RELEASE {point}")
            raise
        finally:
            self._depth -= 1

    def _check_alive(self) -> None:
        """After a full disk SQLite may have rolled back the whole transaction; going on would write without one."""
        with translate_errors(self.path):
            alive = self._db.in_transaction
        if not alive:
            raise StoreOutage(
                f"the transaction on {self.path} was rolled back by an earlier failure; nothing was written",
                code="rolled_back",
                hint="try again",
            )

    def _roll_back(self) -> None:
        self._undone += 1
        with translate_errors(self.path):
            if self._db.in_transaction:
                self._execute("ROLLBACK")


class UsesConnection(Protocol):
    """An object whose methods run statements on one connection."""

    _connection: Connection


S = TypeVar("S", bound=UsesConnection)


def reads(method: Callable[Concatenate[S, P], T]) -> Callable[Concatenate[S, P], T]:
    """Let a method see one unchanging state of the store."""
    return _within(Connection.reading, method)


def writes(method: Callable[Concatenate[S, P], T]) -> Callable[Concatenate[S, P], T]:
    """Make all writes of a method one transaction."""
    return _within(Connection.writing, method)


def _within(
    transaction: Callable[[Connection], AbstractContextManager[None]], method: Callable[Concatenate[S, P], T]
) -> Callable[Concatenate[S, P], T]:
    @wraps(method)
    def run(self: S, /, *args: P.args, **kwargs: P.kwargs) -> T:
        with transaction(self._connection):
            return method(self, *args, **kwargs)

    return run


def _wait(timeout_s: float) -> Callable[[int], bool]:
    """Wait for a lock in short, random naps: SQLite's own, growing to a tenth of a second, let one writer starve others."""
    begun = 0.0

    def again(tries: int) -> bool:
        nonlocal begun
        if tries == 0:
            begun = time.monotonic()
        time.sleep(random.uniform(0.0005, min(0.001 * (tries + 1), _LONGEST_NAP_S)))
        return time.monotonic() - begun < timeout_s

    return again


def _open_file(path: str) -> apsw.Connection:
    """Open, creating folder and file where missing; only the owner may read a new file, since it holds transcripts."""
    if path == MEMORY:
        return apsw.Connection(path)
    file = Path(path)
    try:
        kind = file_kind(file)
        if kind == "folder":
            hint = f"name a file, such as {printable_path(file / 'tacit.db')}"
            raise Mistake(f"{printable_path(file)} is a folder, not a store", code="not_a_file", hint=hint)
        if kind == "other":
            message = f"{printable_path(file)} is not a regular file, so it cannot be a store"
            raise Mistake(message, code="not_a_file", hint=_HINT)
        file.parent.mkdir(parents=True, exist_ok=True)
        with translate_errors(path):
            connection = open_read_only(file) if _is_immutable(file) else apsw.Connection(path)
        if not kind:  # by name: opening and closing a handle of our own would drop SQLite's locks on the file
            file.chmod(0o600)
    except OSError as error:
        raise cannot_open(path, error) from error
    return connection


def _is_immutable(file: Path) -> bool:
    """Whether neither file nor folder may be written and there is no log: SQLite then cannot make its log."""
    may_write = os.access(file, os.W_OK) or os.access(file.parent, os.W_OK)
    return os.access(file, os.R_OK) and not may_write and not _has_log(file)


def _has_log(file: Path) -> bool:
    return any(file.with_name(f"{file.name}{end}").exists() for end in ("-wal", "-journal"))


def open_read_only(file: Path) -> apsw.Connection:
    """Open a file for reading; one without a log, which does not change, needs neither log nor locks."""
    mode = "mode=ro" if _has_log(file) else "immutable=1"
    flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
    return apsw.Connection(f"{file.absolute().as_uri()}?{mode}", flags=flags)


MEMORY = ":memory:"
_HINT = "choose another file with --store"


def check_path(path: str | Path) -> str:
    """The path as text; raises `Mistake` for one that SQLite or the file system cannot use."""
    text = str(path)
    if not text or "\0" in text:
        raise Mistake(f"{printable_path(text)!r} is not a possible path", code="bad_path", hint=_HINT)
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        raise Mistake(
            f"the path {printable_path(text)} is not valid UTF-8, which SQLite needs", code="bad_path", hint=_HINT
        ) from None
    return text


def file_kind(file: Path) -> str:
    """What is at a path: ``file``, ``folder``, ``other``, or an empty text; raises `StoreOutage` if it cannot be read."""
    try:
        mode = file.stat().st_mode
    except FileNotFoundError:
        return ""
    except OSError as error:
        raise cannot_open(str(file), error) from error
    return "file" if stat.S_ISREG(mode) else "folder" if stat.S_ISDIR(mode) else "other"


def cannot_open(path: str, error: OSError) -> StoreOutage:
    """The error for a file that the system refuses to open."""
    return StoreOutage(
        f"the store {printable_path(path)} cannot be opened for writing: {error.strerror}",
        code="store_not_writable",
        hint="check that its folder is writable, or choose another with --store",
    )


def printable_path(path: str | Path) -> str:
    """A path as text that every terminal can print; a very long one is shortened."""
    text = str(path).encode("utf-8", "backslashreplace").decode().replace("\0", "\\x00")
    return text if len(text) <= 300 else f"{text[:200]}…{text[-60:]}"


_BUGS = ("near ", "incomplete input", "unrecognized token", "cannot ", "no such savepoint", "too many ")
"""How SQLite's messages about a wrong statement begin. Since the statements are fixed and tested, every other message means
that the file's schema or the tables of an index are damaged."""


@contextmanager
def translate_errors(path: str) -> Iterator[None]:
    """Run database calls, turning their errors into Tacit's."""
    try:
        yield
    except apsw.Error as error:
        translated = store_error(error, path)
        if translated is None:
            raise
        raise translated from error
    except UnicodeDecodeError as error:
        raise StoreDamaged(path, "a text", "not_utf8") from error


def store_error(error: apsw.Error, path: str) -> TacitError | None:
    """The Tacit error for a database error; `None` for one that means a bug."""
    for kinds, code, message, hint in _OUTAGES:
        if isinstance(error, kinds):
            text = message.format(path=path, error=error)
            return StoreOutage(text, code=code, hint=hint, retryable=code == "store_locked")
    if isinstance(error, apsw.NotADBError):
        return StoreDamaged(path, "the file", "not_a_database")
    if isinstance(error, apsw.CorruptError | apsw.FormatError | apsw.ConstraintError | apsw.MismatchError):
        return StoreDamaged(path, "the file", "bad_file", str(error))
    if isinstance(error, apsw.TooBigError):
        return Mistake(
            "the record is larger than the store can hold", code="too_large", hint="the limit is about one gigabyte"
        )
    if isinstance(error, apsw.SQLError) and not str(error).startswith(_BUGS):
        return StoreDamaged(path, "the schema", "schema_changed", str(error))
    return None


_OUTAGES: tuple[tuple[tuple[type[apsw.Error], ...], str, str, str], ...] = (
    ((apsw.BusyError, apsw.LockedError), "store_locked", "the store {path} is locked by another process", "try again"),
    ((apsw.FullError,), "disk_full", "the disk is full: {path}", "free some space and try again; nothing was written"),
    (
        (apsw.IOError,), "disk_error", "the store {path} cannot be read or written: {error}",
        "check free space, quota and the disk, then try again; nothing was written",
    ),
    (
        (apsw.CantOpenError, apsw.ReadOnlyError, apsw.PermissionsError, apsw.AuthError), "store_not_writable",
        "the store {path} cannot be opened for writing: {error}",
        "check that the file and its folder exist and are writable, or choose another with --store",
    ),
    ((apsw.ConnectionClosedError, apsw.CursorClosedError), "store_closed", "the store {path} is closed", "open it again"),
)  # fmt: skip
"""Errors of the database → code, message and hint of the `StoreOutage`."""
