"""Claude Code's session files → trajectories: `<session>.jsonl` with the subagents' files beside it, or one of these alone.

One trajectory per task of the session, then one per subagent with the session as its parent. Reads on from a mark.
Whether an attempt succeeded is judged elsewhere; so is what must be redacted.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path, PureWindowsPath
from typing import Any

import msgspec

from tacit.config.files import open_plain
from tacit.domain.errors import InvalidTrajectory
from tacit.domain.stored import Mark
from tacit.domain.trajectory import ASKED_BY_PROGRAM, Role, StepResult, Trajectory, Usage
from tacit.ingest.attempts import Attempts, Circumstances, Draft
from tacit.ingest.host_text import INTERRUPTED, split_host_text
from tacit.ingest.log_files import (
    LOG_NAMES,
    KeyedReader,
    Line,
    Part,
    Parts,
    Place,
    all_texts,
    bounded,
    bounded_value,
    count_of,
    decode,
    first_records,
    moment_of,
    read_lines,
    text_of,
)

# ruff: noqa: N815 - field names are the client's own

_SUBAGENTS = "subagents"
_OPENING_LINES = 200


class ClaudeCodeReader(KeyedReader):
    """Reads Claude Code's transcripts."""

    name = "claude-code"
    keys = ((b'"sessionId"',), (b'"isSidechain"', b'"queue-operation"', b'"file-history-snapshot"', b'"leafUuid"'))

    def session_file(self, path: Path) -> Path | None:
        """Return the session file that a subagent's file is read with, if it is there."""
        folder = _session_folder(path) if path.name.startswith("agent-") else None
        session = folder.with_name(folder.name + ".jsonl") if folder else None
        return session if session and session.is_file() else None

    def read(self, path: Path, *, start: Mark | None = None) -> Parts:
        """Yield the session's attempts and its subagents', from the mark on; its `mark` then says where to go on.

        A line that cannot be read is raised, and the next call goes on.
        """
        return Parts(_parts(path, start))


def _parts(path: Path, start: Mark | None) -> Iterator[Part]:
    folder = _session_folder(path) or _session_files(path)
    session = Session(path, client=ClaudeCodeReader.name, folder=folder)
    for record in first_records(path, _OPENING_LINES, record_of) if start else ():
        if session.circumstances.workspace:
            break
        session.note(record)  # where the session began: later records may name a folder further down
    yield from read_lines(path, start, session.add)
    mark = session.mark
    yield from session.finish()
    for agent_file in sorted((_session_files(path) / _SUBAGENTS).rglob("agent-*.jsonl")):
        if start and session.began_at:
            with suppress(OSError):
                if datetime.fromtimestamp(agent_file.stat().st_mtime, UTC) < session.began_at:
                    continue  # last written before the open attempt began: it was read with an earlier one
        agent = Session(agent_file, client=ClaudeCodeReader.name, folder=folder)
        yield from read_lines(agent_file, None, agent.add)
        yield from agent.finish()
    if mark is not None:
        yield mark


def _session_folder(path: Path) -> Path | None:
    """The folder of the session that a subagent's file belongs to."""
    return next((folder.parent for folder in path.parents if folder.name == _SUBAGENTS), None)


def _session_files(path: Path) -> Path:
    """The folder that the client keeps beside a session's file."""
    ending = next((ending for ending in LOG_NAMES if path.name.endswith(ending)), path.suffix)
    return path.with_name(path.name.removesuffix(ending))


# --- the parts of the records that are read ---------------------------------------------------------------------------
# Fields whose form varies between versions and tools are `Any`, so that a record is not lost for a detail. All kinds of
# records are one type: to decode a line once, whatever it holds, is what makes reading fast.


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
_EDITORS = ("claude-desktop", "claude-vscode", "claude-jetbrains")
"""What hands a person's prompts on through the SDK."""
_TYPED = ("typed", "queued", "suggestion_accepted")
_HUMAN_TURNS = (None, "human", "unknown")
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


# --- what the records mean --------------------------------------------------------------------------------------------

_COMMAND = re.compile(r"<command-(name|args)>([^<]*)</command-")


