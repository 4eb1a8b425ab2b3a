"""On sessions that the real client wrote: those shipped with the demo, and those that go on, end or are copied."""

from __future__ import annotations

import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import tacit
from tacit.domain.errors import InvalidTrajectory
from tacit.domain.trajectory import Role, StepResult, Trajectory
from tacit.ingest.claude_code import ClaudeCodeReader
from tacit.ingest.sources import read

DEMO = Path(tacit.__file__).parent / "demo" / "transcripts"
WAYS = Path(__file__).parents[2] / "e2e" / "recordings" / "transcripts"
SESSION = "0000000{0}-5e55-4000-8000-00000000000{0}"


@pytest.fixture(scope="module")
def recorded() -> dict[str, Trajectory]:
    return {trajectory.session_id: trajectory for trajectory in read(DEMO)}


def test_every_session_and_subagent_is_read_once() -> None:
    files = list(DEMO.rglob("*.jsonl"))
    problems: list[InvalidTrajectory] = []
    read_from = [trajectory.source for trajectory in read(DEMO, on_problem=problems.append)]
    assert sorted(read_from) == sorted(map(str, files))
    assert problems == []


def test_every_call_has_an_outcome(recorded: dict[str, Trajectory]) -> None:
    results = Counter(step.result for trajectory in recorded.values() for step in trajectory.actions)
    assert results[StepResult.UNKNOWN] == 0
    assert results[StepResult.OK] > 40
    assert results[StepResult.FAILED] >= 5


def test_a_failed_command_has_its_exit_code_and_a_good_one_zero(recorded: dict[str, Trajectory]) -> None:
    actions = recorded[SESSION.format(1)].actions
    codes = [step.exit_code for step in actions if step.tool == "Bash"]
    assert 1 in codes
    assert codes[-1] == 0
    stale = next(step for step in actions if step.result is StepResult.FAILED)
    assert "revision chain is stale" in stale.observation


def test_the_task_is_what_the_person_asked_first(recorded: dict[str, Trajectory]) -> None:
    assert recorded[SESSION.format(1)].task.text.startswith("Add a database migration that adds column `due_date`")
    assert recorded[SESSION.format(1)].task.project == "invoice-app"


def test_a_correction_is_a_second_word_of_the_user(recorded: dict[str, Trajectory]) -> None:
    words = [step.text for step in recorded[SESSION.format(4)].steps if step.role is Role.USER]
    assert len(words) == 2
    assert words[1].startswith("No, don't use print")


def test_a_subagent_points_to_its_session(recorded: dict[str, Trajectory]) -> None:
    subagents = [trajectory for trajectory in recorded.values() if trajectory.parent_session_id]
    assert [trajectory.parent_session_id for trajectory in subagents] == [SESSION.format(7)]
    assert subagents[0].task.text.startswith("Search the package `invoice`")
    assert [step.tool for step in subagents[0].actions] == ["Bash", "Read"]


def test_usage_is_counted_once_per_message(recorded: dict[str, Trajectory]) -> None:
    trajectory = recorded[SESSION.format(7)]
    assert trajectory.usage.output_tokens == 102 + 107 + 208 + 36 + 40
    assert trajectory.environment.client_version
    assert trajectory.environment.model == "claude-sonnet-4-5"


def test_steps_are_dated_in_order(recorded: dict[str, Trajectory]) -> None:
    for trajectory in recorded.values():
        times = [step.at for step in trajectory.steps if step.at]
        assert len(times) == len(trajectory.steps)
        assert times == sorted(times)


def ways(number: int) -> list[Trajectory]:
    """The trajectories of a session played by `record_ways.py`."""
    return list(read(WAYS / f"{number:08d}-5e55-4000-8000-{number:012d}.jsonl"))


def outcomes(trajectory: Trajectory) -> list[tuple[str, StepResult, int | None]]:
    return [(step.tool, step.result, step.exit_code) for step in trajectory.actions]


def test_a_session_resumed_with_new_tasks_is_one_attempt_each_across_a_compaction() -> None:
    trajectories = ways(11)
    tasks = [trajectory.task.text for trajectory in trajectories]
    assert [task.split()[0] for task in tasks] == ["Add", "Please", "Create"]
    assert [trajectory.reply for trajectory in trajectories] == [*tasks[1:], ""]
    assert {trajectory.session_id for trajectory in trajectories} == {"00000011-5e55-4000-8000-000000000011"}
    assert [len(trajectory.actions) for trajectory in trajectories] == [1, 1, 1]
    compacted = [step for step in trajectories[1].steps if step.role is Role.CONTEXT]
    assert compacted[0].text.startswith("This session is being continued")


