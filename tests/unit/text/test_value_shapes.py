"""Shapes of values, and finding values of a shape in a text."""

from __future__ import annotations

import pytest

from tacit.text.value_shapes import FREE, is_mentioned, named_in, one_of, shape_of, stands_in, values_of_shape

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
