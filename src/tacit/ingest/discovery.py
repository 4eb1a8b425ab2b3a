"""Where clients keep their transcripts → the ones on this machine, each with its client and workspace.

Looks at names, times and the first bytes of files; reads no session. A session's subagents are found by its reader, not
here. Newest sessions come last, so that what was learned later stands on what was learned before.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from tacit.domain.bookmark import Mark
from tacit.domain.errors import InvalidTrajectory
from tacit.domain.trajectory import Trajectory
from tacit.ingest.lines import open_regular
from tacit.ingest.sources import find_reader

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


class Following(Iterator[Trajectory]):
    """The attempts in a growing file from a mark on; when they have all been given, `mark` says where to go on next time.

    What cannot be read goes to `on_problem`, and reading goes on behind it.
    """

    def __init__(self, path: Path, *, start: Mark | None, on_problem: Callable[[InvalidTrajectory], None]) -> None:
        reader = find_reader(path)
        resumes = start is not None and reader.name in PLACES and _is_line_start(path, start)
        self._parts = reader.read(path, start=start) if resumes else reader.read(path)  # type: ignore[call-arg]
        self._on_problem = on_problem

    @property
    def mark(self) -> Mark | None:
        """Where the attempt begins that may still go on; nothing for a format that does not grow."""
        return getattr(self._parts, "mark", None)

    def __next__(self) -> Trajectory:
        while True:
            try:
                return next(self._parts)
            except InvalidTrajectory as problem:
                self._on_problem(problem)


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
