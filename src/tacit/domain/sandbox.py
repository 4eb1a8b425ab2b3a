"""What is run in a sandbox and what came of it: errand in, `Ran` out. Runs nothing itself.

A sandbox that cannot confine an errand as asked raises `SandboxOutage`. There is no other answer to that: whatever returns a
`Ran` was confined, and its `level` says by what.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path, PurePosixPath
from typing import Protocol

WORKSPACE = "/workspace"
"""Where an errand's files lie inside, and where its command starts."""
HOME = str(PurePosixPath("/home", "user"))
"""The home inside; the caller's own is not there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Confines:
    """How much an errand may take. Whatever passes a limit is stopped, with all that it started."""

    wall_s: float = 20.0
    cpu_s: int = 5
    """Of each process; the wall clock bounds them together."""
    address_mb: int = 512
    """Address space of each process."""
    memory_mb: int = 1024
    """What all processes hold together, looked at several times a second."""
    file_mb: int = 16
    open_files: int = 128
    processes: int = 64
    workspace_mb: int = 64
    scratch_mb: int = 32
    """Of /tmp, of the home and of shared memory, each."""
    output_bytes: int = 1_000_000


class Form(StrEnum):
    """What a path leads to."""

    FILE = "file"
    LINK = "link"
    """Its content is what it points to."""
    FOLDER = "folder"


@dataclass(frozen=True, slots=True, kw_only=True)
class BoxFile:
    """Something that is put in, by its path below the workspace or the home. In the home there are files only."""

    path: str
    content: bytes = b""
    executable: bool = False
    form: Form = Form.FILE


@dataclass(frozen=True, slots=True, kw_only=True)
class Errand:
    """One command and all that it gets. Nothing else of the machine is there but /usr, read-only."""

    command: tuple[str, ...]
    workspace: Path | None = None
    """A folder whose copy is the workspace; it is itself never touched. Links are kept as links."""
    files: tuple[BoxFile, ...] = ()
    """Laid over that copy."""
    removed: tuple[str, ...] = ()
    """Paths below the workspace that are taken out of that copy."""
    home: tuple[BoxFile, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    witness: str = ""
    """A Python program that runs beside the command; see `providers.sandbox.profile` for what is asked of it."""
    confines: Confines = Confines()


class Ended(StrEnum):
    """Why a run ended."""

    EXIT = "exit"
    TIME = "time limit"
    OUTPUT = "output limit"
    MEMORY = "memory limit"


class Alteration(StrEnum):
    """What happened to a file of the workspace."""

    ADDED = "added"
    ALTERED = "altered"
    REMOVED = "removed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """Something of the workspace that is another after the run. A folder that is gone shows by its files."""

    path: str
    how: Alteration
    content: bytes = b""
    executable: bool = False
    form: Form = Form.FILE


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """What came of an errand."""

    level: str
    """What confined it, such as ``bubblewrap``."""
    status: int
    """Exit status of the command as a shell tells it: 128 and the signal where one ended it."""
    output: str
    """Both streams, as far as the limit lets them."""
    seconds: float
    ended: Ended = Ended.EXIT
    changes: tuple[Change, ...] = ()
    testimony: str = ""
    """What the witness wrote."""
    alarms: tuple[str, ...] = ()
    """What could not be seen to the end: files that were not brought back, a witness that was ended."""

    @property
    def passed(self) -> bool:
        """Whether the command ended by itself, with status 0."""
        return self.status == 0 and self.ended is Ended.EXIT


class Sandbox(Protocol):
    """Runs an errand so that it reaches nothing outside; raises `SandboxOutage` where that cannot be had."""

    def run(self, errand: Errand) -> Ran:
        """Run it to its end or to its limits."""
