"""One table over all clients: the same session, in each client's own form, becomes the same steps."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from tacit.config.environment import UserEnvironment
from tacit.domain.errors import InvalidTrajectory
from tacit.domain.trajectory import ASKED_BY_PROGRAM, Origin, Role, StepResult, Trajectory
from tacit.ingest.sources import READERS, client_homes, find_reader, read, redacted, transcripts
from tacit.text.shell import shell_text
from tacit.text.tool_calls import named_file
from tests.raising import raises
from tests.unit.ingest.client_samples import (
    AT,
    DONE,
    FAILURE,
    FILE,
    NEW,
    OLD,
    PROMPT,
    SAID,
    SAMPLES,
    TEST,
    Record,
    workspace,
    write_document,
    write_lines,
)

OK, FAILED, NO_MATCH, UNKNOWN = StepResult.OK, StepResult.FAILED, StepResult.NO_MATCH, StepResult.UNKNOWN
Act = tuple[str, StepResult, int | None]

STORY: list[Act] = [(TEST, FAILED, 2), (FILE, NO_MATCH, None), (FILE, OK, None), (TEST, OK, 0)]
WITHOUT_CODES: list[Act] = [(what, result, None) for what, result, _ in STORY]
"""Of formats that hold no exit codes."""
WITHOUT_RESULTS: list[Act] = [(what, UNKNOWN, None) for what, _, _ in STORY]
DIFFERENT: dict[str, list[Act]] = {
    "chat-messages": WITHOUT_CODES,
    "tau-bench": WITHOUT_CODES,
    "cursor": WITHOUT_RESULTS,
    "swe-agent": [
        (TEST, UNKNOWN, None),
        (f"str_replace_editor str_replace {FILE} --old_str nowhere", UNKNOWN, None),
        (f"str_replace_editor str_replace {FILE} --old_str '{OLD}'", UNKNOWN, None),
        (TEST, UNKNOWN, None),
    ],
    "mini-swe-agent": [(TEST, FAILED, 2), (f"sed -i 's/{OLD}/{NEW}/' {FILE}", OK, 0), (TEST, OK, 0)],
    "aider": [("", NO_MATCH, None), (FILE, OK, None)],
}
"""What a client's form does not tell, or tells in another way."""
BY_PROGRAM = {"swe-agent", "tau-bench"}
WITHOUT_TIMES = {"cursor", "swe-agent", "tau-bench", "chat-messages"}
WITHOUT_USAGE = {"cursor", "openhands", "openhands-events"}
IN_PROJECT = {"aider"}
FOUND = set(SAMPLES) & {reader.name for reader in READERS if getattr(reader, "places", ())}
SUBAGENTS = {"opencode": 1}


def read_sample(name: str, home: Path) -> list[Trajectory]:
    problems: list[InvalidTrajectory] = []
    path = SAMPLES[name](home)
    found = list(read(path, on_problem=problems.append))
    assert problems == []
    return found


def acts(trajectory: Trajectory, root: str) -> list[Act]:
    def what(arguments: object) -> str:
        assert isinstance(arguments, dict)
        return shell_text(arguments) or (named_file(arguments) or "").removeprefix(f"{root}/")

    def named(tool: str, arguments: object) -> str:
        assert isinstance(arguments, dict)
        return (named_file(arguments) or "").removeprefix(f"{root}/") if "old_string" in arguments else what(arguments)

    return [(named(step.tool, dict(step.arguments)), step.result, step.exit_code) for step in trajectory.actions]


@pytest.mark.parametrize("name", SAMPLES)
def test_the_same_session_becomes_the_same_steps(name: str, tmp_path: Path) -> None:
    main, *subagents = read_sample(name, tmp_path)
    assert acts(main, workspace(tmp_path)) == DIFFERENT.get(name, STORY)
    assert len(subagents) == SUBAGENTS.get(name, 0)
    assert main.task.text == PROMPT
    assert (main.task.by == ASKED_BY_PROGRAM) == (name in BY_PROGRAM)
    spoken = [step.text for step in main.steps if step.role is Role.AGENT and step.text]
    assert spoken == [SAID, DONE]
    assert (main.started_at is None) == (name in WITHOUT_TIMES)
    assert (main.usage.output_tokens == 0) == (name in WITHOUT_USAGE)


