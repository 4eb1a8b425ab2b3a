"""The values at a key of an answer, and the value of a parameter."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tacit.domain.skill import Parameter
from tacit.text.value_lookup import (
    FREE,
    TASK,
    candidates,
    is_mentioned,
    leaves_of,
    named_in,
    one_of,
    resolve,
    shape_of,
    stands_in,
    value_at,
    value_text,
    values_of_shape,
)

ORDER = json.dumps(
    {
        "order_id": "A-1",
        "status": "open",
        "address": {"zip": "01067"},
        "items": [
            {"name": "Desk Lamp", "item_id": "i-10", "price": 20.0},
            {"name": "Tea Kettle", "item_id": "i-11", "price": 35.5},
        ],
        "tags": ["gift", "fragile"],
        "note": None,
    }
)
OTHER = json.dumps({"order_id": "A-2", "status": "sent", "items": [{"name": "Desk Lamp", "item_id": "i-20"}]})
PRODUCT = json.dumps({"name": "Lamp", "variants": {"1001": {"color": "red"}, "1002": {"color": "blue"}}})


@pytest.mark.parametrize(
    ("key", "values"),
    [
        ("order_id", ["A-1"]),
        ("address.zip", ["01067"]),
        ("items[].item_id", ["i-10", "i-11"]),
        ("tags[]", ["gift", "fragile"]),
        ("note", []),
        ("items", []),
        ("missing.path", []),
    ],
)
def test_a_key_names_a_place_in_a_json_answer(key: str, values: list[Any]) -> None:
    assert value_at(ORDER, key) == values


def test_names_that_are_values_are_left_open() -> None:
    assert value_at(PRODUCT, "variants.*.color") == ["red", "blue"]
    assert value_at(PRODUCT, "variants.@") == ["1001", "1002"]
    assert value_at(PRODUCT, 'variants.@ where color = "blue"') == ["1002"]


def test_a_long_table_of_names_is_left_open_too() -> None:
    kinds = json.dumps({f"Kind {chr(65 + n)}": f"p{n}" for n in range(20)})
    assert len(value_at(kinds, "*")) == 20
    assert value_at(kinds, "* where @ in task", task="something of kind c") == ["p2"]


def test_lines_of_names_and_values_are_read() -> None:
    answer = "Mode: 2g_only\n - Saver: OFF\nnothing here\nURL: http://a.example/x"
    assert value_at(answer, "Mode") == ["2g_only"]
    assert value_at(answer, "Saver") == ["OFF"]
    assert value_at(answer, "URL") == ["http://a.example/x"]


def test_an_answer_that_is_one_value_is_a_place() -> None:
    assert value_at("ann_lee_9620\n", ".") == ["ann_lee_9620"]


def test_prose_is_searched_by_shape() -> None:
    assert value_at("Opened ticket TCK-4711 for you.", "~TCK-0000") == ["TCK-4711"]


@pytest.mark.parametrize(
    ("rule", "task", "known", "values"),
    [
        ("name in task", "return the kettle", {}, ["i-11"]),
        ("name in task", "return it", {}, []),
        ("order_id = {order_id}", "", {"order_id": "A-1"}, ["i-10", "i-11"]),
        ("order_id = {order_id}", "", {"order_id": ["A-1", "A-2"]}, ["i-10", "i-11"]),
        ("order_id = {order_id}", "", {"order_id": None}, []),
        ("order_id = {order_id}", "", {}, []),
        ('status = "OPEN" and name in task', "the lamp", {}, ["i-10"]),
        ('price = "35.5"', "", {}, ["i-11"]),
        ("colour in task", "the lamp", {}, []),
        ("no rule at all", "the lamp", {}, []),
    ],
)
def test_conditions_tell_records_apart(rule: str, task: str, known: dict[str, Any], values: list[str]) -> None:
    assert value_at(ORDER, f"items[].item_id where {rule}", task=task, known=known) == values


def test_every_answer_of_a_tool_is_looked_at() -> None:
    parameter = Parameter(name="item_ids", type="array", reading="get_order", key="items[].item_id")
    answers = {"get_order": [ORDER, OTHER, ORDER]}
    assert candidates(parameter, "", answers=answers) == ["i-10", "i-11", "i-20"]
    assert resolve(parameter, "", answers=answers) == ["i-10", "i-11", "i-20"]


def test_parameters_resolve_one_after_the_other() -> None:
    order = Parameter(name="order_id", reading="get_order", key='order_id where status = "open"')
    items = Parameter(
        name="item_ids",
        type="array",
        reading="get_order",
        key="items[].item_id where name in task and order_id = {order_id}",
    )
    answers = {"get_order": [ORDER, OTHER]}
    known = {"order_id": resolve(order, "the lamp", answers=answers)}
    assert known == {"order_id": "A-1"}
    assert resolve(items, "the lamp", answers=answers, known=known) == ["i-10"]


def test_nothing_is_guessed_among_several_values() -> None:
    parameter = Parameter(name="order_id", reading="get_order", key="order_id")
    answers = {"get_order": [ORDER, OTHER]}
    assert resolve(parameter, "my order", answers=answers) is None
    assert resolve(parameter, "my order a-2", answers=answers) == "A-2"
    assert resolve(parameter, "my order", answers={}) is None


def test_values_of_the_task_get_the_type_of_the_parameter() -> None:
    amount = Parameter(name="amount", type="number", reading=TASK, key="<number>")
    assert resolve(amount, "add 2.5 GB", answers={}) == 2.5
    whole = Parameter(name="count", type="integer", reading=TASK, key="<number>")
    assert resolve(whole, "take 3", answers={}) == 3
    assert resolve(whole, "take 3 or 4", answers={}) is None


def test_a_parameter_without_a_place_has_no_value() -> None:
    assert resolve(Parameter(name="x"), "x 1", answers={"t": [ORDER]}) is None


def test_what_is_not_known_equals_nothing() -> None:
    answer = json.dumps([{"owner": "None", "id": "a"}])
    assert value_at(answer, "[].id where owner = {owner}", known={"owner": "none"}) == ["a"]
    assert value_at(answer, "[].id where owner = {owner}", known={"owner": None}) == []


def test_a_number_and_its_text_are_the_same() -> None:
    assert value_text(2.0) == value_text("2")
    assert value_text("A-1 ") == value_text("a-1")
    assert value_text(True) == value_text("true")
    assert value_text("2.05") != value_text("2")


@pytest.mark.parametrize(
    "answer",
    [
        "[" * 500_000,
        '{"a":' * 100_000 + "1" + "}" * 100_000,
        "a:" * 500_000,
        "- " * 500_000,
        "x" * 1_000_000,
        json.dumps({"n": "9" * 6000}),
        '{"n": ' + "9" * 6000 + "}",
        json.dumps([{"a": number, "b": {"c": "d"}} for number in range(40_000)]),
        "x" * 3_000_000,
    ],
    ids=["brackets", "deep", "colons", "dashes", "one word", "long text", "long number", "many records", "too long"],
)
def test_hostile_answers_are_read_up_to_a_limit(answer: str) -> None:
    assert len(leaves_of(answer)) <= 20_000


STATED = (
    "Ticket T-4711 for ann.lee@mail.example: ship to 12 Hill Road, Oslo, or call 555-010-2002 before 2026-03-01. "
    "It cost $1,054.50."
)


@pytest.mark.parametrize(
    ("values", "shape"),
    [
        (["#W2378156"], "#W0000000"),
        (["L1001"], "L0000"),
        (["ann_lee_9620"], "<word>_<word>_0000"),
        (["ann@mail.example"], "<email>"),
        (["555-010-2002", "+4715550102"], "<phone>"),
        (["2026-03-01"], "<date>"),
        (["2.5", "14"], "<number>"),
        (["90210"], "00000"),
        (["OR", "NY"], "<WORD>"),
        (["Oslo", "New Delhi"], "<Word>+"),
        (["12 Hill Road", "9 Main Street", "140 Shore Lane"], "0+ <Word>+"),
        (["card_1234", "card_4321", "card_9999"], "card_0000"),
        (["blue and green"], FREE),
        (["x" * 500], FREE),
        ([""], FREE),
    ],
)
def test_values_have_a_shape_that_a_person_can_read(values: list[str], shape: str) -> None:
    assert shape_of(*values) == shape


@pytest.mark.parametrize(
    ("shape", "found"),
    [
        ("T-0000", ["T-4711"]),
        ("<email>", ["ann.lee@mail.example"]),
        ("0+ <Word>+", ["12 Hill Road"]),
        ("<phone>", ["555-010-2002"]),
        ("<date>", ["2026-03-01"]),
        ("<number>", ["12", "1054.50"]),
        ("00000", []),
        (FREE, []),
        ("", []),
    ],
)
def test_values_of_a_shape_are_found_in_prose(shape: str, found: list[str]) -> None:
    assert values_of_shape(STATED, shape) == found


def test_a_shape_finds_the_value_that_it_was_made_from() -> None:
    for value in ("#W2378156", "ann_lee_9620", "a@b.example", "555-010-2002", "12 Hill Road", "2.5", "NY"):
        assert values_of_shape(f"It is {value}, please.", shape_of(value)) == [value]


def test_a_sign_that_the_person_left_out_is_put_back() -> None:
    assert values_of_shape("orders W2378156 and #W1111111", "#W0000000") == ["#W2378156", "#W1111111"]


def test_a_longer_number_does_not_hold_a_shorter_one() -> None:
    assert values_of_shape("account 123456, part 12345-9", "00000") == []


def test_choices_are_found_as_the_skill_writes_them() -> None:
    shape = one_of(["no longer needed", "ordered by mistake"])
    assert named_in(shape) == ("no longer needed", "ordered by mistake")
    assert values_of_shape("I Ordered  by mistake!", shape) == ["ordered by mistake"]
    assert values_of_shape("it is needed", shape) == []


def test_words_that_only_two_values_share_are_not_kept() -> None:
    assert shape_of("lee_1234", "lee_4321") == "<word>_0000"


def test_a_value_stands_in_a_text_only_as_words_of_its_own() -> None:
    assert stands_in("#W2378156", "my order w2378156.")
    assert stands_in("no  longer needed", "no longer\nneeded")
    assert not stands_in("art", "a cart")
    assert not stands_in("", "anything")


def test_a_name_is_mentioned_by_its_last_word() -> None:
    assert is_mentioned("Mechanical Keyboard", "the keyboard, please")
    assert is_mentioned("Desk Lamp", "both lamps")
    assert not is_mentioned("Desk Lamp", "the desk")
    assert not is_mentioned("L1002", "line L1003")


@pytest.mark.parametrize("text", ["A " * 500_000, "1-" * 500_000, "a." * 500_000, "(1) " * 250_000, "a@" * 500_000])
@pytest.mark.parametrize("shape", ["<Word>+ 000", "<phone>", "<email>", "<number>", "<word>_<word>_0000"])
def test_hostile_text_costs_little(text: str, shape: str) -> None:
    assert len(values_of_shape(text, shape)) <= len(text)
