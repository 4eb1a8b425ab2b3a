"""A long output that the client saved beside the transcript → its text, as far as it is kept; nothing if it is not there.

Only a plain file in the session's own folder is read, whatever path the transcript names: the text of a result may
come from anywhere.
"""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path, PureWindowsPath

from tacit.ingest.claude_code.records import Structured
from tacit.ingest.decoding import bounded

_FOLDER = "tool-results"
_OPENING = "<persisted-output>"
_SAVED = re.compile(r"saved to: (\S[^\n]{0,4096})")
_ENDS_BYTES = 160 * 1024  # of each end: more than is kept of any text, and some way beyond
_FLAGS: int = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)


def spilled(noted: Structured, text: str, folder: Path) -> str | None:
    """Give the saved output that a result stands for, if it stands for one that lies below this session's folder."""
    named = noted.persistedOutputPath if isinstance(noted.persistedOutputPath, str) else ""
    if not named and text.startswith(_OPENING):
        found = _SAVED.search(text, 0, 8192)
        named = found[1] if found else ""
    name = PureWindowsPath(named).name
    if not name or "\0" in name:
        return None
    return _ends(folder / _FOLDER, name)


def _ends(folder: Path, name: str) -> str | None:
    if folder.is_symlink() or folder.parent.is_symlink():
        return None
    try:
        with open(folder / name, "rb", opener=_without_following) as stream:
            state = os.fstat(stream.fileno())
            if not stat.S_ISREG(state.st_mode):
                return None
            head = stream.read(2 * _ENDS_BYTES)
            missing = max(0, state.st_size - len(head) - _ENDS_BYTES)
            stream.seek(missing, os.SEEK_CUR)
            tail = stream.read(_ENDS_BYTES)
    except OSError:
        return None
    return bounded((head + tail).decode("utf-8", "replace"), missing=missing)


def _without_following(path: str, flags: int) -> int:
    return os.open(path, flags | _FLAGS)
