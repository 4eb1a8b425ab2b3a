"""The parts of mining one by one: situations, tasks in general words, phases, failures, names and units."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.domain.outline import Move, Outline, Reading
from tacit.domain.trajectory import Trajectory
from tacit.learn.mining.call_patterns import Group, find_patterns, groups_of, learn_order
from tacit.learn.mining.candidates import MAX_SURROUNDINGS, free_name, name_of, surroundings_of
from tacit.learn.mining.group_data import (
    GroupData,
    general_task,
    impersonal_task,
    names_in,
)
from tacit.learn.mining.miner import mine, phase_order
from tacit.learn.mining.pattern_conditions import attempt_record, distinct_attempts, known_facts
from tests.unit.learn.calls import FAILED, AttemptStore, attempt, season


def outline(task: str = "See to it", *parts: Move | Reading, **more: Any) -> Outline:
    moves = tuple(part for part in parts if isinstance(part, Move))
    readings = tuple(part for part in parts if isinstance(part, Reading))
    return Outline(trajectory_id="t_1", task=task, moves=moves, readings=readings, **more)


def reading(after: int = 0, tool: str = "check", arguments: Any = None, **facts: str) -> Reading:
    shown = {key: (value,) for key, value in facts.items()}
    return Reading(index=after, tool=tool, arguments=arguments or {}, facts=shown, after=after)


def move(index: int = 1, tool: str = "mend", **arguments: Any) -> Move:
    return Move(index=index, tool=tool, arguments=arguments)


def study_of(worked: list[Trajectory], failed: list[Trajectory] | None = None) -> GroupData:
    store = AttemptStore()
    outlines = [store.add(each) for each in worked] + [store.add(each, FAILED) for each in failed or ()]
    (group,) = groups_of(outlines)
    return GroupData(group, store.store)


# --- situations -----------------------------------------------------------------------------------------------------


def test_what_was_known_is_what_was_read_before_the_first_move() -> None:
    seen = outline("", reading(0, pump="idle"), move(), reading(1, pump="running"))
    assert known_facts(seen) == {"check": {"pump": ("idle",)}}
    found = attempt_record(seen, [("mend", 0)])
    assert (found.took, found.final) == (frozenset({"mend"}), {"check": {"pump": ("running",)}})


def test_the_same_look_taken_again_replaces_the_first_and_another_adds_to_it() -> None:
    again = outline(
        "", reading(0, pump="idle"), reading(0, pump="running"), reading(0, arguments={"of": 2}, vents="open")
    )
    assert known_facts(again)["check"] == {"pump": ("running",), "vents": ("open",)}


def test_a_first_look_between_two_moves_is_known_but_was_no_reason_for_the_first() -> None:
    found = attempt_record(outline("", move(1), reading(1, pump="idle"), move(3, "prime")), [("mend", 0), ("prime", 1)])
    assert (found.known, found.final) == ({"check": {"pump": ("idle",)}}, None)
    assert found.is_late("check", "mend")
    assert not found.is_late("check", "prime")


def test_without_a_move_nothing_is_final() -> None:
    assert attempt_record(outline("", reading(0, pump="idle")), []).final is None


def test_attempts_that_found_and_did_the_same_count_once_and_others_stay() -> None:
    same = [attempt_record(outline("", reading(0, pump="idle"), move()), [("mend", 0)]) for _ in range(3)]
    other = attempt_record(outline("", reading(0, pump="running"), move()), [("mend", 0)])
    failed = dataclasses.replace(same[0], succeeded=not same[0].succeeded)
    blind = attempt_record(outline("", move()), [("mend", 0)])
    assert distinct_attempts([*same, other, failed, blind, blind]) == [same[0], other, failed, blind, blind]
    assert distinct_attempts([]) == []


# --- tasks in general words -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("task", "arguments", "general"),
    [
        ("cancel order #W1001", {"order": "#W1001", "kind": "order"}, "cancel {kind} {order}"),
        ("rename alpha1 to beta2", {"a\\qb": "alpha1", "1001": "beta2"}, "rename {a_qb} to {value}"),
        ("write to ann@example.org about 12345", {}, "write to {email} about {id}"),
        ("look at H001 and A12-345, not at 42 or 3 of them", {}, "look at {id} and {id}, not at 42 or 3 of them"),
        ("set 30 to 300", {"seconds": 30}, "set {seconds} to 300"),
        ("", {"x": "y"}, ""),
        ("turn it on", {"on": True, "off": None}, "turn it on"),
    ],
)
def test_values_are_called_by_what_they_are(task: str, arguments: dict[str, Any], general: str) -> None:
    assert general_task(outline(task, move(**arguments))) == general


def test_names_are_words_with_a_capital_that_no_other_task_has() -> None:
    tasks = [
        "Hello, I am Yusuf Rossi from Berlin. Please cancel it.",
        "Hello, I am Mei from Berlin. Cancel it please! Return the Mug?",
        "Ivan Kovacs writes: please cancel the mug. Éva and über and 漢字 too.",
    ]
    assert list(names_in(tasks).values()) == [("Yusuf", "Rossi"), ("Mei",), ("Ivan", "Kovacs")]


def test_an_impersonal_task_keeps_the_words_that_call_for_something() -> None:
    asked = outline("I am Ann Lee and want to swap the lamp of #W1001", move(order="#W1001", item="lamp"))
    assert impersonal_task(asked, ("Ann", "Lee")).split() == "I am and want to swap the lamp of".split()


@given(st.text(), st.dictionaries(st.text(max_size=5), st.one_of(st.text(max_size=6), st.integers()), max_size=4))
def test_any_task_has_a_general_form(task: str, arguments: dict[str, Any]) -> None:
    asked = outline(task, Move(index=1, tool="mend", arguments=arguments))
    names = names_in([task])[task]
    assert isinstance(general_task(asked, names), str)
    assert isinstance(impersonal_task(asked, names), str)


# --- phases, names, patterns -------------------------------------------------------------------------------------------


KEYS = "abcdef"


@given(st.dictionaries(st.sampled_from(KEYS), st.lists(st.sampled_from(KEYS), max_size=4)))
def test_phases_hold_every_pattern_once_and_keep_what_can_be_kept(after: dict[str, list[str]]) -> None:
    ordered = phase_order(after)
    assert sorted(ordered) == sorted(after)
    acyclic = {key: [one for one in earlier if one < key] for key, earlier in after.items()}
    place = {key: at for at, key in enumerate(phase_order(acyclic))}
    assert all(place[one] < place[key] for key, earlier in acyclic.items() for one in earlier if one in place)


def test_a_name_is_given_once() -> None:
    taken: set[str] = set()
    given_ = [
        free_name("create-issue", taken, fuller=fuller) for fuller in ("x-create-issue", "y-create-issue", "", "")
    ]
    assert given_ == ["create-issue", "y-create-issue", "create-issue-2", "create-issue-3"]
    long = "a" * 64
    assert len({free_name(long, taken) for _ in range(12)}) == 12
    assert all(len(name) <= 64 for name in taken)


def test_ids_that_calls_were_given_in_turn_make_no_patterns_and_no_names() -> None:
    def tagged(number: int) -> Trajectory:
        first, second = f"T-{number}001", f"T-{number}002"
        made = [(first, "a"), (first, "b"), (second, "a")]
        return attempt(
            f"tag what came in, visit {number}", *(("tag", {"ticket": one, "tag": tag}, "ok") for one, tag in made)
        )

    for visits in ([tagged(1)], [tagged(1), tagged(1)]):
        outlines = [AttemptStore().add(each) for each in visits]
        patterns = find_patterns(Group(tuple(outlines)))
        assert not [name_of(pattern) for pattern in patterns.patterns if "001" in name_of(pattern)]


def test_names_of_people_that_only_one_task_has_make_no_patterns() -> None:
    visits = [
        attempt(
            f"invite them, number {n}", *(("invite", {"who": who}, "ok") for who in ("guest", "guest", "Ann", "Bo"))
        )
        for n in range(1)
    ]
    patterns = find_patterns(Group(tuple(AttemptStore().add(each) for each in visits)))
    assert [name_of(pattern) for pattern in patterns.patterns] == ["invite"]


# --- failures -------------------------------------------------------------------------------------------------------


NAMES = st.sampled_from("abcde")


def test_a_clear_majority_makes_a_relation() -> None:
    after = learn_order([["stop", "copy", "start"]] * 3 + [["copy", "stop"]])
    assert after == {"copy": ("stop",), "start": ("copy", "stop"), "stop": ()}


def test_an_even_split_leaves_the_order_open() -> None:
    assert learn_order([["a", "b"], ["b", "a"]] * 5) == {"a": (), "b": ()}


def test_one_run_is_no_evidence_of_order() -> None:
    assert learn_order([["a", "b"]]) == {"a": (), "b": ()}
    assert learn_order([["a", "b"]] * 2) == {"a": (), "b": ("a",)}


def test_the_first_time_counts_where_a_skill_is_repeated() -> None:
    assert learn_order([["a", "b", "a", "a"]] * 2)["b"] == ("a",)


def test_of_a_circle_the_weakest_relation_is_dropped() -> None:
    after = learn_order([["a", "b"]] * 5 + [["b", "c"]] * 4 + [["c", "a"]] * 3)
    assert after == {"a": (), "b": ("a",), "c": ("b",)}


@given(st.lists(st.lists(NAMES, max_size=6), max_size=30))
def test_relations_never_form_a_circle(sequences: list[list[str]]) -> None:
    after = learn_order(sequences)
    done: set[str] = set()
    while len(done) < len(after):
        free = {name for name in after if name not in done and done.issuperset(after[name])}
        assert free, f"a circle among {set(after) - done}"
        done |= free


@given(st.lists(st.lists(NAMES, max_size=6), max_size=30), st.randoms())
def test_the_order_of_the_runs_does_not_matter(sequences: list[list[str]], dice: object) -> None:
    mixed = list(sequences)
    dice.shuffle(mixed)  # type: ignore[attr-defined]
    assert learn_order(mixed) == learn_order(sequences)


GARDEN, OFFICE = frozenset({"dig", "water", "prune"}), frozenset({"print", "file"})


def test_what_is_there_wherever_the_tool_is_surrounds_it_used_or_not() -> None:
    assert surroundings_of(["dig"], {GARDEN, GARDEN | OFFICE, OFFICE}) == ("prune", "water")
    assert surroundings_of(["dig", "print"], {GARDEN, GARDEN | OFFICE}) == ("file", "prune", "water")


def test_attempts_that_do_not_say_what_they_had_tell_nothing() -> None:
    assert surroundings_of(["dig"], set()) == ()
    assert surroundings_of(["dig"], {OFFICE}) == ()


def test_a_tool_that_is_seldom_gone_still_belongs() -> None:
    places = {GARDEN | {f"extra_{number}"} for number in range(10)} | {GARDEN - {"prune"}}
    assert surroundings_of(["dig"], places) == ("prune", "water")


def test_of_many_the_ones_with_names_most_like_its_own_are_kept() -> None:
    many = frozenset(f"{server}__tool_{number}" for server in ("aa", "mm", "zz") for number in range(50))
    found = surroundings_of(["zz__tool_7"], {many})
    assert len(found) == MAX_SURROUNDINGS
    assert sum(tool.startswith("zz__") for tool in found) == 49


def test_mined_skills_know_their_surroundings_where_attempts_name_their_tools() -> None:
    at_hand = ("find_house", "check_heating", "switch_heater", "prime_pump", "ring_bell")
    store = AttemptStore()
    outlines = [
        store.add(dataclasses.replace(each, environment=dataclasses.replace(each.environment, tools=at_hand), id=""))
        for each in season()
    ]
    mined = mine(outlines, {outline.trajectory_id for outline in outlines}, store.store)
    contents = [candidate.content for each in mined for candidate in each.candidates]
    found = {content.name: content.surroundings for content in contents}
    assert found["switch-heater"] == ("check_heating", "find_house", "prime_pump", "ring_bell")
    assert found["grease-vents-and-move-vents"] == ()  # never said to be at hand, though used
