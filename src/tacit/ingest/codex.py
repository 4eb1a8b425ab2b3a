"""Codex's rollout files → trajectories: `sessions/YYYY/MM/DD/rollout-<time>-<thread>.jsonl`, one thread in each.

A subagent is a thread with a file of its own, which names the session it works for. Where a task begins and ends is
decided by the collector of attempts; redaction happens elsewhere.
"""

from __future__ import annotations

import re
import shlex
from collections import deque
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import msgspec

from tacit.domain.stored import Mark
from tacit.domain.trajectory import ASKED_BY_PROGRAM, Role, StepResult, Trajectory, Usage
from tacit.ingest.attempts import Attempts, Draft
from tacit.ingest.codex_records import (
    RUNNING,
    CodexEvent,
    CodexItem,
    CodexOutcome,
    CodexRecord,
    CodexTurn,
    Compacted,
    Meta,
    Program,
    Response,
    calls_without_items,
    edits_of_changes,
    edits_of_patch,
    outcome_of_item,
    outcome_of_output,
    text_of_output,
    within,
)
from tacit.ingest.log_files import (
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
from tacit.text.client_tools import skill_read_by

_HEAD_LINES = 8
_ID_CHARACTERS = 36

_record = msgspec.json.Decoder(CodexRecord)


class CodexReader(KeyedReader):
    """Reads Codex's rollouts."""

    name = "codex"
    keys = ((b'"payload"',), (b'"session_meta"', b'"event_msg"', b'"response_item"'))

    def read(self, path: Path, *, start: Mark | None = None) -> Parts:
        """Yield the attempts from the mark on; a line that cannot be read is raised, and the next call goes on."""
        return Parts(_parts(path, start))


def _parts(path: Path, start: Mark | None) -> Iterator[Part]:
    thread = CodexThread(str(path.resolve()), thread_id=path.name.partition(".")[0][-_ID_CHARACTERS:])
    if start is not None and start.offset:
        next(
            first_records(path, _HEAD_LINES, thread.meet), None
        )  # what a file's first record says holds for the rest too
    yield from read_lines(path, start, thread.add)
    if thread.mark is not None:
        yield thread.mark
    yield from thread.finish()


_EDITOR = "# Context from my IDE setup:"
_REQUEST = re.compile(r"^## My request for Codex:[ \t]*\n?", re.MULTILINE)
_TAG = (
    r"(tacit-[a-z0-9-]{1,60}|environment_context|user_instructions|turn_aborted|user_shell_command|subagent_notification|"
    r"hook_prompt|skills_instructions|system-reminder)"
)
_OPENING = re.compile(rf"\s*<{_TAG}(?:\s[^<>]{{0,1000}})?>")
_CLOSING = re.compile(rf"</{_TAG}>\s*\Z")
_CLOSING_REACH = 200
_BLOCKS_MAX = 200
_CLIENTS_OWN = frozenset(
    "model.base_instructions collaboration_mode.instructions permissions.instructions multi_agent.mode_instructions "
    "environments.environment_context generic.turn_aborted generic.resize_notice".split()
)
_CLIENTS_TAGS = re.compile(
    r"<(?:permissions instructions|collaboration_mode|multi_agent_mode|personality_spec|app-context|environment_context|"
    r"turn_aborted|image|/image)\b"
)
_HOSTS = re.compile(r"# AGENTS\.md instructions\b|<(?:skill|heartbeat|INSTRUCTIONS|[a-z]+[_-][a-z_-]+)\b")
"""How a text of the host's begins in the user's place, where the client does not say of what kind it is."""
_NO_TEXT = frozenset({"reasoning", "compaction", "ghost_snapshot", "web_search_call", "image_generation_call"})
_NAMED = re.compile(r"# (AGENTS\.md) instructions|<([a-z_-]{1,60})")
_PEOPLE = "user."
_PERSONS_SOURCES = (None, "cli", "vscode")
"""What a person starts a thread in; `exec` and any other source is a program."""


def texts_of(content: Any) -> list[str]:
    """The texts of a content, one for each of its parts; the part of a sealed text that can be read."""
    texts: list[str] = []
    for part in content if isinstance(content, list) else [content]:
        if isinstance(part, dict):
            sealed = text_of(part.get("encrypted_content"))
            texts.append(text_of(part.get("text")) or (sealed if " " in sealed else ""))
        elif text := text_of(part):
            texts.append(text)
    return texts


def split_host_text(text: str) -> Iterator[tuple[str, bool]]:
    """Split a text in the user's place into pieces, each with whether the host wrote it."""
    request = _REQUEST.search(text) if text.startswith(_EDITOR) else None
    if request is not None:
        yield text[: request.start()], True
        text = text[request.end() :]
    start, end = _edges(text)
    for piece, hosts in ((text[:start], True), (text[start:end], False), (text[end:], True)):
        if piece.strip():
            yield piece, hosts


def is_kept(text: str, kind: str, *, role: str = "developer") -> bool:
    """Whether a text is neither a person's nor the client's own wording.

    Older versions do not say of what kind a text is, and repeat a person's words here.
    """
    if kind:
        return not kind.startswith(_PEOPLE) and kind not in _CLIENTS_OWN
    if _CLIENTS_TAGS.match(text):
        return False
    return role == "developer" or _HOSTS.match(text) is not None


def _edges(text: str) -> tuple[int, int]:
    """Where the text between the host's blocks at both edges begins and ends."""
    start, end = 0, len(text)
    for _ in range(_BLOCKS_MAX):
        opening = _OPENING.match(text, start, end)
        close = text.find(f"</{opening[1]}>", opening.end(), end) if opening else -1
        if opening and close >= 0:
            start = close + len(opening[1]) + 3
            continue
        closing = _CLOSING.search(text[max(start, end - _CLOSING_REACH) : end])
        begin = text.rfind(f"<{closing[1]}", start, end) if closing else -1
        if begin < 0:
            return start, end
        end = begin
    return end, end  # nobody writes so many blocks by hand


SHELL = "exec_command"
PATCH = "apply_patch"
Call = tuple[str, dict[str, Any]]

_SHELLS = frozenset({"exec_command", "shell", "shell_command", "container.exec", "local_shell", "local_shell_call"})
_WRAPPERS = frozenset(
    {"bash", "sh", "zsh", "dash", "ksh", "powershell", "powershell.exe", "pwsh", "pwsh.exe", "cmd.exe"}
)
_COMMAND_FLAGS = frozenset({"-c", "-lc", "-ic", "-lic", "-cl", "-command", "/c"})
_object = msgspec.json.Decoder(dict[str, Any])


def calls_of_response(given: Response, *, cwd: str, workspace: str) -> list[Call]:
    """The calls that the model asks for here; several where one patch touches several files."""
    name = text_of(given.name) or text_of(given.type)
    arguments = _decoded(given.arguments if given.arguments is not None else given.input)
    if given.type == "local_shell_call":
        arguments = given.action if isinstance(given.action, dict) else {}
    namespace = text_of(given.namespace)
    if namespace.startswith("mcp__"):
        return [(f"{namespace}__{name}", arguments)]
    if name == PATCH:
        patch = text_of(given.input) or text_of(arguments.get("input") or arguments.get("patch"))
        return patch_calls(patch, workspace=workspace)
    if name not in _SHELLS:
        return [(name, arguments)]
    typed = command_text(arguments.get("cmd", arguments.get("command")))
    if typed.lstrip().startswith((PATCH, "applypatch")) and (edits := edits_of_patch(bounded(typed), workspace)):
        return [(PATCH, edit) for edit in edits]
    where = text_of(arguments.get("workdir") or arguments.get("working_directory")) or cwd
    return [command_call(typed, cwd=where, workspace=workspace)]


def calls_of_item(item: CodexItem, *, workspace: str) -> list[Call]:
    """The calls that an item tells of."""
    if item.type == "CommandExecution":
        cwd = text_of(item.cwd)  # a path or a `file:` address
        if cwd.startswith("file:"):
            try:
                cwd = unquote(urlsplit(cwd).path)
            except ValueError:
                cwd = ""
        return [command_call(command_text(item.command), cwd=cwd, workspace=workspace)]
    if item.type == "FileChange":
        return [(PATCH, edit) for edit in edits_of_changes(item.changes, workspace)]
    arguments = item.arguments if isinstance(item.arguments, dict) else _decoded(item.arguments)
    server = text_of(item.server)
    return [(f"mcp__{server}__{text_of(item.tool)}" if server else text_of(item.tool) or "unknown", arguments)]


def command_call(command: str, *, cwd: str, workspace: str) -> Call:
    """The call of a command, with the folder that it runs in if that is not the workspace."""
    place, root = cwd.rstrip("/"), workspace.rstrip("/")
    if place not in ("", root):
        command = f"cd {shlex.quote(within(place, root))} && {command}"
    return SHELL, {"command": command}


def patch_calls(patch: str, *, workspace: str) -> list[Call]:
    """The calls that a patch makes."""
    return [(PATCH, edit) for edit in edits_of_patch(bounded(patch), workspace)] or [(PATCH, {"input": patch})]


def command_text(command: Any) -> str:
    """The command as a person would type it, without the shell that the client puts around it."""
    if not isinstance(command, list):
        return text_of(command)
    words = [word for word in command if isinstance(word, str)]
    shell = re.split(r"[/\\]", words[0])[-1].casefold() if words else ""
    if shell in _WRAPPERS:
        flag = next((at for at, word in enumerate(words) if word.casefold() in _COMMAND_FLAGS), None)
        if flag is not None and len(words) > flag + 1:
            return " ".join(words[flag + 1 :])
    return shlex.join(words)


def _decoded(arguments: Any) -> dict[str, Any]:
    if isinstance(arguments, dict):
        return arguments
    try:
        return _object.decode(text_of(arguments))
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return {"input": text_of(arguments)} if arguments else {}


_CALLING = frozenset({"CommandExecution", "FileChange", "McpToolCall", "DynamicToolCall"})
_CALLS = ("function_call", "custom_tool_call", "local_shell_call")
_TURNS_KEPT = 64
_HELD_MAX = 64
_PROGRAM, _WAIT = "exec", "wait"
_OF_PROGRAM = "exec-"  # how the ids begin of calls that a program makes; nothing else announces them

_meta = msgspec.json.Decoder(Meta)
_turn = msgspec.json.Decoder(CodexTurn)
_event = msgspec.json.Decoder(CodexEvent)
_response = msgspec.json.Decoder(Response)
_compacted = msgspec.json.Decoder(Compacted)
_anything = msgspec.json.Decoder()


class CodexThread:
    """What one agent was asked, did and saw."""

    def __init__(self, source: str, *, thread_id: str) -> None:
        """Follow the thread of this id; the first record may name it otherwise, and say that it is a subagent's."""
        self._source = source
        self._id = thread_id
        self._attempts = Attempts(client=CodexReader.name, source=source)
        self._is_met = self._is_fork = self._is_subagent = self._is_copy = self._is_asked = self._is_program = False
        self._is_programs_turn = False
        self._has_items = self._has_counts = False
        self._is_due = False  # whether an answer has not been counted; older versions write some counts twice
        self._workspace = self._cwd = self._model = self._skill = self._instructions = ""
        self._turns: deque[str] = deque(maxlen=_TURNS_KEPT)
        self._stopped_turn = ""
        self._turn_mark: Mark | None = None
        self._held: list[Draft] = []
        self._called: set[str] = set()
        self._answers = 0
        self._program: Program | None = None
        self._timestamp: Any = None
        self._line = Line(0, b"", ended=True)
        self._place = Place(source)

    @property
    def mark(self) -> Mark | None:
        """Where the open attempt begins."""
        return self._attempts.mark

    @property
    def _here(self) -> Mark:
        return self._line.mark

    @property
    def _at(self) -> datetime | None:
        return moment_of(self._timestamp)

    def finish(self) -> Iterator[Trajectory]:
        """Close the open attempt and yield it, if there is one."""
        self._introduce()
        last = self._attempts.finish()
        if last is not None:
            yield last

    def add(self, line: Line, place: Place) -> Iterator[Trajectory]:
        """Take in one record; yields the attempt that it ends, if it begins another."""
        record = decode(_record, line.data, place)
        self._line, self._place, self._timestamp = line, place, record.timestamp
        finished = None
        if record.type == "session_meta":
            self._meet(record, place)
        elif record.type == "turn_context":
            self._enter(decode(_turn, record.payload, place))
        elif record.type == "event_msg":
            finished = self._happen(decode(_event, record.payload, place))
        elif self._is_copy:
            return
        elif record.type == "response_item":
            finished = self._respond(decode(_response, record.payload, place))
        elif record.type == "compacted":
            self._context(text_of(decode(_compacted, record.payload, place).message))
        elif record.type == "token_usage_record":
            self._has_counts = True
            spent = decode(_object, record.payload, place)
            self._spend(text_of(spent.get("response_id")), spent.get("usage"))
        if finished is not None:
            yield finished

    def meet(self, line: Line, place: Place) -> bool | None:
        """Take in what the file's first record says, if this is the one."""
        record = decode(_record, line.data, place)
        if record.type != "session_meta":
            return None
        self._meet(record, place)
        return True

    def _meet(self, record: CodexRecord, place: Place) -> None:
        """Take in the first record. A later one is the copy of another thread's."""
        if self._is_met:
            return
        meta = decode(_meta, record.payload, place)
        self._is_met = True
        self._id = text_of(meta.id) or self._id
        self._has_items = meta.history_mode == "paginated"
        self._is_fork = bool(meta.forked_from_id or meta.parent_thread_id)
        self._workspace = self._cwd = text_of(meta.cwd)
        session_id = self._id
        is_spawned = isinstance(meta.source, dict) and "subagent" in meta.source
        self._is_subagent = is_spawned or meta.thread_source == "subagent"
        self._is_program = not self._is_subagent and meta.source not in _PERSONS_SOURCES
        if self._is_subagent:
            parent = text_of(meta.session_id) or text_of(meta.parent_thread_id)
            session_id = parent if parent != self._id else ""
            self._attempts = Attempts(client=CodexReader.name, source=self._source, agent_id=self._id)
        branch = text_of((meta.git or {}).get("branch"))
        version = text_of(meta.cli_version)
        self._attempts.session.note(session_id=session_id, workspace=self._workspace, version=version, branch=branch)

    def _introduce(self) -> None:
        """Name a thread whose first record is missing or damaged by its file and by its first turn."""
        if not self._is_met:
            self._attempts.session.note(session_id=self._id, workspace=self._workspace)

    def _enter(self, turn: CodexTurn) -> None:
        turn_id = text_of(turn.turn_id)
        if turn_id not in self._turns:
            self._is_copy = self._is_fork and _is_before(turn_id, self._id)
        if self._is_copy:
            return
        self._cwd = text_of(turn.cwd) or self._workspace
        self._workspace = self._workspace or self._cwd
        self._model = text_of(turn.model)
        if self._turn_mark is None:
            self._attempts.note(model=self._model)
        shown = "\n".join(filter(None, map(text_of, (turn.user_instructions, turn.developer_instructions))))
        if shown != self._instructions:  # each turn repeats them
            self._instructions = shown
            self._context(shown, "turn_context")

    def _happen(self, event: CodexEvent) -> Trajectory | None:
        turn_id = text_of(event.turn_id)
        if event.type == "task_started":
            self._is_copy = self._is_fork and _is_before(turn_id, self._id)
            if not self._is_copy:
                self._release()
                self._turn_mark, self._is_asked = self._here, False
                self._turns.extend([turn_id] if turn_id else [])
                given = event.turn_attribution
                self._is_programs_turn = isinstance(given, dict) and given.get("turn_trigger") == "exec"
        elif self._is_copy:
            return None
        elif event.type == "item_completed" and event.item is not None:
            return self._complete(event.item, turn_id)
        elif event.type == "turn_aborted":
            self._attempts.interrupt()
            self._stopped_turn = turn_id
            if self._program:
                self._program.ended = True
        elif event.type == "token_count" and not self._has_counts and self._is_due:
            info = decode(_anything, event.info, self._place)
            self._spend("", info.get("last_token_usage") if isinstance(info, dict) else None)
        elif event.type == "web_search_end" and not self._has_items:
            self._search(text_of(event.query), text_of(event.call_id))
        elif event.type == "user_message" and not self._has_items:
            return self._ask(text_of(event.message))
        return None

    def _spend(self, answer_id: str, usage: Any) -> None:
        self._answers, self._is_due = self._answers + 1, False
        if isinstance(usage, dict):
            cached = count_of(usage.get("cached_input_tokens"))
            spent = Usage(
                input_tokens=max(0, count_of(usage.get("input_tokens")) - cached),
                output_tokens=count_of(usage.get("output_tokens")),
                cached_tokens=cached,
            )
            self._attempts.spend(answer_id or f"line {self._line.number}", spent)

    def _complete(self, item: CodexItem, turn_id: str) -> Trajectory | None:
        if item.type == "UserMessage":
            finished = self._ask("\n".join(texts_of(item.content)), turn_id)
            named = (part for part in item.content if isinstance(part, dict)) if isinstance(item.content, list) else ()
            skills = (text_of(part.get("name")) for part in named if part.get("type") == "skill")
            self._skill = next(skills, "") or self._skill
            return finished
        if item.type == "AgentMessage":
            self._answer("\n".join(texts_of(item.content)))
        elif item.type == "HookPrompt":
            self._context("\n".join(texts_of(item.fragments)))
        elif item.type == "WebSearch":
            self._search(text_of(item.query), text_of(item.id))
        elif text_of(item.type) in _CALLING and item.source != "user_shell":
            self._call_done(item, turn_id)
        return None

    def _search(self, query: str, call_id: str) -> None:
        """Take in a search; the log does not hold what it found."""
        self._act([("web_search", {"query": query})], call_id)
        self._attempts.resolve(call_id, observation="", result=StepResult.UNKNOWN)

    def _ask(self, text: str, turn_id: str = "") -> Trajectory | None:
        pieces = split_host_text(bounded(text))
        messages = [Draft(Role.CONTEXT if hosts else Role.USER, words, self._at) for words, hosts in pieces]
        if not messages:
            return None
        for draft in messages if self._is_program or self._is_programs_turn else ():
            if draft.role is Role.USER:
                draft.role, draft.asks, draft.asked_by = Role.CONTEXT, draft.text, ASKED_BY_PROGRAM
        if self._is_asked:  # said while the agent works: it bears on this very work
            for draft in messages:
                draft.role = Role.CONTEXT if self._is_subagent else draft.role
                self._attempts.act(draft, self._here)
            return None
        self._is_asked = self._turn_mark is not None
        self._introduce()
        held, self._held = self._held, []
        finished = self._attempts.say([*held, *messages], self._turn_mark or self._here)
        turn_id = turn_id or next(reversed(self._turns), "")
        if finished is not None:
            self._program, self._stopped_turn = None, ""
            self._turns.clear()
        if turn_id and turn_id not in self._turns:
            self._turns.append(turn_id)
        self._skill = ""
        self._attempts.note(model=self._model)
        return finished

    def _answer(self, text: str) -> None:
        if text.strip():
            self._release()
            draft = Draft(Role.AGENT, bounded(text), self._at, skill=self._skill, message_id=self._message_id())
            self._attempts.act(draft, self._here)

    def _context(self, text: str, kind: str = "") -> None:
        if not text.strip():
            return
        named = _NAMED.match(text)
        source = {"attachment": bounded(kind or (named[1] or named[2] if named else ""))}
        draft = Draft(Role.CONTEXT, bounded(text), self._at, arguments=source if source["attachment"] else {})
        if self._turn_mark is not None and not self._is_asked and len(self._held) < _HELD_MAX:
            self._held.append(draft)
        else:
            self._attempts.act(draft, self._here)

    def _release(self) -> None:
        """Let go of what was held for a prompt that did not come."""
        held, self._held = self._held, []
        for draft in held:
            self._attempts.act(draft, self._turn_mark or self._here)

    def _respond(self, given: Response) -> Trajectory | None:
        self._is_due = self._is_due or given.role == "assistant" or text_of(given.type) in _CALLS
        texts, call_id = texts_of(given.content), text_of(given.call_id)
        self._called.update([call_id] if text_of(given.type) in _CALLS else [])
        if given.type == "message" and given.role == "assistant":
            if not self._has_items:
                self._answer("\n".join(texts))
        elif given.type == "message":
            kinds = (given.noted or {}).get("content_item_kinds")
            kinds = kinds if isinstance(kinds, list) and len(kinds) == len(texts) else [""] * len(texts)
            for text, kind in zip(texts, kinds, strict=True):
                if is_kept(text, text_of(kind), role=text_of(given.role)):
                    self._context(text, text_of(kind))
        elif given.type == "agent_message":  # what one agent writes to another: a subagent's task, or what it found
            text = "\n".join(texts)
            if self._is_subagent and not self._is_asked:
                return self._ask(text.partition("Payload:\n")[2].strip() or text)
            self._context(text)
        elif given.type == "custom_tool_call" and given.name == _PROGRAM:
            self._program = Program(call_id, bounded(text_of(given.input)), self._message_id())
        elif text_of(given.type) in _CALLS:
            if not (given.name == _WAIT and self._program):  # waits for the program, and does nothing itself
                self._act(calls_of_response(given, cwd=self._cwd, workspace=self._workspace), call_id)
        elif given.type in ("function_call_output", "custom_tool_call_output"):
            self._output(call_id, given.output, kind=text_of(given.type))
        elif text_of(given.type) not in _NO_TEXT:
            self._context("\n".join(all_texts([given.content, given.output, given.tools])), text_of(given.type))
        return None

    def _act(self, calls: list[Call], call_id: str, message_id: str = "") -> None:
        self._release()
        for number, (tool, arguments) in enumerate(calls):
            draft = Draft(
                Role.AGENT,
                at=self._at,
                tool=bounded(tool) or "unknown",
                arguments=bounded_value(arguments, self._place),
                skill=self._skill,
                call_id=_part_id(call_id, number),
                message_id=message_id or self._message_id(),
            )
            self._attempts.act(draft, self._here)

    def _call_done(self, item: CodexItem, turn_id: str) -> None:
        if turn_id and self._turns and turn_id not in self._turns:
            return  # the end of something that an earlier attempt began
        outcome, call_id = outcome_of_item(item), text_of(item.id)
        if self._attempts.waiting(call_id) is None:
            if not call_id.startswith(_OF_PROGRAM):
                return  # its output has told how it ended
            if turn_id and turn_id == self._stopped_turn:
                outcome = CodexOutcome(StepResult.INTERRUPTED, outcome.observation)
            message_id = self._program.message_id if self._program else ""
            self._act(calls_of_item(item, workspace=self._workspace), call_id, message_id)
            if self._program:
                self._program.patches += item.type == "FileChange"
                if item.type == "CommandExecution":
                    self._program.commands.append(command_text(item.command))
        self._resolve(call_id, outcome)

    def _output(self, call_id: str, output: Any, *, kind: str) -> None:
        draft, program = self._attempts.waiting(call_id), self._program
        if draft is not None:
            outcome = outcome_of_output(output, tool=draft.tool)
            if outcome.runs:
                draft.observation = bounded(outcome.observation)
            else:
                self._resolve(call_id, outcome)
            return
        text = text_of_output(output)[0]
        if call_id not in self._called:  # the call itself is not in this file
            self._context(text, kind)
            return
        if not program or program.ended or text.startswith(RUNNING):
            return
        program.ended = True
        for number, call in enumerate(calls_without_items(program, text)):
            if call.patch:
                calls = patch_calls(call.patch, workspace=self._workspace)
            elif call.command:
                calls = [command_call(call.command, cwd=self._cwd, workspace=self._workspace)]
            else:
                calls = [(_PROGRAM, {"code": program.code})]
            call_id = f"{program.call_id}.{number}" if number else program.call_id
            self._act(calls, call_id, program.message_id)
            self._resolve(call_id, call.outcome)

    def _resolve(self, call_id: str, outcome: CodexOutcome) -> None:
        number = 0
        waiting = self._attempts.waiting(call_id)
        is_command = waiting is not None and waiting.tool == SHELL
        while draft := self._attempts.resolve(
            _part_id(call_id, number),
            observation=bounded(outcome.observation),
            result=outcome.result,
            exit_code=outcome.exit_code if is_command else None,
        ):
            number += 1
            skill = skill_read_by(draft.arguments["command"]) if is_command and outcome.result is StepResult.OK else ""
            if skill:
                self._skill = draft.skill = skill

    def _message_id(self) -> str:
        """One for all that stands between two counts of tokens: the client counts after each answer of the model."""
        return f"answer {self._answers}"


def _part_id(call_id: str, number: int) -> str:
    return f"{call_id}#{number}" if number and call_id else call_id


def _is_before(turn_id: str, thread_id: str) -> bool:
    """Whether a turn is older than its thread, so a copy from another one: both ids begin with their time."""
    return turn_id[14:15] == thread_id[14:15] == "7" and turn_id < thread_id