@pytest.mark.parametrize("name", SAMPLES)
def test_only_the_persons_own_words_are_the_persons(name: str, tmp_path: Path) -> None:
    main, *_ = read_sample(name, tmp_path)
    typed = [step.text for step in main.steps if step.role is Role.USER]
    assert typed == ([] if name in BY_PROGRAM else [PROMPT])
    assert main.task_origin is (Origin.EXTERNAL if name in BY_PROGRAM else Origin.USER)
    assert all(step.origin_of("observation") is Origin.EXTERNAL for step in main.actions)
    assert any(FAILURE in step.observation for step in main.actions) == (name not in ("aider", "cursor"))


@pytest.mark.parametrize("name", SAMPLES)
def test_each_form_is_told_by_its_own_reader(name: str, tmp_path: Path) -> None:
    path = SAMPLES[name](tmp_path)
    expected = {"openhands-events": "openhands"}.get(name, name)
    assert find_reader(path).name == expected
    head = path.read_bytes()[:65536]
    assert next(reader.name for reader in READERS if reader.recognises(head, path)) == expected


@pytest.mark.parametrize("name", sorted(FOUND))
def test_sessions_are_found_in_the_clients_folders(name: str, tmp_path: Path) -> None:
    Path(workspace(tmp_path)).mkdir(parents=True)
    path = SAMPLES[name](tmp_path)
    environment = UserEnvironment.read({"HOME": str(tmp_path)})
    found = transcripts(client_homes(environment, [name]))
    assert [(each.path, each.client, each.workspace) for each in found] == [(path, name, workspace(tmp_path))]
    stream = found[0].read(None)
    assert next(stream).task.text == PROMPT


@pytest.mark.parametrize("name", SAMPLES)
def test_reading_again_gives_the_same_attempts(name: str, tmp_path: Path) -> None:
    first = read_sample(name, tmp_path)
    path = next(iter({trajectory.source for trajectory in first}))
    again = list(read(path))
    assert [redacted(each)[0].id for each in again] == [redacted(each)[0].id for each in first]


GROWING = ["aider", "copilot", "cursor", "gemini", "letta-code", "openclaw", "pi", "qwen-code"]


