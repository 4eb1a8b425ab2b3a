"""Signals in one unit: what each adds, what chance takes away, and how likely it is that something fits."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.recall.signals import (
    CHANCE_NATS_RANGE,
    PROMINENCE_MIN,
    SCALE,
    SHORT_QUERY_TERMS,
    WEIGHTS,
    beyond_chance,
    chance_nats,
    combined_score,
    contributions,
    match_score,
    relevance_of,
)

SIGNALS = st.dictionaries(st.sampled_from([*WEIGHTS, "relevance", "cues", "signature"]), st.floats(0, 200))


@given(SIGNALS)
def test_what_the_signals_carried_adds_up_to_the_evidence(signals):
    parts = contributions(signals)
    assert sum(parts.values()) == pytest.approx(match_score(signals))
    assert list(parts.values()) == sorted(parts.values(), reverse=True)
    assert 0 not in parts.values()
    assert parts.keys() <= {name for name, value in signals.items() if value}


@given(SIGNALS, st.sampled_from(sorted(WEIGHTS)), st.floats(0.001, 50))
def test_more_of_any_signal_is_more_evidence_and_no_lower_score(signals, name, more):
    signals = {**signals, "prominence": max(PROMINENCE_MIN, signals.get("prominence", 0.0))}
    stronger = {**signals, name: signals.get(name, 0.0) + more}
    assert match_score(stronger) > match_score(signals)
    assert combined_score(stronger) >= combined_score(signals)
    assert 0 <= combined_score(signals) <= 1


def test_one_unit_of_a_signal_is_worth_its_weight_in_nats():
    for name, weight in WEIGHTS.items():
        assert match_score({name: 1.0}) == pytest.approx(weight)
    assert combined_score({"meaning": SCALE / WEIGHTS["meaning"]}) == pytest.approx(1 - math.exp(-1))


@given(st.floats(0, 500), st.sampled_from([CHANCE_NATS_RANGE[0], 20.0, CHANCE_NATS_RANGE[1]]))
def test_few_nats_by_words_may_be_chance_and_many_are_not(words, by_chance):
    counted = beyond_chance(words, by_chance)
    assert 0 <= counted <= words
    assert beyond_chance(by_chance, by_chance) == pytest.approx(by_chance / 2)
    assert beyond_chance(100 * by_chance, by_chance) > 0.98 * 100 * by_chance
    assert beyond_chance(2 * words, by_chance) >= 2 * counted  # two words are less of a chance than one


def test_a_short_query_finds_more_by_chance_than_a_long_one():
    least, most = CHANCE_NATS_RANGE
    found = [chance_nats(asked) for asked in range(200)]
    assert found == sorted(found, reverse=True)
    assert found[0] == found[1] == found[SHORT_QUERY_TERMS] == most
    assert found[-1] == least


def test_signals_that_only_decide_whether_it_fits_add_nothing():
    assert contributions({"relevance": 1.0, "signature": 0.7, "cues": 2.0}) == {}
    assert match_score({}) == combined_score({}) == 0.0


@given(st.floats(0, 1), st.floats(0, 500), st.none() | st.floats(-1, 1))
def test_relevance_is_a_probability_that_grows_with_all_it_rests_on(share, words, meaning):
    is_relevant = relevance_of(share, words, meaning=meaning)
    assert 0 <= is_relevant <= 1
    assert relevance_of(min(1.0, share + 0.1), words, meaning=meaning) >= is_relevant
    assert relevance_of(share, words + 1, meaning=meaning) >= is_relevant
    assert (
        relevance_of(share, words, meaning=(-1.0 if meaning is None else meaning) + 0.1) >= is_relevant
        or meaning is None
    )


def test_without_a_shared_word_and_without_meaning_nothing_is_likely():
    assert relevance_of(0.0, 0.0) == 0.0
    assert relevance_of(0.0, 0.0, meaning=-1.0) < 0.001
    assert relevance_of(0.0, 0.0, meaning=0.1) < 0.05


def test_close_meaning_or_many_shared_words_make_it_likely_and_both_together_more():
    word_signals, by_meaning = relevance_of(0.9, 60.0), relevance_of(0.0, 0.0, meaning=0.7)
    assert word_signals > 0.8
    assert by_meaning > 0.8
    assert relevance_of(0.9, 60.0, meaning=0.7) > max(word_signals, by_meaning)
