"""An item or an output of Codex → how the call ended, in the words that all clients share. Looks at one record only.

Where a call leaves an item, the item tells. A call that was refused, stopped or could not begin leaves only the text
that the model got. That text has a heading of the client's when a program ran, and none when the client itself speaks;
so a program's words are never taken for the client's.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import msgspec

from tacit.domain.trajectory import StepResult
from tacit.ingest.codex.records import Item
from tacit.ingest.decoding import text_of

_HEADING = re.compile(
    r"(?:Chunk ID: \w+\n)?(?:Exit code: (?P<exit>-?\d{1,9})\n)?(?:Wall time:? [\d.]+ seconds\n?)?"
    r"(?:Process exited with code (?P<process>-?\d{1,9})\n)?(?P<running>Process running with session ID \d+\n)?"
    r"(?:Original token count: \d+\n)?(?:Total output lines: \d+\n)?(?:Output:\n?)?"
)
_STOPPED = re.compile(r"(?:Wall time: [\d.]+ seconds\n)?aborted by user\b")
_REFUSED = re.compile(
    r"exec_command failed: .{0,300}(?:Rejected\(|blocked by policy)|(?:patch|exec command) rejected\b"
    r"|(?:user (?:rejected|cancelled) )?MCP tool call(?: blocked| cancelled|$)|(?:Command|Tool call) blocked by \w+ hook\b"
    r"|automatic approval review denied"
    r"|.{0,200}\brejected by (?:user|configuration|user approval settings)\s*$"
)
_FAILED = re.compile(
    r"unsupported call: |failed to parse |\w{1,80} failed: |apply_patch (?:verification failed|handler)"
)
_UNMATCHED = "Failed to find "

_legacy = msgspec.json.Decoder(dict[str, Any])


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a call ended and what came back of it; `runs` while a command is still at work."""

    result: StepResult
    observation: str = ""
    exit_code: int | None = None
    runs: bool = False


def outcome_of_item(item: Item) -> Outcome:
    """Say how the call ended that this item is about."""
    if item.type == "CommandExecution":
        text = text_of(item.aggregated_output)
        code = item.exit_code if isinstance(item.exit_code, int) and not isinstance(item.exit_code, bool) else None
        return Outcome(_result(item.status, code), text, code if code is not None and code >= 0 else None)
    if item.type == "FileChange":
        text = text_of(item.stdout) + text_of(item.stderr)
        result = _result(item.status)
        return Outcome(StepResult.NO_MATCH if result is StepResult.FAILED and _UNMATCHED in text else result, text)
    return _outcome_of_tool(item)


def outcome_of_output(output: Any, *, tool: str) -> Outcome:
    """Say how a call ended by the output that the model got, where no item told it."""
    text, succeeded = _text(output)
    if _STOPPED.match(text):
        return Outcome(StepResult.INTERRUPTED, text)
    heading = _HEADING.match(text)
    headed = heading is not None and heading.end() > 0
    if heading is not None and headed:
        body = text[heading.end() :]
        if heading["running"]:
            return Outcome(StepResult.UNKNOWN, body, runs=True)
        code = heading["exit"] or heading["process"]
        if code is not None:
            return _ended(int(code), body)
        text = body
    if not headed:
        result = result_of_words(text)
        # The text of an MCP tool may be its server's: that may tell of a failure, but not speak for the person.
        if result is StepResult.FAILED or (result is not StepResult.UNKNOWN and not tool.startswith("mcp__")):
            return Outcome(result, text)
    return _legacy_outcome(text) or Outcome(StepResult.FAILED if succeeded is False else StepResult.UNKNOWN, text)


def result_of_words(text: str) -> StepResult:
    """What the client's own words say of a call that it did not carry out."""
    if _REFUSED.match(text):
        return StepResult.DENIED
    if _FAILED.match(text):
        return StepResult.NO_MATCH if _UNMATCHED in text[:400] else StepResult.FAILED
    return StepResult.UNKNOWN


def text_of_output(output: Any) -> str:
    """The text that the model got."""
    return _text(output)[0]


def _outcome_of_tool(item: Item) -> Outcome:
    given = item.result if isinstance(item.result, dict) else {}
    error = item.error.get("message") if isinstance(item.error, dict) else item.error
    text = "\n".join(filter(None, (_text(given.get("content"))[0], text_of(error))))
    result = _result(item.status)
    if given.get("isError") is True or given.get("is_error") is True:
        result = StepResult.FAILED
    if error and _REFUSED.match(text_of(error)):
        result = StepResult.DENIED
    return Outcome(result, text)


def _result(status: Any, exit_code: int | None = None) -> StepResult:
    if status == "declined":
        return StepResult.DENIED
    if exit_code is not None:
        return StepResult.OK if exit_code == 0 else StepResult.FAILED
    known = {"completed": StepResult.OK, "failed": StepResult.FAILED, "interrupted": StepResult.INTERRUPTED}
    return known.get(status, StepResult.UNKNOWN) if isinstance(status, str) else StepResult.UNKNOWN


def _ended(code: int, text: str) -> Outcome:
    return Outcome(StepResult.OK if code == 0 else StepResult.FAILED, text, code if code >= 0 else None)


def _legacy_outcome(text: str) -> Outcome | None:
    """Read the JSON that older versions put around the output of a command."""
    if not text.startswith('{"output":'):
        return None
    try:
        given = _legacy.decode(text)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return None
    noted = given.get("metadata")
    code = noted.get("exit_code") if isinstance(noted, dict) else None
    if not isinstance(code, int) or isinstance(code, bool):
        return None
    return _ended(code, text_of(given.get("output")))


def _text(output: Any) -> tuple[str, bool | None]:
    """The text of an output in any of its forms, and whether the client says that the call succeeded."""
    if isinstance(output, dict):
        success = output.get("success")
        return _text(output.get("content"))[0], success if isinstance(success, bool) else None
    if isinstance(output, list):
        parts = (part.get("text") for part in output if isinstance(part, dict))
        return "\n".join(part.rstrip("\n") for part in parts if isinstance(part, str)), None
    return text_of(output), None