def test_a_fork_tells_only_what_is_new_in_it() -> None:
    assert [trajectory.task.text for trajectory in ways(12)] == ["Write a changelog entry for version 2."]


def test_a_stopped_command_is_interrupted_and_the_correction_goes_on_with_the_attempt() -> None:
    (trajectory,) = ways(13)
    assert outcomes(trajectory) == [("Bash", StepResult.INTERRUPTED, None), ("Bash", StepResult.OK, 0)]
    assert [step.text for step in trajectory.steps if step.role is Role.USER][1] == "No, print the shorter one instead."


def test_what_nobody_allowed_and_what_a_rule_forbade_is_denied() -> None:
    (unallowed,), (forbidden,) = ways(14), ways(15)
    assert outcomes(unallowed) == [("Bash", StepResult.DENIED, None), ("Write", StepResult.DENIED, None)]
    assert outcomes(forbidden) == [("Bash", StepResult.DENIED, None), ("Write", StepResult.OK, None)]


def test_an_output_saved_beside_the_transcript_is_read_whole() -> None:
    (trajectory,) = ways(16)
    assert outcomes(trajectory) == [("Bash", StepResult.OK, 0), ("Bash", StepResult.FAILED, 4)]
    assert trajectory.actions[0].observation.split() == [str(number) for number in range(1, 7001)]


def test_steps_that_follow_a_skill_name_it_and_its_text_is_no_persons() -> None:
    (trajectory,) = ways(17)
    assert {step.skill for step in trajectory.actions} == {"release-notes"}
    assert [step.role for step in trajectory.steps if "Base directory for this skill" in step.text] == [Role.CONTEXT]
    assert [result for _, result, _ in outcomes(trajectory)] == [
        StepResult.OK,
        StepResult.OK,
        StepResult.FAILED,
        StepResult.OK,
        StepResult.NO_MATCH,
        StepResult.OK,
    ]
    written = next(step for step in trajectory.actions if step.tool == "Write")
    assert (written.arguments["old_string"], written.arguments["new_string"]) == (
        "PORT = 8000",
        "PORT = 8000\nHOST = ''",
    )


def test_a_slash_command_is_the_task_and_its_text_is_not() -> None:
    (trajectory,) = ways(18)
    assert trajectory.task.text == "/mend the build"
    assert {step.role for step in trajectory.steps} == {Role.CONTEXT, Role.AGENT}


def test_a_subagents_work_is_one_attempt_of_its_own() -> None:
    session, agent = ways(19)
    assert (agent.parent_session_id, agent.task.by) == (session.session_id, "agent")
    assert outcomes(agent) == [("Bash", StepResult.OK, 0)]


@pytest.mark.parametrize("path", sorted(WAYS.glob("*.jsonl")), ids=lambda path: path.stem[:8])
def test_a_session_read_while_it_grows_gives_what_it_gives_when_read_at_once(path: Path, tmp_path: Path) -> None:
    whole = path.read_bytes()
    reader = ClaudeCodeReader()
    at_once = {(t.started_at, t.task.text): t.id for t in reader.read(path) if not t.parent_session_id}
    growing = tmp_path / path.name
    ends = [at + 1 for at, byte in enumerate(whole) if byte == ord("\n")]
    if (path.parent / path.stem / "tool-results").is_dir():
        shutil.copytree(path.parent / path.stem, tmp_path / path.stem)
    found: dict[Any, str] = {}
    mark = None
    for end in [end - cut for end in ends for cut in (40, 0)]:  # in the middle of a line, and behind it
        growing.write_bytes(whole[:end])
        parts = reader.read(growing, start=mark)
        for trajectory in parts:
            if not trajectory.parent_session_id:
                found[trajectory.started_at, trajectory.task.text] = trajectory.id
        mark = parts.mark or mark
    if path.stem.startswith("00000012"):
        at_once = {**found, **at_once}  # before its own prompt is written, a fork looks like what it copies
    assert found == at_once
