"""Whatever lies in a file, a reader gives trajectories or `InvalidTrajectory`, and always the same ones."""

from __future__ import annotations

import gzip
import json
import tempfile
from dataclasses import replace
from datetime import UTC
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tacit.domain.errors import InvalidTrajectory
from tacit.domain.identity import canonical
from tacit.domain.scope import Level, Scope
from tacit.domain.stored import Mark
from tacit.domain.trajectory import Claim, Environment, Role, Step, StepResult, Task, Trajectory, Usage
from tacit.ingest.atif import to_document
from tacit.ingest.claude_code import ClaudeCodeReader
from tacit.ingest.sources import READERS, read, redacted
from tacit.text.redaction import redact, redact_value

scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(), max_size=12)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=8,
)
keys = st.sampled_from(
    "type message content role uuid parentUuid sessionId isSidechain agentId isMeta origin kind attachment prompt "
    "toolUseResult tool_use_id is_error text id name input usage timestamp cwd steps source agent schema_version "
    "tool_calls arguments function_name observation results extra source_call_id subagent_trajectories is_copied_context "
    "final_metrics".split()
)
words = st.sampled_from(
    "user assistant agent system attachment text tool_use tool_result queued_command ATIF-v1.8 ATIF-v9 s t1 "
    "<system-reminder> </system-reminder> [Request\\ interrupted 2026-01-01T00:00:00Z".split()
)
# Documents that look almost right reach further into a reader than arbitrary ones.
almost = st.recursive(
    words | scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(keys, inner, max_size=6),
    max_leaves=25,
)
openings = st.sampled_from(
    [
        b"",
        b'{"type":"queue-operation","sessionId":"s"}\n',
        b'{"schema_version":"ATIF-v1.8","agent":{},"steps":[]}\n',
        b'{\n"schema_version":"ATIF-v1.8","agent":{},"steps":[\n',
    ]
)


def as_line(value: Any) -> bytes:
    return json.dumps(value).encode() + b"\n"  # NaN and lone surrogates included, as careless writers do


def outcome(data: bytes) -> tuple[list[Trajectory], list[str]]:
    """Read the bytes as a file: by the reader that knows it, and by each reader regardless."""
    trajectories: list[Trajectory] = []
    problems: list[InvalidTrajectory] = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "log.jsonl"
        path.write_bytes(data)
        trajectories += read(path, on_problem=problems.append)
        for reader in READERS:
            parts = reader.read(path)
            while True:
                try:
                    trajectories.append(next(parts))
                except InvalidTrajectory as problem:
                    problems.append(problem)
                except StopIteration:
                    break
    assert all(problem.hint and "log.jsonl" in problem.message for problem in problems)
    return trajectories, [problem.message.rpartition("log.jsonl")[2] for problem in problems]


def ids(trajectories: list[Trajectory]) -> list[str]:
    return [trajectory.id for trajectory in trajectories]


@given(openings, st.binary(max_size=400))
def test_any_bytes_are_read_or_refused(opening: bytes, data: bytes) -> None:
    trajectories, problems = outcome(opening + data)
    assert all(trajectory.id == trajectory.content_id() for trajectory in trajectories)
    assert all(problems)


@given(openings, st.lists(values | almost, max_size=5))
def test_any_json_lines_are_read_or_refused(opening: bytes, lines: list[Any]) -> None:
    trajectories, _ = outcome(opening + b"".join(map(as_line, lines)))
    assert all(canonical(trajectory).decode("utf-8") for trajectory in trajectories)


@given(st.lists(almost, min_size=1, max_size=4), st.data())
def test_a_file_cut_off_anywhere_is_read_or_refused(lines: list[Any], data: st.DataObject) -> None:
    whole = b'{"type":"queue-operation","sessionId":"s"}\n' + b"".join(map(as_line, lines))
    packed = data.draw(st.booleans())
    content = gzip.compress(whole, mtime=0) if packed else whole
    _, problems = outcome(content[: data.draw(st.integers(0, len(content)))])
    assert all(problems)


@given(openings, st.lists(almost, max_size=5))
def test_reading_twice_gives_the_same(opening: bytes, lines: list[Any]) -> None:
    content = opening + b"".join(map(as_line, lines))
    first, second = outcome(content), outcome(content)
    assert ids(first[0]) == ids(second[0])
    assert first[1] == second[1]


