"""Cursor's history → trajectories: the agent's transcripts, and the database of its editor. Both lie on this machine.

Transcripts are JSON lines without results, times and models: their calls end as unknown. The database, a table of keys and
JSON values, has all of it. Nothing is asked of Cursor's service.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import msgspec

from tacit.domain.errors import InvalidTrajectory
from tacit.domain.ports import SessionPart
from tacit.domain.trajectory import StepResult
from tacit.ingest.log_files import Part, Place, decode, text_of
from tacit.ingest.session_log import (
    Database,
    DatabaseReader,
    JsonLinesReader,
    Record,
    SessionLog,
    exit_code_of,
    mapping,
    records,
    since_epoch,
    stored_text,
)

_QUERY = re.compile(r"<user_query>\s*(.*?)\s*</user_query>", re.DOTALL)
_PERSON, _THINKING = 1, 30
_ENDED = {"completed": StepResult.OK, "error": StepResult.FAILED, "cancelled": StepResult.INTERRUPTED}
_SHELLS = frozenset({"run_terminal_cmd", "run_terminal_command_v2", "run_terminal_command"})
_object = msgspec.json.Decoder(Record)


class CursorLog(SessionLog):
    """Follows one transcript."""

    client = "cursor"

    def introduce(self, record: Record) -> None:
        """Take in which session this is: the file is named after it."""
        self.note(session_id=self.path.stem)

    def take(self, record: Record) -> None:
        """Take in one message; what was asked stands in a tag of its own, beside what the client put in."""
        role, content = record.get("role"), mapping(record.get("message")).get("content")
        message_id = f"{self._here.offset}"
        parts = [{"type": "text", "text": content}] if isinstance(content, str) else records(content)
        for number, part in enumerate(parts):
            text = text_of(part.get("text"))
            if part.get("type") == "text" and role == "user":
                asked = _QUERY.search(text)
                self.context(_QUERY.sub("", text) if asked else "", source="cursor")
                self.prompt(asked[1] if asked else text)
            elif part.get("type") == "text" and role == "assistant":
                self.answer(text, message_id=message_id)
            elif part.get("type") == "tool_use":
                call_id = text_of(part.get("id")) or f"{message_id}.{number}"
                self.call(text_of(part.get("name")), part.get("input"), call_id=call_id, message_id=message_id)
            elif part.get("type") == "tool_result":
                ended = StepResult.FAILED if part.get("is_error") is True else StepResult.OK
                self.result(text_of(part.get("tool_use_id")), part.get("content"), ended)


class CursorReader(JsonLinesReader):
    """Reads Cursor's agent transcripts, those of subagents with their session."""

    name = "cursor"
    log = CursorLog
    places = ("projects/*/agent-transcripts/*/*.jsonl", "projects/*/agent-transcripts/*.jsonl")

    def recognises(self, head: bytes, path: Path | None) -> bool:
        """Whether this lies in Cursor's folder: the lines are too plain to be told by their keys."""
        return path is not None and path.suffix == ".jsonl" and "agent-transcripts" in path.parts and b'"role"' in head

    def session_file(self, path: Path) -> Path | None:
        """Return the session's own transcript for a subagent's."""
        if path.parent.name != "subagents":
            return None
        session = path.parent.parent / f"{path.parent.parent.name}.jsonl"
        return session if session.is_file() else None

    def agent_files(self, path: Path) -> Iterable[tuple[Path, str]]:
        """Return the transcripts of the session's subagents."""
        return [(file, file.stem) for file in sorted((path.parent / "subagents").glob("*.jsonl"))]

    def workspace(self, path: Path) -> str:
        """Return the folder that the transcript's own folder is named after, if one of that name is there."""
        named = path.parts[path.parts.index("agent-transcripts") - 1] if "agent-transcripts" in path.parts else ""
        return folder_of_slug(named)


def folder_of_slug(slug: str) -> str:
    """Return the folder whose path, with dashes for all that is no letter or digit, is this name; empty without one."""
    found = Path("/")
    words = [word for word in slug.split("-") if word]
    while words:
        try:
            below = {
                re.sub(r"[^A-Za-z0-9]+", "-", each.name).strip("-"): each for each in found.iterdir() if each.is_dir()
            }
        except OSError:
            return ""
        for count in range(len(words), 0, -1):
            if step := below.get("-".join(words[:count])):
                found, words = step, words[count:]
                break
        else:
            return ""
    return "" if found == Path("/") else str(found)


