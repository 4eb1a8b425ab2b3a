from __future__ import annotations

import time
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.text.templates import ANY, templates

WORDS = st.sampled_from(["error:", "user", "order", "not", "found", "<n>", "<path>", "x1", "timed", "out"])
LINES = st.lists(st.lists(WORDS, min_size=1, max_size=6).map(" ".join), max_size=40)


def test_lines_that_differ_in_a_word_have_one_template() -> None:
    lines = [
        "Error: Invalid address format: <n>",
        "Error: Invalid address format: localhost",
        "Error: no route to host",
    ]
    assert templates(lines) == {
        f"Error: Invalid address format: {ANY}": (lines[0], lines[1]),
        "Error: no route to host": (lines[2],),
    }


@pytest.mark.parametrize(
    ("one", "other", "why"),
    [
        ("curl: command not found", "wget: command not found", "they begin with another word"),
        ("Error: user not found", "Error: user was not found", "they are not equally long"),
        ("Error: order is not pending", "Error: order is already paid", "too few words agree"),
    ],
)
def test_lines_that_say_something_else_keep_their_own_template(one: str, other: str, why: str) -> None:
    assert templates([one, other]) == {one: (one,), other: (other,)}, why


def test_first_word_that_varies_does_not_keep_lines_apart() -> None:
    lines = ["worker-3 lost its connection", "worker-12 lost its connection", "<path> lost its connection"]
    assert list(templates(lines)) == [f"{ANY} lost its connection"]


def test_how_alike_lines_must_be_can_be_chosen() -> None:
    lines = ["Error: order is not pending", "Error: order is already paid"]
    assert list(templates(lines, least_alike=0.5)) == [f"Error: order is {ANY} {ANY}"]


def test_nothing_comes_of_nothing() -> None:
    assert templates([]) == templates(["", "  "]) == {}


@given(LINES, st.randoms(use_true_random=False))
def test_order_and_repeats_make_no_difference(lines: list[str], random: Random) -> None:
    shuffled = lines * 2
    random.shuffle(shuffled)
    assert templates(shuffled) == templates(lines)


@given(LINES)
def test_every_line_stands_in_one_template_that_fits_it(lines: list[str]) -> None:
    found = templates(lines)
    assert sorted(line for members in found.values() for line in members) == sorted(set(lines))
    for template, members in found.items():
        for line in members:
            pairs = zip(template.split(), line.split(), strict=True)
            assert all(word in (said, ANY) for word, said in pairs)


def test_thousands_of_lines_take_a_moment() -> None:
    lines = [f"Error: {kind} {number % 7} failed for item{number}" for number in range(5_000) for kind in ("a", "b")]
    started = time.perf_counter()
    assert len(templates(lines)) < 100
    assert time.perf_counter() - started < 2.0
