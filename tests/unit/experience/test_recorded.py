"""On sessions that the real client wrote: those shipped with the demo, and the one with hostile text."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

import tacit
from tacit.domain.errors import InvalidTrajectory
from tacit.domain.trajectory import Role, StepResult, Trajectory
from tacit.experience import read

DEMO = Path(tacit.__file__).parent / "demo" / "transcripts"
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
