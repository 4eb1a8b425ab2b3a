"""The parts of Codex's records that are read, as types to decode into. Unknown keys are passed over; no logic.

Field names are the client's own. Fields whose form varies between versions and tools are `Any` and looked at by the
one who uses them, so that a record is not lost for a detail.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

import msgspec

from tacit.domain.trajectory import StepResult
from tacit.ingest.log_files import all_texts, bounded, text_of
from tacit.text.file_edits import patch_files

NOTHING = msgspec.Raw(b"null")


class CodexRecord(msgspec.Struct):
    """One line: what sort of record it is, when it was written, and the rest unread."""

    type: Any = None
    timestamp: Any = None
    payload: msgspec.Raw = NOTHING


class Meta(msgspec.Struct):
    """The first record: which thread this is, where it runs and whom it comes from."""

    id: Any = None
    session_id: Any = None
    parent_thread_id: Any = None
    forked_from_id: Any = None
    thread_source: Any = None
    source: Any = None
    history_mode: Any = None
    cwd: Any = None
    cli_version: Any = None
    git: dict[str, Any] | None = None
    """The state of the repository when the session began."""


class CodexTurn(msgspec.Struct):
    """The settings that a turn begins with."""

    turn_id: Any = None
    cwd: Any = None
    model: Any = None
    user_instructions: Any = None
    developer_instructions: Any = None
    """What earlier versions show the model here, such as AGENTS.md."""


class CodexItem(msgspec.Struct):
    """What was said or done, once it is complete: a message of either side, a command, an edit, a call of a tool."""

    type: Any = None
    id: Any = None
    content: Any = None
    fragments: Any = None
    command: Any = None
    cwd: Any = None
    source: Any = None
    status: Any = None
    aggregated_output: Any = None
    exit_code: Any = None
    changes: Any = None
    stdout: Any = None
    stderr: Any = None
    server: Any = None
    tool: Any = None
    arguments: Any = None
    result: Any = None
    error: Any = None
    query: Any = None


class CodexEvent(msgspec.Struct):
    """Something that happened: a turn began, ended or was stopped, an item is complete."""

    type: Any = None
    turn_id: Any = None
    item: CodexItem | None = None
    message: Any = None
    query: Any = None
    call_id: Any = None
    info: msgspec.Raw = NOTHING
    turn_attribution: Any = None


class Response(msgspec.Struct):
    """A piece of the conversation as the model sees it."""

    type: Any = None
    role: Any = None
    author: Any = None
    content: Any = None
    name: Any = None
    namespace: Any = None
    arguments: Any = None
    input: Any = None
    action: Any = None
    call_id: Any = None
    output: Any = None
    tools: Any = None
    noted: dict[str, Any] | None = msgspec.field(default=None, name="internal_chat_message_metadata_passthrough")
    """What the client notes about a message, such as of what kind each part of it is."""


class Compacted(msgspec.Struct):
    """The summary that took the place of the history before it."""

    message: Any = None


_PATCH, _PATCH_END = "*** Begin Patch", "*** End Patch"
_COMMAND = re.compile(
    r"""\bcmd["']?\s{0,20}:\s{0,20}(?:"((?:[^"\\]|\\.){0,4000})"|'((?:[^'\\]|\\.){0,4000})'|`([^`$]{0,4000})`)"""
)
_EXIT_CODE = re.compile(r'\\?"exit_code\\?":\s{0,4}(\d{1,9})\b')
_OUTPUT = "Output:\n"
_VERIFIED = "apply_patch verification failed"
_BROKEN = "Script failed"
_ERROR = "Script error:\n"
RUNNING = "Script running"


@dataclass(slots=True)
class Program:
    """One program while it runs, and those of its calls that have left items."""

    call_id: str
    code: str
    message_id: str
    commands: list[str] = field(default_factory=list)
    patches: int = 0
    ended: bool = False


@dataclass(frozen=True, slots=True)
class CodexOutcome:
    """How a call ended and what came back of it; `runs` while a command is still at work."""

    result: StepResult
    observation: str = ""
    exit_code: int | None = None
    runs: bool = False


@dataclass(frozen=True, slots=True)
class CallWithoutItem:
    """A call that left no item: a patch, a command, or the program itself if it is neither."""

    outcome: CodexOutcome
    patch: str = ""
    command: str = ""


