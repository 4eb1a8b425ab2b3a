"""Gemini CLI's and Qwen Code's chats → trajectories. Both speak in Gemini's parts; Qwen's envelope is like Claude Code's.

Gemini writes a message again when it changes, and history again when it is resumed: what was read once is not read again.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

from tacit.domain.trajectory import StepResult
from tacit.ingest.log_files import count_of, moment_of, text_of
from tacit.ingest.session_log import (
    JsonLinesReader,
    Record,
    SessionLog,
    exit_code_of,
    mapping,
    records,
    texts_in,
)
from tacit.text.client_tools import SHELL, framed_output

_SEEN_MAX = 20_000
_ENDED = {
    "success": StepResult.OK,
    "error": StepResult.FAILED,
    "cancelled": StepResult.DENIED,
    "canceled": StepResult.DENIED,
}
_MCP = re.compile(r"\((.{1,200}) MCP Server\)\Z")


def response_of(parts: Any) -> str:
    """Return what a tool answered: the output or the error of each function response."""
    found: list[str] = []
    for part in records(parts):
        response = mapping(mapping(part.get("functionResponse")).get("response"))
        found.append(text_of(response.get("output")) or text_of(response.get("error")))
    return "\n".join(filter(None, found))


class GeminiLog(SessionLog):
    """Follows one chat of Gemini CLI."""

    client = "gemini"

    def __init__(self, path: Path | str, *, agent_id: str = "") -> None:
        super().__init__(path, agent_id=agent_id)
        self._seen: dict[str, None] = {}

    def introduce(self, record: Record) -> None:
        """Take in which session this is; the folder it ran in is noted in a file beside the chats."""
        if "projectHash" in record:
            self.note(session_id=record.get("sessionId"), workspace=project_of_chats(self.path))

    def take(self, record: Record) -> None:
        """Take in one message, or the messages of a patch."""
        for message in (record, *records(mapping(record.get("$set")).get("messages"))):
            if message.get("type") == "user":
                self._ask(message)
            elif message.get("type") == "gemini":
                self._answer(message)

    def _is_new(self, key: str) -> bool:
        if not key or key in self._seen:
            return not key
        self._seen[key] = None
        if len(self._seen) > _SEEN_MAX:
            del self._seen[next(iter(self._seen))]
        return True

    def _ask(self, message: Record) -> None:
        content = message.get("content")
        texts = [content] if isinstance(content, str) else [text_of(part.get("text")) for part in records(content)]
        if any(text.strip() for text in texts) and self._is_new(text_of(message.get("id"))):
            for text in texts:
                self.prompt(text, at=moment_of(message.get("timestamp")))

    def _answer(self, message: Record) -> None:
        message_id, at = text_of(message.get("id")), moment_of(message.get("timestamp"))
        if self._is_new(message_id):
            self.attempts.note(model=text_of(message.get("model")))
            self.answer(texts_in(message.get("content")), at=at, message_id=message_id)
        spent = mapping(message.get("tokens"))
        if spent:
            cached = count_of(spent.get("cached"))
            sent = max(0, count_of(spent.get("input")) - cached)
            self.spend(message_id, sent=sent, written=spent.get("output"), cached=cached)
        for call in records(message.get("toolCalls")):
            self._call(call, message_id)

    def _call(self, call: Record, message_id: str) -> None:
        call_id, status = text_of(call.get("id")), text_of(call.get("status"))
        name, arguments = text_of(call.get("name")), call.get("args")
        if self._is_new(f"call {call_id}"):
            server = _MCP.search(text_of(call.get("displayName")))
            prefix = f"mcp_{server[1]}_" if server else ""
            skill = text_of(mapping(arguments).get("name")) if name == "activate_skill" else ""
            self.call(
                f"mcp__{server[1]}__{name.removeprefix(prefix)}" if server else name,
                arguments,
                call_id=call_id,
                at=moment_of(call.get("timestamp")),
                message_id=message_id,
                skill=skill,
            )
        if status in _ENDED and self.attempts.waiting(call_id) is not None:
            text, code = framed_output(response_of(call.get("result")), tool=name)
            ran = 0 if name == SHELL and status == "success" else None
            self.result(call_id, text, _ENDED[status], exit_code=ran if code is None else code)


def project_of_chats(path: Path) -> str:
    """Return the folder that Gemini's chats belong to: it is noted in a file beside their folder."""
    for folder in path.parents[:3]:
        with suppress(OSError, UnicodeDecodeError):
            return (folder / ".project_root").read_text(encoding="utf-8").strip()
    return ""


