"""Conditions: from attempts with different readings, when each pattern is needed."""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Sequence
from itertools import product

from tacit.domain.outline import Move, Outline, Reading
from tacit.domain.skill import Case
from tacit.learn.mining.pattern_conditions import ending_patterns, learn_cases, looks_of
from tacit.learn.mining.predicates import AttemptRecord, Predicate, goal_checks, masks_of, predicates_of
from tacit.text.facts import facts

PATTERNS = {
    "switch_power": "switch_power. Power is now ON",
    "open_valve": "open_valve valve. Valve opened",
    "refill": "refill litres 5. Added 5 litres of water, new water level",
    "call_technician": "call_technician. A colleague takes over",
}


def seen(
    *, power: bool = True, valve: bool = True, used: float = 2.0, task: str = "It is cold", **more: str
) -> AttemptRecord:
    """A house with these faults, before anything is done, and the fix that it needs."""
    took = [name for name, fine in (("switch_power", power), ("open_valve", valve), ("refill", used < 10)) if not fine]
    panel = f"Power: {'ON' if power else 'OFF'}\nFan: quiet\nValve: {'open' if valve else 'closed'}"
    known = {
        "read_panel": facts(panel),
        "read_tank": facts(f'{{"water_used": {used}, "water_limit": 10.0, "serial": "T-4711"}}'),
        **{tool: facts(text) for tool, text in more.items()},
    }
    return AttemptRecord(known=known, task=task, took=frozenset(took), final={"read_room": facts("The room is warm.")})


def houses() -> list[AttemptRecord]:
    """Every combination of three faults, some more than once, without the house that has none."""
    combinations = product((True, False), (True, False), (2.0, 7.5, 10.5, 14.0))
    return [seen(power=p, valve=v, used=u) for p, v, u in combinations if not (p and v and u < 10)]


def comparisons(cases: Sequence[Case]) -> list[list[tuple[str, str, str, str]]]:
    """Return the conditions of each case as reading, key, relation and value."""
    return [[(each.reading, each.key, each.relation, each.value) for each in case.conditions] for case in cases]


def test_each_pattern_gets_the_smallest_condition_that_explains_it() -> None:
    found = learn_cases(houses(), {name: PATTERNS[name] for name in ("switch_power", "open_valve", "refill")})
    assert comparisons(found["switch_power"]) == [[("read_panel", "Power", "is", "OFF")]]
    assert comparisons(found["open_valve"]) == [[("read_panel", "Valve", "is", "closed")]]


def test_two_numbers_of_one_answer_are_compared() -> None:
    found = learn_cases(houses(), {"refill": PATTERNS["refill"]})["refill"]
    assert comparisons(found) == [[("read_tank", "water_limit", "under", "water_used")]]
    assert (found[0].support, found[0].against) == (8, 0)


def test_a_machine_can_check_every_learned_condition() -> None:
    for cases in learn_cases(houses(), PATTERNS).values():
        for case in cases:
            assert all(each.reading and each.relation and each.value for each in case.conditions)


def test_the_same_attempts_in_any_order_give_the_same_cases() -> None:
    attempts = houses()
    expected = learn_cases(attempts, PATTERNS)
    for seed in range(5):
        random.Random(seed).shuffle(attempts)
        assert learn_cases(attempts, dict(reversed(PATTERNS.items()))) == expected


def test_a_word_of_the_task_joins_in_where_readings_do_not_suffice() -> None:
    attempts: list[AttemptRecord] = []
    for vent, cold, power in product(("shut", "open"), (True, False), (True, False)):
        task = "It is cold in the flat" if cold else "It is stuffy in the flat"
        needed = {"open_vent"} if vent == "shut" and not cold else set()
        for _ in range(2):
            house = seen(
                power=power, task=task, read_vent=f"Vent: {vent}", read_meter=f"Meter: M-{1000 + len(attempts)}"
            )
            attempts.append(dataclasses.replace(house, took=house.took | needed))
    found = learn_cases(
        attempts, {"open_vent": "open_vent. The vent is open", "switch_power": PATTERNS["switch_power"]}
    )
    assert comparisons(found["open_vent"]) == [[("read_vent", "Vent", "is", "shut"), ("task", "", "has", "stuffy")]]
    assert comparisons(found["switch_power"]) == [[("read_panel", "Power", "is", "OFF")]]


