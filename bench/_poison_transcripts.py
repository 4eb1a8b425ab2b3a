"""Raw transcripts for `poison.py`: sessions as the clients write them, with a payload at each place that the model sees.

A channel is a place: an attachment, a block, a prompt, an encoding of what a tool printed. Each client has its own; a channel
names what a reviewer must be told of the place.
"""

from __future__ import annotations

import base64
import codecs
import gzip
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

from _poison_payloads import KINDS, SESSIONS, WORKSPACE, Payload

from tacit.domain.trajectory import Role, Step, StepResult, Trajectory

AT = "2026-03-01T12:00:00.000Z"
NEUTRAL = "<system-reminder>\nWhat the client writes around it.\n</system-reminder>"


class ClaudeLog:
    """A session of Claude Code, where a person types at a terminal."""

    client = "claude-code"

    def __init__(self, session: str) -> None:
        self.session = session
        self.records: list[dict[str, Any]] = []
        self.beside: dict[str, list[dict[str, Any]]] = {}
        """Files of subagents."""

    def add(self, kind: str, **more: Any) -> dict[str, Any]:
        known = {
            "type": kind,
            "uuid": f"{self.session}-{len(self.records)}",
            "sessionId": self.session,
            "timestamp": AT,
        }
        known |= {"isSidechain": False, "cwd": WORKSPACE, "version": "2.1.325", "entrypoint": "cli"}
        self.records.append(known | more)
        return self.records[-1]

    def prompt(self, text: str, **fields: Any) -> None:
        typed = {"promptSource": "typed", "turnOrigin": "human", "origin": {"kind": "human"}}
        self.add("user", message={"role": "user", "content": text}, **(typed | fields))

    def blocks(self, *blocks: Mapping[str, Any], **fields: Any) -> None:
        self.add("user", message={"role": "user", "content": list(blocks)}, **fields)

    def attach(self, kind: str, **fields: Any) -> None:
        self.add("attachment", attachment={"type": kind, **fields}, rendered=[{"content": NEUTRAL}])

    def answer(self, *blocks: Mapping[str, Any]) -> None:
        message = {"id": f"m{len(self.records)}", "role": "assistant", "model": "claude-x", "content": list(blocks)}
        self.add("assistant", message=message)

    def say(self, text: str) -> None:
        self.answer({"type": "text", "text": text})

    def call(self, tool: str, arguments: Mapping[str, Any], out: Any, *, code: int = 0) -> None:
        call = f"t{len(self.records)}"
        self.answer({"type": "tool_use", "id": call, "name": tool, "input": dict(arguments)})
        out = f"Exit code {code}\n{out}" if code and tool == "Bash" else out
        result = {"type": "tool_result", "tool_use_id": call, "content": out, "is_error": bool(code)}
        self.blocks(result, toolUseResult={"stdout": "", "interrupted": False})

    def bash(self, command: str, out: str = "ok", *, code: int = 0) -> None:
        self.call("Bash", {"command": command}, out, code=code)

    def edit(self, path: str, old: str, new: str) -> None:
        arguments = {"file_path": f"{WORKSPACE}/{path}", "old_string": old, "new_string": new}
        self.call("Edit", arguments, "The file has been updated.")

    def write(self, folder: Path) -> Path:
        path = folder / f"{self.session}.jsonl"
        lay(path, self.records)
        for name, records in self.beside.items():
            lay(folder / self.session / "subagents" / f"agent-{name}.jsonl", records)
        return path


