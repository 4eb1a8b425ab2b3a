"""Events of both clients become one shape, and nothing in them is trusted to be what it should be."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.surfaces.hook.events import (
    BATCH,
    BEFORE,
    CALL,
    DENIED,
    LEARN,
    PROMPT,
    START,
    HookAnswer,
    InvalidEvent,
    parse,
)
from tests.unit.surfaces.hook_events import (
    SESSION,
    THREAD,
    claude,
    claude_before,
    claude_edit,
    claude_failure,
    claude_shell,
    claude_write,
    codex,
    codex_before,
    codex_patch,
    codex_shell,
    stdin,
)

MOMENTS = [
    (claude("SessionStart", source="startup"), START),
    (claude("SessionStart", source="resume", seconds_since_last_response=2, context_tokens=13073), START),
    (claude("UserPromptSubmit", prompt="add a column"), PROMPT),
    (claude_shell("echo hi"), CALL),
    (claude_failure("exit 3", "Exit code 3\n"), CALL),
    (claude("PostToolBatch", tool_calls=[]), BATCH),
    (claude("PermissionDenied", tool_name="Bash", tool_input={"command": "rm x"}), DENIED),
    (claude("Stop", stop_hook_active=False, last_assistant_message="All done."), LEARN),
    (claude("SubagentStop", agent_id="a1", agent_type="general-purpose", agent_transcript_path="/x.jsonl"), LEARN),
    (claude("PreCompact", trigger="manual", custom_instructions=None), LEARN),
    (claude("SessionEnd", reason="other"), LEARN),
    (claude_before("ls"), BEFORE),
    (codex_before("ls"), BEFORE),
    (claude("InstructionsLoaded", file_path="CLAUDE.md"), ""),
    (claude("PermissionRequest", tool_name="Bash", tool_input={"command": "ls"}), ""),
    (claude("PostCompact", compact_summary="All done."), ""),
    (codex("SessionStart", source="startup"), START),
    (codex("UserPromptSubmit", prompt="add a column"), PROMPT),
    (codex_shell("echo hi", "hi\n"), CALL),
    (codex_patch("*** Begin Patch\n*** End Patch\n"), CALL),
    (codex("Stop", stop_hook_active=False, last_assistant_message="All done."), LEARN),
    (codex("SessionEnd", reason="other"), LEARN),
]


@pytest.mark.parametrize(("fields", "moment"), MOMENTS, ids=lambda value: str(value)[-30:])
def test_each_event_is_a_moment_or_passed_over(fields, moment):
    assert parse(stdin(fields)).moment == moment


@pytest.mark.parametrize("fields", [fields for fields, _ in MOMENTS], ids=lambda value: value["hook_event_name"])
def test_the_client_is_told_from_the_event_itself(fields):
    expected = "codex" if fields["session_id"] == THREAD else "claude-code"
    assert parse(stdin(fields)).client == expected
    assert parse(stdin(fields), "codex").client == "codex", "what the command line says comes first"


def test_an_event_says_who_where_and_what():
    event = parse(stdin(claude_shell("pytest -q", "3 passed", cwd="/srv/ann/shop", agent_id="a7")))
    (call,) = event.calls
    assert (event.session, event.cwd, event.agent, event.name) == (SESSION, "/srv/ann/shop", "a7", "PostToolUse")
    assert event.transcript.endswith(f"{SESSION}.jsonl")
    assert (call.tool, call.argument("command"), call.output, call.failed) == ("Bash", "pytest -q", "3 passed", False)
    assert parse(stdin(codex("UserPromptSubmit", prompt="x"))).model == "gpt-5.5"


@pytest.mark.parametrize(
    ("fields", "failed", "output"),
    [
        (claude_shell("ls", "a b"), False, "a b"),
        (claude_failure("ls /no", "Exit code 2\nls: no such"), True, "Exit code 2\nls: no such"),
        (claude_failure("sleep 9", "stopped", is_interrupt=True), False, "stopped"),
        (codex_shell("ls /no; exit 3", "ls: no such\n"), None, "ls: no such\n"),
        (codex_patch("*** Begin Patch\n"), False, None),
        (codex_patch("*** Begin Patch\n", code=1), True, None),
        (codex_shell("x", "Exit code: 1"), None, "Exit code: 1"),
        (
            codex("PostToolUse", tool_name="mcp__a__b", tool_response={"content": [{"text": "no"}], "isError": True}),
            True,
            "no",
        ),
        (
            codex("PostToolUse", tool_name="mcp__a__b", tool_response={"content": [{"text": "y"}], "isError": False}),
            False,
            "y",
        ),
        (
            claude("PostToolUse", tool_name="mcp__a__b", tool_response=[{"type": "text", "text": "found"}]),
            False,
            "found",
        ),
    ],
)
def test_failure_is_told_only_by_what_the_client_says(fields, failed, output):
    (call,) = parse(stdin(fields)).calls
    assert call.failed is failed
    assert output is None or call.output == output


GEMINI_SHELL = "<untrusted_context>\nOutput: no such table\n{}Process Group PGID: 7\n</untrusted_context>"
COPILOT_SHELL = "no such table\n<shellId: 1 completed with exit code {}>"
QWEN_SHELL = "Command: make\nDirectory: (root)\nOutput: no such table\nError: (none)\nExit Code: 2\nSignal: (none)"


@pytest.mark.parametrize(
    ("client", "name", "fields", "call"),
    [
        ("gemini", "AfterTool", {"llmContent": GEMINI_SHELL.format("")}, ("run_shell_command", False, "no such table")),
        (
            "gemini",
            "AfterTool",
            {"llmContent": GEMINI_SHELL.format("Exit Code: 2\n"), "returnDisplay": "no such table"},
            ("run_shell_command", True, "no such table"),
        ),
        ("gemini", "AfterTool", {"llmContent": "no match", "error": {"message": "m"}}, ("replace", True, "no match")),
        ("gemini", "AfterTool", {"llmContent": [{"text": "found"}]}, ("mcp__a__b", False, "found")),
        ("qwen-code", "PostToolUse", {"llmContent": "It is written."}, ("edit", False, "It is written.")),
        ("copilot", "PostToolUse", COPILOT_SHELL.format(2), ("Bash", True, "no such table")),
        ("copilot", "PostToolUse", COPILOT_SHELL.format(0), ("Bash", False, "no such table")),
        ("copilot", "PostToolUseFailure", "No match found", ("Edit", True, "No match found")),
        ("qwen-code", "PostToolUseFailure", QWEN_SHELL, ("run_shell_command", True, "no such table")),
    ],
)
def test_what_a_tool_gave_back_is_taken_out_of_its_frame(client, name, fields, call):
    given: dict[str, Any] = {"tool_name": call[0], "tool_input": {"command": "make"}}
    if name == "PostToolUseFailure":
        given["error"] = fields
    else:
        given |= {"tool_response": fields} if client != "copilot" else {"tool_result": {"text_result_for_llm": fields}}
    if call[0] == "mcp__a__b":
        given |= {"tool_name": "mcp_a_b", "mcp_context": {"server_name": "a", "tool_name": "b"}}
    (found,) = parse(stdin(claude(name, **given)), client).calls
    assert (found.tool, found.failed, found.output) == call


def test_moments_of_gemini_and_qwen():
    told = "<hook_context>use make &lt;x&gt;</hook_context>\n\nadd a column"
    asked = parse(stdin(claude("BeforeAgent", prompt=told)), "gemini")
    assert (asked.moment, asked.prompt) == (PROMPT, "add a column")
    assert parse(stdin(claude("AfterAgent", prompt_response="Done.")), "gemini").moment == LEARN
    assert parse(stdin(claude("UserPromptSubmit", prompt="add")), "qwen-code").moment == PROMPT
    assert parse(stdin(claude("UserPromptSubmit", prompt="")), "qwen-code").moment == "", "it comes at every turn"


def test_an_event_of_copilot_is_heard_once_although_it_runs_the_hooks_of_claude_code_too():
    time = "2026-11-15T01:19:37.349Z"
    event = stdin(claude("SessionStart", source="new", timestamp=time, transcript_path=""))
    stop = stdin(claude("Stop", timestamp=time, transcript_path="/h/.copilot/session-state/s/events.jsonl"))
    assert [parse(each, "claude-code").moment for each in (event, stop)] == ["", ""]
    own = stdin(claude("SessionStart", timestamp=time, transcript_path="/h/.claude/projects/p/s.jsonl"))
    assert parse(own, "claude-code").moment == START, "a time alone makes it no other client's"
    heard = parse(event, "copilot")
    assert (heard.moment, heard.source) == (START, "startup")
    answer = HookAnswer("SessionStart", number="0", client="copilot")
    answer.note("Use make.")
    assert json.loads(answer.json()) == {"additionalContext": "<tacit-note>\nUse make.\n</tacit-note>"}


def letta(name: str, cwd: Path | str = "/srv/ann/shop", **fields: Any) -> dict[str, Any]:
    """An event of letta-code."""
    return {"event_type": name, "working_directory": str(cwd), "agent_id": "agent-1"} | fields


@pytest.mark.parametrize(
    ("fields", "moment"),
    [
        (letta("SessionStart", is_new_session=True, conversation_id="conv-1"), START),
        (letta("UserPromptSubmit", prompt="add a column", conversation_id="conv-1"), PROMPT),
        (letta("PostToolUse", tool_name="Bash", tool_input={"command": "ls"}, tool_result={}), CALL),
        (letta("SessionEnd", conversation_id="conv-1"), LEARN),
        (letta("PermissionRequest", tool_name="Bash"), ""),
    ],
)
def test_moments_of_letta_code(fields, moment):
    event = parse(stdin(fields), "letta-code")
    assert (event.moment, event.cwd, event.agent) == (moment, "/srv/ann/shop", "")
    assert event.session == ("agent-1_conv-1" if "conversation_id" in fields else "agent-1")


@pytest.mark.parametrize(
    ("status", "output", "found"),
    [
        ("success", "hi\n", ("hi\n", False)),
        ("error", "Exit code: 3\nls: no such file\n", ("ls: no such file\n", True)),
        ("error", "String to replace not found in file.", ("String to replace not found in file.", True)),
    ],
)
def test_what_a_tool_of_letta_code_gave_back(status, output, found):
    fields = letta("PostToolUse", tool_name="Bash", tool_input={}, tool_result={"status": status, "output": output})
    (call,) = parse(stdin(fields), "letta-code").calls
    assert (call.output, call.failed) == found


@pytest.mark.parametrize(
    ("settings", "session"),
    [
        ('{"lastSession": {"agentId": "agent-1", "conversationId": "local-conv-7"}}', "agent-1_local-conv-7"),
        ('{"lastSession": {"agentId": "agent-2", "conversationId": "local-conv-7"}}', "agent-1"),
        ('{"lastSession": 7}', "agent-1"),
        ("not JSON", "agent-1"),
    ],
)
def test_the_conversation_of_letta_code_stands_in_its_own_settings(settings, session, tmp_path, monkeypatch):
    (tmp_path / ".letta").mkdir()
    (tmp_path / ".letta" / "settings.local.json").write_text(settings)
    monkeypatch.setenv("HOME", str(tmp_path))
    log = tmp_path / ".letta/lc-local-backend/conversations/Y29udmVyc2F0aW9uOmxvY2FsLWNvbnYtNw/messages.jsonl"
    log.parent.mkdir(parents=True)
    log.touch()
    event = parse(stdin(letta("PostToolUse", tmp_path, tool_name="Bash", tool_result={})), "letta-code")
    assert (event.session, event.transcript) == (session, str(log) if session != "agent-1" else "")


def test_an_end_that_names_nobody_is_of_the_last_session(tmp_path):
    (tmp_path / ".letta").mkdir()
    last = {"lastSession": {"agentId": "agent-2", "conversationId": "default"}}
    (tmp_path / ".letta" / "settings.local.json").write_text(json.dumps(last))
    event = parse(stdin({"event_type": "Stop", "working_directory": str(tmp_path)}), "letta-code")
    assert (event.moment, event.session) == (LEARN, "agent-2_default")


def test_a_batch_brings_its_calls_and_does_not_say_how_they_ended():
    calls = [
        {"tool_name": "Edit", "tool_input": {"file_path": "a"}, "tool_response": "<tool_use_error>no</tool_use_error>"}
    ]
    event = parse(stdin(claude("PostToolBatch", tool_calls=[*calls, "nonsense", None])))
    assert [(call.tool, call.failed) for call in event.calls] == [("Edit", None)]


def test_a_file_written_anew_says_what_it_held():
    assert parse(stdin(claude_write("a.py", "old", "new"))).calls[0].overwritten == "old"
    assert parse(stdin(claude_write("a.py", None, "new"))).calls[0].overwritten == ""
    assert parse(stdin(claude_edit("a.py", "x", "y"))).calls[0].argument("new_string") == "y"


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b"null", b'"text"', b"\xff\xfe", b"[" * 100_000, b'{"a":' * 50_000])
def test_what_is_no_event_is_refused_without_quoting_it(data):
    with pytest.raises(InvalidEvent) as refused:
        parse(data)
    assert refused.value.code in ("not_json", "not_an_object")
    assert len(str(refused.value)) < 40


def test_an_event_of_no_session_and_an_unknown_client_are_refused():
    with pytest.raises(InvalidEvent) as refused:
        parse(stdin(claude("Stop", session_id=7)))
    assert refused.value.code == "no_session"
    with pytest.raises(InvalidEvent) as refused:
        parse(stdin(claude("Stop")), "nano")
    assert refused.value.code == "unknown_client"


def test_half_a_character_becomes_a_mark():
    event = parse(b'{"hook_event_name":"UserPromptSubmit","session_id":"s","prompt":"a \\ud800 b \\ud83d\\ude00"}')
    assert event.prompt == "a ? b 😀"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=10),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
FIELDS = sorted({key for fields, _ in MOMENTS for key in fields})


@given(st.sampled_from([fields for fields, _ in MOMENTS]), st.dictionaries(st.sampled_from(FIELDS), JSON, max_size=5))
def test_fields_of_any_type_are_taken_or_refused_and_never_break(fields, odd):
    try:
        event = parse(json.dumps(fields | odd).encode())
    except InvalidEvent:
        return
    texts = [event.client, event.session, event.agent, event.cwd, event.transcript, event.model, event.prompt]
    assert {type(text) for text in texts} == {str}
    assert {(type(call.output), type(call.arguments)) for call in event.calls} <= {(str, dict)}
