"""Values of a payload or a line that nothing could hold are named by their field."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tacit.features.cards.folder import MAX_DEPTH, MAX_ITEMS, invalid_value


def nested(depth: int) -> Any:
    return json.loads("[" * depth + "]" * depth)


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ({"aha_cards": [{"x": float("nan")}]}, "`aha_cards[0].x` is NaN"),
        ({"event": {"cost": json.loads("1e999")}}, "`event.cost` is Infinity"),
        ({"event": {"cost": float("-inf")}}, "`event.cost` is Infinity"),
        ({"aha_cards": [{"tags": ["a"] * 1001}]}, "`aha_cards[0].tags` has 1,001 items"),
        ({"event": {"deep": nested(600)}}, "`event.deep[0][0]` is nested too deeply"),
    ],
    ids=["nan", "too large", "infinity", "wide", "deep"],
)
def test_the_field_that_cannot_be_kept_is_named(value: Any, told: str) -> None:
    assert invalid_value(value).startswith(told)


def test_what_json_can_say_is_fit() -> None:
    assert (
        invalid_value({"a": [1, 1.5, None, True, "NaN", {"b": {}}], "c": nested(MAX_DEPTH), "d": ["x"] * MAX_ITEMS})
        == ""
    )


def test_long_names_are_looked_through_without_growing() -> None:
    deep: Any = "x"
    for _ in range(5000):
        deep = {"n" * 1000: deep}
    assert len(invalid_value({"field": deep})) < 500
