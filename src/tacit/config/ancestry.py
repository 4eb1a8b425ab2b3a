"""The processes that this one descends from → the environment variables they were started with, and what they are.

An agent that clears its marks from a command's environment does not clear them from its own shell, nor hides that its
client stands above both. Only Linux tells; elsewhere, and for processes of others, there is nothing to see.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

GENERATIONS = 200
_PROCESSES = Path("/proc")
_INTERPRETERS = ("node", "bun", "deno", "python")


class Ancestry:
    """What the processes above show."""

    def __init__(self, processes: Path = _PROCESSES, *, start: int | None = None) -> None:
        self.variables: set[str] = set()
        """Names of the variables that some ancestor was started with, those without a value left out."""
        self.programs: set[str] = set()
        """Names of the programs that the ancestors run; of an interpreter's, the script's too."""
        above = list(_ancestors(processes, os.getppid() if start is None else start))
        self.is_endless = len(above) >= GENERATIONS
        """Whether there are more than were looked at; nobody's shell stands below so many."""
        for process in above:
            pairs = (variable.partition(b"=") for variable in _parts(process / "environ"))
            self.variables.update(name.decode("utf-8", "replace") for name, _, value in pairs if value)
            self.programs.update(_programs(_parts(process / "cmdline")))


def _programs(words: list[bytes]) -> Iterator[str]:
    named = [word.rpartition(b"/")[2].decode("utf-8", "replace") for word in words[:2]]
    yield from named[:1]
    if named and named[0].startswith(_INTERPRETERS):
        yield from (name.rpartition(".")[0] or name for name in named[1:])


def _parts(file: Path) -> list[bytes]:
    try:
        return file.read_bytes().split(b"\0")
    except OSError:
        return []


def _ancestors(processes: Path, number: int) -> Iterator[Path]:
    for _ in range(GENERATIONS):
        if number <= 1:
            return
        yield processes / str(number)
        try:
            # The name in brackets may hold anything; what follows it is the state and the parent's number.
            parent = (processes / str(number) / "stat").read_text(errors="replace").rpartition(")")[2].split()[1]
            number = int(parent)
        except (OSError, ValueError, IndexError):
            return
