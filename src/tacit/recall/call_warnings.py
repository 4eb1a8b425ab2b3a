"""Which calls have a lesson that is worth saying before they run: a small file of digests beside the store.

A hook reads it before every command. It holds digests and ids only; the lesson itself comes from the store's index, where
its seal and status are checked. Imports nothing that is slow to load.
"""

from __future__ import annotations

import json
import os
import re
from itertools import islice

from tacit.config.files import write_atomically
from tacit.ingest.journal import digest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

FILE = "call-warnings.json"
_MAX_BYTES = 1 << 20
"""A longer file is not read: a hook must not wait for it."""
_MAX_WARNINGS = 4_000
"""How many warnings are written: at less than 200 bytes each they stay below `_MAX_BYTES`."""
_MAX_WORDS = 200
"""Words of a command that are looked up; a longer one is a script."""
_WORD = r"[\w./@+:-]+"


class CallWarnings:
    """The calls that have a warning."""

    __slots__ = ("_programs", "_versions")

    def __init__(self, programs: frozenset[str], versions: dict[str, list[str]]) -> None:
        self._programs = programs
        self._versions = versions

    @classmethod
    def read(cls, folder: str) -> CallWarnings | None:
        """Read the file of the store in this folder; nothing if there is none."""
        try:
            with open(os.path.join(folder, FILE), "rb") as file:
                found = json.loads(file.read(_MAX_BYTES))
            versions = {str(key): list(map(str, value)) for key, value in found["goals"].items()}
            return cls(frozenset(map(str, found["programs"])), versions)
        except (OSError, ValueError, KeyError, AttributeError, TypeError, RecursionError):
            return None

    def may_concern(self, command: str) -> bool:
        """Whether a command names a program that has a warning; cheap, and true too often rather than too rarely."""
        words = re.findall(_WORD, command[:20_000])[:_MAX_WORDS]
        return any(digest(word.rsplit("/", 1)[-1]) in self._programs for word in words)

    def versions_for(self, goal: str) -> list[str]:
        """Return the versions that warn of a call for this goal: of several projects, where they share a store."""
        return self._versions.get(digest(goal), [])


def write(folder: str, warned: Iterable[tuple[str, str]]) -> None:
    """Keep goals and the versions that warn of them, up to `_MAX_WARNINGS`; removes the file where there are none."""
    from tacit.text.command_forms import ALIASES

    path = os.path.join(folder, FILE)
    versions: dict[str, list[str]] = {}
    programs: set[str] = set()
    for goal, version in islice(warned, _MAX_WARNINGS):
        versions.setdefault(digest(goal), []).append(version)
        program = goal.split(" ", 1)[0]
        other_names = [name for name, usual in ALIASES.items() if usual.split(" ", 1)[0] == program]
        programs.update(map(digest, (program, *other_names)))
    if not versions:
        if os.path.exists(path):
            os.unlink(path)
        return
    text = json.dumps({"programs": sorted(programs), "goals": versions}, sort_keys=True)
    try:
        with open(path, encoding="utf-8") as file:
            if file.read() == text:
                return
    except (OSError, UnicodeError):
        pass
    write_atomically(path, text)
