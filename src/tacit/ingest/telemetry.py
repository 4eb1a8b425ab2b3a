"""OpenTelemetry → trajectories: OTLP/JSON documents, and the span lines that SDKs and Copilot CLI write to files.

Two dialects are read: the conventions for generative AI (`gen_ai.*`) and OpenInference; and the log events of Claude Code.
One trace is one attempt. A trace ends with its root, so that only the traces which are still open are kept in memory. What
a program sent to an agent is not a person's word; only Claude Code and Copilot say that a person typed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec

from tacit.domain.errors import InvalidTrajectory
from tacit.domain.stored import Mark
from tacit.domain.trajectory import ASKED_BY_PROGRAM, StepResult
from tacit.ingest.log_files import KeyedReader, Part, Parts, bounded, count_of, decode, holds_json, text_of
from tacit.ingest.session_log import Record, SessionLog, documents_in, exit_code_of, mapping, records, since_epoch

_MOST_SPANS = 20_000
"""Of all open traces together; beyond it the oldest trace ends."""
_OTLP = (b'"resourceSpans"', b'"resourceLogs"')
_SPAN = ((b'"trace_id"', b'"traceId"'), (b'"span_id"', b'"spanId"'), (b'"attributes"',))
_AGENT, _MODEL, _TOOL = "agent", "model", "tool"
_OPERATIONS = {
    "invoke_agent": _AGENT, "execute_tool": _TOOL, "chat": _MODEL, "generate_content": _MODEL, "text_completion": _MODEL,
    "AGENT": _AGENT, "TOOL": _TOOL, "LLM": _MODEL,
}  # fmt: skip
_OPEN_INFERENCE = "openinference.span.kind"
_CLAUDE = "claude_code."
_MESSAGE = re.compile(r"llm\.(input|output)_messages\.(\d{1,4})\.message\.(.+)")
_CALLED = re.compile(r"tool_calls\.(\d{1,4})\.tool_call\.(?:function\.)?(id|name|arguments)")
_TEXT = re.compile(r"contents\.\d{1,4}\.message_content\.text")
_object = msgspec.json.Decoder(Record)
_anything = msgspec.json.Decoder()


@dataclass(frozen=True, slots=True)
class TraceSpan:
    """One span, whatever wrote it."""

    trace: str
    id: str
    parent: str
    name: str
    at: datetime | None
    fields: Record
    events: list[Record] = field(default_factory=list)
    failed: bool = False
    message: str = ""
    resource: Record = field(default_factory=dict)

    @property
    def kind(self) -> str:
        """What the span is about: an agent, a model's answer, a call of a tool; empty for any other."""
        named = self.fields.get("gen_ai.operation.name") or self.fields.get(_OPEN_INFERENCE)
        if self.name == f"{_CLAUDE}llm_request":
            return _MODEL
        return _OPERATIONS.get(text_of(named), "")


def _value(value: Any) -> Any:
    """Return a value of OTLP's JSON as itself."""
    given = mapping(value)
    if "arrayValue" in given:
        return [_value(each) for each in records(mapping(given["arrayValue"]).get("values"))]
    if "kvlistValue" in given:
        return _fields(mapping(given["kvlistValue"]).get("values"))
    if "intValue" in given:
        whole = given["intValue"]
        return int(whole) if isinstance(whole, str) and re.fullmatch(r"-?\d{1,18}", whole) else whole
    return next(iter(given.values()), None)


def _fields(value: Any) -> Record:
    """Return attributes: an object, or OTLP's list of keys and values."""
    if isinstance(value, dict):
        return value
    return {text_of(each.get("key")): _value(each.get("value")) for each in records(value)}


def _events(value: Any) -> list[Record]:
    return [{"name": text_of(each.get("name")), **_fields(each.get("attributes"))} for each in records(value)]


def _moment(value: Any) -> datetime | None:
    if isinstance(value, list) and len(value) == 2:
        return since_epoch(count_of(value[0]) + count_of(value[1]) / 1e9, per_second=1)
    return since_epoch(value, per_second=1e9)


def spans_in(document: Any) -> Iterator[TraceSpan]:
    """Yield the spans of a document: an OTLP request, or one span as an SDK writes it."""
    given = mapping(document)
    for group in records(given.get("resourceSpans")):
        resource = _fields(mapping(group.get("resource")).get("attributes"))
        for scope in records(group.get("scopeSpans")):
            yield from (_span(each, resource) for each in records(scope.get("spans")))
    if "attributes" in given and ("span_id" in mapping(given.get("context")) or "spanId" in given):
        yield _span(given, _fields(mapping(given.get("resource")).get("attributes")))


