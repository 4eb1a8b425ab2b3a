"""The measure of words: more, rarer and better placed matches score higher; a score is never negative."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tacit.store.lexical_search import VERSION_WEIGHTS, distinct, rarity, score

words = st.lists(st.sampled_from(["a", "b", "c", "d"]), max_size=8)
EMPTY: list[str] = []


def of(name: list[str], body: list[str], **query: float) -> float:
    return score(query, (name, EMPTY, body, EMPTY), weights=VERSION_WEIGHTS)


@given(words, words, words, words)
def test_a_score_is_above_zero_exactly_when_a_word_matches(
    name: list[str], description: list[str], body: list[str], extra: list[str]
) -> None:
    document = (name, description, body, extra)
    found = score({"a": 1.0, "z": 1.0}, document, weights=VERSION_WEIGHTS)
    assert (found > 0) == any("a" in field for field in document)


def test_a_name_counts_more_than_a_body() -> None:
    assert of(["a"], ["b"], a=1.0) > of(["b"], ["a"], a=1.0)


def test_a_rarer_word_counts_more() -> None:
    assert rarity(1, 100) > rarity(50, 100) > rarity(100, 100) > 0
    assert rarity(1, 1) > 0


def test_repeats_count_less_and_less() -> None:
    once, twice, thrice = (of([], ["a"] * times + ["b"] * (9 - times), a=1.0) for times in (1, 2, 3))
    assert thrice > twice > once
    assert thrice - twice < twice - once


def test_a_long_text_needs_more_matches() -> None:
    assert of([], ["a"], a=1.0) > of([], ["a"] + ["b"] * 500, a=1.0)


def test_a_query_counts_each_word_once() -> None:
    assert distinct(["b", "a", "b", "", "a"]) == ["b", "a"]