class GeminiReader(JsonLinesReader):
    """Reads Gemini CLI's chats; those of subagents lie in a folder named after the session."""

    name = "gemini"
    keys = ((b'"projectHash"',), (b'"sessionId"',))
    log = GeminiLog
    places = ("tmp/*/chats/session-*.jsonl",)

    def session_file(self, path: Path) -> Path | None:
        """Return the session's own chat for a subagent's, if it is there."""
        if path.parent.parent.name != "chats":
            return None
        siblings = sorted(path.parent.parent.glob(f"session-*-{path.parent.name[:8]}.jsonl"))
        return siblings[0] if siblings else None

    def agent_files(self, path: Path) -> Iterable[tuple[Path, str]]:
        """Return the chats of the session's subagents."""
        with suppress(OSError, ValueError):
            with path.open("rb") as stream:
                header = mapping(json.loads(stream.readline(65536)))
            session = text_of(header.get("sessionId"))
            if session and "/" not in session and path.parent.name == "chats":
                return [(file, file.stem) for file in sorted((path.parent / session).glob("*.jsonl"))]
        return ()


_PERSON = "real_user"


class QwenLog(SessionLog):
    """Follows one chat of Qwen Code."""

    client = "qwen-code"

    def introduce(self, record: Record) -> None:
        """Take in where and with what the session runs."""
        self.note(
            session_id=record.get("sessionId"),
            workspace=record.get("cwd"),
            branch=record.get("gitBranch"),
            version=record.get("version"),
            model=record.get("model"),
        )

    def take(self, record: Record) -> None:
        """Take in one record."""
        kind, parts = record.get("type"), mapping(record.get("message")).get("parts")
        at, message_id = moment_of(record.get("timestamp")), text_of(record.get("uuid"))
        if kind == "user":
            self._ask(record, parts)
        elif kind == "assistant":
            for part in records(parts):
                if part.get("thought") is not True:
                    self.answer(text_of(part.get("text")), at=at, message_id=message_id)
                if call := mapping(part.get("functionCall")):
                    name, given = text_of(call.get("name")), call.get("args")
                    skill = text_of(mapping(given).get("skill")) if name == "skill" else ""
                    self.call(name, given, call_id=text_of(call.get("id")), at=at, message_id=message_id, skill=skill)
            spent = mapping(record.get("usageMetadata"))
            cached = count_of(spent.get("cachedContentTokenCount"))
            sent = max(0, count_of(spent.get("promptTokenCount")) - cached)
            self.spend(message_id, sent=sent, written=spent.get("candidatesTokenCount"), cached=cached)
        elif kind == "tool_result":
            noted = mapping(record.get("toolCallResult"))
            shown = mapping(noted.get("resultDisplay"))
            named = next((mapping(part.get("functionResponse")).get("id") for part in records(parts)), "")
            ended = _ENDED.get(text_of(noted.get("status")), StepResult.UNKNOWN)
            code, printed = exit_code_of(shown.get("exitCode")), shown.get("output")
            text = printed if isinstance(printed, str) else response_of(parts)
            self.result(text_of(noted.get("callId") or named), text, ended, exit_code=code)

    def _ask(self, record: Record, parts: Any) -> None:
        at, typed = moment_of(record.get("timestamp")), mapping(record.get("systemPayload")).get("displayText")
        for part in records(parts):
            text = text_of(part.get("text"))
            if record.get("provenance", _PERSON) == _PERSON and typed in (None, text):
                self.prompt(text, at=at)
            else:
                self.context(text, at=at, provenance=text_of(record.get("provenance")))


class QwenReader(JsonLinesReader):
    """Reads Qwen Code's chats."""

    name = "qwen-code"
    keys = ((b'"sessionId"',), (b'"provenance"', b'"usageMetadata"', b'"toolCallResult"'), (b'"uuid"',))
    log = QwenLog
    places = ("projects/*/chats/*.jsonl",)