class CursorChatLog(SessionLog):
    """Follows one conversation of the editor: its bubbles, in order."""

    client = "cursor"

    def take(self, record: Record) -> None:
        """Take in one bubble: a prompt, an answer, or a call with its result."""
        at, text = since_epoch(record.get("createdAt")), text_of(record.get("text"))
        message_id, call = text_of(record.get("bubbleId")), mapping(record.get("toolFormerData"))
        if record.get("type") == _PERSON:
            self.prompt(text, at=at)
        elif call:
            self._call(call, message_id, record)
        elif record.get("capabilityType") != _THINKING:
            self.answer(text, at=at, message_id=message_id)
        spent = mapping(record.get("tokenCount"))
        self.spend(message_id, sent=spent.get("inputTokens"), written=spent.get("outputTokens"))

    def _call(self, call: Record, message_id: str, record: Record) -> None:
        name, call_id = text_of(call.get("name")), text_of(call.get("toolCallId")) or message_id
        self.call(
            name, call.get("rawArgs") or call.get("params"), call_id=call_id, at=since_epoch(record.get("createdAt"))
        )
        ended = _ENDED.get(text_of(call.get("status")))
        if call.get("userDecision") == "rejected":
            ended = StepResult.DENIED
        if ended is None:
            return
        shown = call.get("result") or call.get("error")
        given = _parsed(shown)
        text = text_of(given.get("output")) or text_of(given.get("contents")) or text_of(shown)
        code = exit_code_of(given.get("exitCode", given.get("exitCodeV2"))) if name in _SHELLS else None
        self.result(call_id, text or shown, ended, exit_code=code)


def _parsed(value: Any) -> Record:
    if isinstance(value, dict):
        return value
    try:
        return _object.decode(text_of(value))
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return {}


class CursorEditorReader(DatabaseReader):
    """Reads the database of Cursor's editor, `state.vscdb`."""

    name = "cursor-editor"
    places = ("User/globalStorage/state.vscdb",)
    tables = frozenset({"cursorDiskKV"})

    def sessions(self, database: Database) -> Iterator[SessionPart]:
        """Yield the conversations with their folder and time."""
        query = "SELECT key, value FROM cursorDiskKV WHERE key LIKE 'composerData:%' AND value IS NOT NULL"
        for key, value in database.execute(query):
            about = _parsed(stored_text(value))
            at = about.get("lastUpdatedAt") or about.get("createdAt")
            if records(about.get("fullConversationHeadersOnly")) and type(at) is int:
                name = stored_text(key).partition(":")[2]
                yield SessionPart(name=name, workspace=workspace_of(about), size=at, modified_ns=at * 1_000_000)

    def session(self, database: Database, path: Path, name: str) -> Iterator[Part]:
        """Yield the attempts of one conversation."""
        return _conversation(database, path, name)


def _conversation(database: Database, path: Path, name: str) -> Iterator[Part]:
    about, place = _value(database, f"composerData:{name}"), Place(f"{path}#{name}")
    log = CursorChatLog(path)
    log.note(session_id=name, workspace=workspace_of(_parsed(about)))
    for header in records(_parsed(about).get("fullConversationHeadersOnly")):
        bubble = _value(database, f"bubbleId:{name}:{text_of(header.get('bubbleId'))}")
        try:
            yield from log.add_record(decode(_object, bubble.encode("utf-8", "replace"), place)) if bubble else ()
        except InvalidTrajectory as problem:
            yield problem
    yield from log.finish()


def _value(database: Database, key: str) -> str:
    row = database.execute("SELECT value FROM cursorDiskKV WHERE key = ?", (key,)).fetchone()
    return stored_text(row[0]) if row else ""


def workspace_of(about: Record) -> str:
    """Return the folder of a conversation, where it is noted."""
    uri = mapping(mapping(about.get("workspaceIdentifier")).get("uri"))
    folder = text_of(uri.get("fsPath")) or text_of(uri.get("path")) or text_of(about.get("workspaceUri"))
    if not folder.startswith("file:"):
        return folder
    try:
        return unquote(urlsplit(folder).path)
    except ValueError:
        return ""
