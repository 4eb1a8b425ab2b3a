"""Codex's rollout files → trajectories: `sessions/YYYY/MM/DD/rollout-<time>-<thread>.jsonl`, one thread in each.

A subagent is a thread with a file of its own, which names the session it works for. Where a task begins and ends is
decided by the collector of attempts; redaction happens elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import msgspec

from tacit.domain.errors import InvalidTrajectory
from tacit.domain.stored import Mark
from tacit.ingest.codex.codex_records import CodexRecord
from tacit.ingest.codex.codex_session import NAME, CodexThread
from tacit.ingest.log_files import Line, Part, Parts, Place, decode, holds_json, numbered_lines

_MARKS = (b'"session_meta"', b'"event_msg"', b'"response_item"')
_HEAD_LINES = 8
_ID_CHARACTERS = 36

_record = msgspec.json.Decoder(CodexRecord)


class CodexReader:
    """Reads Codex's rollouts."""

    name = NAME

    def recognises(self, head: bytes, path: Path | None) -> bool:
        """Whether the first bytes hold the keys that only this client writes."""
        return holds_json(head, path) and b'"payload"' in head and any(mark in head for mark in _MARKS)

    def session_file(self, path: Path) -> Path | None:
        """Every rollout is read on its own."""
        return None

    def read(self, path: Path, *, start: Mark | None = None) -> Parts:
        """Yield the attempts from the mark on; a line that cannot be read is raised, and the next call goes on."""
        return Parts(_parts(path, start))


def _parts(path: Path, start: Mark | None) -> Iterator[Part]:
    thread = CodexThread(str(path.resolve()), thread_id=path.name.partition(".")[0][-_ID_CHARACTERS:])
    if start is not None and start.offset:
        _meet(thread, path)
    for line in numbered_lines(path, start=start):
        if isinstance(line, InvalidTrajectory):
            yield line
            continue
        place = Place(str(path), line.number)
        try:
            finished = thread.add(decode(_record, line.data, place), line, place)
        except InvalidTrajectory as problem:
            # The client may be writing this very line.
            if line.ended:
                yield problem
        else:
            if finished is not None:
                yield finished
    if thread.mark is not None:
        yield thread.mark
    last = thread.finish()
    if last is not None:
        yield last


def _meet(thread: CodexThread, path: Path) -> None:
    """Let the thread know what its file's first record says, when the rest is read from further on."""
    for line in islice(numbered_lines(path), _HEAD_LINES):
        if not isinstance(line, Line):
            continue
        place = Place(str(path), line.number)
        try:
            record = decode(_record, line.data, place)
            if record.type == "session_meta":
                thread.meet(record, place)
                return
        except InvalidTrajectory:
            continue  # told when the file was read from its beginning