def test_two_reasons_for_one_pattern_make_two_cases() -> None:
    attempts: list[AttemptRecord] = []
    for filter_state, nozzle, power in product(("clean", "dirty"), ("free", "blocked"), (True, False)):
        house = seen(power=power, read_burner=f"Filter: {filter_state}\nNozzle: {nozzle}")
        needed = house.took | ({"clean_burner"} if filter_state == "dirty" or nozzle == "blocked" else set())
        attempts += [AttemptRecord(known=house.known, task="It is cold", took=frozenset(needed), final=house.final)] * 3
    found = learn_cases(attempts, {"clean_burner": "clean_burner. The burner is clean", "switch_power": "switch_power"})
    assert sorted(comparisons(found["clean_burner"])) == [
        [("read_burner", "Filter", "is", "dirty")],
        [("read_burner", "Nozzle", "is", "blocked")],
    ]


def test_what_a_name_or_an_amount_says_is_no_condition() -> None:
    attempts = [seen(power=False), seen(power=False), seen(valve=False), seen(valve=False), seen(used=12.0)]
    for literal in predicates_of(attempts):
        assert literal.value not in ("T-4711", "12.0", "2.0")


def with_hand_over() -> list[AttemptRecord]:
    """As `houses`, and some that only a technician can help; there nothing else was done, whatever was shown."""
    attempts = [
        AttemptRecord(
            known={**each.known, "read_lock": facts("Lock: free")}, task=each.task, took=each.took, final=each.final
        )
        for each in houses()
    ]
    for power, valve in product((True, False), (True, False)):
        house = seen(power=power, valve=valve, read_lock="Lock: sealed")
        attempts.append(AttemptRecord(known=house.known, task=house.task, took=frozenset({"call_technician"})))
    for attempt in attempts[:12]:
        attempts.append(
            AttemptRecord(known=attempt.known, task=attempt.task, took=frozenset({"call_technician"}), succeeded=False)
        )
    return attempts


def test_what_ends_an_attempt_is_never_combined() -> None:
    assert ending_patterns(with_hand_over()) == {"call_technician"}
    assert ending_patterns(houses()) == frozenset()


def test_attempts_that_were_handed_over_do_not_blur_the_other_conditions() -> None:
    found = learn_cases(with_hand_over(), PATTERNS)
    assert comparisons(found["switch_power"]) == [[("read_panel", "Power", "is", "OFF")]]
    assert comparisons(found["call_technician"]) == [[("read_lock", "Lock", "is", "sealed")]]
    assert found["call_technician"][0].support == 4


def test_nothing_is_learned_from_failures_alone() -> None:
    failed = [AttemptRecord(known=a.known, task=a.task, took=a.took, succeeded=False, final=a.final) for a in houses()]
    assert learn_cases(failed, PATTERNS) == dict.fromkeys(PATTERNS, ())
    assert ending_patterns(failed) == frozenset()


def test_a_pattern_that_nothing_explains_gets_no_case() -> None:
    dice = random.Random(1)
    attempts = [
        AttemptRecord(
            known=a.known, task=a.task, took=frozenset({"pray"} if dice.random() < 0.5 else ()), final=a.final
        )
        for a in houses() * 2
    ]
    assert learn_cases(attempts, {"pray": "pray. Nothing happens"}) == {"pray": ()}


