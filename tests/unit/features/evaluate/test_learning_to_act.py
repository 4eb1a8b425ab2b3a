"""The whole way: attempts at a few combinations of faults are learned from, combinations never seen are then solved."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Any

import pytest

import tacit
from tacit.features.evaluate.agent import Agent
from tests.unit.features.evaluate.heating import TASK, Heating

FIXES: dict[str, tuple[str, dict[str, Any]]] = {
    "power": ("switch_power", {}),
    "valve": ("open_valve", {}),
    "water": ("refill", {"boiler_id": "b-2", "litres": 8}),
}
LOOKS: Sequence[tuple[str, dict[str, Any]]] = (
    ("read_room", {}),
    ("read_panel", {}),
    ("find_house", {"house": "H-7002"}),
    ("get_boiler", {"boiler_id": "b-1"}),
    ("get_boiler", {"boiler_id": "b-2"}),
)


CALLERS = "Ann Ben Cara Dan Eve Finn Gwen Hal Ines Jon Kim Lea Mia Ned".split()
"""Each attempt is for somebody else: word for word the same attempt would be kept once only."""


def recorded(name: str, faults: Sequence[str], *, fixes: Sequence[str], caller: str) -> dict[str, Any]:
    """An attempt by somebody who looks at everything, applies some fixes and looks at the room again."""
    world = Heating(*faults, task=TASK.replace("Ann", caller))
    calls = [*LOOKS, *(FIXES[fix] for fix in fixes), ("read_room", {})]
    steps: list[dict[str, Any]] = [{"step_id": 1, "source": "user", "message": world.task}]
    for number, (tool, arguments) in enumerate(calls, start=2):
        text, _ = world.call(tool, **arguments)
        made = {"tool_call_id": f"c{number}", "function_name": tool, "arguments": arguments}
        seen = {"results": [{"source_call_id": f"c{number}", "content": text}]}
        steps.append({"step_id": number, "source": "agent", "message": "", "tool_calls": [made], "observation": seen})
    result = "success" if world.solved else "failure"
    return {
        "schema_version": "ATIF-v1.8",
        "trajectory_id": name,
        "agent": {"name": "technician", "version": "1"},
        "steps": steps,
        "extra": {"result": result, "verified_by": "thermometer"},
    }


def episodes(shown: Sequence[Sequence[str]]) -> list[dict[str, Any]]:
    """Each combination solved, and tried with one fix missing."""
    found = []
    for number, (faults, caller) in enumerate(zip(shown, CALLERS, strict=False)):
        found.append(recorded(f"ok-{number}", faults, fixes=faults, caller=caller))
        found.append(recorded(f"no-{number}", faults, fixes=faults[1:], caller=caller))
    return found


def learned(shown: Sequence[Sequence[str]]) -> tacit.Tacit:
    memory = tacit.open(":memory:")
    captured = memory.capture(tacit.read(episodes(shown)), trust_outcomes=True)
    assert len(captured.added) == 2 * len(shown)
    memory.learn()
    for stored in memory.reviews.waiting():
        memory.review(stored.version.id, "approve", by="ann", content_hash=stored.version.hash)
    return memory


@pytest.fixture(scope="module")
def memory() -> Iterator[tacit.Tacit]:
    """Has seen each fault alone, four times, and never two that hide each other."""
    with learned([("power",), ("valve",), ("water",)] * 4 + [("valve", "water")] * 2) as loop:
        yield loop


@pytest.mark.parametrize(
    "faults", [each for size in (1, 2, 3) for each in combinations(("power", "valve", "water"), size)]
)
def test_combinations_that_no_attempt_showed_are_solved(memory: tacit.Tacit, faults: tuple[str, ...]) -> None:
    world = Heating(*faults)
    report = Agent(memory).attempt(world)
    assert world.solved, report.log
    assert sorted(world.changes) == sorted(FIXES[fault][0] for fault in faults)


def test_a_fault_that_no_attempt_showed_is_left_alone(memory: tacit.Tacit) -> None:
    world = Heating("draught", "valve")
    Agent(memory).attempt(world)
    assert world.changes == ["open_valve"]
    assert world.abstained.startswith("no skill for this")


def test_what_was_followed_can_be_recorded(memory: tacit.Tacit) -> None:
    report = Agent(memory).attempt(Heating("power", "valve"))
    assert sum(map(len, report.followed.values())) == 2
    for use_id, versions in report.followed.items():
        evidence = memory.record(use_id, outcome="success", followed=versions)
        assert {each.version_id for each in evidence if each.outcome is tacit.Outcome.SUCCESS} >= set(versions)


def test_without_the_attempts_that_show_a_fix_it_says_so() -> None:
    with learned([("power",), ("valve",)] * 4) as ignorant:
        world = Heating("water")
        Agent(ignorant).attempt(world)
    assert world.changes == []
    assert world.abstained
