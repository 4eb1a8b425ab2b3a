"""A path that somebody gave for a store or its copy → text that SQLite can open, or a `Mistake`. Opens nothing."""

from __future__ import annotations

import stat
from pathlib import Path

from tacit.domain.errors import Mistake, StoreOutage

MEMORY = ":memory:"
_HINT = "choose another file with --store"


def checked(path: str | Path) -> str:
    """The path as text; raises for one that SQLite, or the file system, cannot name."""
    text = str(path)
    if not text or "\0" in text:
        raise Mistake(f"{shown(text)!r} is no possible path", hint=_HINT)
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        raise Mistake(f"the path {shown(text)} is not valid UTF-8, which SQLite needs", hint=_HINT) from None
    return text


def kind_of(file: Path) -> str:
    """What lies at a path: ``file``, ``folder``, ``other``, or nothing; raises `StoreOutage` if that cannot be told."""
    try:
        mode = file.stat().st_mode
    except FileNotFoundError:
        return ""
    except OSError as error:
        raise cannot_open(str(file), error) from error
    return "file" if stat.S_ISREG(mode) else "folder" if stat.S_ISDIR(mode) else "other"


def check_kind(file: Path) -> bool:
    """Whether there is a file already; raises `Mistake` for a folder, a pipe or a device."""
    kind = kind_of(file)
    if kind == "folder":
        raise Mistake(
            f"{shown(file)} is a folder, not a store", hint=f"name a file, such as {shown(file / 'tacit.db')}"
        )
    if kind == "other":
        raise Mistake(f"{shown(file)} is no plain file, so it cannot be a store", hint=_HINT)
    return kind == "file"


def cannot_open(path: str, error: OSError) -> StoreOutage:
    """The error for a file that the system does not let us open."""
    return StoreOutage(
        f"the store {shown(path)} cannot be opened for writing: {error.strerror}",
        hint="check that its folder is writable, or choose another with --store",
    )


def shown(path: str | Path) -> str:
    """A path as text that every output can carry; a very long one is cut."""
    text = str(path).encode("utf-8", "backslashreplace").decode().replace("\0", "\\x00")
    return text if len(text) <= 300 else f"{text[:200]}…{text[-60:]}"
