"""Sessions in the messages of the pi agent → trajectories: OpenClaw, pi itself, and letta-code with its local backend."""

from __future__ import annotations

import json
import re
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

from tacit.domain.trajectory import StepResult
from tacit.ingest.log_files import all_texts, text_of
from tacit.ingest.session_log import (
    JsonLinesReader,
    Record,
    SessionLog,
    exit_code_of,
    mapping,
    records,
    since_epoch,
    texts_in,
)
from tacit.text.tool_calls import plain_name

_EXIT_CODE = re.compile(
    r"\AExit code: (\d{1,9})\n|\n\nCommand exited with code (\d{1,9})\s*\Z|\(exit code (\d{1,9})\)\s*\Z"
)
_FAILED = ("String to replace not found in file", "Tool not found: ", "Error: ", "Error executing ")
_HOOKED = re.compile(r"\n*\[Hook feedback\]:\n.*\Z", re.DOTALL)
_FOLDER = re.compile(r"^- \*\*Current working directory\*\*: (/.{1,4000})$", re.MULTILINE)
_SHELLS = frozenset({"bash", "exec"})


class PiLog(SessionLog):
    """Follows the messages of one session."""

    client = "pi"

    def introduce(self, record: Record) -> None:
        """Take in the header: which session, and where."""
        if record.get("type") == "session":
            self.note(session_id=record.get("id"), workspace=record.get("cwd"))

    def take(self, record: Record) -> None:
        """Take in one entry of the session; those that hold no message say nothing of what was done."""
        kind = record.get("type")
        if kind == "message":
            self.take_message(mapping(record.get("message")), record)
        elif kind in ("compaction", "branch_summary"):
            self.context(text_of(record.get("summary")), source=text_of(kind))
        elif kind == "custom_message":
            self.context(texts_in(record.get("content")), source=text_of(record.get("customType")))

    def take_message(self, message: Record, entry: Record) -> None:
        """Take in a message of either side, or the result of a call."""
        at = since_epoch(message.get("timestamp") or entry.get("timestamp"))
        role, content = message.get("role"), message.get("content")
        if role == "user":
            for text in (
                [content] if isinstance(content, str) else [text_of(part.get("text")) for part in records(content)]
            ):
                self.prompt(text, at=at)
        elif role == "assistant":
            self._answer(message, text_of(entry.get("id")) or text_of(message.get("responseId")))
        elif role == "toolResult":
            text = _HOOKED.sub("", texts_in(content))
            tool, code = text_of(message.get("toolName")), _EXIT_CODE.search(text)
            is_shell = plain_name(tool) in _SHELLS
            failed = message.get("isError") is True or text.startswith(_FAILED)
            noted = exit_code_of(mapping(message.get("details")).get("exitCode"))
            exit_code = int(next(filter(None, code.groups()))) if code and is_shell else noted
            if exit_code is None and is_shell and not failed:
                exit_code = 0
            ended = StepResult.FAILED if failed else StepResult.OK
            text = _EXIT_CODE.sub("", text) if is_shell else text
            self.result(text_of(message.get("toolCallId")), text, ended, exit_code=exit_code if is_shell else None)
        elif role == "bashExecution":  # the person runs a command; the agent sees what it printed
            self.context(f"{text_of(message.get('command'))}\n{text_of(message.get('output'))}", at=at, source="shell")

    def _answer(self, message: Record, message_id: str) -> None:
        at, content = since_epoch(message.get("timestamp")), message.get("content")
        self.attempts.note(model=text_of(message.get("model")))
        for part in [{"type": "text", "text": content}] if isinstance(content, str) else records(content):
            if part.get("type") == "text":
                self.answer(text_of(part.get("text")), at=at, message_id=message_id)
            elif part.get("type") == "toolCall":
                name, given = text_of(part.get("name")), part.get("arguments")
                skill = text_of(mapping(given).get("skill")) if name == "Skill" else ""
                self.call(name, given, call_id=text_of(part.get("id")), at=at, message_id=message_id, skill=skill)
        spent = mapping(message.get("usage"))
        self.spend(
            message_id,
            sent=spent.get("input"),
            written=spent.get("output"),
            cached=spent.get("cacheRead"),
            usd=mapping(spent.get("cost")).get("total") or None,
        )


