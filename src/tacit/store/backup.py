"""Backups: a consistent copy of a store while others go on writing, and a manifest file next to it.

A copy appears complete or not at all; what a killed copy left behind is removed by the next one of its name. A manifest
names no paths of the machine; only the store that made the backup knows where it is.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import stat
import tempfile
import time
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import apsw

from tacit.config.files import sync_folder, write_atomically
from tacit.domain.archive import Manifest
from tacit.domain.errors import Mistake, StoreOutage
from tacit.domain.identity import plain
from tacit.store.audit import head_of, identity_of
from tacit.store.connection import Connection, check_path, file_kind, printable_path, translate_errors
from tacit.store.encoding import UnreadableRecord, aware, unpack

SUFFIX = ".manifest.json"
_BUSY_TIMEOUT_MS = 30_000
_PART_NAME_BYTES_MAX = 180
_NAME_BYTES_MAX = 255
_MANIFEST_BYTES_MAX = 1024 * 1024
_STALE_S = 24 * 3600
SQLITE_SUFFIXES = ("-journal", "-wal", "-shm")
_COUNTED = (
    "trajectories", "skills", "versions", "approvals", "verdicts", "uses", "evidence", "remarks", "entries", "passages",
    "tombstones", "audit",
)  # fmt: skip


def copy_store(
    source: str | apsw.Connection,
    target: Path,
    *,
    overwrite: bool = False,
    check: Callable[[Path], None] | None = None,
) -> None:
    """Copy the committed state to `target`; it appears there only once it is complete and passed `check`."""
    check_path(target)
    if file_kind(target) and not overwrite:
        raise _exists(target)
    temporary = _temporary_file(target)
    try:
        _copy_to(source, temporary)
        if check:
            check(temporary)
        _publish(temporary, target, overwrite=overwrite)
    finally:
        for end in ("", *SQLITE_SUFFIXES):
            Path(f"{temporary}{end}").unlink(missing_ok=True)


def copy_pages(source: apsw.Connection, target: apsw.Connection) -> None:
    """Make one open database the same as another."""
    with target.backup("main", source, "main") as backup:
        while not backup.done:
            backup.step(-1)


def remove_stale_parts(target: Path) -> None:
    """Remove what killed copies of this name left: their process is gone, or they are older than a day."""
    part = re.compile(re.escape(_part_prefix(target)) + r"(?:(\d{1,9})\.)?\w+\.part(?:-\w+)?")
    for path in target.parent.iterdir():
        found = part.fullmatch(path.name)
        if not found:
            continue
        with suppress(OSError):  # another process removed it, or we may not
            known = path.lstat()
            old = time.time() - known.st_mtime > _STALE_S
            if not (old or (found[1] and _is_gone(int(found[1])))):
                continue
            if stat.S_ISREG(known.st_mode):
                path.unlink()
            elif stat.S_ISDIR(known.st_mode):
                shutil.rmtree(path)


def describe_copy(connection: Connection, file: Path, *, at: datetime) -> Manifest:
    """The manifest of a copy: what its file is, and what it holds."""
    sequence, head = head_of(connection)
    counts = {table: int(connection.single(f"SELECT count(*) FROM {table}")) for table in _COUNTED}
    with file.open("rb") as opened:
        sha256 = hashlib.file_digest(opened, "sha256").hexdigest()
    return Manifest(
        sha256=sha256,
        bytes=file.stat().st_size,
        schema=int(connection.single("PRAGMA user_version")),
        store_id=identity_of(connection),
        sequence=sequence,
        head=head,
        at=aware(at),
        counts=counts,
    )


def manifest_path(backup: Path) -> Path:
    """Where the manifest of a backup is: next to it, under its name or, if that is too long, a hash of it."""
    name = os.fsencode(backup.name)
    if len(name) + len(SUFFIX) > _NAME_BYTES_MAX:
        return backup.with_name(hashlib.sha256(name).hexdigest()[:32] + SUFFIX)
    return backup.with_name(backup.name + SUFFIX)


def write_manifest(backup: Path, manifest: Manifest) -> None:
    """Write the manifest next to the backup, whole or not at all."""
    target = manifest_path(backup)
    text = json.dumps(plain(replace(manifest, path="")), indent=2, sort_keys=True)
    try:
        write_atomically(target, text + "\n", mode=0o600)
    except OSError as error:
        raise StoreOutage(
            f"cannot write the manifest {target.name}: {error.strerror}",
            code="manifest_not_written",
            hint="the backup itself is complete; remove it and try again where there is space",
        ) from error


def read_manifest(backup: Path) -> Manifest | None:
    """The manifest next to a backup, if there is one; raises `Unreadable` for a damaged one."""
    try:
        with manifest_path(backup).open("rb") as file:
            data = file.read(_MANIFEST_BYTES_MAX)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise UnreadableRecord(f"cannot be read: {error.strerror}") from error
    return unpack(data, Manifest)


def _part_prefix(target: Path) -> str:
    return f".{os.fsdecode(os.fsencode(target.name)[:_PART_NAME_BYTES_MAX])}."


def _temporary_file(target: Path) -> Path:
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        remove_stale_parts(target)
        prefix = f"{_part_prefix(target)}{os.getpid()}."
        handle, name = tempfile.mkstemp(prefix=prefix, suffix=".part", dir=target.parent)
    except (OSError, ValueError) as error:
        raise _cannot_write(target, error) from error
    os.close(handle)
    return Path(name)


def _is_gone(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return True
    except OSError:  # it belongs to another user
        return False
    return False


def _copy_to(source: str | apsw.Connection, temporary: Path) -> None:
    if isinstance(source, str):
        with translate_errors(str(temporary)), closing(apsw.Connection(source)) as reader:
            reader.set_busy_timeout(_BUSY_TIMEOUT_MS)
            _copy_to(reader, temporary)
        return
    with translate_errors(str(temporary)), closing(apsw.Connection(str(temporary))) as copy:
        copy_pages(source, copy)
        copy.execute("PRAGMA journal_mode = DELETE").fetchall()  # one file, without a log


def _publish(temporary: Path, target: Path, *, overwrite: bool) -> None:
    try:
        with temporary.open("rb") as file:
            os.fsync(file.fileno())
        if not overwrite:
            target.touch(mode=0o600, exist_ok=False)  # claims the name: fails if another process took it meanwhile
        temporary.replace(target)
        sync_folder(target.parent)
    except FileExistsError:
        raise _exists(target) from None
    except OSError as error:
        raise _cannot_write(target, error) from error


def _exists(target: Path) -> Mistake:
    return Mistake(
        f"{printable_path(target)} exists already",
        code="file_exists",
        hint="a backup never overwrites a file; choose another name",
    )


def _cannot_write(target: Path, error: Exception) -> StoreOutage:
    reason = getattr(error, "strerror", None) or error
    return StoreOutage(
        f"cannot write a copy to {printable_path(target)}: {reason}",
        code="copy_not_written",
        hint="choose a writable folder",
    )
