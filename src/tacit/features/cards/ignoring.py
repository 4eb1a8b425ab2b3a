"""Keeping the card folder out of version control: a repository's root → its `.gitignore` with one line more."""

from __future__ import annotations

import os
from pathlib import Path

from tacit.render.plain_files import open_plain, read_plain

LINE = ".agent-skills/"
_COMMENT = "# Agents' own notes, per user"
_LARGEST = 1 << 20


def ignore_folder(root: Path) -> bool:
    """Add the folder to `.gitignore` unless it is named there; False if nothing had to, or could, be changed.

    What is no plain file is left alone: a link may lead out of the repository.
    """
    path = root / ".gitignore"
    try:
        data = read_plain(path, limit=_LARGEST)
    except FileNotFoundError:
        data = b""
    except OSError:
        return False
    try:
        before = data.decode()
        if LINE in before or len(data) > _LARGEST:
            return False
        gap = "" if not before else "\n" if before.endswith("\n") else "\n\n"
        file = open_plain(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        with os.fdopen(file, "ab") as writer:
            writer.write(f"{gap}{_COMMENT}\n{LINE}\n".encode())
    except (OSError, UnicodeDecodeError):
        return False
    return True


def is_ignored(root: Path) -> bool:
    """Whether the repository's own list names the folder."""
    try:
        return LINE.encode() in read_plain(root / ".gitignore", limit=_LARGEST)
    except OSError:
        return False