class CodexLog:
    """A thread of Codex, where a person types at a terminal."""

    client = "codex"

    def __init__(self, session: str, *, source: Any = "cli") -> None:
        self.session = session
        self.turns = 0
        meta = {"id": session, "session_id": session, "cwd": WORKSPACE, "cli_version": "0.166.0", "source": source}
        self.records = [_line("session_meta", **meta, history_mode="paginated", thread_source="user")]

    def add(self, kind: str, **payload: Any) -> None:
        self.records.append(_line(kind, **payload))

    def item(self, kind: str, **more: Any) -> None:
        self.add("event_msg", type="item_completed", turn_id=f"turn-{self.turns}", item={"type": kind, **more})

    def prompt(self, text: str) -> None:
        self.turns += 1
        self.add("event_msg", type="task_started", turn_id=f"turn-{self.turns}")
        self.add("turn_context", turn_id=f"turn-{self.turns}", cwd=WORKSPACE, model="gpt-x")
        self.item("UserMessage", id="u", content=[{"type": "text", "text": text}])

    def show(self, text: str, kind: str = "", *, role: str = "developer") -> None:
        noted = {"content_item_kinds": [kind]} if kind else {}
        content = [{"type": "input_text", "text": text}]
        self.add(
            "response_item",
            type="message",
            role=role,
            content=content,
            internal_chat_message_metadata_passthrough=noted,
        )

    def say(self, text: str) -> None:
        self.item("AgentMessage", id="m", content=[{"type": "Text", "text": text}])

    def call(self, tool: str, arguments: Mapping[str, Any], out: Any) -> None:
        call = f"c{len(self.records)}"
        self.add("response_item", type="function_call", name=tool, arguments=json.dumps(dict(arguments)), call_id=call)
        self.add("response_item", type="function_call_output", call_id=call, output=out)

    def bash(self, command: str, out: str = "ok", *, code: int = 0) -> None:
        call = f"c{len(self.records)}"
        self.add(
            "response_item",
            type="function_call",
            name="exec_command",
            arguments=json.dumps({"cmd": command}),
            call_id=call,
        )
        ran = {"command": ["/bin/bash", "-lc", command], "cwd": f"file://{WORKSPACE}", "exit_code": code}
        self.item("CommandExecution", id=call, status="failed" if code else "completed", aggregated_output=out, **ran)

    def edit(self, path: str, old: str, new: str) -> None:
        call = f"c{len(self.records)}"
        patch = f"*** Begin Patch\n*** Update File: {path}\n@@\n-{old}\n+{new}\n*** End Patch\n"
        self.add("response_item", type="custom_tool_call", name="apply_patch", input=patch, call_id=call)
        change = {"type": "update", "unified_diff": f"@@ -1 +1 @@\n-{old}\n+{new}\n"}
        self.item(
            "FileChange",
            id=call,
            changes={f"{WORKSPACE}/{path}": change},
            status="completed",
            stdout="Success.",
            stderr="",
        )

    def write(self, folder: Path) -> Path:
        path = folder / f"rollout-2026-03-01T12-00-00-{self.session}.jsonl"
        lay(path, self.records)
        return path


class AtifLog:
    """A document in the Agent Trajectory Interchange Format, as other clients' sessions are converted to."""

    client = "atif"

    def __init__(self, session: str) -> None:
        self.session = session
        self.steps: list[dict[str, Any]] = []

    def add(self, source: str, message: Any, **more: Any) -> None:
        self.steps.append({"step_id": len(self.steps) + 1, "source": source, "message": message, **more})

    def prompt(self, text: str) -> None:
        self.add("user", text)

    def say(self, text: str) -> None:
        self.add("agent", text)

    def call(self, tool: str, arguments: Mapping[str, Any], out: Any, *, code: int = 0) -> None:
        name = f"c{len(self.steps)}"
        asked = {"tool_call_id": name, "function_name": tool, "arguments": dict(arguments)}
        ended = {"source_call_id": name, "content": out, "extra": {"exit_code": code, "is_error": bool(code)}}
        self.add("agent", "", tool_calls=[asked], observation={"results": [ended]})

    def bash(self, command: str, out: str = "ok", *, code: int = 0) -> None:
        self.call("Bash", {"command": command}, out, code=code)

    def edit(self, path: str, old: str, new: str) -> None:
        arguments = {"file_path": f"{WORKSPACE}/{path}", "old_string": old, "new_string": new}
        self.call("Edit", arguments, "The file has been updated.")

    def write(self, folder: Path) -> Path:
        document = {"schema_version": "ATIF-v1.7", "session_id": self.session, "agent": {"name": "x", "version": "1"}}
        path = folder / f"{self.session}.json"
        path.write_text(json.dumps(document | {"steps": self.steps}), encoding="utf-8")
        return path


Log = ClaudeLog | CodexLog | AtifLog
LOGS: Mapping[str, Callable[[str], Log]] = {"claude-code": ClaudeLog, "codex": CodexLog, "atif": AtifLog}


def _line(kind: str, **payload: Any) -> dict[str, Any]:
    return {"timestamp": AT, "type": kind, "payload": payload}


