"""The reference agent: it follows recalled skills whose case holds, looks again, and says when it knows none."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from itertools import combinations
from typing import Any

import pytest

from tacit.domain.lifecycle import Status
from tacit.domain.selection import Item, Query, Selection
from tacit.domain.skill import (
    ENDS_TASK_TAG,
    Case,
    Condition,
    Cue,
    Kind,
    Parameter,
    Provenance,
    SkillContent,
    SkillStep,
    SkillVersion,
)
from tacit.features.evaluate.agent import Agent
from tests.unit.features.evaluate.heating import TASK, Heating
from tests.unit.making import NOW

WARM = Condition(text="it is warm", reading="read_room", key="says", relation="has", value="The room is warm")
HOUSE = Parameter(name="house", reading="task", key="H-0000")
BOILERS = Parameter(name="any_boiler", reading="find_house", key="boiler_ids[]")
BOILER = Parameter(name="boiler_id", reading="get_boiler", key="boiler_id where house in task")


def shows(reading: str, key: str, value: str, *, relation: str = "is") -> Condition:
    return Condition(text=f"{key} {relation} {value}", reading=reading, key=key, relation=relation, value=value)


def step(tool: str, **arguments: Any) -> SkillStep:
    return SkillStep(text=tool, tool=tool, arguments=arguments)


def skill(name: str, *steps: SkillStep, when: Condition, **more: Any) -> SkillContent:
    more = {"postconditions": (WARM,), **more}
    cases = (Case(conditions=(when,), support=3),)
    return SkillContent(kind=Kind.PROCEDURE, name=name, description=name, steps=steps, cases=cases, **more)


POWER = skill("power", step("read_panel"), step("switch_power"), when=shows("read_panel", "Power", "OFF"))
VALVE = skill(
    "valve", step("read_panel"), step("open_valve"), when=shows("read_panel", "Valve", "closed"), after=("power",)
)
WATER = skill(
    "water",
    step("find_house", house="{house}"),
    step("get_boiler", boiler_id="{any_boiler}"),
    step("refill", boiler_id="{boiler_id}", litres=8),
    when=shows("get_boiler", "water_litres", "least_litres", relation="under"),
    parameters=(HOUSE, BOILERS, BOILER),
)
LOCK = skill(
    "lock",
    step("read_panel"),
    step("call_technician", summary="it is sealed"),
    when=shows("read_panel", "Lock", "sealed"),
    tags=(ENDS_TASK_TAG,),
    postconditions=(),
)
ALL = (WATER, VALVE, POWER, LOCK)


class FixedLibrary:
    """A memory that recalls the same skills whatever is asked."""

    def __init__(self, *contents: SkillContent) -> None:
        self.contents = contents

    def recall(
        self,
        task: str,
        *,
        k: int | None = None,
        budget_tokens: int | None = None,
        tools: Sequence[str] | None = None,
    ) -> Selection:
        items = [
            Item(
                version=SkillVersion(
                    skill_id=f"s-{content.name}", content=content, origins={}, provenance=Provenance(), created_at=NOW
                ),
                status=Status.TRUSTED,
                score=1.0,
                signals={},
                reasons=(),
                text="",
                tokens=0,
            )
            for content in self.contents
        ]
        reason = "" if items else "nothing fits"
        return Selection(query=Query(text=task), items=tuple(items), reason=reason, use_id="u-1")


FAULTS = ("power", "valve", "water", "lock")


@pytest.mark.parametrize("faults", [set_ for size in range(1, 5) for set_ in combinations(FAULTS, size)])
def test_every_combination_of_known_faults_is_solved(faults: tuple[str, ...]) -> None:
    world = Heating(*faults)
    report = Agent(FixedLibrary(*ALL)).attempt(world)
    assert world.solved, report.log
    assert not world.abstained
    assert report.ending == ("handed over" if "lock" in faults else "done")


def test_only_what_is_called_for_is_changed() -> None:
    world = Heating("valve")
    Agent(FixedLibrary(*ALL)).attempt(world)
    assert world.changes == ["open_valve"]


def test_nothing_is_changed_where_the_goal_is_reached_already() -> None:
    world = Heating()
    report = Agent(FixedLibrary(*ALL)).attempt(world)
    assert (world.changes, report.ending, world.abstained) == ([], "done", "")


def test_a_fault_that_another_hid_is_found_in_the_next_round() -> None:
    world = Heating("power", "valve")
    report = Agent(FixedLibrary(*ALL)).attempt(world)
    assert world.changes == ["switch_power", "open_valve"]
    assert [name for name in ("power", "valve") if any(line.startswith(f"{name}: ") for line in report.log)]


def test_a_hand_over_that_a_fix_uncovers_ends_the_attempt() -> None:
    world = Heating("power", "lock", "valve")
    Agent(FixedLibrary(*ALL)).attempt(world)
    assert world.changes == ["switch_power", "call_technician"]


def test_of_several_records_the_one_that_the_task_names_is_worked_on() -> None:
    world = Heating("water")
    Agent(FixedLibrary(WATER)).attempt(world)
    assert ("refill", {"boiler_id": "b-2", "litres": 8}) in world.calls
    assert ("get_boiler", {"boiler_id": "b-3"}) not in world.calls


def test_skills_are_followed_in_the_order_that_they_give() -> None:
    def fix(name: str, tool: str, after: tuple[str, ...]) -> SkillContent:
        return skill(
            name, step("read_room"), step(tool), when=shows("read_room", "says", "x", relation="lacks"), after=after
        )

    world = Heating("power", "draught")
    Agent(FixedLibrary(fix("second", "open_valve", ("first",)), fix("first", "switch_power", ()))).attempt(world)
    assert world.changes == ["switch_power", "open_valve"]


def test_skills_that_wait_for_each_other_are_followed_all_the_same() -> None:
    holds = shows("read_room", "says", "x", relation="lacks")
    one = skill("one", step("switch_power"), when=holds, after=("two",))
    two = skill("two", step("switch_power"), when=holds, after=("one",))
    world = Heating("draught")
    Agent(FixedLibrary(one, two)).attempt(world)
    assert world.changes == ["switch_power", "switch_power"]


def test_a_fault_that_no_skill_speaks_of_is_not_tinkered_with() -> None:
    world = Heating("draught")
    report = Agent(FixedLibrary(*ALL)).attempt(world)
    assert world.changes == []
    assert world.abstained.startswith("no skill for this: ")
    assert "it shows The room is cold" in world.abstained
    assert (report.ending, report.reason) == ("abstained", world.abstained)


def test_known_faults_are_fixed_before_it_says_that_one_is_left() -> None:
    world = Heating("power", "draught")
    Agent(FixedLibrary(*ALL)).attempt(world)
    assert world.changes == ["switch_power"]
    assert world.abstained


def test_without_a_goal_check_it_stops_when_nothing_more_is_called_for() -> None:
    power = skill(
        "power", step("read_panel"), step("switch_power"), when=shows("read_panel", "Power", "OFF"), postconditions=()
    )
    world = Heating("power")
    assert Agent(FixedLibrary(power)).attempt(world).ending == "done"
    assert world.changes == ["switch_power"]
    idle = Heating("valve")
    assert Agent(FixedLibrary(power)).attempt(idle).ending == "abstained"


def test_without_a_recalled_skill_it_calls_nothing() -> None:
    world = Heating("power")
    report = Agent(FixedLibrary()).attempt(world)
    assert world.calls == []
    assert (report.ending, report.reason.endswith(": nothing fits")) == ("abstained", True)


def test_a_case_that_the_task_rules_out_is_not_even_read_for() -> None:
    water = skill("water", step("refill", boiler_id="b-2", litres=8), when=shows("task", "", "hot", relation="has"))
    world = Heating("water")
    Agent(FixedLibrary(POWER, water)).attempt(world)
    assert world.changes == []
    assert Agent(FixedLibrary(water)).attempt(Heating("water")).reason.endswith("fits the task")


def test_a_goal_is_asked_only_of_the_tasks_it_is_for() -> None:
    dark = Condition(text="it is lit", reading="read_room", key="says", relation="has", value="lit", when="dark")
    power = skill("power", step("switch_power"), when=shows("read_panel", "Power", "OFF"), postconditions=(WARM, dark))
    assert Agent(FixedLibrary(power)).attempt(Heating("power")).ending == "done"
    assert Agent(FixedLibrary(power)).attempt(Heating("power", task=f"{TASK} It is dark.")).ending == "abstained"


def test_the_limit_of_calls_is_never_passed() -> None:
    for limit in range(12):
        world = Heating("power", "valve", "water")
        report = Agent(FixedLibrary(*ALL), max_calls=limit).attempt(world)
        assert len(world.calls) <= limit
        assert world.solved or f" {limit} calls " in report.reason


def test_a_reading_is_not_taken_twice_unless_something_changed() -> None:
    world = Heating("draught")
    Agent(FixedLibrary(*ALL)).attempt(world)
    assert len(world.calls) == len({(tool, str(arguments)) for tool, arguments in world.calls})


def test_a_skill_with_a_tool_that_is_not_there_is_left_alone() -> None:
    magic = skill("magic", step("cast_spell"), when=shows("read_panel", "Power", "OFF"))
    world = Heating("power")
    Agent(FixedLibrary(magic, POWER)).attempt(world)
    assert world.changes == ["switch_power"]


def test_a_call_that_fails_is_not_counted_as_followed() -> None:
    valve = skill("valve", step("open_valve"), when=shows("read_panel", "Power", "OFF"))
    report = Agent(FixedLibrary(valve)).attempt(Heating("power"))
    assert report.followed == {}
    ((use_id, versions),) = Agent(FixedLibrary(POWER)).attempt(Heating("power")).followed.items()
    assert (use_id, len(versions)) == ("u-1", 1)


def test_arguments_that_nothing_tells_are_not_guessed() -> None:
    blind = skill(
        "blind",
        step("refill", boiler_id="{boiler_id}", litres=8),
        when=shows("read_panel", "Power", "ON"),
        parameters=(Parameter(name="boiler_id", reading="find_house", key="main_boiler"),),
    )
    world = Heating("water")
    report = Agent(FixedLibrary(blind)).attempt(world)
    assert world.changes == []
    assert "refill: its arguments are unknown" in report.log


def test_the_log_says_what_was_done_and_why() -> None:
    report = Agent(FixedLibrary(*ALL)).attempt(Heating("power"))
    assert "power: Power is OFF" in report.log
    assert any(line.startswith("switch_power() -> Power is now ON") for line in report.log)


def test_where_no_skill_has_a_case_the_words_of_the_task_decide() -> None:
    cues = (Cue(term="", weight=0.1), Cue(term="cold", weight=2.0), Cue(term="dark", weight=-2.0))
    content = SkillContent(
        kind=Kind.PROCEDURE, name="power", description="power", steps=(step("switch_power"),), cues=cues
    )
    world = Heating("power")
    assert Agent(FixedLibrary(content)).attempt(world).ending == "done"
    assert world.changes == ["switch_power"]
    other = Heating("power", task="It is dark.")
    assert Agent(FixedLibrary(content)).attempt(other).ending == "abstained"
    assert other.changes == []


def test_next_to_skills_with_cases_words_alone_are_not_acted_on() -> None:
    content = SkillContent(
        kind=Kind.PROCEDURE,
        name="valve",
        description="valve",
        steps=(step("open_valve"),),
        cues=(Cue(term="cold", weight=9.0),),
    )
    world = Heating("power")
    Agent(FixedLibrary(content, POWER)).attempt(world)
    assert world.changes == ["switch_power"]


class ByWords(FixedLibrary):
    """A memory that recalls a skill only where its name is mentioned."""

    def recall(
        self,
        task: str,
        *,
        k: int | None = None,
        budget_tokens: int | None = None,
        tools: Sequence[str] | None = None,
    ) -> Selection:
        named = [content for content in self.contents if content.name in task.casefold()]
        return dataclasses.replace(FixedLibrary(*named).recall(task), use_id=f"u-{len(task)}")


def test_a_skill_is_also_recalled_by_what_was_seen() -> None:
    memory = ByWords(POWER, VALVE)
    world = Heating("power", "valve", task="No power in H-7002")
    report = Agent(memory).attempt(world)
    assert world.solved, report.log
    assert world.changes == ["switch_power", "open_valve"]
    assert len(report.followed) == 2


def test_what_is_recalled_by_sight_is_followed_only_if_its_case_holds() -> None:
    world = Heating("draught", task="No power in H-7002")
    Agent(ByWords(POWER, VALVE)).attempt(world)
    assert world.changes == []
    assert world.abstained


def test_what_is_recalled_by_sight_may_ask_for_a_reading_of_its_own() -> None:
    lock = dataclasses.replace(WATER, name="lock")
    world = Heating("water", task="No power in H-7002")
    Agent(ByWords(POWER, lock)).attempt(world)
    assert world.solved
    assert world.changes == ["refill"]
