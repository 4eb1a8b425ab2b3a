"""The parts of Claude Code's records that are read, as types to decode into. Unknown keys are passed over; no logic.

Field names are the client's own. Fields whose form varies between versions and tools are `Any` and looked at by the
one who uses them, so that a record is not lost for a detail. All kinds of records are one type: to decode a line once,
whatever it holds, is what makes reading fast.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path, PureWindowsPath
from typing import Any

import msgspec

from tacit.config.files import open_plain
from tacit.domain.trajectory import StepResult
from tacit.ingest.log_files import all_texts, bounded, text_of

# ruff: noqa: N815


CLIENTS_OWN = frozenset(
    "advisor_stripped advisor_tool auto_mode auto_mode_exit command_permissions compact_file_reference date date_change "
    "environment hook_cancelled hook_error_during_execution hook_non_blocking_error hook_permission_decision "
    "hook_system_message model output_limit_note plan_mode plan_mode_exit plan_mode_reentry prompt_snapshot "
    "remote_session_change structured_output task_reminder thinking_stripped todo_reminder total_tokens_reminder "
    "workflow_keyword_request".split()
)
"""Attachments with nothing but the client's own wording, or that the model never sees. Any other may hold text from outside."""
_SHOWN_PARTS = {
    "agent_listing_delta": "addedLines", "already_read_file": "content", "deferred_tools_delta": "addedLines",
    "directory": "content", "edited_text_file": "snippet", "file": "content", "hook_additional_context": "content",
    "hook_blocking_error": "blockingError", "hook_success": "content", "instructions": "files",
    "mcp_instructions_delta": "addedBlocks", "mcp_resource": "content", "nested_memory": "content",
    "session_context": "context", "skill_listing": "content",
}  # fmt: skip
"""Which part of a known attachment is not the client's own wording; of an unknown one, all of it counts."""
_SHOWING_HOOKS = frozenset({"SessionStart", "UserPromptSubmit", "UserPromptExpansion"})
"""Hooks whose plain output the agent sees."""
_PLACES = ("path", "filename", "uri", "server", "hookName", "addedNames")


class RecordKind(msgspec.Struct):
    """Only the record's type."""

    type: Any = None


Block = dict[str, Any]
"""One content block: text, tool_use, tool_result, or any other."""


class ClaudeMessage(msgspec.Struct):
    """A message of either side; its usage is repeated in each of its records."""

    content: str | list[Block] = ""
    id: str | None = None
    model: str | None = None
    usage: dict[str, Any] | None = None


class Structured(msgspec.Struct):
    """What the client notes about a result beside its text."""

    type: Any = None
    interrupted: Any = None
    backgroundTaskId: Any = None
    returnCodeInterpretation: Any = None
    persistedOutputPath: Any = None
    structuredPatch: Any = None


class ClaudeRecord(msgspec.Struct):
    """A record of a conversation: a user's, an assistant's, an attachment, or the output of a command to the client."""

    type: str | None = None
    subtype: Any = None
    content: Any = None
    uuid: str | None = None
    parentUuid: str | None = None
    sessionId: str | None = None
    agentId: str | None = None
    promptId: str | None = None
    turnPosition: dict[str, Any] | None = None
    """Which prompt of the session this is."""
    permissionMode: str | None = None
    isSidechain: bool | None = None
    timestamp: str | None = None
    cwd: str | None = None
    gitBranch: str | None = None
    version: str | None = None
    message: ClaudeMessage = msgspec.field(default_factory=ClaudeMessage)
    origin: dict[str, Any] | None = None
    """Who made a prompt: a person, or a part of the client."""
    entrypoint: Any = None
    """What started the client: a terminal, an editor, a program."""
    promptSource: Any = None
    turnOrigin: Any = None
    hostInitiator: Any = None
    wakeupSource: Any = None
    scheduledTaskId: Any = None
    foreignWord: Any = None
    textNotTyped: Any = None
    noPersonArrived: Any = None
    isMeta: bool | None = None
    isCompactSummary: bool | None = None
    isVisibleInTranscriptOnly: bool | None = None
    isApiErrorMessage: bool | None = None
    toolUseResult: Structured | str | float | bool | list[Any] | None = None
    toolDenialKind: str | None = None
    holdsPersonsWords: bool | None = None
    permissionDecision: dict[str, Any] | None = None
    """What was decided about a call."""
    attributionSkill: str | None = None
    attachment: dict[str, Any] | None = None
    """Something the client put into the conversation by itself, or a prompt typed while the agent worked."""
    rendered: list[dict[str, Any]] | None = None
    """An attachment as it was sent to the model."""


