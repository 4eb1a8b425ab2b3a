"""Whole, consistent copies of a store while others go on writing: source file → one new file, complete or absent.

What a killed copy left behind is removed by the next one of its name. Whether the content is intact is the caller's
question; this only copies.
"""

from __future__ import annotations

import os
import re
import shutil
import stat
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import apsw

from tacit.domain.errors import Mistake, StoreOutage
from tacit.store.connection import checked, kind_of, shown, translated

_BUSY_TIMEOUT_MS = 30_000
_NAME_BYTES_MAX = 180
_STALE_S = 24 * 3600
_BESIDE = ("-journal", "-wal", "-shm")


def copy_store(
    source: str | apsw.Connection, target: Path, *, replace: bool = False, check: Callable[[Path], None] | None = None
) -> None:
    """Copy the committed state to `target`; it appears there only once it is complete and passed `check`."""
    checked(target)
    if kind_of(target) and not replace:
        raise Mistake(f"{shown(target)} exists already", hint="a backup never overwrites; choose another name")
    temporary = _temporary_beside(target)
    try:
        _copy_to(source, temporary)
        if check:
            check(temporary)
        _publish(temporary, target, replace=replace)
    finally:
        for end in ("", *_BESIDE):
            Path(f"{temporary}{end}").unlink(missing_ok=True)


def copy_pages(source: apsw.Connection, target: apsw.Connection) -> None:
    """Make one open database the same as another."""
    with target.backup("main", source, "main") as backup:
        while not backup.done:
            backup.step(-1)


def part_names(target: Path) -> tuple[str, str]:
    """How the names of unfinished copies begin and end, and of folders for them."""
    return f"{_start(target)}{os.getpid()}.", ".part"


def _start(target: Path) -> str:
    return f".{os.fsdecode(os.fsencode(target.name)[:_NAME_BYTES_MAX])}."


def _temporary_beside(target: Path) -> Path:
    prefix, suffix = part_names(target)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        remove_stale(target)
        handle, name = tempfile.mkstemp(prefix=prefix, suffix=suffix, dir=target.parent)
    except (OSError, ValueError) as error:
        raise _cannot_write(target, error) from error
    os.close(handle)
    return Path(name)


def remove_stale(target: Path) -> None:
    """Remove what killed copies of this name left: their process is gone, or they are older than a day."""
    part = re.compile(re.escape(_start(target)) + r"(?:(\d{1,9})\.)?\w+\.part(?:-\w+)?")
    for path in target.parent.iterdir():
        found = part.fullmatch(path.name)
        if not found:
            continue
        with suppress(OSError):  # somebody else removed it, or it is not ours to remove
            known = path.lstat()
            old = time.time() - known.st_mtime > _STALE_S
            if not (old or (found[1] and _is_gone(int(found[1])))):
                continue
            if stat.S_ISREG(known.st_mode):
                path.unlink()
            elif stat.S_ISDIR(known.st_mode):
                shutil.rmtree(path)


def _is_gone(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return True
    except OSError:  # it is somebody else's
        return False
    return False


def _copy_to(source: str | apsw.Connection, temporary: Path) -> None:
    with translated(str(temporary)):
        copy = apsw.Connection(str(temporary))
        reader = apsw.Connection(source) if isinstance(source, str) else source
        try:
            if isinstance(source, str):
                reader.set_busy_timeout(_BUSY_TIMEOUT_MS)
            copy_pages(reader, copy)
            copy.execute("PRAGMA journal_mode = DELETE").fetchall()  # one file, nothing beside it
        finally:
            copy.close()
            if isinstance(source, str):
                reader.close()


def _publish(temporary: Path, target: Path, *, replace: bool) -> None:
    try:
        _sync(temporary)
        if not replace:
            target.touch(mode=0o600, exist_ok=False)  # claims the name: fails if somebody else made it meanwhile
        temporary.replace(target)
        _sync(target.parent)
    except FileExistsError:
        raise Mistake(
            f"{shown(target)} exists already", hint="a backup never overwrites; choose another name"
        ) from None
    except OSError as error:
        raise _cannot_write(target, error) from error


def _cannot_write(target: Path, error: Exception) -> StoreOutage:
    reason = getattr(error, "strerror", None) or error
    return StoreOutage(f"cannot write a copy to {shown(target)}: {reason}", hint="choose a writable folder")


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
