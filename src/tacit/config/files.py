"""Writing a file whole or not at all, and reading nothing but plain files. Hooks use it too, so it imports little."""

from __future__ import annotations

import errno
import os
import stat

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path


def write_atomically(path: str | Path, data: bytes | str, *, mode: int | None = None, sync: bool = True) -> None:
    """Replace a file by new content in one step: readers and crashes see the old content or the new, never a part.

    The content goes to a new file in the same folder, is flushed to disk (unless not `sync`: after a power failure the file
    may then be empty) and renamed. Without `mode`, an existing file keeps its owner and permissions, and a new one gets
    those that the umask allows. A link is replaced, not followed. Raises `OSError`; the old file then stays.
    """
    target = os.fspath(path)
    draft = os.path.join(os.path.dirname(target), f".tacit-{os.urandom(8).hex()}.part")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0)
    known = _state_of(target) if mode is None else None
    handle = os.open(draft, flags, 0o666 if mode is None else mode)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data.encode("utf-8", "surrogatepass") if isinstance(data, str) else data)
            file.flush()
            if known is not None:
                _set_owner(draft, known)
            if known is not None or mode is not None:  # the umask does not change permissions that were asked for
                os.chmod(draft, known.st_mode & 0o7777 if known is not None else mode or 0)
            if sync:
                os.fsync(file.fileno())
        os.replace(draft, target)
    except BaseException:
        os.unlink(draft)
        raise


def sync_folder(folder: str | Path) -> None:
    """Make sure that a file renamed into a folder is there after a power failure."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def open_plain(path: str | Path, flags: int, *, mode: int = 0o644, follow: bool = False) -> int:
    """Open a plain file; a link (unless it is followed), a pipe, a device or a folder raises `OSError` at once.

    Asked of the opened file itself, so that nothing can take its place in between.
    """
    flags |= os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC | (0 if follow else os.O_NOFOLLOW)
    try:
        file = os.open(path, flags, mode)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise OSError(errno.ELOOP, "it is a link", str(path)) from error
        raise
    if stat.S_ISREG(os.fstat(file).st_mode):
        return file
    os.close(file)
    raise OSError(errno.EINVAL, "it is no ordinary file", str(path))


def read_plain(path: str | Path, *, limit: int, follow: bool = False) -> bytes:
    """Return the content of a plain file; of one that is larger than the limit, one byte more than that."""
    with os.fdopen(open_plain(path, os.O_RDONLY, follow=follow), "rb") as file:
        return file.read(limit + 1)


def _state_of(target: str) -> os.stat_result | None:
    try:
        return os.stat(target)
    except OSError:
        return None


def _set_owner(draft: str, known: os.stat_result) -> None:
    try:
        os.chown(draft, known.st_uid, known.st_gid)
    except OSError:
        return  # only root may give a file to another user
