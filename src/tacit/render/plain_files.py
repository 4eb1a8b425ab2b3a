"""Opening files of which nobody knows what they are: a path → a plain file, or a refusal at once. Knows nothing of content.

A repository brings links, pipes and devices in the places of files. None is written through, none is waited for, and none is
read without end.
"""

from __future__ import annotations

import errno
import fcntl
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tacit.domain.errors import NotPermitted, StoreOutage
from tacit.render.paths import is_link, shown

_CHUNK = 1 << 20


def open_plain(path: Path, flags: int, *, mode: int = 0o644, follow: bool = False) -> int:
    """Open a plain file; a link (unless it is followed), a pipe, a device or a folder raises `OSError` at once."""
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


def read_plain(path: Path, *, limit: int, follow: bool = False) -> bytes:
    """The content of a plain file; of one that is larger than the limit, one byte more than that."""
    file = open_plain(path, os.O_RDONLY, follow=follow)
    with os.fdopen(file, "rb") as reader:
        return read_some(reader.fileno(), limit + 1)


def read_some(file: int, most: int) -> bytes:
    """The bytes of an open file up to its end, or so many."""
    parts, left = [], most
    while left > 0 and (part := os.read(file, min(left, _CHUNK))):
        parts.append(part)
        left -= len(part)
    return b"".join(parts)


@contextmanager
def locked(path: Path, *, mode: int = 0o600) -> Iterator[None]:
    """Wait until no other process holds the lock of this name; one that ends, however it ends, lets go of it."""
    try:
        file = open_plain(path, os.O_RDWR | os.O_CREAT, mode=mode)
    except OSError as error:
        hint = "it must be an ordinary file: remove what is there, and try again"
        raise StoreOutage(f"cannot lock {shown(path)}: {error.strerror}", hint=hint) from error
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
                f"{shown(here)} leads elsewhere by a link", hint="remove the link, or make it a folder of its own"
            )