def calls_without_items(program: Program, output: str) -> list[CallWithoutItem]:
    """The calls of a program that left no items: one that failed, or all of a program of which the log holds no item."""
    patches = list(_patches(program.code))[program.patches :]
    if _VERIFIED in output and patches:
        messages = output[output.index(_VERIFIED) :]
        return [CallWithoutItem(CodexOutcome(result_of_words(messages), messages), patch=patches[0])]
    commands = [command for command in _commands(program.code) if command not in program.commands]
    if output.startswith(_BROKEN):
        _, found, messages = output.partition(_ERROR)
        messages = messages if found else output
        result = result_of_words(messages)
        if messages.startswith("patch ") and patches:
            return [CallWithoutItem(CodexOutcome(result, messages), patch=patches[0])]
        if result is StepResult.DENIED and commands:
            return [CallWithoutItem(CodexOutcome(result, messages), command=commands[0])]
        return [CallWithoutItem(CodexOutcome(StepResult.FAILED if result is StepResult.UNKNOWN else result, messages))]
    if _STOPPED.match(output):
        return []  # its calls leave items when they have stopped
    codes = [int(code) for code in _EXIT_CODE.findall(output)]
    if not program.commands and not program.patches:
        return _calls_of_code(patches, commands, codes, output)
    # A command of a program that went through; it may never have come to it, unless the output shows its exit code.
    if commands and len(codes) > len(program.commands):
        return [CallWithoutItem(_ended(codes[-1], output), command=commands[0])]
    return []


def _calls_of_code(patches: list[str], commands: list[str], codes: list[int], output: str) -> list[CallWithoutItem]:
    """The calls that stand in a program's code; how they ended is known where every exit code was printed."""
    body = output.partition(_OUTPUT)[2] or output
    found = [CallWithoutItem(CodexOutcome(StepResult.OK), patch=patch) for patch in patches]
    for number, command in enumerate(commands):
        code = codes[number] if len(codes) == len(commands) else None
        observation = body if code or number == len(commands) - 1 else ""
        outcome = CodexOutcome(StepResult.UNKNOWN, observation) if code is None else _ended(code, observation)
        found.append(CallWithoutItem(outcome, command=command))
    return found


def _patches(code: str) -> Iterator[str]:
    end = 0
    while (start := code.find(_PATCH, end)) >= 0 and (close := code.find(_PATCH_END, start)) >= 0:
        end = close + len(_PATCH_END)
        yield _unescaped(code[start:end])


def _commands(code: str) -> Iterator[str]:
    for double, single, plain in _COMMAND.findall(code):
        yield plain or _unescaped(double or single.replace('"', '\\"').replace("\\'", "'"))


def _unescaped(literal: str) -> str:
    """Read the inside of a string literal; as it stands if it has no escapes or odd ones."""
    try:
        return msgspec.json.decode(f'"{literal}"', type=str)
    except (msgspec.DecodeError, UnicodeError):
        return literal


Edit = dict[str, Any]

_MAX_FILES = 100


def edits_of_patch(patch: str, workspace: str) -> list[Edit]:
    """Read the edits of a patch in the client's own format; none if it is no such patch."""
    return [
        _edit(how.casefold(), within(path, workspace), lines, moved=within(moved, workspace))
        for how, path, moved, lines in islice(patch_files(patch), _MAX_FILES)
        if how
    ]


def edits_of_changes(changes: Any, workspace: str) -> list[Edit]:
    """Read the edits out of the changes that the client notes by file."""
    found: list[Edit] = []
    for path, change in changes.items() if isinstance(changes, dict) else ():
        if not isinstance(change, dict):
            continue
        how, inside = text_of(change.get("type")), within(path, workspace)
        if how == "update":
            lines = bounded(text_of(change.get("unified_diff"))).splitlines()
            found.append(_edit(how, inside, lines, moved=within(text_of(change.get("move_path")), workspace)))
        elif how in ("add", "delete"):
            sign = "+" if how == "add" else "-"
            found.append(
                _edit(how, inside, [sign + line for line in bounded(text_of(change.get("content"))).splitlines()])
            )
    return found[:_MAX_FILES]


def within(path: str, workspace: str) -> str:
    """Give a path relative to the workspace if it lies in it."""
    root = workspace.rstrip("/\\")
    return path[len(root) + 1 :] if root and path.startswith((f"{root}/", f"{root}\\")) else path


def _edit(how: str, path: str, lines: list[str], *, moved: str = "") -> Edit:
    edit: Edit = {"file_path": path}
    if moved:
        edit["moved_to_path"] = moved
    if how == "delete":
        return edit | {"deleted": True}
    if how == "add":
        return edit | {"content": "".join(line[1:] + "\n" for line in lines)}
    hunks = [{"old_string": old, "new_string": new} for old, new in _hunks(lines)]
    return edit | (hunks[0] if len(hunks) == 1 else {"edits": hunks} if hunks else {})


