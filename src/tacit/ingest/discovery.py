"""Finds the transcripts that clients left on this machine, and reads what is new in each.

Finding looks at names, times and the first bytes of files. A session's subagents are found by its reader. The newest
sessions come last, so that learning builds on what was learned before.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

from tacit.config.environment import UserEnvironment
from tacit.config.location import project_root
from tacit.domain.errors import InvalidTrajectory
from tacit.domain.stored import Bookmark, Mark
from tacit.domain.trajectory import Trajectory
from tacit.ingest.log_files import open_regular
from tacit.ingest.sources import OnProblem, find_reader

PLACES: Mapping[str, tuple[str, ...]] = {
    "claude-code": ("projects/*/*.jsonl",),
    "codex": ("sessions/*/*/*/rollout-*.jsonl", "archived_sessions/rollout-*.jsonl"),
}
"""Client → where its sessions lie below the folder that it keeps for the person."""
_HEADS = (16 * 1024, 1024 * 1024)
_WORKSPACE = re.compile(rb'"cwd"\s*:\s*("(?:[^"\\]|\\.)*")')


@dataclass(frozen=True, slots=True, kw_only=True)
class Transcript:
    """A session's file that a client has written, or is writing."""

    path: Path
    client: str
    workspace: str
    """The folder that the session began in; empty where the file does not tell."""
    size: int
    modified_ns: int

    @property
    def modified_at(self) -> datetime:
        """When it was last written to."""
        return datetime.fromtimestamp(self.modified_ns / 1e9, UTC)


def transcripts(homes: Mapping[str, Path], *, since: datetime | None = None) -> list[Transcript]:
    """Find the sessions below the clients' folders (client → folder), oldest first; `since` leaves out what lay still."""
    found = (transcript for client, home in homes.items() for transcript in _of_client(client, home))
    chosen = [each for each in found if since is None or each.modified_at >= since]
    return sorted(chosen, key=lambda each: (each.modified_ns, each.path))


def transcript(path: Path, *, client: str = "") -> Transcript | None:
    """Look at one file; nothing if it is no regular file, or is not there any more."""
    try:
        state = path.stat()
        workspace = _workspace(path)
    except (OSError, InvalidTrajectory):
        return None
    return Transcript(path=path, client=client, workspace=workspace, size=state.st_size, modified_ns=state.st_mtime_ns)


class NewAttempts(Iterator[Trajectory]):
    """The attempts of a growing file that an earlier reading has not seen. `bookmark` is then where to go on next time.

    The attempt at the end may go on, so it is read again next time. What cannot be read goes to `on_problem`.
    """

    def __init__(self, found: Transcript, before: Bookmark | None, *, on_problem: OnProblem) -> None:
        start = before.mark if before and before.size <= found.size else None
        resumes = start is not None and _is_line_start(found.path, start)
        self._stream = find_reader(found.path).read(found.path, start=start if resumes else None)
        self._found = found
        self._on_problem = on_problem

    @property
    def bookmark(self) -> Bookmark:
        """How far the file is read."""
        found = self._found
        mark = self._stream.mark or Mark()
        return Bookmark(path=bookmark_key(found.path), size=found.size, modified_ns=found.modified_ns, mark=mark)

    def __next__(self) -> Trajectory:
        while True:
            try:
                return next(self._stream)
            except InvalidTrajectory as problem:
                self._on_problem(problem)


def bookmark_key(path: Path) -> str:
    """Return what a file's bookmark is stored under."""
    return str(path.resolve())


def is_unchanged(found: Transcript, before: Bookmark | None) -> bool:
    """Return whether a file is as it was when it was last read."""
    return before is not None and (before.size, before.modified_ns) == (found.size, found.modified_ns)


def client_homes(environment: UserEnvironment, clients: Collection[str] = ()) -> dict[str, Path]:
    """Return where each client keeps its files for this person; all clients if none is named."""
    known = {"claude-code": environment.claude_home, "codex": environment.codex_home}
    return {client: home for client, home in known.items() if not clients or client in clients}


def project_of(found: Transcript) -> Path | None:
    """Return the project that a session worked in: its repository, or its folder; `None` if that is gone."""
    return _project(found.workspace)


@cache
def _project(workspace: str) -> Path | None:
    if not workspace or not Path(workspace).is_absolute():
        return None
    root = Path(project_root(workspace))
    return root if root.is_dir() else None


def _of_client(client: str, home: Path) -> Iterator[Transcript]:
    for pattern in PLACES[client]:
        for path in home.glob(pattern):
            seen = transcript(path, client=client)
            if seen is not None:
                yield seen


def _workspace(path: Path) -> str:
    """Read the session's folder out of the first records."""
    with open_regular(path) as stream:
        for size in _HEADS:
            stream.seek(0)
            found = _WORKSPACE.search(stream.read(size))
            if found:
                try:
                    return str(json.loads(found[1]))
                except ValueError:
                    return ""
    return ""


def _is_line_start(path: Path, mark: Mark) -> bool:
    """Whether a line begins there still: a file that was replaced is read from its beginning."""
    if mark.offset == 0:
        return True
    try:
        with open_regular(path) as stream:
            stream.seek(mark.offset - 1)
            return stream.read(1) == b"\n"
    except (OSError, InvalidTrajectory):
        return False
