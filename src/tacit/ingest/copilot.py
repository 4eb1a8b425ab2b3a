"""Copilot CLI's sessions → trajectories: `session-state/<id>/events.jsonl`, with the events of subagents in between."""

from __future__ import annotations

import re

from tacit.domain.trajectory import ASKED_BY_PROGRAM, StepResult
from tacit.ingest.log_files import moment_of, text_of
from tacit.ingest.session_log import (
    JsonLinesReader,
    Record,
    SessionLog,
    exit_code_of,
    mapping,
    records,
)

_OWN = frozenset({"", "user"})
"""Sources of a message that a person wrote; any other is a skill, a command or the client's own."""
_HOOKED = re.compile(r"\n\nTool \"[^\"\n]{1,200}\" (?:succeeded|failed)\. Additional guidance from \w{1,40} hooks:\n")
_SHELL_END = re.compile(r"\n?<shellId: [^>\n]{1,80}>\s*\Z")
_DENIED = frozenset({"denied", "rejected", "permission_denied"})


class CopilotLog(SessionLog):
    """Follows the events of one session."""

    client = "copilot"

    def introduce(self, record: Record) -> None:
        """Take in where and with what the session runs."""
        if record.get("type") == "session.start":
            data = mapping(record.get("data"))
            place = mapping(data.get("context"))
            self.note(
                session_id=data.get("sessionId"),
                workspace=place.get("cwd") or place.get("gitRoot"),
                branch=place.get("branch"),
                version=data.get("copilotVersion"),
                model=data.get("selectedModel"),
            )

    def take(self, record: Record) -> None:
        """Take in one event; that of a subagent names the call that started it."""
        data, kind = mapping(record.get("data")), text_of(record.get("type"))
        agent = text_of(record.get("agentId")) or text_of(data.get("parentToolCallId"))
        at = moment_of(record.get("timestamp"))
        if kind == "subagent.started":
            waiting = self.attempts.waiting(text_of(data.get("toolCallId")))
            asked = text_of(waiting.arguments.get("prompt")) if waiting else ""
            self.agent(agent or text_of(data.get("toolCallId"))).prompt(
                asked or text_of(data.get("agentDescription")), at=at
            )
            return
        log = self.agent(agent) if agent else self
        if kind == "user.message":
            text, source = text_of(data.get("content")), text_of(data.get("source"))
            if source not in _OWN:
                log.context(text, at=at, source=source)
            else:
                log.prompt(text, at=at, by=ASKED_BY_PROGRAM if data.get("isAutopilotContinuation") else "")
        elif kind == "assistant.message":
            log.attempts.note(model=text_of(data.get("model")))
            self._answer(log, data, record)
        elif kind == "tool.execution_start":
            self._start(log, data, record)
        elif kind == "tool.execution_complete":
            self._complete(log, data)
        elif kind == "skill.invoked":
            log.context(text_of(data.get("content")), at=at, skill=text_of(data.get("name")))
        elif kind == "hook.end":
            added, hook = text_of(mapping(data.get("output")).get("additionalContext")), text_of(data.get("hookType"))
            log.context(added, at=at, hook=hook)
        elif kind == "session.usage_record":
            spent = mapping(data.get("usage"))
            log.spend(
                text_of(spent.get("apiCallId")),
                sent=spent.get("inputTokens"),
                written=spent.get("outputTokens"),
                cached=spent.get("cacheReadTokens"),
            )
        elif kind == "abort":
            log.attempts.interrupt()

    def _answer(self, log: SessionLog, data: Record, record: Record) -> None:
        message_id, at = text_of(data.get("messageId")), moment_of(record.get("timestamp"))
        log.answer(text_of(data.get("content")), at=at, message_id=message_id)
        for call in records(data.get("toolRequests")):
            name = text_of(call.get("name"))
            given = call.get("arguments")
            skill = text_of(mapping(given).get("skill")) if name == "skill" else ""
            log.call(name, given, call_id=text_of(call.get("toolCallId")), at=at, message_id=message_id, skill=skill)

    def _start(self, log: SessionLog, data: Record, record: Record) -> None:
        """Take in that a call begins: its server is named here only, and a call that no message announced is new."""
        call_id, server = text_of(data.get("toolCallId")), text_of(data.get("mcpServerName"))
        name = f"mcp__{server}__{text_of(data.get('mcpToolName'))}" if server else text_of(data.get("toolName"))
        waiting = log.attempts.waiting(call_id)
        if waiting is None:
            log.call(name, data.get("arguments"), call_id=call_id, at=moment_of(record.get("timestamp")))
        elif server:
            waiting.tool = name

    def _complete(self, log: SessionLog, data: Record) -> None:
        error, result = mapping(data.get("error")), mapping(data.get("result"))
        ended = StepResult.OK if data.get("success") is True else StepResult.FAILED
        if text_of(error.get("code")) in _DENIED:
            ended = StepResult.DENIED
        text = _SHELL_END.sub("", _HOOKED.split(text_of(result.get("content")))[0]) or text_of(error.get("message"))
        code = exit_code_of(mapping(data.get("shellExecution")).get("exitCode"))
        log.result(text_of(data.get("toolCallId")), text, ended, exit_code=code)


class CopilotReader(JsonLinesReader):
    """Reads Copilot CLI's event files."""

    name = "copilot"
    keys = ((b'"copilotVersion"', b'"session.start"', b'"user.message"', b'"assistant.turn_start"'), (b'"data"',))
    log = CopilotLog
    places = ("session-state/*/events.jsonl",)