def _span(given: Record, resource: Record) -> TraceSpan:
    context, status = mapping(given.get("context")), mapping(given.get("status"))
    code = status.get("code", status.get("status_code"))
    at = given.get("startTimeUnixNano", given.get("startTime", given.get("start_time")))
    return TraceSpan(
        trace=text_of(given.get("traceId") or context.get("trace_id")),
        id=text_of(given.get("spanId") or context.get("span_id")),
        parent=text_of(given.get("parentSpanId") or given.get("parent_id")),
        name=text_of(given.get("name")),
        at=_moment(at),
        fields=_fields(given.get("attributes")),
        events=_events(given.get("events")),
        failed=code in (2, "ERROR", "STATUS_CODE_ERROR"),
        message=text_of(status.get("message") or status.get("description")),
        resource=resource,
    )


def _parsed(value: Any) -> Any:
    """Return what a JSON text holds, or the value itself."""
    if isinstance(value, str) and value[:1] in ("[", "{"):
        try:
            return _anything.decode(value)
        except (msgspec.DecodeError, UnicodeError, RecursionError):
            return value
    return value


def messages_of(span: TraceSpan, side: str) -> list[Record]:
    """Return the input or output messages of a span as `{role, parts: [{type, …}]}`, in either dialect."""
    if _OPEN_INFERENCE in span.fields:
        return _flattened(span.fields, side)
    return records(_parsed(span.fields.get(f"gen_ai.{side}.messages")))


def _flattened(fields: Record, side: str) -> list[Record]:
    """Gather messages out of OpenInference's flat keys."""
    found: dict[int, Record] = {}
    calls: dict[tuple[int, int], Record] = {}
    for key, value in fields.items():
        named = _MESSAGE.fullmatch(key)
        if named is None or named[1] != side:
            continue
        number, rest = int(named[2]), named[3]
        message = found.setdefault(number, {"role": "", "parts": []})
        called = _CALLED.fullmatch(rest)
        if called:
            call = calls.get((number, int(called[1])))
            if call is None:
                call = calls[number, int(called[1])] = {"type": "tool_call"}
                message["parts"].append(call)
            call[called[2]] = value
        elif rest == "role":
            message["role"] = value
        elif rest == "tool_call_id":
            message["tool_call_id"] = value
        elif rest == "content" or _TEXT.fullmatch(rest):
            message["parts"].append({"type": "text", "content": value})
    return [message for _, message in sorted(found.items())]


