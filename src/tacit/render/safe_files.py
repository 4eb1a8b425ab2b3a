"""Questions about a path that never raise, and its text for messages. Opens and writes nothing.

A path that may not be looked at, or cannot exist, is neither file nor folder nor link.
"""

from __future__ import annotations

import errno
import fcntl
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tacit.config.files import open_plain, write_atomically
from tacit.domain.errors import Mistake, NotPermitted, StoreOutage, TacitError


def is_file(path: Path) -> bool:
    """Whether it is a plain file, or a link to one."""
    return stat.S_ISREG(_mode(path, follow=True))


def is_folder(path: Path) -> bool:
    """Whether it is a folder, or a link to one."""
    return stat.S_ISDIR(_mode(path, follow=True))


def is_link(path: Path) -> bool:
    """Whether it is a symbolic link itself."""
    return stat.S_ISLNK(_mode(path, follow=False))


def is_there(path: Path) -> bool:
    """Whether it leads to something."""
    return _mode(path, follow=True) != 0


def folder_entries(folder: Path) -> list[Path]:
    """What a folder holds, sorted; nothing where it cannot be read."""
    try:
        return sorted(folder.iterdir())
    except OSError:
        return []


def shown(path: Path | str) -> str:
    """A path as text that every output can carry; a very long one is cut."""
    text = str(path).encode("utf-8", "backslashreplace").decode().replace("\0", "\\x00")
    return text if len(text) <= 300 else f"{text[:200]}…{text[-60:]}"


def _mode(path: Path, *, follow: bool) -> int:
    try:
        return path.stat(follow_symlinks=follow).st_mode
    except (OSError, ValueError):
        return 0


_WRONG_PATH = frozenset(
    (errno.ENOTDIR, errno.EISDIR, errno.EEXIST, errno.ENOTEMPTY, errno.ENAMETOOLONG, errno.ENOENT, errno.EINVAL, errno.ELOOP)
)  # fmt: skip


def place(root: Path, relative: Path, data: bytes, *, mode: int) -> Path:
    """Write a file below `root`, making folders where needed and replacing a file of that name."""
    target = root / relative
    with _translate_os_errors(target):
        _check_way(root, relative)
        target.parent.mkdir(parents=True, exist_ok=True)
        _check_way(root, relative)
        swap_in(target, data, mode=mode)
    return target


def swap_in(target: Path, data: bytes, *, mode: int) -> None:
    """Put a file in place in one step; an existing one is replaced, a link not followed. Raises `OSError`."""
    write_atomically(target, data, mode=mode, sync=False)  # it can be exported again


def _check_way(root: Path, relative: Path) -> None:
    """Refuse links at every place below the root, and a folder in place of the file."""
    require_no_links(root, relative)
    target = root / relative
    if target.is_dir():
        raise Mistake(
            f"{shown(target)} is a folder, not a file",
            code="is_a_folder",
            hint="move it away, or choose another folder",
        )


@contextmanager
def _translate_os_errors(target: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise refused(target, error) from error
    except ValueError as error:  # a NUL byte, or a character that no file name holds
        raise Mistake(
            f"{shown(target)} is no possible path", code="impossible_path", hint="choose another folder"
        ) from error


def refused(target: Path, error: OSError) -> TacitError:
    """The error for a path that the file system does not let us write."""
    message = f"cannot write {shown(target)}: {error.strerror or error}"
    if error.errno in _WRONG_PATH:
        return Mistake(
            message, code="impossible_path", hint="choose another folder; each part of its path has to be a folder"
        )
    return StoreOutage(message, code="not_writable", hint="check permissions and free space, or choose another folder")


@contextmanager
def locked(path: Path, *, mode: int = 0o600) -> Iterator[None]:
    """Wait until no other process holds the lock of this name; one that ends, however it ends, lets go of it."""
    try:
        file = open_plain(path, os.O_RDWR | os.O_CREAT, mode=mode)
    except OSError as error:
        hint = "it must be an ordinary file: remove what is there, and try again"
        raise StoreOutage(f"cannot lock {shown(path)}: {error.strerror}", code="not_lockable", hint=hint) from error
    try:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
    finally:
        os.close(file)


def require_no_links(root: Path, relative: Path) -> None:
    """Refuse a way below a folder that a link leads away from; what is not there yet is no link."""
    here = root
    for part in relative.parts:
        here = here / part
        if is_link(here):
            raise NotPermitted(
                f"{shown(here)} leads elsewhere by a link",
                code="behind_link",
                hint="remove the link, or make it a folder of its own",
            )