class PiReader(JsonLinesReader):
    """Reads the sessions of pi."""

    name = "pi"
    keys = ((b'"type":"session"', b'"type": "session"'), (b'"cwd"',))
    log: type[SessionLog] = PiLog
    places = ("agent/sessions/*/*.jsonl",)

    def recognises(self, head: bytes, path: Path | None) -> bool:
        """Whether this is a session, and not one of OpenClaw, which keeps them in the same form."""
        return super().recognises(head, path) and not is_openclaws(path)


class OpenClawLog(PiLog):
    """Follows one session of OpenClaw."""

    client = "openclaw"


class OpenClawReader(PiReader):
    """Reads OpenClaw's sessions; a subagent's is named in the index beside the files by the session that started it."""

    name = "openclaw"
    log = OpenClawLog
    places = ("agents/*/sessions/*.jsonl",)

    def recognises(self, head: bytes, path: Path | None) -> bool:
        """Whether this is a session in OpenClaw's folders."""
        return JsonLinesReader.recognises(self, head, path) and is_openclaws(path)

    def session_file(self, path: Path) -> Path | None:
        """Return the file of the session that started this one as a subagent."""
        index = _index(path)
        own = next((entry for entry in index.values() if entry.get("sessionId") == path.stem), {})
        parent = mapping(index.get(text_of(own.get("spawnedBy"))))
        file = path.with_name(f"{text_of(parent.get('sessionId'))}.jsonl")
        return file if own.get("spawnedBy") and file != path and file.is_file() else None

    def agent_files(self, path: Path) -> list[tuple[Path, str]]:
        """Return the sessions that this one started."""
        index = _index(path)
        keys = [key for key, entry in index.items() if entry.get("sessionId") == path.stem]
        names = [text_of(entry.get("sessionId")) for entry in index.values() if entry.get("spawnedBy") in keys]
        files = [(path.with_name(f"{name}.jsonl"), name) for name in sorted(names) if name and "/" not in name]
        return [(file, name) for file, name in files if file != path and file.is_file()]


def is_openclaws(path: Path | None) -> bool:
    """Whether a session's file lies in OpenClaw's folders."""
    return path is not None and path.parent.name == "sessions" and path.parent.parent.parent.name == "agents"


def _index(path: Path) -> dict[str, Record]:
    """Read the index of the sessions beside a file; nothing if there is none."""
    return {key: entry for key, entry in _sibling_file(path, "sessions.json").items() if isinstance(entry, dict)}


def _sibling_file(path: Path, name: str) -> Record:
    """Read a document beside a file; nothing if there is none."""
    with suppress(OSError, ValueError, RecursionError):
        return mapping(json.loads(path.with_name(name).read_bytes()))
    return {}


_COUNTED_FROM = datetime(2026, 1, 1, tzinfo=UTC)
_LONGEST = timedelta(days=30)


class LettaLog(PiLog):
    """Follows one conversation of letta-code with its local backend: bare messages, one per line."""

    client = "letta-code"

    def __init__(self, path: Path | str, *, agent_id: str = "") -> None:
        super().__init__(path, agent_id=agent_id)
        self._began = since_epoch(_sibling_file(self.path, "manifest.json").get("created_at"))

    def introduce(self, record: Record) -> None:
        """Take in which conversation this is."""
        named = mapping(record.get("metadata"))
        agent, conversation = text_of(named.get("agent_id")), text_of(named.get("conversation_id"))
        self.note(session_id="_".join(filter(None, (agent, conversation))))
        for text in all_texts(record.get("content")) if record.get("role") == "user" else ():
            if text.startswith("<system-reminder>") and (named_folder := _FOLDER.search(text)):
                self.note(workspace=named_folder[1])

    def take(self, record: Record) -> None:
        """Take in one message. Its time is made up: seconds counted from 2026 on, here from when the conversation began."""
        at = since_epoch(record.get("timestamp") or mapping(record.get("metadata")).get("created_at"))
        if at is not None and timedelta() <= at - _COUNTED_FROM < _LONGEST:
            at = self._began + (at - _COUNTED_FROM) if self._began else None
        self.take_message(record | {"timestamp": at and at.isoformat()}, {"id": record.get("id")})


class LettaReader(JsonLinesReader):
    """Reads letta-code's local conversations."""

    name = "letta-code"
    keys = ((b'"conversation_id"',), (b'"agent_id"',), (b'"role"',))
    log = LettaLog
    places = ("lc-local-backend/conversations/*/messages.jsonl",)