class TraceLog(SessionLog):
    """Follows the spans of one trace, or those of a subagent in it."""

    client = "opentelemetry"
    whole = True

    def __init__(self, path: Path | str, *, agent_id: str = "") -> None:
        super().__init__(path, agent_id=agent_id)
        self._asked = 0
        self._open: list[tuple[str, str]] = []

    def take(self, record: Record) -> None:
        """Nothing: spans are given one by one, by `take_span`."""

    def take_span(self, span: TraceSpan) -> None:
        """Take in one span; they come in the order in which they began."""
        fields = span.fields
        self.note(
            session_id=fields.get("gen_ai.conversation.id") or fields.get("session.id"),
            version=span.resource.get("service.version"),
            model=fields.get("gen_ai.request.model") or fields.get("llm.model_name"),
        )
        self._ask(span)
        if span.kind == _MODEL:
            self._answer(span)
        elif span.kind == _TOOL:
            self._call(span)

    def _ask(self, span: TraceSpan) -> None:
        """Take in the messages of the other side that were not there before."""
        typed = span.name.startswith(_CLAUDE) or any(key.startswith("github.copilot.") for key in span.fields)
        if prompt := text_of(span.fields.get("user_prompt")):
            messages: list[Record] = [{"role": "user", "parts": [{"type": "text", "content": prompt}]}]
        else:
            messages = messages_of(span, "input")
        asked = [text for message in messages if message.get("role") == "user" and (text := _text(message))]
        if span.fields.get("gen_ai.provider.name") and typed and asked:
            asked = asked[-1:] if not self._asked else []  # each of these tells only what is new
        for text in asked[self._asked :]:
            self.prompt(text, at=span.at, by="" if typed else ASKED_BY_PROGRAM)
        self._asked = max(self._asked, len(asked))
        for message in messages:
            for part in records(message.get("parts")):
                if part.get("type") == "tool_call_response":
                    answer = part.get("response", part.get("result"))
                    self._resolve(text_of(part.get("id")), answer, StepResult.UNKNOWN)

    def _answer(self, span: TraceSpan) -> None:
        for message in messages_of(span, "output"):
            for part in records(message.get("parts")):
                if part.get("type") == "text":
                    self.answer(text_of(part.get("content")), at=span.at, message_id=span.id)
                elif part.get("type") == "tool_call":
                    name, call_id = text_of(part.get("name")), text_of(part.get("id"))
                    self._open.append((call_id or f"{span.id}.{len(self._open)}", name))
                    self.call(name, part.get("arguments"), call_id=self._open[-1][0], at=span.at, message_id=span.id)
        fields = span.fields
        cached = count_of(fields.get("gen_ai.usage.cache_read.input_tokens", fields.get("cache_read_tokens")))
        sent = fields.get("gen_ai.usage.input_tokens", fields.get("llm.token_count.prompt", fields.get("input_tokens")))
        written = fields.get(
            "gen_ai.usage.output_tokens", fields.get("llm.token_count.completion", fields.get("output_tokens"))
        )
        self.spend(span.id, sent=sent, written=written, cached=cached)

    def _call(self, span: TraceSpan) -> None:
        """Take in a call: by its id, or as the first open one of the tool; or one that no answer announced."""
        fields = span.fields
        name = text_of(fields.get("tool_name") or fields.get("gen_ai.tool.name") or fields.get("tool.name"))
        answer = mapping(mapping(_parsed(fields.get("output.value"))).get("data"))
        call_id = text_of(fields.get("gen_ai.tool.call.id")) or text_of(answer.get("tool_call_id"))
        if not call_id:
            call_id = next((each for each, tool in self._open if tool == name and self.attempts.waiting(each)), span.id)
        skill = text_of(fields.get("gen_ai.skill.name") or fields.get("skill_name"))
        waiting = self.attempts.waiting(call_id)
        if waiting is None:
            self.call(name, _arguments(span), call_id=call_id, at=span.at, message_id=span.id, skill=skill)
        elif skill:
            waiting.skill = bounded(skill)
        shown = next((event for event in span.events if event["name"] == "tool.output"), {})
        result = fields.get("gen_ai.tool.call.result", answer.get("content", fields.get("output.value")))
        text = result if result is not None else shown.get("output", shown.get("content"))
        problem = next(
            (text_of(event.get("exception.message")) for event in span.events if "exception.message" in event), ""
        )
        failed = span.failed or bool(fields.get("error.type")) or answer.get("status") == "error"
        ended = StepResult.FAILED if failed else StepResult.OK
        self._resolve(call_id, text if text is not None else problem or span.message, ended, span)

    def _resolve(self, call_id: str, content: Any, ended: StepResult, span: TraceSpan | None = None) -> None:
        if self.attempts.waiting(call_id) is None:
            return
        code = exit_code_of(span.fields.get("process.exit.code")) if span else None
        self.result(call_id, content if isinstance(content, str | list) else str(content or ""), ended, exit_code=code)


def _text(message: Record) -> str:
    texts = (text_of(part.get("content")) for part in records(message.get("parts")) if part.get("type") == "text")
    return "\n".join(filter(None, texts))


def _arguments(span: TraceSpan) -> Any:
    """Return what a tool was called with, from any of the attributes that may hold it."""
    fields = span.fields
    given = fields.get("gen_ai.tool.call.arguments", fields.get("input.value"))
    if given is not None:
        return given
    shown = next((event for event in span.events if event["name"] == "tool.output"), {})
    described = {
        "command": fields.get("full_command"),
        "file_path": fields.get("file_path"),
        "skill": fields.get("skill_name"),
    }
    return {key: value for key, value in {**described, "content": shown.get("content")}.items() if value is not None}


class ClaudeEventLog(SessionLog):
    """Follows the log events of one session of Claude Code."""

    client = "claude-code"

    def take(self, record: Record) -> None:
        """Take in one event: its attributes, with its time under `at`."""
        kind, at = text_of(record.get("event.name")), record["at"]
        message_id = text_of(record.get("request_id"))
        by_program = "sdk" in (record.get("query_source"), record.get("prompt.source"), record.get("entrypoint"))
        if kind == "user_prompt":
            text = text_of(record.get("prompt")) or text_of(record.get("prompt_text"))
            self.prompt(text, at=at, by=ASKED_BY_PROGRAM if by_program else "")
        elif kind == "assistant_response":
            self.answer(text_of(record.get("response")), at=at, message_id=message_id)
        elif kind == "api_request":
            self.attempts.note(model=text_of(record.get("model")))
            sent = count_of(record.get("input_tokens")) + count_of(record.get("cache_creation_tokens"))
            cached, usd = record.get("cache_read_tokens"), record.get("cost_usd")
            self.spend(message_id, sent=sent, written=record.get("output_tokens"), cached=cached, usd=usd)
        elif kind == "tool_result":
            self._call(record, at, message_id)

    def _call(self, record: Record, at: datetime | None, message_id: str) -> None:
        noted, call_id = mapping(_parsed(record.get("tool_parameters"))), text_of(record.get("tool_use_id"))
        server = text_of(noted.get("mcp_server_name"))
        name = f"mcp__{server}__{text_of(noted.get('mcp_tool_name'))}" if server else text_of(record.get("tool_name"))
        command = {"command": noted["full_command"]} if "full_command" in noted else {}
        given = _parsed(record.get("tool_input")) or command
        skill = text_of(noted.get("skill_name"))
        self.call(name, given, call_id=call_id, at=at, message_id=message_id, skill=skill)
        worked = record.get("success") in (True, "true")
        self.result(call_id, text_of(record.get("error")), StepResult.OK if worked else StepResult.FAILED)


