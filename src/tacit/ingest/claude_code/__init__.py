"""Claude Code's session files → trajectories: `<session>.jsonl` with the subagents' files beside it, or one of these alone.

One trajectory per task of the session, then one per subagent with the session as its parent. Reads on from a mark.
Whether an attempt succeeded is judged elsewhere; so is what must be redacted.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path

from tacit.domain.errors import InvalidTrajectory
from tacit.domain.stored import Mark
from tacit.ingest.claude_code.claude_session import Session, record_of
from tacit.ingest.log_files import LOG_NAMES, Line, Part, Parts, Place, holds_json, numbered_lines

_SUBAGENTS = "subagents"
_KEYS = (b'"isSidechain"', b'"queue-operation"', b'"file-history-snapshot"', b'"leafUuid"')
_OPENING_LINES = 200


class ClaudeCodeReader:
    """Reads Claude Code's transcripts."""

    name = "claude-code"

    def recognises(self, head: bytes, path: Path | None) -> bool:
        """Whether the first bytes hold the keys that only this client writes."""
        return holds_json(head, path) and b'"sessionId"' in head and any(key in head for key in _KEYS)

    def session_file(self, path: Path) -> Path | None:
        """Return the session file that a subagent's file is read with, if it is there."""
        folder = _session_folder(path) if path.name.startswith("agent-") else None
        session = folder.with_name(folder.name + ".jsonl") if folder else None
        return session if session and session.is_file() else None

    def read(self, path: Path, *, start: Mark | None = None) -> Parts:
        """Yield the session's attempts and its subagents', from the mark on; its `mark` then says where to go on.

        A line that cannot be read is raised, and the next call goes on.
        """
        return Parts(_parts(path, start))


def _parts(path: Path, start: Mark | None) -> Iterator[Part]:
    folder = _session_folder(path) or _session_files(path)
    session = Session(path, client=ClaudeCodeReader.name, folder=folder)
    if start:
        _note_opening(session, path)
    yield from _parts_of_file(session, path, start)
    mark = session.mark
    yield from session.finish()
    for agent_file in sorted((_session_files(path) / _SUBAGENTS).rglob("agent-*.jsonl")):
        if not (start and _lay_still(agent_file, session.began_at)):
            agent = Session(agent_file, client=ClaudeCodeReader.name, folder=folder)
            yield from _parts_of_file(agent, agent_file, None)
            yield from agent.finish()
    if mark is not None:
        yield mark


def _parts_of_file(session: Session, path: Path, start: Mark | None) -> Iterator[Part]:
    source = str(path)
    for line in numbered_lines(path, start=start):
        if isinstance(line, InvalidTrajectory):
            yield line
            continue
        try:
            yield from session.add(line, Place(source, line.number))
        except InvalidTrajectory as problem:
            # The client may be writing this very line.
            if line.ended:
                yield problem


def _note_opening(session: Session, path: Path) -> None:
    """Take in where the session began: later records may name a folder further down."""
    for line in islice(numbered_lines(path), _OPENING_LINES):
        if session.circumstances.workspace:
            return
        try:
            record = record_of(line, Place(str(path), line.number)) if isinstance(line, Line) else None
        except InvalidTrajectory:
            continue
        if record is not None:
            session.note(record)


def _lay_still(path: Path, since: datetime | None) -> bool:
    """Whether a subagent's file was last written before the open attempt began: it was read with an earlier one."""
    try:
        return since is not None and datetime.fromtimestamp(path.stat().st_mtime, UTC) < since
    except OSError:
        return False


def _session_folder(path: Path) -> Path | None:
    """The folder of the session that a subagent's file belongs to."""
    return next((folder.parent for folder in path.parents if folder.name == _SUBAGENTS), None)


def _session_files(path: Path) -> Path:
    """The folder that the client keeps beside a session's file."""
    ending = next((ending for ending in LOG_NAMES if path.name.endswith(ending)), path.suffix)
    return path.with_name(path.name.removesuffix(ending))
