"""One table over all clients: the same session, in each client's own form, becomes the same steps."""

from __future__ import annotations

from pathlib import Path

import pytest

from tacit.config.environment import UserEnvironment
from tacit.domain.errors import InvalidTrajectory
from tacit.domain.trajectory import ASKED_BY_PROGRAM, Origin, Role, StepResult, Trajectory
from tacit.ingest.sources import READERS, client_homes, find_reader, read, redacted, transcripts
from tacit.text.tool_calls import named_file, shell_text
from tests.unit.ingest.client_samples import DONE, FAILURE, FILE, NEW, OLD, PROMPT, SAID, SAMPLES, TEST, workspace

OK, FAILED, NO_MATCH, UNKNOWN = StepResult.OK, StepResult.FAILED, StepResult.NO_MATCH, StepResult.UNKNOWN
Act = tuple[str, StepResult, int | None]

STORY: list[Act] = [(TEST, FAILED, 2), (FILE, NO_MATCH, None), (FILE, OK, None), (TEST, OK, 0)]
WITHOUT_CODES = [(what, result, None) for what, result, _ in STORY]
"""Of formats that hold no exit codes."""
WITHOUT_RESULTS = [(what, UNKNOWN, None) for what, _, _ in STORY]
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