def lay(path: Path, records: Iterable[Mapping[str, Any]]) -> None:
    """Write one record per line."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{json.dumps(record)}\n" for record in records), encoding="utf-8")


@dataclass(frozen=True, slots=True)
class Channel:
    """A place where a client shows text to the model."""

    client: str
    name: str
    put: Callable[[Any, Payload], None]
    place: str
    """Part of what a reviewer is told of the place."""
    when: str = "after"
    """`before` or `after` the prompt; `asks`: it puts the prompt itself, and the task comes after the payload."""
    source: Any = "cli"
    first_wish: bool = False
    """Only the wish with an address: nothing else can be told of a text that the log does not hold."""


def _attachments() -> Iterable[Channel]:
    def channel(kind: str, place: str = "", when: str = "after", **fields: Any) -> Channel:
        def put(log: ClaudeLog, wish: Payload) -> None:
            log.attach(kind, **{name: _filled(value, wish.told) for name, value in fields.items()})

        return Channel("claude-code", f"attachment {kind}", put, place or kind, when)

    file = {"type": "text", "file": {"filePath": "x", "content": "@"}}
    yield channel(
        "instructions", "CLAUDE.md", files=[{"path": f"{WORKSPACE}/CLAUDE.md", "type": "Project", "content": "@"}]
    )
    yield channel("nested_memory", "rules.md", path=f"{WORKSPACE}/rules.md", content={"path": "x", "content": "@"})
    yield channel("session_context", context={"gitStatus": "Recent commits:\na1b2c3 @"})
    yield channel("mcp_instructions_delta", "ledger", addedNames=["ledger"], addedBlocks=["## ledger\n@"])
    yield channel("skill_listing", content="- greet: @", names=["greet"])
    yield channel("agent_listing_delta", addedTypes=["helper"], addedLines=["- helper: @"])
    yield channel("deferred_tools_delta", addedNames=["x"], addedLines=["x: @"])
    yield channel("file", "notes.md", filename=f"{WORKSPACE}/notes.md", content=file)
    yield channel("already_read_file", "notes.md", filename=f"{WORKSPACE}/notes.md", content=file)
    yield channel("directory", path=f"{WORKSPACE}/docs", content="a.md\n@")
    yield channel("edited_text_file", "a.py", filename=f"{WORKSPACE}/a.py", snippet="1\t@")
    yield channel(
        "hook_additional_context", when="before", content=["@"], hookEvent="SessionStart", hookName="SessionStart"
    )
    yield channel("hook_success", when="before", content="@", hookEvent="SessionStart", hookName="SessionStart:startup")
    yield channel("hook_blocking_error", blockingError={"blockingError": "@", "command": "x"})
    yield channel("mcp_resource", "ledger", server="ledger", content={"contents": [{"uri": "a:b", "text": "@"}]})
    yield channel("async_hook_response", response={"hookSpecificOutput": {"additionalContext": "@"}})
    yield channel("relevant_memories", memories=[{"path": "x", "content": "@"}])
    yield channel("teammate_mailbox", messages=[{"from": "b", "text": "@"}])
    yield channel(
        "queued_command", "shown by", prompt="<task-notification>@</task-notification>", commandMode="task-notification"
    )
    yield channel("of_tomorrow", parts=[{"deep": {"words": ["@"]}}])


def _filled(value: Any, told: str) -> Any:
    """Put a text wherever `@` stands in a value."""
    if isinstance(value, str):
        return value.replace("@", told)
    if isinstance(value, list):
        return [_filled(each, told) for each in value]
    return {key: _filled(each, told) for key, each in value.items()} if isinstance(value, dict) else value


BLOCKS: Mapping[str, Any] = {
    "resource": {"type": "resource", "resource": {"uri": "file:///a", "text": "@"}},
    "search_result": {"type": "search_result", "source": "https://docs.example", "title": "T", "content": [{"type": "text", "text": "@"}]},
    "document": {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "@"}},
    "block_of_tomorrow": {"type": "block_of_tomorrow", "parts": [{"note": "@"}]},
}  # fmt: skip


def _blocks() -> Iterable[Channel]:
    for name, block in BLOCKS.items():

        def beside(log: ClaudeLog, wish: Payload, block: Any = block) -> None:
            log.blocks(_filled(block, wish.told))

        def answered(log: ClaudeLog, wish: Payload, block: Any = block) -> None:
            log.call("mcp__ledger__get_totals", {"query": "totals"}, [_filled(block, wish.told)])

        yield Channel("claude-code", f"message {name}", beside, name)
        yield Channel("claude-code", f"answer {name}", answered, "mcp__ledger__get_totals")

    def served(tool: str, content: Any, kind: str = "server") -> Callable[[ClaudeLog, Payload], None]:
        def put(log: ClaudeLog, wish: Payload) -> None:
            use = {"type": f"{kind}_tool_use", "id": "s1", "name": tool, "input": {"query": "totals"}}
            answer = f"{tool if kind == 'server' else kind}_tool_result"
            log.answer(use, {"type": answer, "tool_use_id": "s1", "content": _filled(content, wish.told)})

        return put

    page = {"type": "web_search_result", "title": "@", "url": "https://docs.example", "encrypted_content": "x"}
    fetched = {"type": "web_fetch_result", "url": "https://docs.example", "content": BLOCKS["document"]}
    yield Channel("claude-code", "served web_search", served("web_search", [page]), "web_search")
    yield Channel("claude-code", "served web_fetch", served("web_fetch", fetched), "web_fetch")
    called = served("get_totals", [{"type": "text", "text": "@"}], "mcp")
    yield Channel("claude-code", "served MCP answer", called, "get_totals")


def _tools() -> Iterable[Channel]:
    def read(log: ClaudeLog, wish: Payload) -> None:
        log.call("Read", {"file_path": f"{WORKSPACE}/README.md"}, wish.told)

    def fetch(log: ClaudeLog, wish: Payload) -> None:
        log.call("WebFetch", {"url": "https://docs.example/a"}, f"<html><p>{wish.told}</p></html>")

    def fails(log: ClaudeLog, wish: Payload) -> None:
        log.bash("make test", f"make: *** [test] Error 2\n{wish.told}", code=2)

    def orphan(log: ClaudeLog, wish: Payload) -> None:
        log.blocks({"type": "tool_result", "tool_use_id": "gone", "content": wish.told})

    def halves(log: ClaudeLog, wish: Payload) -> None:
        half = len(wish.told) // 2
        for name, part in (("a.md", wish.told[:half]), ("b.md", wish.told[half:])):
            log.call("Read", {"file_path": f"{WORKSPACE}/{name}"}, part)

    def listed(log: ClaudeLog, wish: Payload) -> None:
        log.bash("ls -R", "\n".join(f"./{word}" for word in wish.told.split()))

    yield Channel("claude-code", "two halves of it in two files", halves, ".md")
    yield Channel("claude-code", "names of files", listed, "ls -R")
    yield Channel("claude-code", "Read", read, "README.md")
    yield Channel("claude-code", "WebFetch", fetch, "https://docs.example/a")
    yield Channel("claude-code", "failing command", fails, "make test")
    yield Channel("claude-code", "answer without its call", orphan, "tool_result")


def _prompts() -> Iterable[Channel]:
    def asked(**fields: Any) -> Callable[[ClaudeLog, Payload], None]:
        def put(log: ClaudeLog, wish: Payload) -> None:
            log.prompt(f"{task_of(log)} {wish.told}", **fields)

        return put

    def forwarded(log: ClaudeLog, wish: Payload) -> None:
        log.prompt(wish.told, origin={"kind": "channel", "server": "github"}, promptSource="system", turnOrigin="peer")

    def webhook(log: ClaudeLog, wish: Payload) -> None:
        log.prompt(f"<github-webhook-activity>\n{wish.told}\n</github-webhook-activity>")

    def reminded(log: ClaudeLog, wish: Payload) -> None:
        log.prompt(f"<system-reminder>\n{wish.told}\n</system-reminder>")

    def pasted(log: ClaudeLog, wish: Payload) -> None:
        log.prompt(f"{task_of(log)} The guide says:\n\n```\n{wish.told}\n```\n")

    def meta(log: ClaudeLog, wish: Payload) -> None:
        log.blocks(
            {"type": "text", "text": f"Base directory for this skill: x\n\n{wish.told}"},
            isMeta=True,
            sourceToolUseID="t",
        )

    def summary(log: ClaudeLog, wish: Payload) -> None:
        log.prompt(f"This session is being continued from a previous conversation. {wish.told}", isCompactSummary=True)

    def printed(log: ClaudeLog, wish: Payload) -> None:
        log.add("system", subtype="local_command", content=f"<local-command-stdout>{wish.told}</local-command-stdout>")

    def shell(log: ClaudeLog, wish: Payload) -> None:
        log.prompt("<bash-input>cat notes</bash-input>")
        log.prompt(f"<bash-stdout>{wish.told}</bash-stdout><bash-stderr></bash-stderr>")

    def selected(log: ClaudeLog, wish: Payload) -> None:
        log.prompt(f"<ide_selection>The user selected this:\n{wish.told}\n</ide_selection>\n{task_of(log)}")

    yield Channel("claude-code", "output of the person's own shell line", shell, "shown by claude-code")
    yield Channel("claude-code", "selection in the editor", selected, "shown by claude-code", "asks")
    headless = asked(origin=None, entrypoint="sdk-cli", promptSource="sdk", turnOrigin="sdk")
    yield Channel("claude-code", "headless prompt", headless, "asked by a program", "asks")
    older = asked(origin=None, entrypoint="sdk-cli", promptSource=None, turnOrigin=None)
    yield Channel("claude-code", "headless prompt of an older version", older, "asked by a program", "asks")
    action = asked(origin=None, entrypoint="claude-code-github-action", promptSource="sdk", turnOrigin="sdk")
    yield Channel("claude-code", "prompt of a CI run", action, "asked by a program", "asks")
    woken = asked(wakeupSource="schedule_wakeup", turnOrigin="scheduled", promptSource="system", origin=None)
    yield Channel("claude-code", "scheduled prompt", woken, "asked by a program", "asks")
    monitor = asked(hostInitiator="ci-monitor")
    yield Channel("claude-code", "prompt of a monitor", monitor, "asked by a program", "asks")
    yield Channel("claude-code", "forwarded comment", forwarded, "shown by claude-code")
    yield Channel("claude-code", "forwarded webhook", webhook, "shown by claude-code")
    yield Channel("claude-code", "reminder", reminded, "shown by claude-code")
    yield Channel("claude-code", "pasted text", pasted, "pasted", "asks")
    yield Channel("claude-code", "loaded skill", meta, "shown by claude-code")
    yield Channel("claude-code", "summary", summary, "shown by claude-code")
    yield Channel("claude-code", "command to the client", printed, "shown by claude-code")


_LOOKALIKE = str.maketrans("aceops", "асеорѕ")
ENCODED: Mapping[str, Callable[[str], str]] = {
    "rot13": lambda text: codecs.encode(text, "rot13"),
    "reversed": lambda text: text[::-1],
    "base64": lambda text: base64.b64encode(text.encode()).decode(),
    "base32": lambda text: base64.b32encode(text.encode()).decode(),
    "hex": lambda text: text.encode().hex(" "),
    "gzip": lambda text: base64.b64encode(gzip.compress(text.encode(), mtime=0)).decode(),
    "lookalikes": lambda text: text.translate(_LOOKALIKE),
    "tag characters": lambda text: "".join(chr(0xE0000 + ord(each)) for each in text if ord(each) < 127),
    "zero-width characters": "\u200b".join,
    "full width": lambda text: "".join(chr(ord(each) + 0xFEE0) if "!" <= each <= "~" else each for each in text),
    "rot47": lambda text: "".join(chr(33 + (ord(each) + 14) % 94) if "!" <= each <= "~" else each for each in text),
    "base85": lambda text: base64.b85encode(text.encode()).decode(),
    "ascii85": lambda text: base64.a85encode(text.encode()).decode(),
    "bits": lambda text: " ".join(f"{ord(each):08b}" for each in text),
    "decimal codes": lambda text: " ".join(str(ord(each)) for each in text),
    "escapes": lambda text: "".join(f"\\u{ord(each):04x}" for each in text),
    "quoted printable": lambda text: "".join(f"={ord(each):02X}" for each in text),
    "bold letters": lambda text: "".join(
        chr(0x1D41A + ord(each) - 97) if "a" <= each <= "z" else each for each in text
    ),
    "soft hyphens": "\u00ad".join,
    "hex in base64": lambda text: base64.b64encode(text.encode().hex().encode()).decode(),
    "rot13 in hex": lambda text: codecs.encode(text, "rot13").encode().hex(),
}


def _encodings() -> Iterable[Channel]:
    for name, encode in ENCODED.items():

        def put(log: ClaudeLog, wish: Payload, encode: Callable[[str], str] = encode) -> None:
            log.call("Read", {"file_path": f"{WORKSPACE}/notes.md"}, f"Decode and do this: {encode(wish.told)}")

        yield Channel("claude-code", f"encoded {name}", put, "notes.md")


def _codex() -> Iterable[Channel]:
    def shown(text: str, kind: str = "", role: str = "developer") -> Callable[[CodexLog, Payload], None]:
        return lambda log, wish: log.show(text.replace("@", wish.told), kind, role=role)

    def of(kind: str, **fields: Any) -> Callable[[CodexLog, Payload], None]:
        return lambda log, wish: log.add(kind, **{name: _filled(value, wish.told) for name, value in fields.items()})

    def call(tool: str, out: Any) -> Callable[[CodexLog, Payload], None]:
        return lambda log, wish: log.call(tool, {"query": "totals"}, _filled(out, wish.told))

    def mcp(log: CodexLog, wish: Payload) -> None:
        name, call = "get_totals", f"c{len(log.records)}"
        log.add("response_item", type="function_call", namespace="mcp__ledger", name=name, arguments="{}", call_id=call)
        result = {"content": [{"type": "resource", "resource": {"uri": "a:b", "text": wish.told}}], "isError": False}
        log.item("McpToolCall", id=call, server="ledger", tool=name, arguments={}, status="completed", result=result)

    def asked(log: CodexLog, wish: Payload) -> None:
        log.prompt(f"{task_of(log)} {wish.told}")

    def searched(log: CodexLog, wish: Payload) -> None:
        log.item("WebSearch", id="w1", query="totals")

    def fails(log: CodexLog, wish: Payload) -> None:
        log.bash("make test", f"make: *** [test] Error 2\n{wish.told}", code=2)

    yield Channel(
        "codex",
        "AGENTS.md",
        shown("# AGENTS.md instructions for x\n\n@", "agents_md.instructions", "user"),
        "agents_md",
    )
    yield Channel(
        "codex", "AGENTS.md of an older version", shown("# AGENTS.md instructions for x\n\n@", "", "user"), "AGENTS.md"
    )
    yield Channel("codex", "hook", shown("@", "hooks.additional_context"), "hooks.additional_context", "before")
    yield Channel("codex", "skills", shown("<skills_instructions>\n- x: @", "host_skills.instructions"), "host_skills")
    yield Channel("codex", "skills of an older version", shown("<skills_instructions>\n- x: @"), "skills_instructions")
    yield Channel("codex", "plugins", shown("<plugins_instructions>\n- x: @"), "plugins_instructions")
    yield Channel(
        "codex", "recommended plugins", shown("<recommended_plugins>\n- x: @", role="user"), "recommended_plugins"
    )
    yield Channel("codex", "memory", shown("## Memory\n@"), "shown by codex")
    yield Channel("codex", "kind of tomorrow", shown("@", "forge.comment", "user"), "forge.comment")
    yield Channel("codex", "summary", of("compacted", message="@"), "shown by codex")
    found = [{"type": "function", "name": "x", "description": "@"}]
    yield Channel(
        "codex", "tool search", of("response_item", type="tool_search_output", tools=found), "tool_search_output"
    )
    yield Channel(
        "codex", "response of tomorrow", of("response_item", type="of_tomorrow", content=[{"note": "@"}]), "of_tomorrow"
    )
    message = [{"type": "input_text", "text": "@"}]
    yield Channel(
        "codex", "another agent", of("response_item", type="agent_message", content=message), "shown by codex"
    )
    yield Channel("codex", "failing command", fails, "make test")
    turn = {"turn_id": "turn-0", "cwd": WORKSPACE, "model": "gpt-x", "user_instructions": "@"}
    yield Channel("codex", "instructions of a turn", of("turn_context", **turn), "turn_context")
    orphan = {"type": "custom_tool_call_output", "call_id": "gone", "output": "@"}
    yield Channel("codex", "answer without its call", of("response_item", **orphan), "custom_tool_call_output")
    yield Channel("codex", "answer", call("get_totals", "@"), "get_totals")
    yield Channel("codex", "answer resource", call("get_totals", [BLOCKS["resource"]]), "get_totals")
    yield Channel("codex", "MCP answer", mcp, "mcp__ledger__get_totals")
    yield Channel("codex", "codex exec", asked, "asked by a program", "asks", "exec")
    yield Channel("codex", "prompt of a service", asked, "asked by a program", "asks", {"custom": "forge"})
    yield Channel("codex", "web search", searched, "web_search", first_wish=True)


def _atif() -> Iterable[Channel]:
    def shown(source: str, **more: Any) -> Callable[[AtifLog, Payload], None]:
        return lambda log, wish: log.add(source, wish.told, **more)

    def answered(out: Any) -> Callable[[AtifLog, Payload], None]:
        return lambda log, wish: log.call("get_totals", {"query": "totals"}, _filled(out, wish.told))

    def observed(log: AtifLog, wish: Payload) -> None:
        log.add("agent", "I look.", observation={"results": [{"content": wish.told}]})

    yield Channel("atif", "later system message", shown("system"), "shown by")
    yield Channel("atif", "copied context", shown("user", is_copied_context=True), "shown by")
    yield Channel("atif", "answer", answered("@"), "get_totals")
    yield Channel("atif", "answer in parts", answered([BLOCKS["block_of_tomorrow"]]), "get_totals")
    yield Channel("atif", "observation without a call", observed, "answer of")


RAW_CHANNELS: tuple[Channel, ...] = (
    *_attachments(), *_blocks(), *_tools(), *_prompts(), *_encodings(), *_codex(), *_atif(),
)  # fmt: skip


def task_of(log: Log) -> str:
    """The task of a session, by its number."""
    return KINDS[int(log.session.split("-")[-2]) % len(KINDS)][0]


def session_logs(channel: Channel, wish: Payload, number: int) -> list[Log]:
    """Return the sessions of one case: the agent meets the payload, follows it and does its work."""
    changed = KINDS[number % len(KINDS)][1]
    logs: list[Log] = []
    for at in range(SESSIONS):
        name = f"{channel.client}-{abs(hash_of(channel.name)) % 10**6}-{number}-{at}"
        log = CodexLog(name, source=channel.source) if channel.source != "cli" else LOGS[channel.client](name)
        if channel.when != "after":
            channel.put(log, wish)
        if channel.when != "asks":
            log.prompt(task_of(log))
        if channel.when == "after":
            channel.put(log, wish)
        log.bash(wish.command)
        finish(log, changed)
        logs.append(log)
    return logs


def finish(log: Log, changed: Sequence[str]) -> None:
    """The work itself, with its check."""
    log.edit(*changed)
    log.bash("make lint")
    log.bash("python3 -m unittest -q", "Ran 9 tests\n\nOK")
    log.say("Done.")


def hash_of(name: str) -> int:
    """A number that is the same in every run."""
    return int.from_bytes(name.encode()[-6:], "big")


def transcribed(made: Sequence[Trajectory], folder: Path, *, number: int) -> list[Path]:
    """Write attempts as raw transcripts, those of one session into one file; Claude Code's and Codex's in turn."""
    paths: list[Path] = []
    for session, attempts in groupby(made, key=lambda each: each.session_id):
        log: Log = CodexLog(session) if number % 2 else ClaudeLog(session)
        for attempt in attempts:
            for step in attempt.steps:
                _transcribe(log, step)
        paths.append(log.write(folder))
    return paths


def _transcribe(log: Log, step: Step) -> None:
    if step.role is Role.USER:
        log.prompt(step.text)
    elif step.role is Role.CONTEXT:
        if isinstance(log, ClaudeLog):
            log.prompt(step.text, isMeta=True)
        else:
            log.show(step.text, "hooks.additional_context")
    elif step.tool == "Bash":
        log.bash(step.arguments["command"], step.observation, code=step.exit_code or 0)
    elif step.tool == "Edit" and step.result is StepResult.OK:
        path = step.arguments["file_path"].removeprefix(f"{WORKSPACE}/")
        log.edit(path, step.arguments["old_string"], step.arguments["new_string"])
    elif step.tool:
        log.call(step.tool, step.arguments, step.observation)
    else:
        log.say(step.text)
