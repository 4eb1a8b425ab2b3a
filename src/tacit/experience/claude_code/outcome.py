"""A tool result of Claude Code → how the call ended, in the words that all clients share. Looks at one record only."""

from __future__ import annotations

import re

import msgspec

from tacit.domain.trajectory import StepResult
from tacit.experience.claude_code.records import Block, Record, Structured

_EXIT_CODE = re.compile(r"(?:Error: )?Exit code (\d{1,9})\b")
_NO_MATCH = ("String to replace not found", "String not found in file", "No match found", "No matches found")
_DENIED = ("The user doesn't want to ", "Permission to use ", "Permission for this tool use was denied")
_INTERRUPTED = (
    "[Request interrupted",
    "[Tool call interrupted",
    "[Agent call interrupted",
    "[Tool call did not complete",
)
_INTERRUPTIONS = frozenset({"interrupted", "cancelled"})
_SHELLS = frozenset({"Bash", "PowerShell"})
_REFUSALS = frozenset({"reject", "deny", "block"})

_structured = msgspec.json.Decoder(Structured)
_PLAIN = Structured()

Outcome = tuple[StepResult, int | None]


def outcome_of(record: Record, block: Block, *, tool: str, text: str) -> Outcome:
    """Say how the call ended, and with which exit code if the client tells."""
    stopped = _stopped(record)
    if stopped is not None:
        return stopped, None
    noted = _noted(record)
    if noted.interrupted is True:
        return StepResult.INTERRUPTED, None
    if block.is_error is True:
        return _failure(tool, text)
    if noted.backgroundTaskId:
        return StepResult.UNKNOWN, None
    # A code that the client explains away ("no matches found") is not zero, and it does not say which.
    return StepResult.OK, 0 if tool in _SHELLS and not noted.returnCodeInterpretation else None


def is_interruption(text: str) -> bool:
    """Whether a text in the user's place is the client's note that work was stopped."""
    return text.startswith("[Request interrupted")


def _stopped(record: Record) -> StepResult | None:
    if record.toolDenialKind:
        return StepResult.INTERRUPTED if record.toolDenialKind in _INTERRUPTIONS else StepResult.DENIED
    if record.permissionDecision is not None and record.permissionDecision.decision in _REFUSALS:
        return StepResult.DENIED
    return None


def _failure(tool: str, text: str) -> Outcome:
    found = _EXIT_CODE.match(text)
    exit_code = int(found[1]) if found else None
    if text.startswith(_INTERRUPTED) or "[Request interrupted by user" in text[-200:]:
        return StepResult.INTERRUPTED, exit_code
    if exit_code is not None:
        return StepResult.FAILED, exit_code
    # The text of an MCP tool is its server's, which may imitate the client's own words.
    if text.startswith(_DENIED) and not tool.startswith("mcp__"):
        return StepResult.DENIED, None
    if text.startswith("<tool_use_error>") and any(phrase in text[:400] for phrase in _NO_MATCH):
        return StepResult.NO_MATCH, None
    return StepResult.FAILED, None


def _noted(record: Record) -> Structured:
    try:
        return _structured.decode(record.toolUseResult)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return _PLAIN
