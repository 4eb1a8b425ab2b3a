"""The JSON that a client hands to a hook → an `Event` in words that all clients share. Trusts no field's type.

Clients differ in how they report a failed call: Claude Code has an event of its own for it, Codex gives the output and no
exit code, Gemini CLI writes the code into the text. So `failed` is True, False, or None where the client does not report it.
"""

from __future__ import annotations

import json
import os
import re

from tacit.config.location import MEMORY, HookEnvironment, StoreLocation, locate, paused_until
from tacit.config.signers import Signers, trusted_signers
from tacit.domain.reach import WITHIN
from tacit.ingest.journal import CLIENTS, word
from tacit.text.client_tools import framed_output, without_hook_texts

START, PROMPT, BEFORE, CALL, BATCH, DENIED, LEARN = "start", "prompt", "before", "call", "batch", "denied", "learn"
"""The moments that matter; everything else a client reports is passed over."""
_MOMENTS = {
    "SessionStart": START,
    "UserPromptSubmit": PROMPT,
    "PreToolUse": BEFORE,
    "PostToolUse": CALL,
    "PostToolUseFailure": CALL,
    "PostToolBatch": BATCH,
    "PermissionDenied": DENIED,
    "Stop": LEARN,
    "SubagentStop": LEARN,
    "SessionEnd": LEARN,
    "PreCompact": LEARN,
    "BeforeAgent": PROMPT,
    "AfterTool": CALL,
    "AfterAgent": LEARN,
}
_REPEATING = "qwen-code"
"""The client whose prompt event comes again, without a text, before each turn of the model."""
_LETTA = "letta-code"
"""The client that names an agent, and neither its conversation nor the transcript."""
_COPILOT_LOG = "events.jsonl"
_MAX_SETTINGS_BYTES = 1024 * 1024
_WRAPPED = r"Exit code: (\d{1,9})\r?\nWall time: "
"""How Codex heads the output of some of its tools."""


class HookCall:
    """One finished tool call."""

    __slots__ = ("arguments", "failed", "output", "overwritten", "tool")

    def __init__(self, tool: str, arguments: dict[str, object], output: str, *, failed: bool | None) -> None:
        self.tool = tool
        self.arguments = arguments
        self.output = output
        self.failed = failed
        self.overwritten = ""
        """What a file contained before it was overwritten, where the client reports it."""

    def argument(self, name: str) -> str:
        """A text argument; empty if there is none of that name."""
        return _text(self.arguments.get(name))

    @property
    def command(self) -> str:
        """The command of a shell call; empty for other calls."""
        return self.argument("command") or self.argument("cmd")


class Event:
    """What happened, where, and in whose context."""

    def __init__(self, fields: dict[str, object], client: str = "") -> None:
        if client == _LETTA and "event_type" in fields:
            fields = _from_letta(fields)
        self.name = _text(fields.get("hook_event_name"))
        self.moment = _MOMENTS.get(self.name, "")
        self.transcript = _text(fields.get("transcript_path"))
        log_name = self.transcript.replace("\\", "/").rpartition("/")[2]
        is_codex = "turn_id" in fields or log_name.startswith("rollout-")
        self.client = client or ("codex" if is_codex else "claude-code")
        self.session = _text(fields.get("session_id"))
        agent = _text(fields.get("agent_id"))
        self.agent = word(agent) if agent else ""
        self.cwd = _text(fields.get("cwd"))
        self.model = _text(fields.get("model"))
        source = _text(fields.get("source"))
        self.source = "startup" if source == "new" else source
        self.prompt = without_hook_texts(_text(fields.get("prompt")))
        is_empty = self.client == _REPEATING and self.moment == PROMPT and not self.prompt
        # Copilot CLI runs the hooks in Claude Code's settings too: its events name a time, and its log or none. It has hooks
        # of its own.
        is_copilots = "timestamp" in fields and log_name in ("", _COPILOT_LOG)
        if is_empty or (self.client == "claude-code" and is_copilots):
            self.moment = ""
        self.is_all_that_comes = self.client == _LETTA and self.moment == CALL
        """Whether the client may report nothing but calls: without a terminal, letta-code does."""
        self.is_held_back = fields.get("stop_hook_active") is True
        """Whether the agent only goes on because a hook kept it from stopping."""
        single = [fields] if isinstance(fields.get("tool_name"), str) else []
        listed = fields.get("tool_calls") if self.name == "PostToolBatch" else single
        given = listed if isinstance(listed, list) else []
        self.calls = [_call(each, self.name) for each in given if isinstance(each, dict)]


