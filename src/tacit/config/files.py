"""Writing a file whole or not at all."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path


def write_atomically(path: str | Path, data: bytes | str, *, mode: int | None = None) -> None:
    """Replace a file by new content in one step: readers and crashes see the old content or the new, never a part.

    The content is written to a new file in the same folder, synced to disk, and renamed. Without `mode`, an existing file
    keeps its permissions and a new one gets those that the umask allows. Raises `OSError`; the old file then stays.
    """
    target = Path(path)
    draft = target.with_name(f".tacit-{os.urandom(8).hex()}.part")
    if mode is None:
        mode = _permissions(target)
    try:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0)
        handle = os.open(draft, flags, 0o666 if mode is None else mode)
        with os.fdopen(handle, "wb") as file:
            file.write(data.encode("utf-8") if isinstance(data, str) else data)
            file.flush()
            if mode is not None:
                draft.chmod(mode)  # the umask does not change permissions that were asked for
            os.fsync(file.fileno())
        draft.replace(target)
    except BaseException:
        with suppress(OSError):  # it may never have been made
            draft.unlink()
        raise


def sync_folder(folder: str | Path) -> None:
    """Make sure that a file renamed into a folder is there after a power failure."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _permissions(target: Path) -> int | None:
    try:
        return target.stat().st_mode & 0o7777
    except OSError:
        return None