class TelemetryReader(KeyedReader):
    """Reads files of spans and of log events."""

    name = "opentelemetry"

    def recognises(self, head: bytes, path: Path | None) -> bool:
        """Whether the first bytes hold the keys of OTLP, or of one span."""
        if not holds_json(head, path):
            return False
        return any(key in head for key in _OTLP) or all(any(key in head for key in group) for group in _SPAN)

    def read(self, path: Path, *, start: Mark | None = None) -> Parts:
        """Yield an attempt for each trace, and for each task of a session that log events tell of."""
        return Parts(_parts(path))


def _parts(path: Path) -> Iterator[Part]:
    traces: dict[str, dict[str, TraceSpan]] = {}
    sessions: dict[str, ClaudeEventLog] = {}
    for found in documents_in(path):
        if isinstance(found, InvalidTrajectory):
            yield found
            continue
        try:
            document = decode(_anything, *found)
        except InvalidTrajectory as problem:
            yield problem
            continue
        ended = []
        for span in spans_in(document):
            traces.setdefault(span.trace, {})[span.id] = span
            if not span.parent:
                ended.append(span.trace)
        while sum(map(len, traces.values())) > _MOST_SPANS:
            ended.append(next(each for each in traces if each not in ended))
            yield from _attempts(traces.pop(ended[-1]).values(), path)
        for trace in dict.fromkeys(ended):
            yield from _attempts(traces.pop(trace, {}).values(), path)
        yield from _events_in(document, sessions, path)
    for spans in traces.values():
        yield from _attempts(spans.values(), path)
    for session in sessions.values():
        yield from session.finish()


def _attempts(spans: Iterable[TraceSpan], path: Path) -> Iterator[Part]:
    """Yield the attempt of a trace and those of its subagents."""
    known = {span.id: span for span in spans}
    if not any(span.kind for span in known.values()):
        return
    log = TraceLog(path)
    service = next((text_of(span.resource.get("service.name")) for span in known.values()), "")
    if service and not service.startswith("unknown_service"):
        log.attempts.client = bounded(service)
    for span in [span for span in known.values() if span.name == f"{_CLAUDE}tool.execution" and span.failed]:
        call = known.get(span.parent)  # of the two spans of a call, the inner one says how it ended
        if call is not None:
            known[call.id] = replace(call, failed=True, message=call.message or span.message)
    for span in sorted(known.values(), key=lambda span: (span.at is None, span.at, span.kind != _AGENT)):
        agents = _agents_around(span, known)
        own = log if len(agents) < 2 else log.agent(agents[-1])
        if isinstance(own, TraceLog) and span.kind:
            own.take_span(span)
    yield from log.finish()


def _agents_around(span: TraceSpan, known: dict[str, TraceSpan]) -> list[str]:
    """Return the agents that a span belongs to, the outermost first. The nodes of a graph are no agents of their own."""
    found: list[str] = []
    at: TraceSpan | None = span
    for _ in range(len(known)):
        if at is None:
            break
        if at.kind == _AGENT and _OPEN_INFERENCE not in at.fields:
            found.insert(0, at.id)
        at = known.get(at.parent)
    return found


def _events_in(document: Any, sessions: dict[str, ClaudeEventLog], path: Path) -> Iterator[Part]:
    """Take in the log events of a document; yields the attempts that they end."""
    for group in records(mapping(document).get("resourceLogs")):
        resource = _fields(mapping(group.get("resource")).get("attributes"))
        for scope in records(group.get("scopeLogs")):
            for event in records(scope.get("logRecords")):
                fields = _fields(event.get("attributes"))
                if not text_of(_value(event.get("body"))).startswith(_CLAUDE) and "event.name" not in fields:
                    continue
                name = text_of(fields.get("session.id"))
                log = sessions.setdefault(name, ClaudeEventLog(path))
                log.note(session_id=name, version=resource.get("service.version"))
                yield from log.add_record({**fields, "at": _moment(event.get("timeUnixNano"))})