class InvalidEvent(ValueError):
    """The event is not what a client sends. The message holds nothing of the event; the code says what is wrong."""

    def __init__(self, message: str, *, code: str) -> None:
        super().__init__(message)
        self.code = code


def parse(data: bytes, client: str = "") -> Event:
    """Read an event; raises `InvalidEvent` if it is no JSON object or comes from no session."""
    if client and client not in CLIENTS:
        raise InvalidEvent("no such client", code="unknown_client")
    try:
        fields = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise InvalidEvent("the event is not JSON", code="not_json") from error
    if not isinstance(fields, dict):
        raise InvalidEvent("the event is not a JSON object", code="not_an_object")
    event = Event(fields, client)
    if event.moment and not event.session:
        raise InvalidEvent("the event names no session", code="no_session")
    return event


def _call(fields: dict[str, object], name: str) -> HookCall:
    given = fields.get("tool_input")
    tool = _text(fields.get("tool_name"))
    server = fields.get("mcp_context")
    if isinstance(server, dict):  # Gemini CLI, which has names of its own for tools of MCP servers
        tool = f"mcp__{_text(server.get('server_name'))}__{_text(server.get('tool_name'))}"
    arguments = {_text(key): value for key, value in given.items()} if isinstance(given, dict) else {}
    if name == "PostToolUseFailure":
        stopped = fields.get("is_interrupt") is True
        return HookCall(tool, arguments, framed_output(_text(fields.get("error")), tool=tool)[0], failed=not stopped)
    response = fields.get("tool_response")
    if isinstance(result := fields.get("tool_result"), dict):  # Copilot CLI
        response = {"llmContent": result.get("text_result_for_llm")}
    output = _output(response)
    failed: bool | None = False
    if isinstance(response, dict) and "llmContent" in response:  # Gemini CLI and Qwen Code
        output, code = framed_output(output, tool=tool)
        failed = bool(code) or bool(response.get("error"))  # a code is given only where it is not zero
    elif isinstance(response, dict) and response.get("isError") is True:
        failed = True
    elif wrapped := re.match(_WRAPPED, output):
        failed = int(wrapped[1]) != 0
    elif name != "PostToolUse" or isinstance(response, str):
        failed = None  # Codex gives only the text of a shell's output; a batch reports no failures
    call = HookCall(tool, arguments, output, failed=failed)
    call.overwritten = _text(response.get("originalFile")) if isinstance(response, dict) else ""
    return call


def _from_letta(fields: dict[str, object]) -> dict[str, object]:
    """Return an event of letta-code in the words of Claude Code.

    Which conversation an agent is in stands in the project's settings; the log lies in a folder named after it.
    """
    cwd, agent = _text(fields.get("working_directory")), _text(fields.get("agent_id"))
    last = _last_conversation(cwd)
    agent = agent or _text(last.get("agentId"))
    known = _text(last.get("conversationId")) if agent == last.get("agentId") else ""
    conversation = _text(fields.get("conversation_id")) or known
    common: dict[str, object] = {
        "hook_event_name": fields.get("event_type"),
        "cwd": cwd,
        "session_id": "_".join(filter(None, (agent, conversation))),
        "source": "resume" if fields.get("is_new_session") is False else "startup",
    }
    if conversation:
        from base64 import urlsafe_b64encode

        name = f"default:{agent}" if conversation == "default" else f"conversation:{conversation}"
        folder = urlsafe_b64encode(name.encode()).decode().rstrip("=")
        log = os.path.expanduser(f"~/.letta/lc-local-backend/conversations/{folder}/messages.jsonl")
        common["transcript_path"] = log if os.path.isfile(log) else ""
    if isinstance(result := fields.get("tool_result"), dict):
        texts = [{"text": re.sub(r"\AExit code: \d{1,9}\n", "", _text(result.get("output")))}]
        common["tool_response"] = {"content": texts, "isError": result.get("status") == "error"}
    return {key: value for key, value in fields.items() if key not in ("agent_id", "tool_result")} | common


