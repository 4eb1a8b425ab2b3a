"""The clients are pinned by content, without the address of any registry; and what each says it ran is understood."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.e2e.loops.clients import ClaudeCode, Codex, Ran

HERE = Path(__file__).parent
ROOT = HERE.parents[2]


@pytest.mark.parametrize("folder", [HERE, HERE / "more-clients"])
def test_every_package_of_the_lock_has_a_hash_and_no_address(folder: Path) -> None:
    wanted = json.loads((folder / "package.json").read_text(encoding="utf-8"))["dependencies"]
    lock = json.loads((folder / "package-lock.json").read_text(encoding="utf-8"))["packages"]
    assert lock.pop("")["dependencies"] == wanted
    assert {name: lock[f"node_modules/{name}"]["version"] for name in wanted} == wanted
    assert all(package["integrity"].startswith("sha512-") for package in lock.values())
    assert not any("resolved" in package for package in lock.values())


def test_claude_code_is_pinned_with_hashes() -> None:
    text = (ROOT / "requirements" / "clients.txt").read_text(encoding="utf-8")
    pins = re.findall(r"^(\S+==\S+) \\\n {4}--hash=sha256:[0-9a-f]{64}", text, re.MULTILINE)
    assert [pin.split("==")[0] for pin in pins] == ["claude-agent-sdk"]


def test_failed_commands_are_told_from_those_that_worked() -> None:
    blocks = [
        {"type": "tool_use", "id": "a", "name": "Bash", "input": {"command": "false"}},
        {"type": "tool_use", "id": "b", "name": "Read", "input": {"file_path": "x"}},
        {"type": "tool_use", "id": "c", "name": "Bash", "input": {"command": "true"}},
    ]
    results = [
        {"type": "tool_result", "tool_use_id": "a", "content": "Exit code 1", "is_error": True},
        {"type": "tool_result", "tool_use_id": "b", "content": "y"},
        {"type": "tool_result", "tool_use_id": "c", "content": ""},
    ]
    said = [{"type": "assistant", "message": {"content": blocks}}, {"type": "user", "message": {"content": results}}]
    assert list(ClaudeCode().commands("\n".join(map(json.dumps, said)))) == [
        Ran("false", '"Exit code 1"', failed=True),
        Ran("true", '""', failed=False),
    ]
    items = [
        {"type": "command_execution", "command": "false", "exit_code": 1, "status": "failed", "aggregated_output": "e"},
        {"type": "agent_message", "text": "Next."},
        {"type": "command_execution", "command": "true", "exit_code": 0, "status": "completed"},
    ]
    lines = "".join(json.dumps({"type": "item.completed", "item": item}) + "\n" for item in items)
    assert list(Codex().commands(lines)) == [Ran("false", "e", failed=True), Ran("true", "", failed=False)]
