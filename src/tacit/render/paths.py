"""Questions about a path that never raise, and its text for messages. Opens and writes nothing.

A path that may not be looked at, or cannot exist, is neither file nor folder nor link.
"""

from __future__ import annotations

import stat
from pathlib import Path


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


def shown(path: Path | str) -> str:
    """A path as text that every output can carry; a very long one is cut."""
    text = str(path).encode("utf-8", "backslashreplace").decode().replace("\0", "\\x00")
    return text if len(text) <= 300 else f"{text[:200]}…{text[-60:]}"


def _mode(path: Path, *, follow: bool) -> int:
    try:
        return path.stat(follow_symlinks=follow).st_mode
    except (OSError, ValueError):
        return 0