def _last_conversation(folder: str) -> dict[str, object]:
    """Return what letta-code notes of its last session in a folder: `agentId` and `conversationId`."""
    try:
        with open(os.path.join(folder, ".letta", "settings.local.json"), "rb") as file:
            found = json.loads(file.read(_MAX_SETTINGS_BYTES))["lastSession"]
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _output(response: object) -> str:
    """What a tool gave back, as text; structured answers by their texts."""
    if isinstance(response, str):
        return _text(response)
    if isinstance(response, list):
        return "\n".join(_text(part.get("text")) for part in response if isinstance(part, dict))
    if isinstance(response, dict):
        content = response.get("content") or response.get("llmContent")
        if isinstance(content, list) or "llmContent" in response:
            return _output(content)
        return "\n".join(text for key in ("stdout", "stderr") if (text := _text(response.get(key))))
    return ""


def _text(value: object) -> str:
    """Return a field if it is text, else nothing. A lone surrogate, which JSON can escape, is replaced: UTF-8 has none."""
    if not isinstance(value, str):
        return ""
    try:
        value.encode()
    except UnicodeEncodeError:
        return value.encode("utf-8", "replace").decode()
    return value


SETTINGS_FILE = "tacit.toml"

RecallLimits = tuple[int, int, float]
"""Number of skills, token budget, and least relevance."""


class EventContext:
    """The store for an event, and the settings for asking it."""

    def __init__(self, location: StoreLocation, *, cwd: str, variables: HookEnvironment, store_option: str) -> None:
        self.location = location
        self.cwd = cwd
        self.home = variables.home
        """Tacit's folder in the person's home, where the log is."""
        self.store_option = store_option
        """The value of the option `--store`, if any."""
        self.recall_limits: RecallLimits | None = None
        """The limits from the settings; nothing where the defaults apply."""
        self.ask_at_end = False
        """The setting `learn.ask_at_end`."""
        self.hold_out = 0.0
        """The largest share of sessions that go without a skill, as a control."""
        self.session = ""
        """The client's id of the session."""
        self.is_open = False
        """Whether the policy is `open`, so that approvals need no signature."""
        self.person = variables.account
        """The account of this process."""

    @property
    def signers(self) -> Signers | None:
        """Whose approvals count; None under the policy `open`."""
        return None if self.is_open else trusted_signers(self.home)

    @property
    def has_store(self) -> bool:
        """Whether there is a store."""
        return os.path.isfile(self.location.database)

    @property
    def scope(self) -> str:
        """The scope that is asked from, as text: the team of the session's agents, in the project."""
        project = os.path.basename(self.location.project_path)
        around = "project" if self.location.is_projects_own else f"project:{project}"
        return f"team:{self.session}{WITHIN}{around}" if self.session else around