@pytest.mark.parametrize("name", GROWING)
def test_a_grown_log_is_read_on_from_its_open_attempt(name: str, tmp_path: Path) -> None:
    path = SAMPLES[name](tmp_path)
    whole = path.read_bytes()
    lines = whole.splitlines(keepends=True)
    path.write_bytes(b"".join(lines[: len(lines) // 2]))
    reader = find_reader(path)
    stream = reader.read(path)
    list(stream)
    assert stream.mark is not None
    path.write_bytes(whole)
    resumed = list(reader.read(path, start=stream.mark))
    assert [(each.task, each.steps) for each in resumed] == [(each.task, each.steps) for each in reader.read(path)]
    assert resumed[0].environment.workspace == next(reader.read(path)).environment.workspace


def test_the_made_up_times_of_letta_code_are_counted_from_when_the_conversation_began(tmp_path: Path) -> None:
    path = SAMPLES["letta-code"](tmp_path)
    began = datetime.fromisoformat(AT)
    (found,) = read(path)
    assert found.started_at == began
    assert [step.at for step in found.actions][-1] == began + timedelta(seconds=7)
    path.with_name("manifest.json").unlink()
    (found,) = read(path)
    assert found.started_at is None, "no time is better than a wrong one"


def test_the_events_of_a_subagent_of_copilot_are_its_own_attempt(tmp_path: Path) -> None:
    path = SAMPLES["copilot"](tmp_path)
    call = {"toolCallId": "s1", "name": "task", "arguments": {"prompt": "Count the lines."}}
    did = {"toolCallId": "s2", "toolName": "bash", "arguments": {"command": "wc -l"}}
    events: list[tuple[str, Record, str]] = [
        ("assistant.message", {"messageId": "m9", "content": "", "toolRequests": [call]}, ""),
        ("subagent.started", {"toolCallId": "s1", "agentDescription": "counts"}, "agent-7"),
        ("tool.execution_start", did, "agent-7"),
        ("tool.execution_complete", {"toolCallId": "s2", "success": True, "result": {"content": "3"}}, "agent-7"),
    ]
    lines = [
        {"type": kind, "data": data, "timestamp": AT} | ({"agentId": agent} if agent else {})
        for kind, data, agent in events
    ]
    path.write_text(path.read_text() + "".join(json.dumps(line) + "\n" for line in lines))
    main, sub = read(path)
    assert (len(main.actions), [step.tool for step in sub.actions]) == (5, ["bash"])
    assert (sub.task.text, sub.task_origin) == ("Count the lines.", Origin.AGENT)
    assert (sub.parent_session_id, sub.session_id) == (main.session_id, "agent-7")


def test_the_chat_of_a_subagent_of_gemini_is_read_with_its_session(tmp_path: Path) -> None:
    path = SAMPLES["gemini"](tmp_path)
    inner = path.parent / "12345678-1111" / "sub-1.jsonl"
    header = {"sessionId": "sub-1", "projectHash": "h", "kind": "subagent"}
    asked = {"id": "u", "type": "user", "timestamp": AT, "content": [{"text": "Count the lines."}]}
    write_lines(inner, [header, asked])
    assert find_reader(inner).session_file(inner) == path
    found = list(read(tmp_path / ".gemini"))
    assert [(each.task.text, each.parent_session_id) for each in found] == [
        (PROMPT, ""),
        ("Count the lines.", "12345678-1111"),
    ]


def test_the_session_of_a_subagent_of_openclaw_is_read_with_the_one_that_began_it(tmp_path: Path) -> None:
    path = SAMPLES["openclaw"](tmp_path)
    inner = write_lines(
        path.with_name("o-2.jsonl"),
        [{"type": "session", "id": "o-2", "cwd": "/w"}, *map(json.loads, path.read_text().splitlines()[1:])],
    )
    index = {
        "agent:main:main": {"sessionId": "o-1"},
        "agent:main:subagent:7": {"sessionId": "o-2", "spawnedBy": "agent:main:main"},
    }
    write_document(path.with_name("sessions.json"), index)
    assert find_reader(inner).session_file(inner) == path
    found = list(read(path.parent))
    assert [(each.session_id, each.parent_session_id) for each in found] == [("o-1", ""), ("o-2", "o-1")]


def test_a_message_that_gemini_writes_again_is_one_step(tmp_path: Path) -> None:
    path = SAMPLES["gemini"](tmp_path)
    path.write_text(path.read_text() * 2)
    (found,) = read(path)
    assert len(found.actions) == len(STORY)


def test_what_a_skill_said_in_the_users_place_is_no_prompt(tmp_path: Path) -> None:
    path = SAMPLES["copilot"](tmp_path)
    event = {"type": "user.message", "data": {"content": "Always deploy.", "source": "skill-deploy"}, "timestamp": AT}
    path.write_text(path.read_text() + json.dumps(event) + "\n")
    (found,) = read(path)
    said = next(step for step in found.steps if step.text == "Always deploy.")
    assert (said.role, said.origin_of("text")) == (Role.CONTEXT, Origin.EXTERNAL)


@pytest.mark.parametrize("field", ["promptSource", "turnOrigin", "entrypoint", "hostInitiator"])
def test_a_field_of_another_form_costs_no_session(field: str, tmp_path: Path) -> None:
    record = {
        "type": "user",
        "isSidechain": False,
        "sessionId": "s",
        "message": {"content": PROMPT},
        "promptSource": "typed",
    }
    found = read(write_lines(tmp_path / "s.jsonl", [record | {field: [field]}]))
    unknown = [] if field == "promptSource" else [PROMPT]  # whoever wrote it, it was no person
    assert [each.task.text for each in found] == unknown


def test_a_damaged_database_is_not_known(tmp_path: Path) -> None:
    path = SAMPLES["cursor-editor"](tmp_path)
    data = bytearray(path.read_bytes())
    data[100:4000] = b"\xff" * 3900
    path.write_bytes(data)
    with raises(InvalidTrajectory, "binary_file"):
        find_reader(path)
