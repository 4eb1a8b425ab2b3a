"""The processes that this one descends from → the environment variables that they were started with.

An agent that clears its marks from a command's environment does not clear them from its own shell, which stands above the
command. Only Linux tells; elsewhere, and for processes of others, there is nothing to see.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

GENERATIONS = 64
_PROCESSES = Path("/proc")


def inherited_names(processes: Path = _PROCESSES, *, start: int | None = None) -> frozenset[str]:
    """Names of the variables that some ancestor was started with, those without a value left out."""
    found: set[str] = set()
    for process in _ancestors(processes, os.getppid() if start is None else start):
        try:
            variables = (process / "environ").read_bytes().split(b"\0")
        except OSError:
            continue
        pairs = (variable.partition(b"=") for variable in variables)
        found.update(name.decode("utf-8", "replace") for name, _, value in pairs if value)
    return frozenset(found)


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
