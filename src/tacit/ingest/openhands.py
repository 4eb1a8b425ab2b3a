"""OpenHands' event streams → trajectories: a list of events, one event per line, or a folder with one event per file.

Older events name an `action` or an `observation`, newer ones their `kind`; both say which call a result belongs to.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from tacit.domain.errors import InvalidTrajectory
from tacit.domain.trajectory import StepResult
from tacit.ingest.log_files import Part, decode, moment_of, text_of
from tacit.ingest.session_log import (
    DocumentReader,
    Record,
    SessionLog,
    documents_in,
    exit_code_of,
    mapping,
    records,
    texts_in,
)

_SPOKEN = frozenset({"message", "finish", "reject"})
_SILENT = frozenset({"think", "recall", "system", "change_agent_state", "agent_state_changed", "null", "condensation"})
_TOOLS = {
    "run": "execute_bash",
    "run_ipython": "execute_ipython_cell",
    "read": "view",
    "write": "write",
    "edit": "edit",
}
_EVENT = re.compile(r"(?:event-)?(\d{1,9})(?:-[\w-]+)?\.json")
_object = msgspec.json.Decoder(Record)
_OBSERVED = frozenset({"ObservationEvent", "AgentErrorEvent", "UserRejectObservation"})
_KEPT = frozenset({"command", "path", "content", "file_text", "old_str", "new_str", "code", "url", "query"})
"""Arguments of an older action that say what was done; the others are the runtime's."""


class OpenHandsLog(SessionLog):
    """Follows one conversation."""

    client = "openhands"

    def introduce(self, record: Record) -> None:
        """Take in the model, where a call tells it."""
        answer = mapping(mapping(record.get("tool_call_metadata")).get("model_response"))
        self.note(model=answer.get("model"))

    def take(self, record: Record) -> None:
        """Take in one event."""
        if "kind" in record:
            self._take_event(record)
        elif "observation" in record:
            self._observe(record)
        elif "action" in record:
            self._do(record)

    def _do(self, record: Record) -> None:
        action, args = text_of(record.get("action")), mapping(record.get("args"))
        at, text = moment_of(record.get("timestamp")), text_of(args.get("content")) or text_of(record.get("message"))
        if action == "message" and record.get("source") == "user":
            self.prompt(text, at=at)
        elif action in _SPOKEN:
            self.answer(text_of(args.get("final_thought")) or text, at=at)
        elif action not in _SILENT:
            called = mapping(record.get("tool_call_metadata"))
            message_id = text_of(mapping(called.get("model_response")).get("id"))
            self.answer(text_of(args.get("thought")), at=at, message_id=message_id)
            tool = text_of(called.get("function_name")) or _TOOLS.get(action, action)
            kept = {key: value for key, value in args.items() if key in _KEPT and value not in (None, "")}
            given = _asked_for(called) or kept
            self.call(tool, given, call_id=f"event {record.get('id')}", at=at, message_id=message_id)

    def _observe(self, record: Record) -> None:
        kind, extras = text_of(record.get("observation")), mapping(record.get("extras"))
        if kind in _SILENT or not record.get("cause"):
            return
        noted = mapping(extras.get("metadata"))
        code = exit_code_of(noted.get("exit_code", extras.get("exit_code")))
        text = text_of(record.get("content"))
        failed = kind == "error" or text.startswith("ERROR:")
        ended = StepResult.DENIED if kind == "user_rejected" else StepResult.FAILED if failed else StepResult.OK
        self.result(f"event {record.get('cause')}", text, ended, exit_code=None if code == -1 else code)

    def _take_event(self, record: Record) -> None:
        kind, at = text_of(record.get("kind")), moment_of(record.get("timestamp"))
        call_id = text_of(record.get("tool_call_id"))
        if kind == "MessageEvent":
            text = texts_in(mapping(record.get("llm_message")).get("content"))
            if record.get("source") == "user":
                self.prompt(text, at=at)
            else:
                self.answer(text, at=at)
            self.context(texts_in(record.get("extended_content")), at=at, source="extended_content")
        elif kind == "ActionEvent":
            message_id = text_of(record.get("llm_response_id"))
            self.answer(texts_in(record.get("thought")), at=at, message_id=message_id)
            called = mapping(record.get("tool_call"))
            given = mapping(record.get("action")) or called.get("arguments")
            if isinstance(given, dict):
                given = {key: value for key, value in given.items() if key != "kind" and value is not None}
            tool = text_of(record.get("tool_name")) or text_of(called.get("name"))
            self.call(tool, given, call_id=call_id, at=at, message_id=message_id)
        elif kind in _OBSERVED:
            self._end_call(record, call_id)

    def _end_call(self, record: Record, call_id: str) -> None:
        seen = mapping(record.get("observation"))
        text = texts_in(seen.get("content")) or text_of(record.get("error")) or text_of(record.get("rejection_reason"))
        failed = seen.get("is_error") is True or record.get("kind") == "AgentErrorEvent"
        ended = StepResult.FAILED if failed else StepResult.OK
        if record.get("kind") == "UserRejectObservation":
            ended = StepResult.DENIED
        code = exit_code_of(seen.get("exit_code", mapping(seen.get("metadata")).get("exit_code")))
        self.result(call_id, text, ended, exit_code=None if code == -1 else code)


def _asked_for(called: Record) -> Any:
    """Return the arguments as the model wrote them, where its answer is noted beside the action."""
    for choice in records(mapping(called.get("model_response")).get("choices")):
        for call in records(mapping(choice.get("message")).get("tool_calls")):
            if call.get("id") == called.get("tool_call_id"):
                return mapping(call.get("function")).get("arguments")
    return None


class OpenHandsReader(DocumentReader):
    """Reads OpenHands' event streams."""

    name = "openhands"
    keys = (
        (b'"source"',),
        (b'"timestamp"',),
        (b'"action"', b'"observation"', b'"kind"'),
        (b'"args"', b'"extras"', b'"llm_message"', b'"tool_name"', b'"SystemPromptEvent"'),
    )
    log = OpenHandsLog
    lists = True

    def session_file(self, path: Path) -> Path | None:
        """Return the first event's file for every later one: they are read together."""
        siblings = _event_files(path)
        return siblings[0] if siblings and siblings[0] != path else None

    def _parts(self, path: Path) -> Iterator[Part]:
        siblings = _event_files(path)
        if not siblings:
            yield from super()._parts(path)
            return
        log = self.log(path)
        log.note(session_id=path.parent.parent.name)
        for file in siblings:
            for found in documents_in(file):
                try:
                    if isinstance(found, InvalidTrajectory):
                        raise found
                    yield from log.add_record(decode(_object, *found))
                except InvalidTrajectory as problem:
                    yield problem
        yield from log.finish()

    def records(self, document: Any) -> Iterable[Record] | None:
        """Return the events: of a list, or under `history` or `trajectory` in the output of an evaluation."""
        if isinstance(document, dict):
            document = next(
                (document[key] for key in ("history", "trajectory", "events") if key in document), [document]
            )
        return records(document) if isinstance(document, list) else None


def _event_files(path: Path) -> list[Path]:
    """Return the files of one conversation in order, for the file of one event."""
    if path.parent.name != "events" or not _EVENT.fullmatch(path.name):
        return []
    numbered = ((found, each) for each in path.parent.iterdir() if (found := _EVENT.fullmatch(each.name)))
    return [each for _, each in sorted((int(found[1]), each) for found, each in numbered)]
