"""Bytes → one file below a folder that a person named, whole or not at all. Knows nothing of skills.

Nothing is written through a link: a link below that folder is refused, and a draft is always a file made anew. What
the file system refuses becomes a `Mistake` where another path helps, and a `StoreOutage` where it does not.
"""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tacit.config.files import write_atomically
from tacit.domain.errors import Mistake, NotPermitted, StoreOutage, TacitError
from tacit.render.paths import shown

_WRONG_PATH = frozenset(
    (errno.ENOTDIR, errno.EISDIR, errno.EEXIST, errno.ENOTEMPTY, errno.ENAMETOOLONG, errno.ENOENT, errno.EINVAL, errno.ELOOP)
)  # fmt: skip


def place(root: Path, relative: Path, data: bytes, *, mode: int) -> Path:
    """Write a file below `root`, making folders where needed and replacing a file of that name."""
    target = root / relative
    with _told(target):
        _check_way(root, relative)
        target.parent.mkdir(parents=True, exist_ok=True)
        _check_way(root, relative)
        swap_in(target, data, mode=mode)
    return target


def swap_in(target: Path, data: bytes, *, mode: int) -> None:
    """Put a file in place in one step; an existing one is replaced, a link not followed. Raises `OSError`."""
    write_atomically(target, data, mode=mode, sync=False)  # it can be exported again


def _check_way(root: Path, relative: Path) -> None:
    """Refuse links at every place below the root, and anything but folders on the way to the file."""
    here = root
    for part in relative.parts:
        here = here / part
        if here.is_symlink():
            raise NotPermitted(f"{shown(here)} lies behind a link", hint="remove the link, or choose another folder")
    if here.is_dir():
        raise Mistake(f"{shown(here)} is a folder, not a file", hint="move it away, or choose another folder")


@contextmanager
def _told(target: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise refused(target, error) from error
    except ValueError as error:  # a NUL byte, or a character that no file name holds
        raise Mistake(f"{shown(target)} is no possible path", hint="choose another folder") from error


def refused(target: Path, error: OSError) -> TacitError:
    """The error for a path that the file system does not let us write."""
    message = f"cannot write {shown(target)}: {error.strerror or error}"
    if error.errno in _WRONG_PATH:
        return Mistake(message, hint="choose another folder; each part of its path has to be a folder")
    return StoreOutage(message, hint="check permissions and free space, or choose another folder")
