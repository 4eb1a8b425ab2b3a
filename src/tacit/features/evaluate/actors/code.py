"""Which files an agent is made of: the words that name it in → each file among them, with its hash, out.

A run that goes on has to go on with the same agent, so the record keeps these. Only what is named is looked at: neither the
modules that a file imports, nor what stands behind an address, nor a program that is found by its name alone, nor a folder,
nor what a shell or an interpreter is told in words (`-c`, `-m`); and nothing behind an option that follows the agent's file,
for that may be a log that it writes.
"""

from __future__ import annotations

import hashlib
import re
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

_WHOLE_BYTES_MAX = 64 << 20
"""Of larger files, such as weights, size and time tell whether they changed: reading them would take longer than a run."""
_STARTER = re.compile(
    r"(python|pypy|node|nodejs|deno|bun|npx|tsx|ruby|perl|php|lua|luajit|julia|rscript|java|dotnet|go|cargo|uv|uvx|pipx|poetry"
    r"|conda|mamba|micromamba|sh|bash|dash|zsh|ksh|fish|busybox|env|nice|ionice|timeout|stdbuf|taskset|nohup|time|xvfb-run|sudo"
    r"|docker|podman)[\d.]*(\.exe)?",
    re.IGNORECASE,
)
"""Programs that start an agent and are none: their own options come before its file."""


def files_among(words: Sequence[str]) -> dict[str, str]:
    """The files that a command names, up to the first option behind one → what their contents come to."""
    found: dict[str, str] = {}
    for place, word in enumerate(words):
        if word.startswith("-") and agents_own(name for name in words[:place] if name in found):
            break
        if contents := _contents(Path(word)):
            found[word] = contents
    return found


def agents_own(names: Iterable[str]) -> list[str]:
    """Those among files that are of the agent itself, and no interpreter or other program that starts it."""
    return [name for name in names if not _STARTER.fullmatch(Path(name).name)]


def files_of_function(place: str) -> dict[str, str]:
    """The file that `FILE.py:NAME` or, once it is imported, `MODULE:NAME` is written in."""
    where = place.rpartition(":")[0]
    if where.endswith(".py"):
        return files_among([where])
    found = getattr(sys.modules.get(where), "__file__", None)
    return {where: _contents(Path(found))} if found else {}


def _contents(path: Path) -> str:
    """A fingerprint of a file; empty where there is none."""
    try:
        if not path.is_file():
            return ""
        told = path.stat()
        if told.st_size > _WHOLE_BYTES_MAX:
            return f"{told.st_size} bytes of {told.st_mtime_ns}"
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except (OSError, ValueError):
        # Too long for a name, or not to be read: then it is no file that the agent is made of.
        return ""
