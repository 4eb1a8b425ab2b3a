"""The lines of one file → its records, sorted by the agent they belong to → trajectories as they end.

Passes over what bears on no attempt without decoding it, and over records that stand here a second time.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import msgspec

from tacit.domain.errors import InvalidTrajectory
from tacit.domain.session import Mark
from tacit.domain.trajectory import Trajectory
from tacit.ingest.attempts import Attempts, Circumstances
from tacit.ingest.claude_code.records import SHOWN_TO_THE_AGENT, Kind, Record
from tacit.ingest.claude_code.thread import Thread
from tacit.ingest.decoding import decode, moment_of, text_of
from tacit.ingest.lines import Line
from tacit.ingest.problems import Place

_READ = frozenset({"user", "assistant", "attachment"})
_SEEN_MAX = 50_000
# How the client lays out what is never read: copies of requests, states and totals, and most attachments.
_UNREAD = re.compile(
    rb'\{"type":"(?!user"|assistant"|attachment")'
    rb'|\{"parentUuid":(?:null|"[\w-]*"),"isSidechain":(?:true|false),(?:"agentId":"[\w-]*",)?"attachment":\{"type":"'
    rb"(?!" + b"|".join(name.encode() + b'"' for name in sorted(SHOWN_TO_THE_AGENT)) + rb")"
)
_ENDS = (b"}\n", b"}\r\n", b"}")

_kind = msgspec.json.Decoder(Kind)
_record = msgspec.json.Decoder(Record)


def record_of(line: Line, place: Place) -> Record | None:
    """Decode a line; nothing if it is not of a kind that is read. Raises `InvalidTrajectory` for a damaged one."""
    if _UNREAD.match(line.data) and line.data.endswith(_ENDS):
        return None
    try:
        record = decode(_record, line.data, place)
    except InvalidTrajectory:
        kind = decode(_kind, line.data, place).type
        if isinstance(kind, str) and kind in _READ:
            raise
        return None
    if record.type == "attachment":
        return record if record.attachment and text_of(record.attachment.type) in SHOWN_TO_THE_AGENT else None
    return record if text_of(record.type) in _READ else None


class Session:
    """What the agents of one file were asked, did and saw."""

    def __init__(self, path: Path, *, client: str, folder: Path) -> None:
        """Read for this file, whose long outputs are saved below the folder."""
        self.circumstances = Circumstances()
        self.began_at: datetime | None = None
        self._client = client
        self._path = path
        self._folder = folder
        self._threads: dict[str, Thread] = {}
        self._seen: dict[str, None] = {}
        self._chains: dict[str, str] = {}

    @property
    def mark(self) -> Mark | None:
        """Where the first record of an attempt stands that is still open; nothing if none is."""
        marks = [mark for thread in self._threads.values() if (mark := thread.attempts.mark) is not None]
        return min(marks, key=lambda mark: mark.offset, default=None)

    def note(self, record: Record) -> None:
        """Take in what holds for the whole session."""
        self.circumstances.note(session_id=record.sessionId or "", workspace=record.cwd or "")

    def add(self, line: Line, place: Place) -> Iterator[Trajectory]:
        """Take in a line; yields the attempts that it ends."""
        record = record_of(line, place)
        if record is None or not self._is_new(record.uuid):
            return
        self.note(record)
        self.began_at = self.began_at or moment_of(record.timestamp)
        finished = self._thread_of(record).add(record, line.mark, place)
        if finished is not None:
            yield finished
            yield from self._finish_chains()

    def finish(self) -> Iterator[Trajectory]:
        """Yield the attempts that are still open, the session's own first."""
        main = self._threads.pop("", None)
        last = main.attempts.finish() if main else None
        if last is not None:
            yield last
        yield from self._finish_chains()

    def _finish_chains(self) -> Iterator[Trajectory]:
        """End what agents inside the session did for the attempt that has ended."""
        for key in [key for key in self._threads if key]:
            ended = self._threads.pop(key).attempts.finish()
            if ended is not None:
                yield ended
        self._chains.clear()

    def _is_new(self, uuid: str | None) -> bool:
        """Whether this record stands here for the first time: resuming and compaction write some again."""
        if not uuid:
            return True
        if uuid in self._seen:
            return False
        self._seen[uuid] = None
        if len(self._seen) > _SEEN_MAX:
            del self._seen[next(iter(self._seen))]
        return True

    def _thread_of(self, record: Record) -> Thread:
        key = record.agentId or "" if record.isSidechain else ""
        if record.isSidechain and not key:
            # Older versions name no agent: a side chain is then told by where it begins.
            beginning = self._chains.get(record.parentUuid or "", f"sidechain-{record.uuid}")
            self._chains[record.uuid or ""] = key = beginning
        if key not in self._threads:
            attempts = Attempts(self.circumstances, client=self._client, source=str(self._path.resolve()), agent_id=key)
            self._threads[key] = Thread(attempts, folder=self._folder)
        return self._threads[key]
