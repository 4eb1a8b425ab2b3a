"""Claude Code's session files → trajectories: `<session>.jsonl` with the subagents' files beside it, or one of these alone.

One trajectory per agent: the session's own first, then each subagent's with the session as its parent. Cutting a
session into tasks happens elsewhere; so does redaction.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path, PureWindowsPath

import msgspec

from tacit.domain.errors import InvalidTrajectory
from tacit.domain.trajectory import Environment, Task, Trajectory
from tacit.experience.claude_code.records import Attached, Envelope, Kind, Record
from tacit.experience.claude_code.thread import Thread
from tacit.experience.decoding import decode
from tacit.experience.lines import Line, holds_json, numbered_lines
from tacit.experience.problems import Part, Parts, Place

_SUBAGENTS = "subagents"
_MARKS = (b'"isSidechain"', b'"queue-operation"', b'"file-history-snapshot"', b'"leafUuid"')

_kind = msgspec.json.Decoder(Kind)
_record = msgspec.json.Decoder(Record)
_attached = msgspec.json.Decoder(Attached)


class ClaudeCodeReader:
    """Reads Claude Code's transcripts."""

    name = "claude-code"

    def recognises(self, head: bytes, path: Path | None) -> bool:
        """Whether the first bytes hold the keys that only this client writes."""
        return holds_json(head, path) and b'"sessionId"' in head and any(mark in head for mark in _MARKS)

    def belongs_to(self, path: Path) -> Path | None:
        """Name the session file that a subagent's file is read with, if it is there."""
        for folder in path.parents:
            if folder.name == _SUBAGENTS and path.name.startswith("agent-"):
                session = folder.parent.with_name(folder.parent.name + ".jsonl")
                return session if session.is_file() else None
        return None

    def read(self, path: Path) -> Iterator[Trajectory]:
        """Yield the session and its subagents; a line that cannot be read is raised, and the next call goes on."""
        return Parts(_parts(path))


def _parts(path: Path) -> Iterator[Part]:
    yield from _parts_of_file(path)
    folder = path.with_suffix("") / _SUBAGENTS
    for beside in sorted(folder.rglob("agent-*.jsonl")):
        yield from _parts_of_file(beside)


def _parts_of_file(path: Path) -> Iterator[Part]:
    session = _Session()
    for line in numbered_lines(path):
        if isinstance(line, InvalidTrajectory):
            yield line
            continue
        try:
            session.add(line, Place(str(path), line.number))
        except InvalidTrajectory as problem:
            # The client may be writing this very line.
            if line.ended:
                yield problem
    yield from session.trajectories(path)


class _Session:
    """The records of one file, sorted by the agent they belong to."""

    def __init__(self) -> None:
        self._threads: dict[str, Thread] = {}
        self._seen: set[str] = set()
        self._chains: dict[str, str] = {}

    def add(self, line: Line, place: Place) -> None:
        kind = decode(_kind, line.data, place).type
        if kind in ("user", "assistant"):
            record = decode(_record, line.data, place)
            if self._is_new(record):
                thread = self._thread_of(record)
                (thread.add_user if kind == "user" else thread.add_assistant)(record, place)
        elif kind == "attachment":
            attached = decode(_attached, line.data, place)
            if attached.attachment.is_kept and self._is_new(attached):
                self._thread_of(attached).add_attachment(attached, place)

    def trajectories(self, path: Path) -> Iterator[Trajectory]:
        """Cut the session: one trajectory for each agent in it, the session's own first."""
        for key in sorted(self._threads, key=bool):
            thread = self._threads[key]
            if not thread.is_empty:
                yield _trajectory(thread, path, agent=key)

    def _is_new(self, record: Envelope) -> bool:
        """Whether this record stands here for the first time: resuming and compaction write some again."""
        if not record.uuid:
            return True
        new = record.uuid not in self._seen
        self._seen.add(record.uuid)
        return new

    def _thread_of(self, record: Envelope) -> Thread:
        key = record.agentId or "" if record.isSidechain else ""
        if record.isSidechain and not key:
            # Older versions name no agent: a side chain is then told by where it begins.
            beginning = self._chains.get(record.parentUuid or "", f"sidechain-{record.uuid}")
            self._chains[record.uuid or ""] = key = beginning
        if key not in self._threads:
            self._threads[key] = Thread(is_subagent=bool(key))
        return self._threads[key]


def _trajectory(thread: Thread, path: Path, *, agent: str) -> Trajectory:
    session_id = path.stem if path.stem in thread.session_ids else next(iter(thread.session_ids), "")
    return Trajectory(
        task=Task(text=thread.task.strip(), project=_project(thread.cwd), by="agent" if agent else ""),
        steps=thread.steps(),
        environment=Environment(
            client=ClaudeCodeReader.name,
            client_version=thread.version,
            model=thread.model,
            workspace=thread.cwd,
            branch=thread.branch,
        ),
        session_id=agent or session_id,
        parent_session_id=session_id if agent else "",
        usage=thread.usage(),
        source=str(path),
    )


def _project(cwd: str) -> str:
    """Name the project by its folder; a worktree that the client made belongs to the project around it."""
    around, _, _ = cwd.replace("\\", "/").partition("/.claude/worktrees/")
    return PureWindowsPath(around).name
