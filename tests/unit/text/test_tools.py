"""Learning and attribution read a call alike, for what is known of tools and programs has one home."""

from __future__ import annotations

from typing import Any

import pytest

from tacit.domain.trajectory import Role, Step
from tacit.text.tool_calls import Effect, named_file, operations_of, plain_name, tool_call

LOOKING = (
    "ls -la", "sed -n 1,5p app.py", "git log --oneline", "git branch", "pip3 list", "pip show rich", "gh repo view",
    "gh pr checks", "glab issue list", "find . -name a.py", "make --help", "docker ps", "kubectl get pods", "cat app.py",
)  # fmt: skip
CHANGING = (
    "sed -i s/a/b/ app.py", "sed -ni p app.py", "git branch new", "pip3 install rich", "gh pr create", "find . -delete",
    "cat app.py > other.py", "docker run it", "kubectl apply -f a.yml", "cargo add serde", "perl -pi -e s/a/b/ app.py",
)  # fmt: skip


def both(tool: str, arguments: dict[str, Any]) -> tuple[Effect, Effect]:
    learned = tool_call(Step(index=0, role=Role.AGENT, tool=tool, arguments=arguments)).effect
    return learned, operations_of(tool, arguments)[0].effect


@pytest.mark.parametrize("command", LOOKING)
def test_a_command_that_only_looks_is_a_reading_to_both(command: str) -> None:
    assert both("Bash", {"command": command}) == (Effect.READ, Effect.READ)


@pytest.mark.parametrize("command", CHANGING)
def test_a_command_that_does_something_is_a_change_to_both(command: str) -> None:
    assert both("Bash", {"command": command}) == (Effect.WRITE, Effect.WRITE)


@pytest.mark.parametrize(
    "tool", ["Read", "mcp__files__grep", "WebFetch", "web_fetch_url", "get_order", "run_speed_test"]
)
def test_a_tool_that_only_looks_is_a_reading_to_both(tool: str) -> None:
    assert both(tool, {"path": "a.py"}) == (Effect.READ, Effect.READ)


@pytest.mark.parametrize("tool", ["Edit", "mcp__files__write_file", "apply_patch", "cancel_order", "send_message"])
def test_a_tool_that_does_something_is_a_change_to_both(tool: str) -> None:
    assert both(tool, {"path": "a.py"}) == (Effect.WRITE, Effect.WRITE)


def test_what_only_serves_the_agent_is_no_part_of_the_work():
    for tool in ("TodoWrite", "mcp__plan__update_plan"):
        assert tool_call(Step(index=0, role=Role.AGENT, tool=tool)).effect is Effect.INTERNAL
        assert operations_of(tool, {}) == ()


def test_a_file_is_named_by_the_surest_argument_and_a_tool_without_its_server():
    assert named_file({"path": "b", "file_path": "a"}) == "a"
    assert named_file({"path": 3, "filename": "c"}) == "c"
    assert named_file({"query": "x"}) is None
    assert (plain_name("mcp__files__Read"), plain_name("functions.Bash")) == ("read", "bash")
