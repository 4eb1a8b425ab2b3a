"""What runs in a sandbox and its result: `SandboxRequest` in, `SandboxResult` out.

A sandbox that cannot confine a command as requested raises `SandboxOutage`. A `SandboxResult` always comes from a confined
run, and its `level` names what confined it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path, PurePosixPath
from typing import Protocol

WORKSPACE = "/workspace"
"""Where the files of a request are inside, and where its command starts."""
HOME = str(PurePosixPath("/home", "user"))
"""The home folder inside; the caller's own is not visible."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxLimits:
    """How much a command may use. If it exceeds a limit, it is stopped with all the processes that it started."""

    wall_s: float = 20.0
    cpu_s: int = 5
    """Of each process; the wall clock bounds them together."""
    address_mb: int = 512
    """Address space of each process."""
    memory_mb: int = 1024
    """Memory of all processes together, checked several times a second."""
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
class SandboxFile:
    """A file, link or folder to put into the workspace or the home, by its path below it. The home takes files only."""

    path: str
    content: bytes = b""
    executable: bool = False
    form: Form = Form.FILE


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxRequest:
    """A command with everything that it can see. Of the machine itself only /usr is visible, read-only."""

    command: tuple[str, ...]
    workspace: Path | None = None
    """A folder to copy into the workspace; the folder itself is never changed. Links stay links."""
    files: tuple[SandboxFile, ...] = ()
    """Written over that copy."""
    removed: tuple[str, ...] = ()
    """Paths below the workspace to remove from that copy."""
    home: tuple[SandboxFile, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    witness: str = ""
    """A Python program that runs along with the command; see `providers.sandbox.profile` for what is asked of it."""
    limits: SandboxLimits = SandboxLimits()


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
class FileChange:
    """A file of the workspace that the run changed. A removed folder shows by its files."""

    path: str
    how: Alteration
    content: bytes = b""
    executable: bool = False
    form: Form = Form.FILE


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxResult:
    """The result of a run."""

    level: str
    """What confined it, such as ``bubblewrap``."""
    status: int
    """Exit status of the command as in a shell: 128 plus the signal if one ended it."""
    output: str
    """Both output streams, up to the limit."""
    seconds: float
    ended: Ended = Ended.EXIT
    changes: tuple[FileChange, ...] = ()
    testimony: str = ""
    """What the witness wrote."""
    alarms: tuple[str, ...] = ()
    """What could not be observed completely: files that were not returned, a witness that was stopped."""

    @property
    def passed(self) -> bool:
        """Whether the command ended by itself, with status 0."""
        return self.status == 0 and self.ended is Ended.EXIT


class Sandbox(Protocol):
    """Runs a request so that it reaches nothing outside; raises `SandboxOutage` where that is impossible."""

    def run(self, request: SandboxRequest) -> SandboxResult:
        """Run it to its end or to its limits."""
