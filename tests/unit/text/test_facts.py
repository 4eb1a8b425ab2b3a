"""Facts in a tool's answer, and whether a condition holds on them."""

from __future__ import annotations

import json

import pytest

from tacit.domain.skill import Condition
from tacit.text.facts import MAX_FACTS, SAYS, comparable, facts, gathered, holds, identifiers, merged, satisfied


def asked(reading: str, key: str, relation: str, value: str) -> Condition:
    return Condition(text="…", reading=reading, key=key, relation=relation, value=value)


def test_json_is_read_by_its_paths() -> None:
    answer = json.dumps({"id": 7, "on": True, "at": {"room": "hall"}, "tags": ["a", "b"], "rows": [{"s": 1}, {"s": 2}]})
    assert facts(answer) == {
        "id": ("7",),
        "on": ("true",),
        "at.room": ("hall",),
        "tags[]": ("a", "b"),
        "rows[]": (),
        "rows[].s": ("1", "2"),
    }


def test_a_table_by_number_is_one_field_with_many_values() -> None:
    answer = json.dumps({"parts": {"1001": {"left": 3}, "1002": {"left": 0}}, "b12": 1})
    assert facts(answer) == {"parts.*.left": ("3", "0"), "b12": ("1",)}


def test_an_empty_list_is_a_fact_of_its_own() -> None:
    shown = facts('{"alarms": []}')
    assert shown == {"alarms[]": ()}
    assert satisfied("lacks", shown, "alarms[]", "fire")


def test_lines_of_key_and_value_are_fields() -> None:
    assert facts("Power: ON\nRoom Temp: 18.5\nmode=eco") == {"Power": ("ON",), "Room Temp": ("18.5",), "mode": ("eco",)}


def test_a_list_after_a_colon_has_members() -> None:
    assert facts("Panel 'main' may show: heat, water, time.") == {"Panel 'main' may show": ("heat", "water", "time")}


def test_bullets_belong_to_the_heading_above_them() -> None:
    assert facts("Status of: panel\n - Allowed:\n   - heat\n   - water") == {
        "Status of": ("panel",),
        "Allowed": ("heat", "water"),
    }


def test_parts_between_bars_are_members_without_their_pictures() -> None:
    assert facts("Display: 🔥³ Hot | 💧 Wet | 🔋 80%") == {"Display": ("Hot", "Wet", "80%")}


def test_what_names_no_field_is_stated() -> None:
    assert facts("The pump is running. No leak was found.") == {SAYS: ("The pump is running", "No leak was found")}


def test_a_word_in_brackets_next_to_a_number_is_a_value_too() -> None:
    shown = facts("Flow: 12.5 l/min (Good). All is well.")
    assert shown["Flow"] == ("12.5 l/min (Good)", "Good")
    assert comparable(shown["Flow"]) == ("number", 12.5)
    assert shown[SAYS] == ("All is well",)


def test_an_address_or_a_time_is_no_field() -> None:
    assert SAYS in facts("see http://example.org/a")
    assert facts("Server: http://example.org/a") == {"Server": ("http://example.org/a",)}


@pytest.mark.parametrize(
    ("relation", "key", "value", "expected"),
    [
        ("is", "power", "on", True),
        ("is", "power", "off", False),
        ("is not", "power", "off", True),
        ("is not", "missing", "off", False),
        ("has", "tags", "b", True),
        ("is", "tags", "b", False),
        ("lacks", "tags", "c", True),
        ("lacks", "missing", "c", True),
        ("over", "used", "limit", True),
        ("under", "limit", "used", True),
        ("over", "used", "20", False),
        ("under", "used", "20", True),
        ("over", "power", "3", False),
        ("over", "end", "start", True),
        ("over", "end", "limit", False),
        ("resembles", "power", "ON", False),
    ],
)
def test_relations(relation: str, key: str, value: str, expected: bool) -> None:
    shown = {
        "power": ("ON",),
        "tags": ("a", "B"),
        "used": ("15.1",),
        "limit": ("15.0",),
        "end": ("2026-12-31",),
        "start": ("2026-02-01",),
    }
    assert satisfied(relation, shown, key, value) is expected


def test_a_condition_on_a_reading_that_was_not_taken_is_open() -> None:
    assert holds(asked("panel", "power", "is", "ON"), {}) is None
    assert holds(asked("panel", "power", "is", "ON"), {"panel": {"power": ("ON",)}}) is True


def test_prose_alone_can_not_be_reported() -> None:
    assert holds(Condition(text="the room is cosy"), {"panel": {}}) is None


def test_a_condition_on_the_task_looks_at_its_words() -> None:
    assert holds(asked("task", "", "has", "cold"), {}, task="The flat is cold.") is True
    assert holds(asked("task", "", "has", "cold"), {}, task="The flat is colder") is False
    assert holds(asked("task", "", "lacks", "cold"), {}, task="The flat is warm") is True


def test_the_same_call_made_again_replaces_its_answer() -> None:
    answers = [("panel", "{}", "Power: OFF\nMode: eco"), ("panel", "{}", "Power: ON")]
    assert gathered(answers) == {"panel": {"Power": ("ON",)}}


def test_of_several_records_the_one_that_the_task_names_stands_alone() -> None:
    answers = [
        ("get", '{"id": 1}', '{"house": "H-7001", "power": "on", "code": 5}'),
        ("get", '{"id": 2}', '{"house": "H-7002", "power": "off"}'),
        ("get", '{"id": 3}', '{"plan": "P", "power": "none"}'),
    ]
    assert gathered(answers, "Heating of H-7002 is off.") == {"get": {"house": ("H-7002",), "power": ("off",)}}
    assert gathered(answers, "Heating is off.")["get"]["power"] == ("none",)


def test_merging_nothing_gives_nothing() -> None:
    assert merged([], ["H-1"]) == {}


def test_identifiers_hold_a_digit_and_are_not_short() -> None:
    assert identifiers("I am Ann, house H-7002, phone 555-010-2000, floor 3.") == ["H-7002", "555-010-2000"]


@pytest.mark.parametrize(
    "hostile",
    [
        "a: " * 350_000,
        "{" * 1_000_000,
        "[" * 1_000_000,
        "x=y " * 250_000,
        "(" * 1_000_000,
        "- a\n" * 250_000,
        "1,111" * 200_000,
        ":" * 1_000_000,
        "Key: " + "v | " * 250_000,
        " " * 999_999 + "a",
        json.dumps([{str(number): number} for number in range(50_000)]),
        '{"a":' * 5_000 + "1" + "}" * 5_000,
        "Ü" * 1_000_000,
    ],
)
def test_a_megabyte_of_anything_is_bounded_work(hostile: str) -> None:
    shown = facts(hostile)
    assert sum(map(len, shown.values())) <= MAX_FACTS * 2