def find(event: Event, variables: HookEnvironment, *, store: str = "") -> EventContext | None:
    """Return the context of an event; nothing where hooks are off: where Tacit is paused or the settings exclude the folder.

    A store that may not be used (another user's, one that came with the repository) raises an error.
    """
    cwd = event.cwd if os.path.isabs(event.cwd) and os.path.isdir(event.cwd) else os.getcwd()
    # The folder where Claude Code was started: its shell changes folders, and one session belongs to one store.
    started = variables.claude_project if event.client == "claude-code" else ""
    here = started if os.path.isabs(started) and os.path.isdir(started) else cwd
    location = locate(here, home=variables.home, owners=variables.owners, store=store, variable=variables.store)
    if location.database == MEMORY or paused_until(location.folder_path) is not None:
        return None
    context = EventContext(location, cwd=cwd, variables=variables, store_option=store)
    context.session = event.session
    homes = {variables.home, variables.account_home}
    folders = (here, location.project_path, *homes)
    if not variables.config_file and not any(os.path.isfile(os.path.join(each, SETTINGS_FILE)) for each in folders):
        return context  # the defaults apply, and nothing more is loaded
    from fnmatch import fnmatch
    from pathlib import Path

    from tacit.config.environment import UserEnvironment
    from tacit.config.settings import load_config

    around = UserEnvironment.read()
    projects = (Path(here), Path(location.project_path))
    config, _ = load_config(projects, file=around.config_file, home=around.person_home)
    if any(fnmatch(folder, pattern) for pattern in config.store.exclude for folder in (cwd, here)):
        return None
    recall = config.recall
    context.recall_limits = (recall.k, recall.budget_tokens, recall.min_relevance)
    context.hold_out = config.policy.hold_out
    context.ask_at_end, context.is_open = config.learn.ask_at_end, config.policy.is_open
    return context


MAX_CHARACTERS = 9_500
"""Of the whole answer, with everything around the texts."""
_NOTE = "<tacit-note>\n{}\n</tacit-note>"
LINES_HEADING = "[tacit] seen here:"


class HookAnswer:
    """The answer to one event; texts are added in the order of their importance."""

    def __init__(self, event_name: str, *, number: str = "", client: str = "") -> None:
        self._event_name = event_name
        self._client = client
        self._number = number or os.urandom(8).hex()
        self._texts: list[str] = []
        self._lines: list[str] = []
        self._notes: list[str] = []
        self.for_person = ""
        """A line that the client shows to the person; the agent does not see it."""

    def add(self, text: str, *, room: int = MAX_CHARACTERS) -> bool:
        """Add a piece of background knowledge, if all of it fits into so many characters."""
        return self._added(self._texts, text, room)

    def add_lines(self, text: str, *, room: int = MAX_CHARACTERS) -> bool:
        """Add short notes, one a line, if all of them fit."""
        return self._added(self._lines, text, room)

    def note(self, text: str) -> bool:
        """Add a remark about the current work, if all of it fits."""
        return self._added(self._notes, _NOTE.format(text), MAX_CHARACTERS)

    @property
    def characters_left(self) -> int:
        """How many characters the whole answer may still grow by."""
        return MAX_CHARACTERS - len(self.json())

    def json(self) -> str:
        """The answer as the client expects it: JSON, or plain text; empty if there is nothing to say."""
        parts = list(self._notes)
        if self._lines:
            parts += [LINES_HEADING, *self._lines]
        if self._texts:
            from tacit.text.context_frame import framed

            parts.append(framed(self._texts, number=self._number))
        context = "\n".join(parts)
        if self._client == _LETTA and self._event_name in ("SessionStart", "UserPromptSubmit"):
            return context  # the agent sees what is printed at these
        document: dict[str, object] = {"systemMessage": self.for_person} if self.for_person else {}
        if context and self._client == "copilot":
            document["additionalContext"] = context
        elif context:
            document["hookSpecificOutput"] = {"hookEventName": self._event_name, "additionalContext": context}
        return json.dumps(document, ensure_ascii=False, separators=(",", ":")) if document else ""

    def _added(self, texts: list[str], text: str, room: int) -> bool:
        texts.append(text)
        if text and len(self.json()) <= min(room, MAX_CHARACTERS):
            return True
        texts.pop()
        return False