_PEOPLE = frozenset({"human", "person", "composer", "voice-call", "suggestion"})
_EDITORS = frozenset({"claude-desktop", "claude-vscode", "claude-jetbrains"})
"""What hands a person's prompts on through the SDK."""
_TYPED = frozenset({"typed", "queued", "suggestion_accepted"})
_HUMAN_TURNS = frozenset({None, "human", "unknown"})
_NO_PERSON = ("wakeupSource", "scheduledTaskId", "foreignWord", "textNotTyped", "noPersonArrived")


class Speaker(StrEnum):
    """Who wrote a text in the user's place."""

    PERSON = "person"
    PROGRAM = "program"
    """A program that runs the client, and asks for work: `claude -p`, the SDK, a schedule."""
    HOST = "host"
    """The client itself, another agent or a service whose message it forwards."""


def speaker_of(record: ClaudeRecord, origin: dict[str, Any] | None = None) -> Speaker:
    """Say who wrote a prompt, by the client's own fields; a record of a version without such fields is a person's."""
    origin = origin or record.origin or {}
    kind = text_of(origin.get("kind"))
    if any(getattr(record, name) for name in _NO_PERSON) or record.hostInitiator not in (None, "", "user"):
        return Speaker.PROGRAM if not kind or kind in _PEOPLE else Speaker.HOST
    if origin:
        return Speaker.PERSON if kind in _PEOPLE else Speaker.HOST
    if record.promptSource in _TYPED:
        return Speaker.PERSON if record.turnOrigin in _HUMAN_TURNS else Speaker.PROGRAM
    if record.promptSource == "sdk":
        return Speaker.PERSON if record.entrypoint in _EDITORS else Speaker.PROGRAM
    if record.promptSource is None:
        is_terminal = record.entrypoint in (None, "cli")
        return Speaker.PERSON if is_terminal or record.entrypoint in _EDITORS else Speaker.PROGRAM
    return Speaker.HOST


def outside_texts(record: ClaudeRecord) -> Iterator[tuple[dict[str, str], str]]:
    """Yield the texts of an attachment that the model saw and that are not the client's wording, each with where it is from."""
    given = record.attachment or {}
    kind = text_of(given.get("type"))
    part = given.get(_SHOWN_PARTS.get(kind, ""))
    if kind == "hook_success" and given.get("hookEvent") not in _SHOWING_HOOKS:
        part = record.rendered or ""
    if part is None:
        part = [given, *(each.get("content") for each in record.rendered or ())]
    for piece in part if kind == "instructions" and isinstance(part, list) else [part]:
        named = piece if kind == "instructions" and isinstance(piece, dict) else given
        place = next((named[key] for key in _PLACES if named.get(key)), "")
        place = ", ".join(map(text_of, place)) if isinstance(place, list) else text_of(place)
        if text := "\n".join(dict.fromkeys(all_texts(piece))).strip():
            yield {"attachment": bounded(kind)} | ({"place": bounded(place)} if place else {}), text


def reduced(tool: str, arguments: dict[str, Any], noted: Structured) -> dict[str, Any]:
    """Give the arguments of a whole-file write as those of an edit, if the file was there before.

    Several places that changed are joined to one; what stands between them does not matter for what was done.
    """
    if tool != "Write" or noted.type != "update" or not isinstance(noted.structuredPatch, list):
        return arguments
    hunks = [hunk.get("lines") for hunk in noted.structuredPatch if isinstance(hunk, dict)]
    lines = [line for given in hunks if isinstance(given, list) for line in given if isinstance(line, str) and line]
    if not lines:
        return arguments
    kept = {key: value for key, value in arguments.items() if key != "content"}
    return {**kept, "old_string": _side(lines, "-"), "new_string": _side(lines, "+")}


