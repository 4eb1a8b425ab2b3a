"""Similarity measures are symmetric and between 0 and 1; empty sets are not similar."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.text.similarity import jaccard, order_similarity, text_similarity

LETTERS = st.lists(st.sampled_from("abcd"), max_size=8)


def test_sets_are_alike_by_what_they_share():
    assert jaccard({1, 2, 3}, {2, 3, 4}) == 0.5
    assert jaccard({1}, {1}) == 1
    assert jaccard({1}, {2}) == 0


def test_two_empty_things_are_not_alike_since_nothing_shows_it():
    assert jaccard(set(), set()) == order_similarity([], []) == text_similarity("", "the") == 0


def test_texts_are_alike_by_their_terms_not_their_order_or_endings():
    assert text_similarity("run the migrations", "Migration: running!") == 1
    assert text_similarity("run migrations", "deploy the site") == 0


@pytest.mark.parametrize(
    ("left", "right", "length"), [("abcbdab", "bdcaba", 4), ("abc", "abc", 3), ("abc", "cba", 1), ("abc", "", 0)]
)
def test_the_longest_shared_subsequence_is_measured(left, right, length):
    assert order_similarity(left, right) * (len(left) + len(right)) / 2 == pytest.approx(length)


def test_order_matters():
    assert order_similarity("abc", "abc") == 1
    assert order_similarity("abcd", "dcba") == 0.25
    assert order_similarity("abc", "abcd") == pytest.approx(6 / 7)


@given(LETTERS, LETTERS)
def test_every_measure_is_symmetric_and_between_nothing_and_all(left, right):
    for measured, mirrored in (
        (order_similarity(left, right), order_similarity(right, left)),
        (jaccard(set(left), set(right)), jaccard(set(right), set(left))),
        (text_similarity(" ".join(left), " ".join(right)), text_similarity(" ".join(right), " ".join(left))),
    ):
        assert measured == mirrored
        assert 0 <= measured <= 1


@given(LETTERS, LETTERS, LETTERS)
def test_a_sequence_is_wholly_found_in_one_that_contains_it(before, inside, after):
    around = before + inside + after
    assert order_similarity(inside, around) * (len(inside) + len(around)) / 2 == pytest.approx(len(inside))