def test_a_few_odd_attempts_do_not_overturn_a_condition() -> None:
    attempts = houses() * 2
    odd = seen(power=False)
    attempts.append(AttemptRecord(known=odd.known, task=odd.task, took=frozenset(), final=odd.final))
    found = learn_cases(attempts, {"switch_power": PATTERNS["switch_power"]})["switch_power"]
    assert comparisons(found) == [[("read_panel", "Power", "is", "OFF")]]
    assert (found[0].support, found[0].against) == (16, 1)


def test_readings_that_others_need_are_preferred_to_a_reading_for_one_alone() -> None:
    attempts: list[AttemptRecord] = []
    for power, valve in product((True, False), (True, False)):
        lamp = f"The power lamp is {'lit' if power else 'dark'}."
        attempts += [seen(power=power, valve=valve, a_lamp=lamp)] * 3
    found = learn_cases(attempts, {name: PATTERNS[name] for name in ("switch_power", "open_valve")})
    readings = {each.reading for cases in found.values() for case in cases for each in case.conditions}
    assert readings == {"read_panel"}


def test_masks_tell_in_which_attempts_a_literal_holds() -> None:
    attempts = [seen(power=False), seen(), AttemptRecord(known={}, task="cold", took=frozenset())]
    table = dict(
        masks_of([Predicate("read_panel", "Power", "is", "OFF"), Predicate("task", "", "has", "cold")], attempts)
    )
    assert table == {Predicate("read_panel", "Power", "is", "OFF"): 0b001, Predicate("task", "", "has", "cold"): 0b111}


def test_a_mask_says_the_same_as_asking_each_attempt() -> None:
    attempts = with_hand_over()
    for literal, mask in masks_of(predicates_of(attempts), attempts):
        assert mask == sum(literal.holds(attempt) << at for at, attempt in enumerate(attempts)), literal


def test_hundreds_of_wide_attempts_are_learned_from_in_seconds() -> None:

    wide = {f"field_{number}": (str(number % 7),) for number in range(120)}
    attempts: list[AttemptRecord] = []
    for number in range(400):
        row = {key: (str((int(value[0]) + number) % (3 + int(value[0]))),) for key, value in wide.items()}
        took = frozenset({"fix"} if number % 5 == 0 else ())
        attempts.append(
            AttemptRecord(known={"look": {**row, "State": ("bad" if took else "good",)}}, task="t", took=took)
        )
    found = learn_cases(attempts, {"fix": "fix state"})
    assert comparisons(found["fix"]) == [[("look", "State", "is", "bad")]]


def test_a_reading_that_only_takers_took_explains_nothing() -> None:
    asked = [
        AttemptRecord(known={"read_shelf": facts("Copies: 1")}, task=f"reserve {n}", took=frozenset({"place_hold"}))
        for n in range(6)
    ]
    others = [
        AttemptRecord(known={"read_card": facts("Card: old")}, task=f"renew {n}", took=frozenset({"renew_card"}))
        for n in range(6)
    ]
    found = learn_cases([*asked, *others], {"place_hold": "place_hold", "renew_card": "renew_card"})
    assert all(
        condition.reading == "task" for cases in found.values() for case in cases for condition in case.conditions
    )


def test_a_threshold_is_sought_where_values_have_a_gap() -> None:
    low = [
        AttemptRecord(known={"read_meter": facts(f"Charge: {n}")}, task="t", took=frozenset({"order"}))
        for n in range(2, 9)
    ]
    high = [
        AttemptRecord(known={"read_meter": facts(f"Charge: {n}")}, task="t", took=frozenset()) for n in range(40, 90, 3)
    ]
    (case,) = learn_cases([*low, *high], {"order": "order charge"})["order"]
    assert (case.support, case.against) == (7, 0)
    assert 8 < float(case.conditions[0].value) < 40


COLD = "It is cold in the flat"
DARK = "It is dark in the flat"


def ended(task: str, before: str, after: str, *, reading: str, succeeded: bool = True) -> AttemptRecord:
    return AttemptRecord(
        known={reading: facts(before)},
        task=task,
        took=frozenset({"fix"}),
        succeeded=succeeded,
        final={reading: facts(after)},
    )