def command_of(text: str) -> str:
    """Read a slash command that asks the agent for something out of the host's tags.

    Commands to the client itself (`/model`, `/compact`) are no wish of the agent; in theirs the name comes first.
    """
    if not text.lstrip().startswith("<command-message>"):
        return ""
    parts = dict(_COMMAND.findall(text))
    return " ".join(filter(None, (parts.get("name", "").strip(), parts.get("args", "").strip())))


_SYNTHETIC = "<synthetic>"
_UNASKED = "bypassPermissions"


class ClaudeThread:
    """What one agent was asked, did and saw."""

    def __init__(self, attempts: Attempts, *, folder: Path) -> None:
        """Give the drafts to this collector; long outputs are saved below the session's folder."""
        self.attempts = attempts
        self._folder = folder
        self._prompt: tuple[str, Any] | None = None
        self._asked = True

    def add(self, record: ClaudeRecord, mark: Mark, place: Place) -> Trajectory | None:
        """Take in a record; gives the attempt that it ends, if it ends one."""
        finished = None
        if record.permissionMode:
            self._asked = record.permissionMode != _UNASKED
        if record.type == "assistant":
            self._add_assistant(record, mark, place)
        elif record.type == "user":
            finished = self._add_user(record, mark)
        else:
            finished = self._add_attachment(record, mark)
        self.attempts.note(
            version=record.version or "", branch=record.gitBranch or "", session_id=record.sessionId or ""
        )
        return finished

    def _add_user(self, record: ClaudeRecord, mark: Mark) -> Trajectory | None:
        """Take in a prompt, the host's words in a prompt's place, or results of calls."""
        hosts = record.isMeta or record.isCompactSummary or record.isVisibleInTranscriptOnly
        by = Speaker.HOST if hosts else speaker_of(record)
        content = record.message.content
        if isinstance(content, str):
            return self._say(record, [content], mark, by=by)
        shown: list[Draft] = []
        for block in content:
            if block.get("type") == "tool_result":
                self._resolve(record, block, mark)
            elif block.get("type") != "text":
                shown += _shown(record, block)
        texts = [text_of(block.get("text")) for block in content if block.get("type") == "text"]
        return self._say(record, texts, mark, by=by, shown=shown)

    def _add_assistant(self, record: ClaudeRecord, mark: Mark, place: Place) -> None:
        """Take in what the agent said or called: one record per content block, several records per message."""
        message = record.message
        synthetic = bool(record.isApiErrorMessage) or message.model == _SYNTHETIC
        if not synthetic:
            self.attempts.note(model=message.model or "")
        if message.usage is not None:
            count = {name: count_of(value) for name, value in message.usage.items()}
            usage = Usage(
                input_tokens=count.get("input_tokens", 0) + count.get("cache_creation_input_tokens", 0),
                output_tokens=count.get("output_tokens", 0),
                cached_tokens=count.get("cache_read_input_tokens", 0),
            )
            self.attempts.spend(message.id or record.uuid or "", usage)
        plain: list[Block] = [{"type": "text", "text": message.content}]
        for block in message.content if isinstance(message.content, list) else plain:
            draft = Draft(Role.AGENT, at=moment_of(record.timestamp), skill=record.attributionSkill or "")
            draft.message_id = message.id or ""
            kind, text = text_of(block.get("type")), text_of(block.get("text"))
            if kind == "text":
                draft.role = Role.CONTEXT if synthetic else Role.AGENT
                draft.text = bounded(text)
            elif kind.endswith("tool_use"):  # `server_tool_use` too: a call that the model's server makes
                given = block.get("input")
                draft.tool = bounded(text_of(block.get("name"))) or "unknown"
                draft.arguments = bounded_value(given if isinstance(given, dict) else {}, place)
                draft.call_id = text_of(block.get("id"))
                if draft.tool == "Skill":
                    draft.skill = bounded(text_of(draft.arguments.get("skill"))) or draft.skill
            elif kind.endswith("tool_result"):
                self._resolve(record, block, mark)
            elif kind not in _THOUGHTS:
                for shown in _shown(record, block):
                    self.attempts.act(shown, mark)
            if draft.tool or draft.text.strip():
                self.attempts.act(draft, mark)

    def _add_attachment(self, record: ClaudeRecord, mark: Mark) -> Trajectory | None:
        """Take in text that the host put before the agent, or a prompt typed while it worked."""
        given = record.attachment
        if given is None:  # what a command to the client printed
            return self._say(record, all_texts(record.content), mark, by=Speaker.HOST)
        if given.get("type") == "queued_command":
            hosts = given.get("isMeta") or given.get("commandMode") not in (None, "prompt")
            by = Speaker.HOST if hosts else speaker_of(record, _mapping(given.get("origin")))
            return self._say(record, all_texts(given.get("prompt")), mark, by=by)
        at = moment_of(record.timestamp)
        drafts = [
            Draft(Role.CONTEXT, bounded(text), at, arguments=dict(source)) for source, text in outside_texts(record)
        ]
        return self.attempts.say(drafts, mark) if drafts else None

    def _say(
        self, record: ClaudeRecord, texts: list[str], mark: Mark, *, by: Speaker, shown: Sequence[Draft] = ()
    ) -> Trajectory | None:
        at = moment_of(record.timestamp)
        drafts: list[Draft] = []
        for text in texts:
            for words, from_host in split_host_text(bounded(text)):
                if words.startswith(INTERRUPTED):
                    self.attempts.interrupt()
                if by is Speaker.HOST:
                    drafts.append(Draft(Role.CONTEXT, words, at))
                elif from_host:
                    drafts.append(Draft(Role.CONTEXT, words, at, asks=command_of(words), asked_by=_ASKED_BY[by]))
                elif by is Speaker.PROGRAM:
                    drafts.append(Draft(Role.CONTEXT, words, at, asks=words, asked_by=_ASKED_BY[by]))
                else:
                    drafts.append(Draft(Role.USER, words, at))
        drafts += shown
        if not drafts:
            return None
        finished = self.attempts.say(drafts, mark)
        copied = self._copies_end(record) if any(draft.goal for draft in drafts) else False
        return None if copied else finished

    def _copies_end(self, record: ClaudeRecord) -> bool:
        """Whether what stands before this prompt was copied here from another session, and is told there.

        A fork writes the old records again under the id of the first new prompt: several prompts then share one.
        """
        if not record.promptId or record.turnPosition is None:
            return False
        turn = record.turnPosition.get("turnIndex")
        before, self._prompt = self._prompt, (record.promptId, turn)
        return before is not None and before[0] == record.promptId and before[1] != turn

    def _resolve(self, record: ClaudeRecord, block: Block, mark: Mark) -> None:
        call_id = text_of(block.get("tool_use_id"))
        draft = self.attempts.waiting(call_id)
        text = "\n".join(all_texts(block.get("content")))
        if draft is None:  # the call itself is not in this file
            for shown in _shown(record, block):
                self.attempts.act(shown, mark)
            return
        noted = noted_in(record)
        result, exit_code = outcome_of(record, block, tool=draft.tool, text=text, asked=self._asked)
        saved = spilled(noted, text, self._folder)
        self.attempts.resolve(
            call_id, observation=bounded(text) if saved is None else saved, result=result, exit_code=exit_code
        )
        draft.arguments = reduced(draft.tool, draft.arguments, noted)
        words = refusal_words(record, text=text) if result is StepResult.DENIED else ""
        if words.strip():
            role = Role.USER if speaker_of(record) is Speaker.PERSON else Role.CONTEXT
            self.attempts.act(Draft(role, bounded(words), moment_of(record.timestamp)), mark)


