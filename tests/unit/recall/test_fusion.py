"""Signals in one unit: what each adds, what chance takes away, and how likely it is that something fits."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.recall.fusion import (
    CHANCES,
    SCALE,
    SHORT,
    WEIGHTS,
    beyond_chance,
    carried,
    chance,
    evidence,
    relevance,
    score,
    slope,
)

SIGNALS = st.dictionaries(st.sampled_from([*WEIGHTS, "relevance", "cues", "signature"]), st.floats(0, 200))


@given(SIGNALS)
def test_what_the_signals_carried_adds_up_to_the_evidence(signals):
    parts = carried(signals)
    assert sum(parts.values()) == pytest.approx(evidence(signals))
    assert list(parts.values()) == sorted(parts.values(), reverse=True)
    assert 0 not in parts.values()
    assert parts.keys() <= {name for name, value in signals.items() if value}


@given(SIGNALS, st.sampled_from(sorted(WEIGHTS)), st.floats(0.001, 50))
def test_more_of_any_signal_is_more_evidence_and_no_lower_score(signals, name, more):
    stronger = {**signals, name: signals.get(name, 0.0) + more}
    assert evidence(stronger) > evidence(signals)
    assert score(stronger) >= score(signals)
    assert 0 <= score(signals) <= 1


def test_one_unit_of_a_signal_is_worth_its_weight_in_nats():
    for name, weight in WEIGHTS.items():
        assert evidence({name: 1.0}) == pytest.approx(weight)
    assert score({"meaning": SCALE / WEIGHTS["meaning"]}) == pytest.approx(1 - math.exp(-1))


@given(st.floats(0, 500), st.sampled_from([CHANCES[0], 20.0, CHANCES[1]]))
def test_few_nats_by_words_may_be_chance_and_many_are_not(words, by_chance):
    counted = beyond_chance(words, by_chance)
    assert 0 <= counted <= words
    assert beyond_chance(by_chance, by_chance) == pytest.approx(by_chance / 2)
    assert beyond_chance(100 * by_chance, by_chance) > 0.98 * 100 * by_chance
    assert beyond_chance(2 * words, by_chance) >= 2 * counted  # two words are less of a chance than one


def test_a_short_query_finds_more_by_chance_than_a_long_one():
    least, most = CHANCES
    found = [chance(asked) for asked in range(200)]
    assert found == sorted(found, reverse=True)
    assert found[0] == found[1] == found[SHORT] == most
    assert found[-1] == least


@given(st.floats(0, 300), st.floats(0.01, 5), st.sampled_from(CHANCES))
def test_the_slope_is_how_fast_the_evidence_by_words_grows(words, more, by_chance):
    grown = (beyond_chance(words + more, by_chance) - beyond_chance(words, by_chance)) / more
    assert slope(words, by_chance) - 1e-6 <= grown <= slope(words + more, by_chance) + 1e-6
    assert 0 <= slope(words, by_chance) <= 1


def test_signals_that_only_decide_whether_it_fits_add_nothing():
    assert carried({"relevance": 1.0, "signature": 0.7, "cues": 2.0}) == {}
    assert evidence({}) == score({}) == 0.0


@given(st.floats(0, 1), st.floats(0, 500), st.none() | st.floats(-1, 1))
def test_relevance_is_a_probability_that_grows_with_all_it_rests_on(share, words, meaning):
    fits = relevance(share, words, meaning=meaning)
    assert 0 <= fits <= 1
    assert relevance(min(1.0, share + 0.1), words, meaning=meaning) >= fits
    assert relevance(share, words + 1, meaning=meaning) >= fits
    assert relevance(share, words, meaning=(-1.0 if meaning is None else meaning) + 0.1) >= fits or meaning is None


def test_without_a_shared_word_and_without_meaning_nothing_is_likely():
    assert relevance(0.0, 0.0) == 0.0
    assert relevance(0.0, 0.0, meaning=-1.0) < 0.001
    assert relevance(0.0, 0.0, meaning=0.1) < 0.05


def test_close_meaning_or_many_shared_words_make_it_likely_and_both_together_more():
    by_words, by_meaning = relevance(0.9, 60.0), relevance(0.0, 0.0, meaning=0.7)
    assert by_words > 0.8
    assert by_meaning > 0.8
    assert relevance(0.9, 60.0, meaning=0.7) > max(by_words, by_meaning)
