from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import tacit
from tacit.domain.trajectory import Claim, Environment, Role, Step, Task, Trajectory
from tacit.ingest.sources import read, redacted

# Put together here, so that no scanner takes this file for a leak.
TOKEN = "ghp_" + "a1B2" * 9
HOSTILE = Path(__file__).parents[2] / "e2e" / "recordings" / "transcripts"


def trajectory(*steps: Step, **more: Any) -> Trajectory:
    return Trajectory(task=more.pop("task", Task(text="Fix it")), steps=steps, **more)


def step(index: int = 0, **more: Any) -> Step:
    return Step(index=index, role=Role.AGENT, **more)


@pytest.mark.parametrize(
    "leaky",
    [
        trajectory(task=Task(text=f"use {TOKEN} here")),
        trajectory(step(text=f"I use {TOKEN} here")),
        trajectory(step(tool="Bash", arguments={"command": f"curl -H 'X: {TOKEN}'"})),
        trajectory(step(tool="Bash", arguments={"nested": [{"deep": f"a {TOKEN} b"}]})),
        trajectory(step(tool="Bash", arguments={f"{TOKEN}": "a secret in a key"})),
        trajectory(step(tool="Bash", observation=f"token is {TOKEN}\n")),
        trajectory(claim=Claim(result=f"leaked {TOKEN}", verified_by="ci")),
        trajectory(claim=Claim(result="success", verified_by=f"ci {TOKEN}")),
        trajectory(environment=Environment(branch=f"fix/{TOKEN}")),
        trajectory(environment=Environment(client=f"c {TOKEN}")),
        trajectory(environment=Environment(client_version=f"1 {TOKEN}")),
        trajectory(environment=Environment(model=f"m {TOKEN}")),
        trajectory(environment=Environment(workspace=f"/workspace/{TOKEN}")),
        trajectory(environment=Environment(tools=("Bash", f"t {TOKEN}"))),
        trajectory(task=Task(text="x", project=TOKEN)),
        trajectory(session_id=f"s {TOKEN}"),
        trajectory(parent_session_id=f"s {TOKEN}"),
        trajectory(reply=f"works, now use {TOKEN}"),
        trajectory(step(tool=f"t {TOKEN}")),
        trajectory(step(text="x", skill=f"s {TOKEN}")),
    ],
    ids=[
        "task",
        "text",
        "argument",
        "nested",
        "key",
        "observation",
        "result",
        "verifier",
        "branch",
        "client",
        "version",
        "model",
        "workspace",
        "tools",
        "project",
        "session",
        "parent",
        "reply",
        "tool",
        "skill",
    ],
)
def test_a_secret_is_taken_out_wherever_it_stands(leaky: Trajectory) -> None:
    clean, _ = redacted(leaky)
    assert TOKEN not in repr(clean)
    assert "<redacted:" in repr(clean)
    assert clean.id != leaky.id
    assert clean.id == clean.content_id()


def test_secrets_are_counted_by_kind() -> None:
    leaky = trajectory(step(text=TOKEN), step(1, tool="Bash", observation=f"{TOKEN} and {TOKEN}"), step(2, text="fine"))
    _, found = redacted(leaky)
    assert list(found.values()) == [3]


def test_a_trajectory_without_secrets_stays_the_same_object() -> None:
    clean = trajectory(step(text="hello"), step(1, tool="Bash", arguments={"command": "ls"}, observation="a b c"))
    assert redacted(clean) == (clean, {})
    assert redacted(clean)[0] is clean


def test_what_only_looks_like_a_secret_stays_the_same_object() -> None:
    clean = trajectory(step(text="set password: <redacted:password>"), step(1, text="see https://example.org by a@b.c"))
    assert redacted(clean)[0] is clean


def test_steps_without_secrets_stay_the_same_objects() -> None:
    steps = [step(number, text=f"step {number}") for number in range(40)]
    steps[23] = step(23, text=TOKEN)
    clean, _ = redacted(trajectory(*steps))
    assert [new is old for new, old in zip(clean.steps, steps, strict=True)] == [number != 23 for number in range(40)]


def test_all_but_the_secrets_is_kept() -> None:
    leaky = trajectory(
        step(text=f"I use {TOKEN}.", tool="Bash", arguments={"n": 1}, exit_code=3, skill="deploy"),
        session_id="s",
        parent_session_id="p",
        source="log.jsonl",
    )
    clean, _ = redacted(leaky)
    assert (clean.session_id, clean.parent_session_id, clean.source) == ("s", "p", "log.jsonl")
    (only,) = clean.steps
    assert (only.tool, only.arguments, only.exit_code, only.skill) == ("Bash", {"n": 1}, 3, "deploy")
    assert only.text.startswith("I use <redacted:")


def test_redacting_twice_changes_nothing_more() -> None:
    once, _ = redacted(trajectory(step(text=f"a {TOKEN} b"), task=Task(text=TOKEN)))
    assert redacted(once) == (once, {})


def test_the_secrets_of_a_recorded_session_do_not_come_through() -> None:
    (session,) = read(HOSTILE / "00000008-5e55-4000-8000-000000000008.jsonl")
    assert "AKIA2FAKE7TESTKEY4QZ" in repr(session)
    clean, found = redacted(session)
    assert found
    for secret in ("AKIA2FAKE7TESTKEY4QZ", "not-a-real-password"):
        assert secret not in repr(clean)


def test_the_demo_sessions_hold_no_secrets() -> None:
    for session in read(Path(tacit.__file__).parent / "demo" / "transcripts"):
        assert redacted(session)[1] == {}


@pytest.mark.parametrize(
    ("command", "output", "goes"),
    [
        ("op read op://Prod/db/password", "Sw0rdfish\n", True),
        ("cd /srv\nprintenv DB_PASSWORD", "Sw0rdfish", True),
        ("gh auth token", "Sw0rdfish1x", True),
        ("printenv HOME", "Sw0rdfish", False),
        ("op read op://Prod/db/password", "error: not signed in", False),
    ],
)
def test_what_a_command_prints_goes_though_nothing_stands_next_to_it(command: str, output: str, *, goes: bool) -> None:
    clean, found = redacted(trajectory(step(tool="Bash", arguments={"command": command}, observation=output)))
    assert ("<redacted:" in clean.steps[0].observation) is goes
    assert clean.steps[0].arguments["command"] == command
    assert sum(found.values()) == int(goes)
