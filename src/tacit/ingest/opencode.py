"""opencode's sessions → trajectories: its SQLite database with all of them, or one that `opencode export` wrote.

The database is opened to read only, and read row by row. A session of the database is named by its id; a subagent's is a
session of its own that names its parent.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from tacit.domain.errors import InvalidTrajectory
from tacit.domain.ports import SessionPart
from tacit.domain.trajectory import StepResult
from tacit.ingest.log_files import Part, Place, decode, text_of
from tacit.ingest.session_log import (
    Database,
    DatabaseReader,
    DocumentReader,
    Record,
    SessionLog,
    exit_code_of,
    mapping,
    records,
    since_epoch,
    stored_text,
)

_ENDED = {"completed": StepResult.OK, "error": StepResult.FAILED}
_REFUSED = (
    "The user rejected permission to use this specific tool call",
    "The user has specified a rule which prevents",
)
_ABORTED = "Tool execution aborted"
_object = msgspec.json.Decoder(Record)


class OpencodeLog(SessionLog):
    """Follows one session: each record is a message with its parts, or the session's own."""

    client = "opencode"

    def introduce(self, record: Record) -> None:
        """Take in which session this is, and where it runs."""
        if "directory" in record:
            self.note(session_id=record.get("id"), workspace=record.get("directory"), version=record.get("version"))

    def take(self, record: Record) -> None:
        """Take in one message with its parts."""
        info = mapping(record.get("info"))
        message_id, at = text_of(info.get("id")), since_epoch(mapping(info.get("time")).get("created"))
        if info.get("role") == "assistant":
            self.attempts.note(model=text_of(info.get("modelID")))
            spent = mapping(info.get("tokens"))
            cached = mapping(spent.get("cache")).get("read")
            usd = info.get("cost") or None
            self.spend(message_id, sent=spent.get("input"), written=spent.get("output"), cached=cached, usd=usd)
        for part in records(record.get("parts")):
            text = text_of(part.get("text"))
            if part.get("type") == "tool":
                self._call(part, message_id)
            elif part.get("type") == "text" and info.get("role") == "assistant":
                self.answer(text, at=at, message_id=message_id)
            elif part.get("type") == "text" and part.get("synthetic") is not True:
                self.prompt(unquoted(text), at=at)
            elif part.get("type") in ("text", "file"):
                self.context(text or text_of(mapping(part.get("source")).get("text")), at=at, source="opencode")

    def _call(self, part: Record, message_id: str) -> None:
        state, name = mapping(part.get("state")), text_of(part.get("tool"))
        given, noted = mapping(state.get("input")), mapping(state.get("metadata"))
        call_id, at = text_of(part.get("callID")), since_epoch(mapping(state.get("time")).get("start"))
        skill = text_of(given.get("name")) if name == "skill" else ""
        self.call(name, given, call_id=call_id, at=at, message_id=message_id, skill=skill)
        ended = _ENDED.get(text_of(state.get("status")))
        if ended is None:
            return
        text = text_of(state.get("output")) or text_of(state.get("error"))
        if ended is StepResult.FAILED and text.startswith(_REFUSED):
            ended = StepResult.DENIED
        elif ended is StepResult.FAILED and text.startswith(_ABORTED):
            ended = StepResult.INTERRUPTED
        self.result(call_id, text, ended, exit_code=exit_code_of(noted.get("exit")) if name == "bash" else None)


def unquoted(text: str) -> str:
    """Return a prompt of the command line without the quotes that the client stores around it."""
    inside = text.strip()[1:-1]
    return inside if text.strip() == f'"{inside}"' and '"' not in inside else text


class OpencodeExportReader(DocumentReader):
    """Reads what `opencode export` writes."""

    name = "opencode-export"
    keys = ((b'"sessionID"', b'"projectID"'), (b'"info"',), (b'"directory"', b'"messages"'))
    log = OpencodeLog

    def records(self, document: Any) -> Iterable[Record] | None:
        """Return the session's own record and its messages."""
        info = mapping(mapping(document).get("info"))
        return [info, *records(document.get("messages"))] if info else None


class OpencodeReader(DatabaseReader):
    """Reads opencode's database."""

    name = "opencode"
    places = ("opencode.db",)
    tables = frozenset({"session", "message", "part"})

    def sessions(self, database: Database) -> Iterator[SessionPart]:
        """Yield the sessions that a person began, with their folder and time."""
        query = "SELECT id, directory, time_updated FROM session WHERE parent_id IS NULL ORDER BY time_updated"
        for name, folder, updated in database.execute(query):
            at = updated if isinstance(updated, int) else 0
            yield SessionPart(name=str(name), workspace=str(folder), size=at, modified_ns=at * 1_000_000)

    def session(self, database: Database, path: Path, name: str) -> Iterator[Part]:
        """Yield the attempts of one session and of its subagents."""
        return _session(database, path, name, "")


def _session(database: Database, path: Path, name: str, parent: str) -> Iterator[Part]:
    """Yield the attempts of one session, and then those of the sessions that it started."""
    row = database.execute("SELECT directory, version FROM session WHERE id = ?", (name,)).fetchone()
    if row is None:
        return
    log = OpencodeLog(path, agent_id=name if parent else "")
    log.note(session_id=parent or name, workspace=row[0], version=row[1])
    for record in _messages(database, path, name):
        if isinstance(record, InvalidTrajectory):
            yield record
        else:
            yield from log.add_record(record)
    yield from log.finish()
    below = database.execute("SELECT id FROM session WHERE parent_id = ? ORDER BY time_created", (name,)).fetchall()
    for (child,) in below:
        if child not in (name, parent):
            yield from _session(database, path, child, parent or name)


def _messages(database: Database, path: Path, session: str) -> Iterator[Record | InvalidTrajectory]:
    """Yield the messages of a session with their parts, in order."""
    place = Place(f"{path}#{session}")
    messages = "SELECT id, data FROM message WHERE session_id = ? ORDER BY time_created, id"
    parts = "SELECT data FROM part WHERE message_id = ? ORDER BY id"
    for name, data in database.execute(messages, (session,)):
        try:
            info = decode(_object, stored_text(data).encode("utf-8", "replace"), place)
            found = [
                decode(_object, stored_text(text).encode("utf-8", "replace"), place)
                for (text,) in database.execute(parts, (name,))
            ]
        except InvalidTrajectory as problem:
            yield problem
        else:
            yield {"info": {**info, "id": name}, "parts": found}
