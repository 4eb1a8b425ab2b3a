"""Mining across attempts: patterns, conditions, parameters and composites, on a small domain of our own."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from tacit.domain.candidate import Candidate
from tacit.domain.outline import Outline
from tacit.domain.trajectory import Origin, Trajectory
from tacit.learn.mining.call_patterns import Group, find_patterns, groups_of
from tacit.learn.mining.miner import mine
from tests.unit.learn.calls import FAILED, WORKED, AttemptStore, Call, attempt, greenhouse, season


def mined(trajectories: Iterable[Trajectory], failed: Iterable[Trajectory] = ()) -> list[Candidate]:
    store = AttemptStore()
    outlines = [store.add(each) for each in trajectories] + [store.add(each, FAILED) for each in failed]
    waiting = {outline.trajectory_id for outline in outlines}
    return [candidate for found in mine(outlines, waiting, store.store) for candidate in found.candidates]


def named(candidates: Iterable[Candidate]) -> dict[str, Candidate]:
    return {candidate.content.name: candidate for candidate in candidates}


def outlines_of(*trajectories: Trajectory) -> list[Outline]:
    store = AttemptStore()
    return [store.add(each) for each in trajectories]


def test_attempts_that_share_a_tool_belong_together_and_others_do_not() -> None:
    one = attempt("a", ("open_door", {}, "ok"), ("ring_bell", {}, "ok"))
    two = attempt("b", ("ring_bell", {}, "ok"))
    other = attempt("c", ("write_letter", {}, "ok"))
    groups = groups_of(outlines_of(one, other, two))
    assert [set(group.ids) for group in groups] == [{one.id, two.id}, {other.id}]


def test_calls_that_always_follow_each_other_make_one_pattern() -> None:
    patterns = find_patterns(Group(tuple(outlines_of(*season()))))
    assert {pattern.tools for pattern in patterns.patterns} == {
        ("switch_heater",),
        ("grease_vents", "move_vents"),
        ("prime_pump",),
    }


def test_one_tool_called_in_turn_with_fixed_values_makes_a_pattern_of_each() -> None:
    visits = [
        attempt(
            f"let worker {number} in",
            ("allow", {"door": "front", "right": "enter"}, "ok"),
            *([("allow", {"door": "front", "right": "stay"}, "ok")] if number % 2 else []),
        )
        for number in range(8)
    ]
    patterns = find_patterns(Group(tuple(outlines_of(*visits))))
    assert {pattern.key for pattern in patterns.patterns} == {"allow[right=enter]", "allow[right=stay]"}


def test_a_value_that_the_task_names_makes_no_pattern_of_its_own() -> None:
    visits = [
        attempt(
            f"let worker {n} enter and stay", ("allow", {"right": "enter"}, "ok"), ("allow", {"right": "stay"}, "ok")
        )
        for n in range(8)
    ]
    patterns = find_patterns(Group(tuple(outlines_of(*visits))))
    assert all("[" not in pattern.key for pattern in patterns.patterns)


def test_each_fix_is_a_skill_with_its_case() -> None:
    found = named(mined(season()))
    case = {name: [c.text for c in one.content.cases[0].conditions] for name, one in found.items() if one.content.cases}
    assert "Heater" in case["switch-heater"][0]
    assert "OFF" in case["switch-heater"][0]
    assert "Vents" in case["grease-vents-and-move-vents"][0]
    assert "Pump" in case["prime-pump"][0]
    assert all(one.content.cases[0].against == 0 for one in found.values() if one.content.cases)


def test_steps_are_the_readings_that_are_needed_then_the_calls() -> None:
    content = named(mined(season()))["switch-heater"].content
    assert [step.tool for step in content.steps] == ["find_house", "check_heating", "switch_heater", "check_plants"]
    assert [step.optional for step in content.steps] == [False, False, False, True]
    (house,) = [one for one in content.parameters if one.name == "house_id"]
    assert (house.reading, house.key) == ("find_house", "house_id")
    assert content.steps[2].arguments == {"house_id": "{house_id}"}


def test_a_value_that_never_varies_stays_as_it_is() -> None:
    content = named(mined(season()))["prime-pump"].content
    assert [step.arguments["seconds"] for step in content.steps if "seconds" in step.arguments] == [30]


def test_the_goal_becomes_a_postcondition() -> None:
    content = named(mined(season()))["prime-pump"].content
    assert [(goal.reading, goal.value) for goal in content.postconditions] == [("check_plants", "well")]


def test_what_was_read_outside_is_external_and_what_was_done_is_the_agents() -> None:
    origins = named(mined(season()))["switch-heater"].origins
    assert origins["cases.0"] is Origin.EXTERNAL
    assert origins["steps.2"] is Origin.AGENT
    assert origins["cues"] is Origin.USER


def test_too_few_successes_are_not_made_general() -> None:
    visits = [greenhouse(1, heater=True, vents=True, pump=True), greenhouse(2, heater=True, vents=True, pump=True)]
    assert mined(visits) == []


def test_three_successes_of_all_groups_together_make_every_group_general() -> None:
    letter = attempt("write a letter to Ann", ("write_letter", {"to": "Ann"}, "ok"))
    heated = [greenhouse(number, heater=True, vents=False, pump=False) for number in (1, 2)]
    assert not any(is_general(one) for one in mined([letter, heated[0]]))
    assert {one.content.name for one in mined([letter, *heated]) if is_general(one)} == {
        "switch-heater",
        "write-letter",
    }


def is_general(candidate: Candidate) -> bool:
    """Whether a candidate was mined as a pattern; the procedure of one attempt has no cues."""
    return bool(candidate.content.cues)


def test_failures_alone_teach_nothing() -> None:
    assert mined([], failed=season()) == []


def test_only_groups_with_something_new_are_mined() -> None:
    store = AttemptStore()
    outlines = [store.add(each) for each in season()]
    letters = [store.add(attempt(f"write letter {n}", ("write_letter", {"to": f"p{n}"}, "ok"))) for n in range(4)]
    fresh = {letters[0].trajectory_id}
    (only,) = mine([*outlines, *letters], fresh, store.store)
    assert {step.tool for candidate in only.candidates for step in candidate.content.steps} == {"write_letter"}
    assert list(mine([*outlines, *letters], frozenset(), store.store)) == []


def test_examples_do_not_hold_the_values_of_one_task() -> None:
    visits = [
        attempt(f"cancel order #A{n:04} of mail{n}@example.org", ("cancel_order", {"order_id": f"#A{n:04}"}, "ok"))
        for n in range(5)
    ]
    content = named(mined(visits))["cancel-order"].content
    assert not [text for text in content.example_queries if "#A0" in text]


def test_outlines_tell_looks_from_moves() -> None:
    store = AttemptStore()
    outline = store.add(greenhouse(7, heater=True, vents=False, pump=False), WORKED)
    assert [move.tool for move in outline.moves] == ["switch_heater"]
    assert [(reading.tool, reading.after) for reading in outline.readings][-2:] == [
        ("check_water", 0),
        ("check_plants", 1),
    ]
    assert outline.readings[1].facts["Heater"] == ("OFF",)


MIXES = [(a, b) for a in (True, False) for b in (True, False) if a or b]


def rounds(looks: tuple[str, str], repairs: tuple[str, str], *, again: bool = False) -> list[Trajectory]:
    """Rounds that look at the pump and repair it if it is stuck, then look at the lamp and repair that."""
    found = []
    for number, faults in enumerate(MIXES * 4):
        calls: list[Call] = []
        for look, repair, broken in zip(looks, repairs, faults, strict=True):
            calls.append((look, {}, f"State: {'stuck' if broken else 'well'}\nSerial: {number * 7919 % 90000 + 10000}"))
            if broken:
                calls.append((repair, {}, "Done."))
                calls += [(look, {}, "State: well")] if again else []
        found.append(attempt(f"Please see to the station, order {number}.", *calls))
    return found


def conditions(found: Iterable[Candidate]) -> dict[str, set[tuple[str, str]]]:
    """Return tool → reading and value of its first case."""
    return {
        one.content.steps[-1].tool: {(c.reading, c.value) for c in one.content.cases[0].conditions}
        for one in found
        if one.content.cases
    }


@pytest.mark.parametrize("again", [False, True])
def test_what_is_looked_at_between_repairs_explains_the_next_one(again: bool) -> None:
    found = mined(rounds(("check_pump", "check_lamp"), ("prime_pump", "change_lamp"), again=again))
    assert conditions(found) == {"prime_pump": {("check_pump", "stuck")}, "change_lamp": {("check_lamp", "stuck")}}


def test_a_tool_whose_answers_explain_others_looks_whatever_it_is_called() -> None:
    found = mined(rounds(("op_71", "op_33"), ("op_12", "op_58")))
    assert conditions(found) == {"op_12": {("op_71", "stuck")}, "op_58": {("op_33", "stuck")}}


def test_a_tool_that_always_answers_alike_is_no_look() -> None:
    visits = [attempt(f"order {n}", ("op_1", {"of": n}, "Done."), ("op_2", {}, "State: 1")) for n in range(8)]
    assert {one.content.name for one in mined(visits)} == {"op-1-and-op-2"}


def test_conditions_come_from_contrast_even_if_names_mislead() -> None:
    found = mined(rounds(("check_pump", "check_lamp"), ("change_lamp", "prime_pump")))
    assert conditions(found) == {"change_lamp": {("check_pump", "stuck")}, "prime_pump": {("check_lamp", "stuck")}}


def test_the_part_that_is_looked_at_last_is_not_the_goal() -> None:
    found = mined(rounds(("check_pump", "check_lamp"), ("prime_pump", "change_lamp")))
    assert [one.content.postconditions for one in found] == [(), ()]