def _shown(record: ClaudeRecord, block: Block) -> list[Draft]:
    """Return what a block put before the agent that nobody typed; nothing if it holds no text."""
    text = "\n".join(all_texts(block)).strip()
    kind = {"block": bounded(text_of(block.get("type")))}
    return [Draft(Role.CONTEXT, bounded(text), moment_of(record.timestamp), arguments=kind)] if text else []


def _mapping(value: Any) -> dict[str, Any] | None:
    return value if isinstance(value, dict) else None


_ASKED_BY = {Speaker.PERSON: "", Speaker.PROGRAM: ASKED_BY_PROGRAM}
_THOUGHTS = frozenset({"thinking", "redacted_thinking", "fallback"})
_READ = frozenset({"user", "assistant", "attachment"})
_SEEN_MAX = 50_000
# How the client lays out what is never read: copies of requests, states and totals, and most attachments.
_UNREAD = re.compile(
    rb'\{"type":"(?!user"|assistant"|attachment")'
    rb'|\{"parentUuid":(?:null|"[\w-]*"),"isSidechain":(?:true|false),(?:"agentId":"[\w-]*",)?"attachment":\{"type":"'
    rb"(?:" + b"|".join(name.encode() + b'"' for name in sorted(CLIENTS_OWN)) + rb")"
)
_ENDS = (b"}\n", b"}\r\n", b"}")

