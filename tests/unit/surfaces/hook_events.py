"""Events as clients send them to a hook: one builder per event, in the shape of Claude Code and of Codex."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

SESSION = "5b1d3c1e-0f7a-4b6e-9d55-2f5b7f1f9a01"
THREAD = "01a1dcce-6438-71d3-ac88-000000000001"


def claude(name: str, cwd: Path | str = "/srv/ann/shop", **fields: Any) -> dict[str, Any]:
    """An event of Claude Code."""
    common = {
        "session_id": SESSION,
        "transcript_path": f"/srv/ann/.claude/projects/-srv-ann-shop/{SESSION}.jsonl",
        "cwd": str(cwd),
        "hook_event_name": name,
    }
    turn: dict[str, Any] = {"prompt_id": "p-1", "permission_mode": "default"} if name != "SessionStart" else {}
    return common | turn | fields


def codex(name: str, cwd: Path | str = "/srv/ann/shop", **fields: Any) -> dict[str, Any]:
    """An event of Codex."""
    common = {
        "session_id": THREAD,
        "transcript_path": f"/srv/ann/.codex/sessions/2026/11/15/rollout-2026-11-15T01-24-36-{THREAD}.jsonl",
        "cwd": str(cwd),
        "hook_event_name": name,
    }
    turn = {"model": "gpt-5.5", "permission_mode": "default"} if name != "SessionEnd" else {}
    if name not in ("SessionStart", "SessionEnd"):
        turn["turn_id"] = "turn-1"
    return common | turn | fields


def claude_shell(command: str, output: str = "done", **fields: Any) -> dict[str, Any]:
    """A shell command that worked, in Claude Code."""
    response: dict[str, Any] = {"stdout": output, "stderr": "", "interrupted": False, "isImage": False}
    call: dict[str, Any] = {
        "tool_name": "Bash",
        "tool_input": {"command": command, "description": "Run it"},
        "tool_use_id": "toolu_1",
    }
    return claude("PostToolUse", **(call | {"tool_response": response, "duration_ms": 12} | fields))


def claude_before(command: str, **fields: Any) -> dict[str, Any]:
    """A shell command that is about to run, in Claude Code."""
    given: dict[str, Any] = {"command": command, "description": "Run it"}
    return claude("PreToolUse", **({"tool_name": "Bash", "tool_input": given, "tool_use_id": "toolu_2"} | fields))


def claude_failure(command: str, error: str, **fields: Any) -> dict[str, Any]:
    """A shell command that failed, in Claude Code."""
    call: dict[str, Any] = {
        "tool_name": "Bash",
        "tool_input": {"command": command, "description": "Run it"},
        "tool_use_id": "toolu_2",
    }
    return claude("PostToolUseFailure", **(call | {"error": error, "is_interrupt": False, "duration_ms": 12} | fields))


def claude_read(path: Path | str, **fields: Any) -> dict[str, Any]:
    """A file read in Claude Code; `offset` and `limit` name a part of it."""
    part = {key: fields.pop(key) for key in ("offset", "limit") if key in fields}
    response: dict[str, Any] = {"type": "text", "file": {"filePath": str(path), "content": "1\tx\n", "numLines": 1}}
    call: dict[str, Any] = {
        "tool_name": "Read",
        "tool_input": {"file_path": str(path), **part},
        "tool_use_id": "toolu_3",
    }
    return claude("PostToolUse", **(call | {"tool_response": response} | fields))


def claude_edit(path: Path | str, before: str, after: str, **fields: Any) -> dict[str, Any]:
    """An edit in Claude Code."""
    edit: dict[str, Any] = {"file_path": str(path), "old_string": before, "new_string": after, "replace_all": False}
    response: dict[str, Any] = {"filePath": str(path), "oldString": before, "newString": after, "originalFile": before}
    call: dict[str, Any] = {"tool_name": "Edit", "tool_input": edit, "tool_use_id": "toolu_4"}
    return claude("PostToolUse", **(call | {"tool_response": response} | fields))


def claude_write(path: Path | str, before: str | None, after: str, **fields: Any) -> dict[str, Any]:
    """A file written whole in Claude Code."""
    response: dict[str, Any] = {"type": "create", "filePath": str(path), "content": after, "originalFile": before}
    call: dict[str, Any] = {
        "tool_name": "Write",
        "tool_input": {"file_path": str(path), "content": after},
        "tool_use_id": "toolu_5",
    }
    return claude("PostToolUse", **(call | {"tool_response": response} | fields))


def codex_shell(command: str, output: str, **fields: Any) -> dict[str, Any]:
    """A shell command in Codex, which does not say how it ended."""
    call: dict[str, Any] = {"tool_name": "Bash", "tool_input": {"command": command}, "tool_use_id": "call_1"}
    return codex("PostToolUse", **(call | {"tool_response": output} | fields))


def codex_before(command: str, **fields: Any) -> dict[str, Any]:
    """A shell command that is about to run, in Codex."""
    given: dict[str, Any] = {"command": command}
    return codex("PreToolUse", **({"tool_name": "Bash", "tool_input": given, "tool_use_id": "call_1"} | fields))


def codex_patch(patch: str, *, code: int = 0, **fields: Any) -> dict[str, Any]:
    """A patch in Codex, whose answer is headed by an exit code."""
    output = f"Exit code: {code}\nWall time: 0 seconds\nOutput:\nSuccess. Updated the following files:\n"
    call: dict[str, Any] = {"tool_name": "apply_patch", "tool_input": {"command": patch}, "tool_use_id": "call_2"}
    return codex("PostToolUse", **(call | {"tool_response": output} | fields))


def stdin(event: dict[str, Any]) -> bytes:
    """An event as it arrives."""
    return json.dumps(event).encode()
