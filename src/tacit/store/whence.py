"""Whether something was read from a place that a person names: what it says of itself, and the name → yes or no.

Paths are compared as written, each from the folder that it is told from. Nothing on disk is looked at: a source may be gone.
"""

from __future__ import annotations

import os.path
from pathlib import Path

from tacit.domain.purging import Source

_NO_PATHS = frozenset({"cli", "mcp"})
"""What is kept as the source of something that came from no file."""
_ADDRESS = "://"
_SKILL = "skill.md"


def is_from(told: str, asked: Source) -> bool:
    """Whether `told` is the source asked for, lies below it (a folder, an archive), or is the folder of its SKILL.md."""
    if not told or told == asked.value:
        return bool(told)
    if not is_path(told) or not is_path(asked.value):
        return False
    there, here = (os.path.normpath(Path(asked.root) / path) for path in (told, asked.value))
    folder, name = os.path.split(here)
    return (
        there == here or there.startswith(here.rstrip(os.sep) + os.sep) or (name.lower() == _SKILL and there == folder)
    )


def is_path(told: str) -> bool:
    """Whether a source names a file or folder."""
    return bool(told) and told not in _NO_PATHS and _ADDRESS not in told and "\0" not in told
