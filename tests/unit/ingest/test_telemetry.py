"""Spans and log events become attempts: in each envelope, in both dialects, from each framework that was recorded."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tacit.domain.trajectory import ASKED_BY_PROGRAM, Origin, StepResult, Trajectory
from tacit.ingest.sources import find_reader, read
from tests.unit.ingest.client_samples import EPOCH, write_document, write_lines

RECORDINGS = Path(__file__).parents[2] / "e2e" / "recordings" / "telemetry"
SAMPLES = os.environ.get("TACIT_CLIENT_SAMPLES", "")
ASKED = "How many crates are in hall 7, and how many in hall 9?"
OK, FAILED = StepResult.OK, StepResult.FAILED


def acts(trajectory: Trajectory) -> list[tuple[str, Any, StepResult, int | None, str]]:
    return [
        (step.tool, dict(step.arguments), step.result, step.exit_code, step.observation) for step in trajectory.actions
    ]


@pytest.mark.parametrize("name", ["pydantic-ai", "openai-agents", "langgraph"])
def test_the_spans_of_a_framework_become_an_attempt(name: str) -> None:
    path = RECORDINGS / f"{name}.jsonl"
    assert find_reader(path).name == "opentelemetry"
    (found,) = read(path)
    seen = {
        "openai-agents": "An error occurred while running the tool. Please try again."
    }  # all that it tells the model
    assert acts(found) == [
        ("count_crates", {"hall": "7"}, OK, None, "12 crates"),
        ("count_crates", {"hall": "9"}, FAILED, None, seen.get(name, "hall 9 is closed")),
    ]
    assert (found.task.text, found.task.by, found.task_origin) == (ASKED, ASKED_BY_PROGRAM, Origin.EXTERNAL)
    assert found.environment.model == "prepared-1"
    said = [step.text for step in found.steps if step.text and step.role.value == "agent"]
    spoken = ["I count hall 7.", "Now hall 9.", "12 crates in hall 7; hall 9 is closed."]
    assert said == ([] if name == "openai-agents" else spoken)  # its spans of chat completions hold no answers


def otlp_value(value: Any) -> dict[str, Any]:
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int):
        return {"intValue": str(value)}
    if isinstance(value, list):
        return {"arrayValue": {"values": [otlp_value(each) for each in value]}}
    return {"stringValue": str(value)}


def otlp_fields(fields: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"key": key, "value": otlp_value(value)} for key, value in fields.items()]


def otlp_span(span: dict[str, Any], number: int) -> dict[str, Any]:
    return {
        "traceId": span["context"]["trace_id"],
        "spanId": span["context"]["span_id"],
        "parentSpanId": span["parent_id"] or "",
        "name": span["name"],
        "startTimeUnixNano": str(EPOCH * 10**9 + sorting_key(span, number)),
        "attributes": otlp_fields(span["attributes"]),
        "events": [{"name": each["name"], "attributes": otlp_fields(each["attributes"])} for each in span["events"]],
        "status": {"code": {"ERROR": 2}.get(span["status"]["status_code"], 0)},
    }


def sorting_key(span: dict[str, Any], number: int) -> int:
    return 0 if span["parent_id"] is None else number + 1


@pytest.mark.parametrize("name", ["pydantic-ai", "langgraph"])
def test_an_otlp_document_holds_the_same_attempt(name: str, tmp_path: Path) -> None:
    spans = [json.loads(line) for line in (RECORDINGS / f"{name}.jsonl").read_text().splitlines()]
    inside = [otlp_span(span, number) for number, span in enumerate(spans)]
    resource = {"attributes": otlp_fields({"service.name": "counter", "service.version": "3"})}
    document = {"resourceSpans": [{"resource": resource, "scopeSpans": [{"spans": inside}]}]}
    (found,) = read(write_document(tmp_path / "traces.json", document))
    (recorded,) = read(RECORDINGS / f"{name}.jsonl")
    assert acts(found) == acts(recorded)
    assert (found.environment.client, found.environment.client_version) == ("counter", "3")


def copilot_span(number: int, name: str, parent: str, **fields: Any) -> dict[str, Any]:
    named = {key.replace("__", "."): value for key, value in fields.items()}
    status = {"code": 2, "message": "No match found"} if "error.type" in named else {"code": 0}
    return {
        "type": "span", "traceId": "t1", "spanId": f"s{number}", "parentSpanId": parent or None, "name": name,
        "startTime": [EPOCH + number, 0], "attributes": {"gen_ai.provider.name": "p", "github.copilot.x": 1, **named},
        "events": [], "status": status, "resource": {"attributes": {"service.name": "github-copilot"}},
    }  # fmt: skip


def test_copilots_file_of_spans_names_skills_and_exit_codes(tmp_path: Path) -> None:
    asked = json.dumps([{"role": "user", "parts": [{"type": "text", "content": "Release it."}]}])
    call = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "bash", "gen_ai.tool.call.id": "c1"}
    call |= {"gen_ai.tool.call.arguments": '{"command": "make"}', "gen_ai.tool.call.result": "no rule"}
    skill = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "skill", "gen_ai.skill.name": "notes"}
    edit = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "edit", "error.type": "ToolError"}
    edit["gen_ai.tool.call.arguments"] = '{"path": "a.py", "old_str": "x", "new_str": "y"}'
    invoked = {"gen_ai.operation.name": "invoke_agent", "gen_ai.conversation.id": "c-1", "gen_ai.input.messages": asked}
    spans = [
        copilot_span(2, "execute_tool bash", "s1", process__exit__code=2, **call),
        copilot_span(3, "execute_tool skill", "s1", **skill),
        copilot_span(4, "execute_tool edit", "s1", **edit),
        copilot_span(1, "invoke_agent", "", **invoked),
    ]
    (found,) = read(write_lines(tmp_path / "otel.jsonl", [*spans, {"type": "metric", "name": "x"}]))
    assert (found.task.text, found.task_origin, found.session_id) == ("Release it.", Origin.USER, "c-1")
    assert [(tool, result, code) for tool, _, result, code, _ in acts(found)] == [
        ("bash", FAILED, 2),
        ("skill", OK, None),
        ("edit", StepResult.NO_MATCH, None),
    ]
    assert [step.skill for step in found.actions] == ["", "notes", ""]
    assert found.actions[2].arguments == {"file_path": "a.py", "old_string": "x", "new_string": "y"}


def test_an_agent_inside_another_one_is_a_subagent(tmp_path: Path) -> None:
    inner = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "helper"}
    tool = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "bash"}
    asked = json.dumps([{"role": "user", "parts": [{"type": "text", "content": "Release it."}]}])
    outer = {"gen_ai.operation.name": "invoke_agent", "gen_ai.conversation.id": "c-1", "gen_ai.input.messages": asked}
    spans = [
        copilot_span(2, "execute_tool bash", "s1", **tool),
        copilot_span(4, "execute_tool bash", "s3", **tool),
        copilot_span(3, "invoke_agent helper", "s2", **inner),
        copilot_span(1, "invoke_agent", "", **outer),
    ]
    main, sub = read(write_lines(tmp_path / "otel.jsonl", spans))
    assert (len(main.actions), len(sub.actions)) == (1, 1)
    assert (sub.parent_session_id, sub.session_id) == ("c-1", "s3")


def test_claude_codes_log_events_become_attempts(tmp_path: Path) -> None:
    def event(second: int, name: str, **fields: Any) -> dict[str, Any]:
        given = {"session.id": "l-1", "event.name": name, **fields}
        at = str((EPOCH + second) * 10**9)
        return {"timeUnixNano": at, "body": {"stringValue": f"claude_code.{name}"}, "attributes": otlp_fields(given)}

    events = [
        event(0, "user_prompt", prompt="Release it."),
        event(1, "api_request", model="m-1", input_tokens=100, output_tokens=10, request_id="r1"),
        event(1, "assistant_response", response="I build it.", request_id="r1"),
        event(2, "tool_result", tool_name="Bash", tool_use_id="t1", success="false", error="Shell command failed",
              tool_input='{"command": "make"}', request_id="r1"),
        event(3, "tool_result", tool_name="mcp_tool", tool_use_id="t2", success="true", tool_input='{"order": 7}',
              tool_parameters='{"mcp_server_name": "shop", "mcp_tool_name": "find"}'),
        event(9, "hook_execution_start", hook_event="Stop"),
    ]  # fmt: skip
    document = {"resourceLogs": [{"resource": {"attributes": []}, "scopeLogs": [{"logRecords": events}]}]}
    (found,) = read(write_document(tmp_path / "logs.json", document))
    assert (found.task.text, found.session_id, found.environment.client) == ("Release it.", "l-1", "claude-code")
    assert acts(found) == [
        ("Bash", {"command": "make"}, FAILED, None, "Shell command failed"),
        ("mcp__shop__find", {"order": 7}, OK, None, ""),
    ]
    assert (found.usage.input_tokens, found.usage.output_tokens, found.environment.model) == (100, 10, "m-1")


@pytest.mark.skipif(not SAMPLES, reason="TACIT_CLIENT_SAMPLES names no folder of samples")
def test_the_real_samples_read_to_their_story() -> None:
    folder = Path(SAMPLES)
    for name in ("pydantic", "langgraph", "openai_agents"):
        (found,) = read(folder / "otel" / f"{name}.spans.jsonl")
        assert [(step.tool, step.result) for step in found.actions] == [("lookup", OK), ("lookup", FAILED)]
        assert found.task.text == "look up a"
    for kind in ("logs", "traces"):
        (found,) = read(folder / "otel" / f"claude-code-2.1.325.{kind}.otlp.json")
        assert found.task.text == "Please say hi"
        assert [step.result for step in found.actions].count(FAILED) == 1
        assert {step.skill for step in found.actions} == {"", "greeting-style"}
    for name in ("copilot-cli-1.0.102", "copilot-cli-1.0.102-pascalcase"):
        (found,) = read(folder / name / "otel.jsonl")
        results = [(step.tool, step.result, step.exit_code) for step in found.actions]
        assert results == [
            ("bash", OK, 0),
            ("bash", FAILED, 3),
            ("create", OK, None),
            ("edit", StepResult.NO_MATCH, None),
            ("skills-skill_lookup", OK, None),
            ("skill", OK, None),
        ]
