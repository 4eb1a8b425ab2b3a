"""The database's errors → Tacit's, in one place. Damage is named with its file, table and id; bugs pass through."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import apsw

from tacit.domain.errors import Mistake, StoreOutage, TacitError

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
