"""A tool result of Claude Code → how the call ended, in the words that all clients share. Looks at one record only."""

from __future__ import annotations

import re

from tacit.domain.trajectory import StepResult
from tacit.ingest.claude_code.records import Block, Record, Structured
from tacit.ingest.decoding import text_of

_EXIT_CODE = re.compile(r"(?:Error: )?Exit code (\d{1,9})\b")
_NO_MATCH = ("String to replace not found", "String not found in file", "No match found", "No matches found")
_DENIED = (
    "The user doesn't want to ",
    "Permission to use ",
    "Permission for this tool use was denied",
    "Claude requested permissions to ",
)
_STOPPED = "this call was stopped while running"
_INTERRUPTED = (
    "[Request interrupted",
    "[Tool call interrupted",
    "[Agent call interrupted",
    "[Tool call did not complete",
)
_REFUSED = "user-rejected"
_INTERRUPTIONS = frozenset({"interrupted", "cancelled"})
_SHELLS = frozenset({"Bash", "PowerShell"})
_REFUSALS = frozenset({"reject", "deny", "block"})
# The client's own sentence, on one line; a command that it quotes may hold anything.
_SAID = re.compile(r"The user doesn't want to [^\n]{0,400}\bthe user said:\n")
_PLAIN = Structured()

Outcome = tuple[StepResult, int | None]


def outcome_of(record: Record, block: Block, *, tool: str, text: str, asked: bool = True) -> Outcome:
    """Say how the call ended, and with which exit code if the client tells.

    `asked` is whether the client asks a person before it runs something: who is not asked cannot refuse, only stop.
    """
    stopped = _stopped(record, text, asked=asked)
    if stopped is not None:
        return stopped, None
    noted = noted_in(record)
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


def noted_in(record: Record) -> Structured:
    """What the client notes about the result, in fields."""
    return record.toolUseResult if isinstance(record.toolUseResult, Structured) else _PLAIN


def refusal_words(record: Record, *, text: str) -> str:
    """What the person said when they refused this call; nothing if they only refused, or the text is not theirs.

    Only a refusal that the client notes in fields counts: whoever makes a tool fail chooses its words, and could speak
    as the person. Versions that wrote no such fields lose the person's words here; the text stays as what was observed.
    """
    if not _is_refused(record):
        return ""
    said = _SAID.match(text)
    if said is not None and (record.holdsPersonsWords or record.toolDenialKind == _REFUSED):
        return text[said.end() :]
    return text if record.holdsPersonsWords else ""


def _is_refused(record: Record) -> bool:
    decided = record.permissionDecision
    return bool(record.toolDenialKind) or (decided is not None and text_of(decided.decision) in _REFUSALS)


def _stopped(record: Record, text: str, *, asked: bool) -> StepResult | None:
    if record.toolDenialKind:
        # Stopping a running command is told as a refusal; at best it is set right further on in the same text.
        unasked = not asked and record.toolDenialKind == _REFUSED and record.permissionDecision is None
        interrupted = unasked or text_of(record.toolDenialKind) in _INTERRUPTIONS or _STOPPED in text[:600]
        return StepResult.INTERRUPTED if interrupted else StepResult.DENIED
    return StepResult.DENIED if _is_refused(record) else None


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
