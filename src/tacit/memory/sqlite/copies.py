"""Whole, consistent copies of a store while others go on writing: source file → one new file, complete or absent.

Whether the content is intact is the caller's question; this only copies.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path

import apsw

from tacit.domain.errors import Mistake, StoreOutage
from tacit.memory.sqlite.outages import translated

_BUSY_TIMEOUT_MS = 30_000


def copy_store(
    source: str | apsw.Connection, target: Path, *, replace: bool = False, check: Callable[[Path], None] | None = None
) -> None:
    """Copy the committed state to `target`; it appears there only once it is complete and passed `check`."""
    if target.exists() and not replace:
        raise Mistake(f"{target} exists already", hint="a backup never overwrites; choose another name")
    temporary = _temporary_beside(target)
    try:
        _copy_pages(source, temporary)
        if check:
            check(temporary)
        _sync(temporary)
        _publish(temporary, target, replace=replace)
    finally:
        for leftover in (temporary, *(Path(f"{temporary}{end}") for end in ("-journal", "-wal", "-shm"))):
            leftover.unlink(missing_ok=True)


def _temporary_beside(target: Path) -> Path:
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".part", dir=target.parent)
    except OSError as error:
        raise StoreOutage(
            f"cannot write a copy to {target}: {error.strerror}", hint="choose a writable folder"
        ) from error
    os.close(handle)
    return Path(name)


def _copy_pages(source: str | apsw.Connection, temporary: Path) -> None:
    with translated(str(temporary)):
        copy = apsw.Connection(str(temporary))
        reader = apsw.Connection(source) if isinstance(source, str) else source
        try:
            reader.set_busy_timeout(_BUSY_TIMEOUT_MS)
            with copy.backup("main", reader, "main") as backup:
                while not backup.done:
                    backup.step(-1)
            copy.execute("PRAGMA journal_mode = DELETE").fetchall()  # one file, nothing beside it
        finally:
            copy.close()
            if isinstance(source, str):
                reader.close()


def _publish(temporary: Path, target: Path, *, replace: bool) -> None:
    try:
        if not replace:
            target.touch(mode=0o600, exist_ok=False)  # claims the name: fails if somebody else made it meanwhile
        temporary.replace(target)
    except FileExistsError:
        raise Mistake(f"{target} exists already", hint="a backup never overwrites; choose another name") from None
    except OSError as error:
        raise StoreOutage(f"cannot write a copy to {target}: {error.strerror}", hint="choose another folder") from error
    _sync(target.parent)


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