_kind = msgspec.json.Decoder(RecordKind)
_record = msgspec.json.Decoder(ClaudeRecord)


def record_of(line: Line, place: Place) -> ClaudeRecord | None:
    """Decode a line; nothing if it is not of a kind that is read. Raises `InvalidTrajectory` for a damaged one."""
    if _UNREAD.match(line.data) and line.data.endswith(_ENDS):
        return None
    try:
        record = decode(_record, line.data, place)
    except InvalidTrajectory:
        kind = decode(_kind, line.data, place).type
        if isinstance(kind, str) and kind in _READ:
            raise
        return None
    if record.type == "attachment":
        return record if record.attachment and text_of(record.attachment.get("type")) not in CLIENTS_OWN else None
    if record.type == "system":
        return record if record.subtype == "local_command" else None
    return record if text_of(record.type) in _READ else None


class Session:
    """What the agents of one file were asked, did and saw."""

    def __init__(self, path: Path, *, client: str, folder: Path) -> None:
        """Read for this file, whose long outputs are saved below the folder."""
        self.circumstances = Circumstances()
        self.began_at: datetime | None = None
        self._client = client
        self._path = path
        self._folder = folder
        self._threads: dict[str, ClaudeThread] = {}
        self._seen: dict[str, None] = {}
        self._chains: dict[str, str] = {}

    @property
    def mark(self) -> Mark | None:
        """Where the first record of an attempt stands that is still open; nothing if none is."""
        marks = [mark for thread in self._threads.values() if (mark := thread.attempts.mark) is not None]
        return min(marks, key=lambda mark: mark.offset, default=None)

    def note(self, record: ClaudeRecord) -> None:
        """Take in what holds for the whole session."""
        self.circumstances.note(session_id=record.sessionId or "", workspace=record.cwd or "")

    def add(self, line: Line, place: Place) -> Iterator[Trajectory]:
        """Take in a line; yields the attempts that it ends."""
        record = record_of(line, place)
        if record is None:
            return
        if record.uuid:
            if record.uuid in self._seen:
                return  # resuming and compaction write some again
            self._seen[record.uuid] = None
            if len(self._seen) > _SEEN_MAX:
                del self._seen[next(iter(self._seen))]
        self.note(record)
        self.began_at = self.began_at or moment_of(record.timestamp)
        finished = self._thread_of(record).add(record, line.mark, place)
        if finished is not None:
            yield finished
            yield from self._finish_chains()

    def finish(self) -> Iterator[Trajectory]:
        """Yield the attempts that are still open, the session's own first."""
        main = self._threads.pop("", None)
        last = main.attempts.finish() if main else None
        if last is not None:
            yield last
        yield from self._finish_chains()

    def _finish_chains(self) -> Iterator[Trajectory]:
        """End what agents inside the session did for the attempt that has ended."""
        for key in [key for key in self._threads if key]:
            ended = self._threads.pop(key).attempts.finish()
            if ended is not None:
                yield ended
        self._chains.clear()

    def _thread_of(self, record: ClaudeRecord) -> ClaudeThread:
        key = record.agentId or "" if record.isSidechain else ""
        if record.isSidechain and not key:
            # Older versions name no agent: a side chain is then told by where it begins.
            beginning = self._chains.get(record.parentUuid or "", f"sidechain-{record.uuid}")
            self._chains[record.uuid or ""] = key = beginning
        if key not in self._threads:
            attempts = Attempts(self.circumstances, client=self._client, source=str(self._path.resolve()), agent_id=key)
            self._threads[key] = ClaudeThread(attempts, folder=self._folder)
        return self._threads[key]