@given(almost)
def test_any_document_in_memory_is_read_or_refused(document: Any) -> None:
    problems: list[InvalidTrajectory] = []
    assert isinstance(list(read([document], on_problem=problems.append)), list)
    assert all(problem.hint for problem in problems)


goals = st.sampled_from(
    [
        "Add a health check to the server.",
        "No, the other one.",
        "continue",
        "Write a changelog entry for version 2 of the billing worker.",
        "Find out which customers never paid and list them in a spreadsheet.",
        "<system-reminder>Be brief.</system-reminder>",
    ]
)
events = st.lists(
    st.tuples(st.just("user"), goals)
    | st.tuples(st.sampled_from(["said", "call", "result", "damage", "compact", "side"]), st.just("x")),
    max_size=12,
)


def logged(number: int, kind: str, words: str) -> bytes:
    """One line of a session, as the client would write it."""
    if kind == "damage":
        return b'{"type": "user", "mess\n'
    envelope = {"uuid": f"u{number}", "sessionId": "s", "isSidechain": kind == "side", "cwd": f"/w/{number}"}
    if kind == "side":
        envelope["agentId"] = "a1"
    content: Any = {
        "said": [{"type": "text", "text": f"Done {number}."}],
        "call": [{"type": "tool_use", "id": f"t{number}", "name": "Bash", "input": {"command": f"make {number}"}}],
        "result": [{"type": "tool_result", "tool_use_id": f"t{number - 1}", "content": "ok"}],
    }.get(kind, words)
    role = "assistant" if kind in ("said", "call") else "user"
    message = {"id": f"m{number}", "model": f"model-{number}", "content": content, "usage": {"output_tokens": 1}}
    at = f"2026-03-01T12:{number:02}:00Z"
    return as_line(
        {**envelope, "type": role, "timestamp": at, "message": message, "isCompactSummary": kind == "compact"}
    )


def read_on(path: Path, mark: Mark | None) -> tuple[list[Trajectory], Mark | None]:
    parts = ClaudeCodeReader().read(path, start=mark)
    found: list[Trajectory] = []
    while True:
        try:
            found.append(next(parts))
        except InvalidTrajectory:
            continue
        except StopIteration:
            return found, parts.mark


def last_words(trajectories: list[Trajectory]) -> dict[Any, str]:
    return {(each.session_id, each.started_at, each.task.text): each.id for each in trajectories}


@given(events)
def test_a_log_read_in_two_halves_gives_what_it_gives_at_once(happened: list[tuple[str, str]]) -> None:
    """Wherever it is cut: attempts that were open there are given again, and the later word on an attempt counts."""
    whole = b"".join(logged(number, *event) for number, event in enumerate(happened, start=1))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "s.jsonl"
        path.write_bytes(whole)
        at_once, mark_at_once = read_on(path, None)
        for cut in {at for at in range(len(whole)) if whole[at - 1 : at] == b"\n" or at % 97 == 0}:
            path.write_bytes(whole[:cut])
            first, mark = read_on(path, None)
            path.write_bytes(whole)
            second, mark_at_end = read_on(path, mark)
            assert last_words([*first, *second]) == last_words(at_once)
            assert mark_at_end == mark_at_once


texts = st.text(st.characters(codec="utf-8"), max_size=30)
arguments = st.dictionaries(texts, texts | st.integers(-(2**63), 2**63 - 1) | st.booleans(), max_size=3)


@given(st.lists(st.tuples(texts, arguments, texts), min_size=1, max_size=4))
def test_what_a_valid_document_says_arrives_unchanged(turns: list[tuple[str, dict[str, Any], str]]) -> None:
    steps = [
        {
            "source": "agent",
            "message": message,
            "tool_calls": [{"tool_call_id": "c", "function_name": "look", "arguments": given_arguments}],
            "observation": {"results": [{"source_call_id": "c", "content": seen}]},
        }
        for message, given_arguments, seen in turns
    ]
    (trajectory,) = read({"schema_version": "ATIF-v1.8", "steps": steps})
    assert [(step.text, step.arguments, step.observation) for step in trajectory.steps] == turns


@given(st.lists(st.sampled_from(["one", "two", "three"]), min_size=1, max_size=6), st.sets(st.integers(0, 6)))
def test_damaged_lines_cost_only_themselves(tasks: list[str], damaged: set[int]) -> None:
    lines = [
        as_line({"schema_version": "ATIF-v1.8", "agent": {}, "steps": [{"source": "user", "message": t}]})
        for t in tasks
    ]
    sent = [line[:-9] + b"\n" if number in damaged else line for number, line in enumerate(lines)]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "log.jsonl"
        path.write_bytes(b"".join(sent))
        problems: list[InvalidTrajectory] = []
        found = [trajectory.task.text for trajectory in read(path, on_problem=problems.append)]
    assert found == [task for number, task in enumerate(tasks) if number not in damaged]
    assert len(problems) == len(tasks) - len(found)


