"""The values at a key of an answer, and the value of a parameter."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tacit.domain.skill import Parameter
from tacit.text.value_lookup import TASK, candidates, leaves_of, resolve, same, value_at

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
    assert same(2.0, "2")
    assert same("A-1 ", "a-1")
    assert same(True, "true")
    assert not same("2.05", "2")


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