def attempts() -> list[AttemptRecord]:
    warm = [ended(COLD, "Air: cold\nFan: on", "Air: warm\nFan: on", reading="read_air") for _ in range(3)]
    lit = [ended(DARK, "Lamp is off.", "Lamp is on.", reading="read_lamp") for _ in range(3)]
    still = ended(COLD, "Air: cold\nFan: on", "Air: cold\nFan: on", reading="read_air", succeeded=False)
    return [*warm, *lit, still]


def test_each_kind_of_task_has_its_own_check() -> None:
    checks = {check.when: check for check in goal_checks(attempts())}
    assert checks["cold"].text == "`read_air` shows `Air: warm`"
    assert checks["dark"].text == "`read_lamp` mentions `Lamp is on` in `says`"
    assert len(checks) == 2


def test_one_kind_alone_needs_no_mark() -> None:
    (check,) = goal_checks(attempts()[:3])
    assert check.when == ""
    assert (check.reading, check.key, check.relation, check.value) == ("read_air", "Air", "is", "warm")


def test_what_held_before_anything_was_done_is_no_goal() -> None:
    same = [ended(COLD, "Fan: on", "Fan: on", reading="read_fan") for _ in range(4)]
    assert goal_checks(same) == ()


def test_a_state_that_failures_end_with_too_is_no_goal() -> None:
    won = [ended(COLD, "Air: cold", "Air: warm", reading="read_air") for _ in range(3)]
    lost = [ended(COLD, "Air: cold", "Air: warm", reading="read_air", succeeded=False) for _ in range(20)]
    assert goal_checks([*won, *lost]) == ()


def test_failures_alone_show_no_goal() -> None:
    lost = [ended(COLD, "Air: cold", "Air: warm", reading="read_air", succeeded=False) for _ in range(5)]
    assert goal_checks(lost) == ()


def test_attempts_that_do_not_confirm_have_no_check() -> None:
    assert (
        goal_checks([AttemptRecord(known={"read_air": facts("Air: cold")}, task=COLD, took=frozenset({"fix"}))] * 5)
        == ()
    )


def test_a_number_that_differs_from_time_to_time_is_not_asked_for() -> None:
    rows = [("3.1", "21.5"), ("2.7", "22.0"), ("3.3", "20.5")]
    runs = [ended(COLD, f"Air: {a} C (Cold)", f"Air: {b} C (Warm)", reading="read_air") for a, b in rows]
    (check,) = goal_checks(runs)
    assert (check.relation, check.value) == ("has", "Warm")


def test_the_order_of_attempts_does_not_matter() -> None:
    assert goal_checks(attempts()) == goal_checks(attempts()[::-1])


def test_what_every_attempt_did_has_no_case():
    attempts = [AttemptRecord(known=each.known, task=each.task, took=each.took | {"tidy"}) for each in houses()]
    assert learn_cases(attempts, {**PATTERNS, "tidy": "tidy. Power: ON"})["tidy"] == ()


def test_each_look_of_one_attempt_counts_with_what_was_made_until_the_next():
    pages = [("menu", "banner"), ("menu", "photo"), ("banner", "photo")]
    readings = tuple(
        Reading(index=3 * at, tool="look", facts={"shows[]": shown}, after=2 * at) for at, shown in enumerate(pages)
    )
    moves = tuple(
        Move(index=at, tool=tool) for at, tool in enumerate(("close", "next", "next", "next", "close", "next"))
    )
    outline = Outline(trajectory_id="t", task="read on", success=True, moves=moves, readings=readings)
    looks = list(looks_of(outline, [(move.tool, at) for at, move in enumerate(moves)]))
    assert [tool for tool, _ in looks] == ["look"] * 3
    assert [sorted(look.took) for _, look in looks] == [["close", "next"], ["next"], ["close", "next"]]