def _side(lines: list[str], sign: str) -> str:
    """The text before (`-`) or after (`+`) the change, with the unchanged lines around it."""
    return bounded("\n".join(line[1:] for line in lines if line[0] in (sign, " ")))


_FOLDER = "tool-results"
_OPENING = "<persisted-output>"
_SAVED = re.compile(r"saved to: (\S[^\n]{0,4096})")
_ENDS_BYTES = 160 * 1024  # of each end: more than is kept of any text, and some way beyond


def spilled(noted: Structured, text: str, folder: Path) -> str | None:
    """Give the saved output that a result stands for, if it stands for one that lies below this session's folder."""
    named = noted.persistedOutputPath if isinstance(noted.persistedOutputPath, str) else ""
    if not named and text.startswith(_OPENING):
        found = _SAVED.search(text, 0, 8192)
        named = found[1] if found else ""
    name = PureWindowsPath(named).name
    saved = folder / _FOLDER
    if not name or "\0" in name or saved.is_symlink() or folder.is_symlink():
        return None
    try:
        with os.fdopen(open_plain(saved / name, os.O_RDONLY), "rb") as stream:
            state = os.fstat(stream.fileno())
            head = stream.read(2 * _ENDS_BYTES)
            missing = max(0, state.st_size - len(head) - _ENDS_BYTES)
            stream.seek(missing, os.SEEK_CUR)
            tail = stream.read(_ENDS_BYTES)
    except OSError:
        return None
    return bounded((head + tail).decode("utf-8", "replace"), missing=missing)


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
_OBJECTION = re.compile(r"The user doesn't want to [^\n]{0,400}\bthe user said:\n")
_PLAIN = Structured()

Outcome = tuple[StepResult, int | None]


def outcome_of(record: ClaudeRecord, block: Block, *, tool: str, text: str, asked: bool = True) -> Outcome:
    """Say how the call ended, and with which exit code if the client tells.

    `asked` is whether the client asks a person before it runs something: who is not asked cannot refuse, only stop.
    """
    if kind := record.toolDenialKind:
        # Stopping a running command is told as a refusal; at best it is set right further on in the same text.
        unasked = not asked and kind == _REFUSED and record.permissionDecision is None
        interrupted = unasked or kind in _INTERRUPTIONS or _STOPPED in text[:600]
        return StepResult.INTERRUPTED if interrupted else StepResult.DENIED, None
    if _is_refused(record):
        return StepResult.DENIED, None
    noted = noted_in(record)
    if noted.interrupted is True:
        return StepResult.INTERRUPTED, None
    if block.get("is_error") is True:
        return _failure(tool, text)
    if noted.backgroundTaskId:
        return StepResult.UNKNOWN, None
    # A code that the client explains away ("no matches found") is not zero, and it does not say which.
    return StepResult.OK, 0 if tool in _SHELLS and not noted.returnCodeInterpretation else None


def noted_in(record: ClaudeRecord) -> Structured:
    """What the client notes about the result, in fields."""
    return record.toolUseResult if isinstance(record.toolUseResult, Structured) else _PLAIN


def refusal_words(record: ClaudeRecord, *, text: str) -> str:
    """What the person said when they refused this call; nothing if they only refused, or the text is not theirs.

    Only a refusal that the client notes in fields counts: whoever makes a tool fail chooses its words, and could speak
    as the person. Versions that wrote no such fields lose the person's words here; the text stays as what was observed.
    """
    if not _is_refused(record):
        return ""
    objection = _OBJECTION.match(text)
    if objection is not None and (record.holdsPersonsWords or record.toolDenialKind == _REFUSED):
        return text[objection.end() :]
    return text if record.holdsPersonsWords else ""


def _is_refused(record: ClaudeRecord) -> bool:
    return bool(record.toolDenialKind) or text_of((record.permissionDecision or {}).get("decision")) in _REFUSALS


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