fragments = st.sampled_from(
    [
        "ghp_" + "a1B2" * 9,
        "password: hunter2hunter2",
        "AKIA" + "ABCDEFGH12345678",
        "https://u:p4ssw0rd99@host/",
        "-----BEGIN",
    ]
)
pieces = st.lists(fragments | st.text(max_size=12), max_size=4).map(" ".join)
maybe_leaky = st.builds(
    lambda text, tool, given_arguments, seen: Step(
        index=0, role=Role.AGENT, text=text, tool=tool, arguments=given_arguments, observation=seen
    ),
    pieces,
    st.sampled_from(["", "Bash"]),
    st.dictionaries(st.sampled_from(["command", "password", "token"]) | pieces, pieces, max_size=3),
    pieces,
)


@given(pieces, st.lists(maybe_leaky, max_size=20))
def test_asking_about_many_steps_at_once_misses_no_secret(task: str, steps: list[Step]) -> None:
    clean, _ = redacted(Trajectory(task=Task(text=task), steps=tuple(steps)))
    assert clean.task.text == redact(task).text
    for new, old in zip(clean.steps, steps, strict=True):
        assert new.text == redact(old.text).text
        assert new.observation == redact(old.observation).text
        assert new.arguments == redact_value(old.arguments).value


plain_text = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
short_names = st.text(st.characters(categories=["L", "N"]), min_size=1, max_size=8)
moments = st.none() | st.datetimes(timezones=st.just(UTC))
given_values: st.SearchStrategy[Any] = st.one_of(st.none(), st.booleans(), plain_text, st.lists(plain_text, max_size=2))
given_arguments = st.dictionaries(short_names, given_values, max_size=3)
calls = st.builds(
    Step, index=st.just(0), role=st.just(Role.AGENT), text=plain_text, tool=short_names, arguments=given_arguments,
    observation=plain_text, result=st.sampled_from(StepResult), exit_code=st.none() | st.integers(-1, 255), skill=plain_text,
    at=moments,
)  # fmt: skip
spoken = st.builds(
    Step, index=st.just(0), role=st.sampled_from([Role.USER, Role.AGENT, Role.CONTEXT]), text=plain_text, skill=plain_text,
    observation=plain_text, at=moments,
)  # fmt: skip
put_in = st.builds(
    Step, index=st.just(0), role=st.just(Role.CONTEXT), text=plain_text, arguments=given_arguments, at=moments
)
told = st.builds(Step, index=st.just(0), role=st.just(Role.SYSTEM), text=plain_text)
sessions = st.builds(
    lambda first, rest, **fields: Trajectory(
        steps=tuple(replace(step, index=index) for index, step in enumerate([*first, *rest])), **fields
    ),
    first=st.lists(told, max_size=1),
    rest=st.lists(calls | spoken | put_in, max_size=6),
    task=st.builds(
        Task, text=plain_text, project=plain_text, by=st.sampled_from(["", "agent", "program", "teammate:Kim"]),
        scope=st.builds(Scope, st.sampled_from(Level), short_names | st.just("")),
    ),
    environment=st.builds(
        Environment, client=plain_text, client_version=plain_text, model=plain_text, workspace=plain_text,
        branch=plain_text, tools=st.lists(short_names, unique=True, max_size=3).map(tuple),
    ),
    claim=st.none() | st.builds(Claim, result=short_names, score=st.none() | st.floats(0, 1), verified_by=plain_text),
    session_id=plain_text,
    parent_session_id=plain_text,
    reply=plain_text,
    usage=st.builds(
        Usage, input_tokens=st.integers(0, 9**9), output_tokens=st.integers(0, 9**9), cached_tokens=st.integers(0, 9**9),
        cost_usd=st.none() | st.floats(0, 100),
    ),
)  # fmt: skip


@given(session=sessions)
def test_an_exported_session_reads_back_as_the_same(session: Trajectory) -> None:
    document = json.loads(json.dumps(to_document(session)))
    (found,) = read(document)
    assert replace(found, source="") == replace(session, source="")
    assert found.id == session.id
