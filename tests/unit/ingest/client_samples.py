"""One small session, written down in the form of each client: a test fails, an edit finds nothing, another one works.

The forms are the clients' own; the words are ours. `SAMPLES` names who writes it; each writer gives the path to read.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterable
from contextlib import closing
from pathlib import Path
from typing import Any

PROMPT = "The total is off by one. Find out why and mend it."
SAID = "I run the tests."
DONE = "The total is right again."
TEST = "make test"
FAILURE = "FAIL: test_total expected 6, got 5"
UNMATCHED = "Could not find old_string in the file."
OLD, NEW = "range(1, n)", "range(1, n + 1)"
AT = "2026-05-04T10:00:00Z"
EPOCH = 1_777_888_800
FILE = "abacus.py"

Record = dict[str, Any]


def write_lines(path: Path, records: Iterable[Record]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def write_document(path: Path, document: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(document, indent=1))
    return path


def workspace(home: Path) -> str:
    return str(home / "work" / "abacus")


def copilot(home: Path) -> Path:
    place = {"cwd": workspace(home), "branch": "main"}
    start = {"sessionId": "c-1", "copilotVersion": "1.0.102", "selectedModel": "m-1", "context": place}
    events: list[tuple[str, Record]] = [("session.start", start), ("user.message", {"content": PROMPT})]

    def act(number: int, name: str, arguments: Record, ended: Record, said: str = "") -> None:
        call = {"toolCallId": f"t{number}", "name": name, "arguments": arguments}
        events.append(("assistant.message", {"messageId": f"m{number}", "content": said, "toolRequests": [call]}))
        events.append(("tool.execution_start", {"toolCallId": f"t{number}", "toolName": name, "arguments": arguments}))
        events.append(("tool.execution_complete", {"toolCallId": f"t{number}", **ended}))
        usage = {"apiCallId": f"m{number}", "inputTokens": 100, "outputTokens": 10}
        events.append(("session.usage_record", {"usage": usage}))

    def edit(old: str) -> Record:
        return {"path": f"{workspace(home)}/{FILE}", "old_str": old, "new_str": NEW}

    failed = {"content": f"{FAILURE}\n<shellId: 0 completed with exit code 2>"}
    act(1, "bash", {"command": TEST}, {"success": True, "shellExecution": {"exitCode": 2}, "result": failed}, SAID)
    act(2, "edit", edit("nowhere"), {"success": False, "error": {"message": "No match found", "code": "failure"}})
    act(3, "edit", edit(OLD), {"success": True, "result": {"content": "edited"}})
    passed = {"content": "ok\n<shellId: 1 completed with exit code 0>"}
    act(4, "bash", {"command": TEST}, {"success": True, "shellExecution": {"exitCode": 0}, "result": passed})
    events.append(("assistant.message", {"messageId": "m5", "content": DONE, "toolRequests": []}))
    lines = [{"type": kind, "data": data, "id": f"e{at}", "timestamp": AT} for at, (kind, data) in enumerate(events)]
    return write_lines(home / ".copilot/session-state/c-1/events.jsonl", lines)


def gemini(home: Path) -> Path:
    folder = home / ".gemini/tmp/abacus"
    lines: list[Record] = [
        {"sessionId": "12345678-1111", "projectHash": "h", "startTime": AT, "kind": "main"},
        {
            "id": "u1",
            "timestamp": AT,
            "type": "user",
            "content": [{"text": f"<hook_context>x</hook_context>\n{PROMPT}"}],
        },
    ]

    def act(number: int, name: str, arguments: Record, answer: Record, status: str, said: str = "") -> None:
        message: Record = {"id": f"g{number}", "timestamp": AT, "type": "gemini", "content": said, "model": "m-1"}
        message["tokens"] = {"input": 100, "output": 10, "cached": 0}
        answered = [{"functionResponse": {"id": f"c{number}", "name": name, "response": answer}}]
        call = {
            "id": f"c{number}",
            "name": name,
            "args": arguments,
            "status": status,
            "result": answered,
            "timestamp": AT,
        }
        lines.extend([message, {**message, "toolCalls": [call]}])  # the client writes a message again when it changes

    def edit(old: str) -> Record:
        return {"file_path": f"{workspace(home)}/{FILE}", "old_string": old, "new_string": NEW}

    shell, replace = "run_shell_command", "replace"
    act(
        1,
        shell,
        {"command": TEST},
        {"output": f"Output: {FAILURE}\nExit Code: 2\nProcess Group PGID: 7"},
        "success",
        SAID,
    )
    act(2, replace, edit("nowhere"), {"error": UNMATCHED}, "error")
    act(3, replace, edit(OLD), {"output": "edited"}, "success")
    act(4, shell, {"command": TEST}, {"output": "Output: ok\nProcess Group PGID: 8"}, "success")
    lines.append({"id": "g5", "timestamp": AT, "type": "gemini", "content": DONE, "model": "m-1"})
    path = write_lines(folder / "chats/session-2026-05-04T10-00-12345678.jsonl", lines)
    (folder / ".project_root").write_text(workspace(home))
    return path


def qwen(home: Path) -> Path:
    frame = {"sessionId": "q-1", "timestamp": AT, "cwd": workspace(home), "version": "0.24.4", "gitBranch": "main"}
    lines: list[Record] = []

    def add(kind: str, **fields: Any) -> None:
        lines.append({"uuid": f"u{len(lines)}", **frame, "type": kind, **fields})

    def act(name: str, arguments: Record, noted: Record, answer: Record, said: str = "") -> None:
        call = {"functionCall": {"id": f"c{len(lines)}", "name": name, "args": arguments}}
        parts = [*([{"text": said}] if said else []), call]
        usage = {"promptTokenCount": 100, "candidatesTokenCount": 10}
        add("assistant", model="m-1", message={"role": "model", "parts": parts}, usageMetadata=usage)
        call_id = call["functionCall"]["id"]
        given = {"functionResponse": {"id": call_id, "name": name, "response": answer}}
        add("tool_result", message={"role": "user", "parts": [given]}, toolCallResult={"callId": call_id, **noted})

    def edit(old: str) -> Record:
        return {"file_path": f"{workspace(home)}/{FILE}", "old_string": old, "new_string": NEW}

    def ran(code: int, output: str) -> Record:
        shown = {"type": "shell_result", "exitCode": code, "output": output}
        return {"status": "error" if code else "success", "resultDisplay": shown}

    add("user", provenance="real_user", message={"role": "user", "parts": [{"text": PROMPT}]})
    act("run_shell_command", {"command": TEST}, ran(2, FAILURE), {"error": f"Output: {FAILURE}"}, SAID)
    act("edit", edit("nowhere"), {"status": "error"}, {"error": "Failed to edit, 0 occurrences found"})
    act("edit", edit(OLD), {"status": "success"}, {"output": "edited"})
    act("run_shell_command", {"command": TEST}, ran(0, "ok"), {"output": "Output: ok"})
    add("assistant", model="m-1", message={"role": "model", "parts": [{"text": DONE}]})
    return write_lines(home / ".qwen/projects/-work-abacus/chats/q-1.jsonl", lines)


def _pi_messages(home: Path, *, shell: str, edit: str) -> list[Record]:
    def asks(number: int, name: str, arguments: Record, said: str = "") -> Record:
        parts: list[Record] = [{"type": "text", "text": said}] if said else []
        parts.append({"type": "toolCall", "id": f"c{number}", "name": name, "arguments": arguments})
        usage = {"input": 100, "output": 10, "cacheRead": 0}
        return {"role": "assistant", "content": parts, "model": "m-1", "usage": usage, "timestamp": EPOCH * 1000}

    def told(number: int, name: str, text: str, *, failed: bool = False) -> Record:
        content = [{"type": "text", "text": text}]
        return {
            "role": "toolResult",
            "toolCallId": f"c{number}",
            "toolName": name,
            "content": content,
            "isError": failed,
        }

    def change(old: str) -> Record:
        return {"file_path": f"{workspace(home)}/{FILE}", "old_string": old, "new_string": NEW}

    return [
        {"role": "user", "content": [{"type": "text", "text": PROMPT}], "timestamp": EPOCH * 1000},
        asks(1, shell, {"command": TEST}, SAID),
        told(1, shell, f"{FAILURE}\n\nCommand exited with code 2", failed=True),
        asks(2, edit, change("nowhere")),
        told(2, edit, UNMATCHED, failed=True),
        asks(3, edit, change(OLD)),
        told(3, edit, "edited"),
        asks(4, shell, {"command": TEST}),
        told(4, shell, "ok"),
        {"role": "assistant", "content": [{"type": "text", "text": DONE}], "model": "m-1"},
    ]


def letta(home: Path) -> Path:
    named = {"agent_id": "agent-1", "conversation_id": "conv-1"}
    messages = _pi_messages(home, shell="Bash", edit="Edit")
    reminder = f"<system-reminder>\n- **Current working directory**: {workspace(home)}\n</system-reminder>"
    messages[0]["content"].insert(0, {"type": "text", "text": reminder})
    made_up = 1_767_225_600_000  # the first second of 2026
    times: list[Record] = [{"timestamp": made_up + at * 1000} for at in range(len(messages))]
    lines = [{"id": f"ui-msg-{at}", "metadata": named, **message, **times[at]} for at, message in enumerate(messages)]
    path = write_lines(home / ".letta/lc-local-backend/conversations/Y29udg/messages.jsonl", lines)
    write_document(path.with_name("manifest.json"), {"created_at": AT})
    return path


def _pi_session(home: Path, path: Path, name: str) -> Path:
    header = {"type": "session", "version": 3, "id": name, "timestamp": AT, "cwd": workspace(home)}
    messages = _pi_messages(home, shell="bash", edit="edit")
    entries = ({"type": "message", "id": f"e{at}", "message": message} for at, message in enumerate(messages))
    return write_lines(path, [header, *entries])


def openclaw(home: Path) -> Path:
    return _pi_session(home, home / ".openclaw/agents/main/sessions/o-1.jsonl", "o-1")


def pi(home: Path) -> Path:
    return _pi_session(home, home / ".pi/agent/sessions/--work-abacus--/2026_p-1.jsonl", "p-1")


def opencode_messages(home: Path) -> list[Record]:
    time = {"created": EPOCH * 1000}
    user = {"id": "msg_1", "sessionID": "ses_1", "role": "user", "time": time}
    messages: list[Record] = [{"info": user, "parts": [{"type": "text", "text": f'"{PROMPT}"', "sessionID": "ses_1"}]}]

    def act(number: int, tool: str, given: Record, state: Record, said: str = "") -> None:
        info = {"id": f"msg_{number}", "sessionID": "ses_1", "role": "assistant", "time": time, "modelID": "m-1"}
        info["tokens"] = {"input": 100, "output": 10, "cache": {"read": 0}}
        call = {"type": "tool", "tool": tool, "callID": f"c{number}", "state": {"input": given, **state}}
        messages.append({"info": info, "parts": [*([{"type": "text", "text": said}] if said else []), call]})

    def edit(old: str) -> Record:
        return {"filePath": f"{workspace(home)}/{FILE}", "oldString": old, "newString": NEW}

    def ran(code: int, output: str) -> Record:
        return {"status": "completed", "output": output, "metadata": {"exit": code}}

    act(2, "bash", {"command": TEST}, ran(2, FAILURE), SAID)
    act(3, "edit", edit("nowhere"), {"status": "error", "error": "Could not find oldString in the file."})
    act(4, "edit", edit(OLD), {"status": "completed", "output": "edited"})
    act(5, "bash", {"command": TEST}, ran(0, "ok"))
    last = {"id": "msg_6", "sessionID": "ses_1", "role": "assistant", "time": time, "modelID": "m-1"}
    return [*messages, {"info": last, "parts": [{"type": "text", "text": DONE}]}]


def opencode_export(home: Path) -> Path:
    info = {"id": "ses_1", "projectID": "p", "directory": workspace(home), "version": "1.18.33"}
    return write_document(home / "export.json", {"info": info, "messages": opencode_messages(home)})


def opencode(home: Path) -> Path:
    path = home / ".local/share/opencode/opencode.db"
    path.parent.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(path)) as database:
        database.executescript(
            "CREATE TABLE session (id TEXT, parent_id TEXT, directory TEXT, version TEXT, time_created INT, time_updated INT);"
            "CREATE TABLE message (id TEXT, session_id TEXT, time_created INT, data TEXT);"
            "CREATE TABLE part (id TEXT, message_id TEXT, session_id TEXT, time_created INT, data TEXT);"
        )
        for name, parent in (("ses_1", None), ("ses_2", "ses_1")):
            about = (name, parent, workspace(home), "1.18.33", EPOCH * 1000, EPOCH * 1000)
            database.execute("INSERT INTO session VALUES (?, ?, ?, ?, ?, ?)", about)
        asked = {"info": {"id": "msg_9", "role": "user"}, "parts": [{"type": "text", "text": "Count the lines."}]}
        for session, messages in (("ses_1", opencode_messages(home)), ("ses_2", [asked])):
            for number, message in enumerate(messages):
                name = message["info"].pop("id")
                data = json.dumps(message["info"])
                database.execute("INSERT INTO message VALUES (?, ?, ?, ?)", (name, session, number, data))
                for at, part in enumerate(message["parts"]):
                    row = (f"{name}.{at}", name, session, number, json.dumps(part))
                    database.execute("INSERT INTO part VALUES (?, ?, ?, ?, ?)", row)
        database.commit()
    return path


def cursor(home: Path) -> Path:
    def uses(name: str, given: Record, said: str = "") -> Record:
        texts = [{"type": "text", "text": said}] if said else []
        content = [*texts, {"type": "tool_use", "name": name, "input": given}]
        return {"role": "assistant", "message": {"content": content}}

    def edit(old: str) -> Record:
        return {"path": f"{workspace(home)}/{FILE}", "old_string": old, "new_string": NEW}

    asked = {"type": "text", "text": f"<timestamp>now</timestamp>\n<user_query>\n{PROMPT}\n</user_query>"}
    lines = [
        {"role": "user", "message": {"content": [asked]}},
        uses("Shell", {"command": TEST}, SAID),
        uses("StrReplace", edit("nowhere")),
        uses("StrReplace", edit(OLD)),
        uses("Shell", {"command": TEST}),
        {"role": "assistant", "message": {"content": [{"type": "text", "text": DONE}]}},
    ]
    slug = workspace(home).strip("/").replace("/", "-").replace("_", "-")
    return write_lines(home / f".cursor/projects/{slug}/agent-transcripts/k-1/k-1.jsonl", lines)


def cursor_editor(home: Path) -> Path:
    path = home / ".config/Cursor/User/globalStorage/state.vscdb"
    path.parent.mkdir(parents=True, exist_ok=True)

    def call(name: str, given: Record, status: str, result: Record) -> Record:
        tool = {"name": name, "toolCallId": f"c {name} {status} {result}", "status": status}
        return {
            "type": 2,
            "createdAt": AT,
            "toolFormerData": {**tool, "rawArgs": json.dumps(given), "result": json.dumps(result)},
        }

    def edit(old: str) -> Record:
        return {"target_file": f"{workspace(home)}/{FILE}", "old_string": old, "new_string": NEW}

    bubbles: list[Record] = [
        {"type": 1, "text": PROMPT, "createdAt": AT},
        {"type": 2, "text": SAID, "createdAt": AT, "tokenCount": {"inputTokens": 100, "outputTokens": 10}},
        call("run_terminal_cmd", {"command": TEST}, "completed", {"output": FAILURE, "exitCodeV2": 2}),
        call("edit_file", edit("nowhere"), "error", {"output": UNMATCHED}),
        call("edit_file", edit(OLD), "completed", {"output": "edited"}),
        call("run_terminal_cmd", {"command": TEST}, "completed", {"output": "ok", "exitCodeV2": 0}),
        {"type": 2, "text": DONE, "createdAt": AT},
    ]
    headers = [{"bubbleId": f"b{at}", "type": bubble["type"]} for at, bubble in enumerate(bubbles)]
    about = {"composerId": "k-2", "fullConversationHeadersOnly": headers, "lastUpdatedAt": EPOCH * 1000}
    about["workspaceIdentifier"] = {"uri": {"fsPath": workspace(home)}}
    with closing(sqlite3.connect(path)) as database:
        database.execute("CREATE TABLE cursorDiskKV (key TEXT UNIQUE, value BLOB)")
        rows = [("composerData:k-2", json.dumps(about))]
        rows += [
            (f"bubbleId:k-2:b{at}", json.dumps({**bubble, "bubbleId": f"b{at}"})) for at, bubble in enumerate(bubbles)
        ]
        database.executemany("INSERT INTO cursorDiskKV VALUES (?, ?)", rows)
        database.commit()
    return path


def aider(home: Path) -> Path:
    path = Path(workspace(home)) / ".aider.chat.history.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(
        "\n# aider chat started at 2026-05-04 10:00:00\n\n> Aider v0.86.2  \n> Main model: m-1 with diff edit format  \n\n"
        f"#### {PROMPT}  \n\n{SAID}\n\n> # 1 SEARCH/REPLACE block failed to match!  \n> Applied edit to {FILE}  \n"
        "> Tokens: 1.2k sent, 50 received.  \n\n#### /run make test  \n> ok  \n\n" + DONE + "\n"
    )
    return path


def _chat(home: Path, **fields: Any) -> list[Record]:
    def asks(number: int, name: str, given: Record, said: str = "") -> Record:
        call = {"id": f"c{number}", "type": "function", "function": {"name": name, "arguments": json.dumps(given)}}
        return {"role": "assistant", "content": said or None, "tool_calls": [call]}

    def edit(old: str) -> Record:
        return {"file_path": FILE, "old_string": old, "new_string": NEW}

    def told(number: int, text: str) -> Record:
        return {"role": "tool", "tool_call_id": f"c{number}", "content": text}

    return [
        {"role": "system", "content": "You mend programs."},
        {"role": "user", "content": PROMPT},
        asks(1, "bash", {"command": TEST}, SAID),
        told(1, f"Error: {FAILURE}"),
        asks(2, "edit", edit("nowhere")),
        told(2, f"Error: {UNMATCHED}"),
        asks(3, "edit", edit(OLD)),
        told(3, "edited"),
        asks(4, "bash", {"command": TEST}),
        told(4, "ok"),
        {"role": "assistant", "content": DONE, "usage": {"prompt_tokens": 100, "completion_tokens": 10}},
    ]


def chat_messages(home: Path) -> Path:
    return write_document(home / "messages.json", {"messages": _chat(home)})


def tau_bench(home: Path) -> Path:
    run = {"task_id": 3, "reward": 1.0, "info": {"task": {}}, "traj": _chat(home), "trial": 0}
    return write_document(home / "results.json", [run])


def mini_swe_agent(home: Path) -> Path:
    template = "Please solve this issue: {{task}}\n\nYou can execute bash commands.\n{{system}}"
    config = {"agent": {"instance_template": template}, "agent_type": "InteractiveAgent"}
    config |= {"model": {"model_name": "m-1"}, "environment": {"cwd": workspace(home)}}
    messages: list[Record] = [
        {"role": "user", "content": f"Please solve this issue: {PROMPT}\n\nYou can execute bash commands.\nLinux"}
    ]

    def act(number: int, command: str, code: int, output: str, said: str = "") -> None:
        call = {"id": f"c{number}", "function": {"name": "bash", "arguments": json.dumps({"command": command})}}
        usage = {"prompt_tokens": 100, "completion_tokens": 10}
        extra = {"timestamp": EPOCH, "response": {"usage": usage}}
        messages.append({"role": "assistant", "content": said, "tool_calls": [call], "extra": extra})
        noted = {"returncode": code, "raw_output": output}
        messages.append({"role": "tool", "tool_call_id": f"c{number}", "content": "{}", "extra": noted})

    act(1, TEST, 2, FAILURE, SAID)
    act(2, f"sed -i 's/{OLD}/{NEW}/' {FILE}", 0, "")
    act(3, TEST, 0, "ok")
    messages += [{"role": "assistant", "content": DONE}, {"role": "exit", "content": "", "extra": {}}]
    info = {"config": config, "mini_version": "2.4.6", "exit_status": "Submitted"}
    document = {"info": info, "messages": messages, "trajectory_format": "mini-swe-agent-1.1"}
    return write_document(home / ".config/mini-swe-agent/last_mini_run.traj.json", document)


def swe_agent(home: Path) -> Path:
    def step(thought: str, action: str, observation: str) -> Record:
        return {"action": action, "observation": observation, "response": thought, "thought": thought, "state": {}}

    steps = [
        step(SAID, TEST, FAILURE),
        step("", f"str_replace_editor str_replace {FILE} --old_str nowhere", UNMATCHED),
        step("", f"str_replace_editor str_replace {FILE} --old_str '{OLD}'", "edited"),
        step("", TEST, "ok"),
        step(DONE, "", ""),
    ]
    history = [{"role": "system", "content": "You mend programs."}, {"role": "user", "content": PROMPT}]
    stats = {"tokens_sent": 100, "tokens_received": 10, "instance_cost": 0.01}
    info = {"exit_status": "submitted", "model_stats": stats}
    return write_document(
        home / "issue.traj", {"environment": "e", "trajectory": steps, "history": history, "info": info}
    )


def openhands(home: Path) -> Path:
    events: list[Record] = []

    def add(**fields: Any) -> int:
        events.append({"id": len(events), "timestamp": AT, **fields})
        return len(events) - 1

    def act(action: str, args: Record, observation: str, content: str, code: int | None = None) -> None:
        cause = add(source="agent", action=action, args=args, message="")
        extras = {} if code is None else {"metadata": {"exit_code": code}}
        add(source="agent", cause=cause, observation=observation, content=content, extras=extras)

    def edit(old: str) -> Record:
        return {"path": f"{workspace(home)}/{FILE}", "old_str": old, "new_str": NEW}

    add(source="environment", action="system", args={"content": "You mend programs."})
    add(source="user", action="message", args={"content": PROMPT})
    act("run", {"command": TEST, "thought": SAID}, "run", FAILURE, 2)
    act("edit", edit("nowhere"), "error", f"ERROR: No replacement was performed. {UNMATCHED}")
    act("edit", edit(OLD), "edit", "edited")
    act("run", {"command": TEST}, "run", "ok", 0)
    add(source="agent", action="message", args={"content": DONE})
    return write_document(home / "trajectory.json", events)


def openhands_events(home: Path) -> Path:
    folder = home / ".openhands/conversations/h-1/events"
    frame: Record = {"timestamp": AT}
    asked = {"role": "user", "content": [{"type": "text", "text": PROMPT}]}
    events: list[Record] = [{**frame, "kind": "MessageEvent", "source": "user", "llm_message": asked}]

    def act(number: int, tool: str, action: Record, seen: Record, said: str = "") -> None:
        call = {"tool_name": tool, "tool_call_id": f"c{number}"}
        thought = [{"type": "text", "text": said}] if said else []
        did = {
            "source": "agent",
            "kind": "ActionEvent",
            "action": action,
            "thought": thought,
            "llm_response_id": f"r{number}",
        }
        events.append({**frame, **call, **did})
        events.append({**frame, **call, "source": "environment", "kind": "ObservationEvent", "observation": seen})

    def edit(old: str) -> Record:
        return {"kind": "FileEditorAction", "command": "str_replace", "path": FILE, "old_str": old, "new_str": NEW}

    def seen(text: str, **fields: Any) -> Record:
        return {"content": [{"type": "text", "text": text}], "is_error": False, **fields}

    act(1, "terminal", {"kind": "TerminalAction", "command": TEST}, seen(FAILURE, exit_code=2), SAID)
    act(2, "str_replace_editor", edit("nowhere"), seen(UNMATCHED, is_error=True))
    act(3, "str_replace_editor", edit(OLD), seen("edited"))
    act(4, "terminal", {"kind": "TerminalAction", "command": TEST}, seen("ok", exit_code=0))
    said = {"role": "assistant", "content": [{"type": "text", "text": DONE}]}
    events.append({**frame, "kind": "MessageEvent", "source": "agent", "llm_message": said})
    for number, event in enumerate(events):
        write_document(folder / f"event-{number:05}-ab12.json", {"id": f"e{number}", **event})
    return folder / "event-00000-ab12.json"


SAMPLES: dict[str, Callable[[Path], Path]] = {
    "copilot": copilot,
    "gemini": gemini,
    "qwen-code": qwen,
    "opencode": opencode,
    "opencode-export": opencode_export,
    "letta-code": letta,
    "openclaw": openclaw,
    "pi": pi,
    "cursor": cursor,
    "cursor-editor": cursor_editor,
    "aider": aider,
    "mini-swe-agent": mini_swe_agent,
    "openhands": openhands,
    "openhands-events": openhands_events,
    "swe-agent": swe_agent,
    "tau-bench": tau_bench,
    "chat-messages": chat_messages,
}
"""Who writes the session. A name with a second part is another form of the same client."""