def _hunks(lines: list[str]) -> Iterator[tuple[str, str]]:
    """What each hunk replaces, and by what; lines around the change count for both."""
    old: list[str] = []
    new: list[str] = []
    for line in [*lines, "@@"]:
        if line.startswith(("@@", "--- ", "+++ ")):
            if old or new:
                yield "\n".join(old), "\n".join(new)
            old, new = [], []
        else:
            if not line.startswith("+"):
                old.append(line[1:])
            if not line.startswith("-"):
                new.append(line[1:])


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


def outcome_of_item(item: CodexItem) -> CodexOutcome:
    """Say how the call ended that this item is about."""
    if item.type == "CommandExecution":
        text = text_of(item.aggregated_output)
        code = item.exit_code if isinstance(item.exit_code, int) and not isinstance(item.exit_code, bool) else None
        return CodexOutcome(_result(item.status, code), text, code if code is not None and code >= 0 else None)
    if item.type == "FileChange":
        text = text_of(item.stdout) + text_of(item.stderr)
        result = _result(item.status)
        return CodexOutcome(StepResult.NO_MATCH if result is StepResult.FAILED and _UNMATCHED in text else result, text)
    given = item.result if isinstance(item.result, dict) else {}
    error = text_of(item.error.get("message") if isinstance(item.error, dict) else item.error)
    result = _result(item.status)
    if given.get("isError") is True or given.get("is_error") is True:
        result = StepResult.FAILED
    if _REFUSED.match(error):
        result = StepResult.DENIED
    shown = text_of_output(given.get("content"))[0] or "\n".join(all_texts(given.get("structuredContent")))
    return CodexOutcome(result, "\n".join(filter(None, (shown, error))))


def outcome_of_output(output: Any, *, tool: str) -> CodexOutcome:
    """Say how a call ended by the output that the model got, where no item told it."""
    text, succeeded = text_of_output(output)
    if _STOPPED.match(text):
        return CodexOutcome(StepResult.INTERRUPTED, text)
    heading = _HEADING.match(text)
    headed = heading is not None and heading.end() > 0
    if heading is not None and headed:
        body = text[heading.end() :]
        if heading["running"]:
            return CodexOutcome(StepResult.UNKNOWN, body, runs=True)
        code = heading["exit"] or heading["process"]
        if code is not None:
            return _ended(int(code), body)
        text = body
    if not headed:
        result = result_of_words(text)
        # The text of an MCP tool may be its server's: that may tell of a failure, but not speak for the person.
        if result is StepResult.FAILED or (result is not StepResult.UNKNOWN and not tool.startswith("mcp__")):
            return CodexOutcome(result, text)
    return _legacy_outcome(text) or CodexOutcome(StepResult.FAILED if succeeded is False else StepResult.UNKNOWN, text)


def result_of_words(text: str) -> StepResult:
    """What the client's own words say of a call that it did not carry out."""
    if _REFUSED.match(text):
        return StepResult.DENIED
    if _FAILED.match(text):
        return StepResult.NO_MATCH if _UNMATCHED in text[:400] else StepResult.FAILED
    return StepResult.UNKNOWN


def _result(status: Any, exit_code: int | None = None) -> StepResult:
    if status == "declined":
        return StepResult.DENIED
    if exit_code is not None:
        return StepResult.OK if exit_code == 0 else StepResult.FAILED
    known = {"completed": StepResult.OK, "failed": StepResult.FAILED, "interrupted": StepResult.INTERRUPTED}
    return known.get(status, StepResult.UNKNOWN) if isinstance(status, str) else StepResult.UNKNOWN


def _ended(code: int, text: str) -> CodexOutcome:
    return CodexOutcome(StepResult.OK if code == 0 else StepResult.FAILED, text, code if code >= 0 else None)


def _legacy_outcome(text: str) -> CodexOutcome | None:
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


def text_of_output(output: Any) -> tuple[str, bool | None]:
    """The text of an output in any of its forms, and whether the client says that the call succeeded."""
    if isinstance(output, dict):
        success = output.get("success")
        return text_of_output(output.get("content"))[0], success if isinstance(success, bool) else None
    if isinstance(output, list):
        return "\n".join(text.rstrip("\n") for part in output for text in all_texts(part)), None
    return text_of(output), None
