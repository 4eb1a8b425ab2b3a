"""Intervals of proportions, sequential tests, fading counts and fair shares."""

from __future__ import annotations

import math
import random
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.evidence.statistics import BETS, Drop, EProcess, Faded, capped, student, wilson

COUNT = st.floats(min_value=0, max_value=1e6)


def test_without_trials_everything_is_possible():
    assert wilson(0, 0) == (0.0, 1.0)


@pytest.mark.parametrize(
    ("successes", "trials", "low", "high"),
    [
        (1, 1, 0.2699, 1.0),
        (0, 1, 0.0, 0.7301),
        (8, 10, 0.5408, 0.9314),
        (47, 50, 0.8591, 0.9758),
        (50, 100, 0.4188, 0.5812),
    ],
)
def test_known_values_of_the_ninety_percent_interval(successes, trials, low, high):
    assert wilson(successes, trials) == pytest.approx((low, high), abs=1e-4)


def test_a_wider_quantile_gives_a_wider_interval():
    narrow, wide = wilson(5, 10), wilson(5, 10, z=2.576)
    assert wide[0] < narrow[0]
    assert wide[1] > narrow[1]


@pytest.mark.parametrize(("successes", "trials"), [(2, 1), (-1, 1)])
def test_impossible_counts_are_refused(successes, trials):
    with pytest.raises(ValueError, match="successes"):
        wilson(successes, trials)


@given(COUNT, COUNT)
def test_the_interval_holds_the_share_and_stays_within_bounds(successes, failures):
    low, high = wilson(successes, successes + failures)
    assert 0 <= low <= high <= 1
    if successes + failures > 1e-6:
        assert low - 1e-9 <= successes / (successes + failures) <= high + 1e-9


@given(COUNT, COUNT, st.floats(min_value=1e-3, max_value=1e3))
def test_another_failure_never_raises_a_bound_and_another_success_never_lowers_one(successes, failures, more):
    before = wilson(successes, successes + failures)
    worse = wilson(successes, successes + failures + more)
    better = wilson(successes + more, successes + failures + more)
    assert worse[0] <= before[0] + 1e-9
    assert worse[1] <= before[1] + 1e-9
    assert better[0] >= before[0] - 1e-9
    assert better[1] >= before[1] - 1e-9


# --- counts that fade -----------------------------------------------------------------------------------------------


def test_an_older_result_weighs_half_after_so_many_later_ones():
    counted = Faded(10)
    counted.add(1.0)
    for _ in range(10):
        counted.add(0.0)
    assert counted.successes == pytest.approx(0.5)
    assert counted.trials == pytest.approx((1 - 0.5 ** (11 / 10)) / (1 - 0.5 ** (1 / 10)))


def test_parts_of_a_result_weigh_as_much_as_the_whole():
    whole, parts = Faded(30), Faded(30)
    for value in (1.0, 0.0, 1.0):
        whole.add(value)
        for _ in range(4):
            parts.add(value, 0.25)
    assert (parts.successes, parts.trials) == pytest.approx((whole.successes, whole.trials))
    assert parts.interval() == pytest.approx(wilson(whole.successes, whole.trials))


def test_without_results_the_interval_is_everything():
    assert Faded(30).interval() == (0.0, 1.0)


# --- betting against a mean -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("line", "chance"), [(0.7, 0.7), (0.7, 0.9), (0.3, 0.3), (0.5, 0.8)])
def test_money_does_not_grow_on_average_where_the_mean_is_at_least_the_line(line, chance):
    expected = 0.0
    for ends in product((0, 1), repeat=8):  # every way that eight results can come
        held = EProcess(line)
        grown = [held.add(float(end)) for end in ends][-1]
        expected += grown * math.prod(chance if end else 1 - chance for end in ends)
    assert expected <= 1 + 1e-9
    if chance == line:
        assert expected == pytest.approx(1)


def test_one_bet_is_what_it_says():
    held = EProcess(0.7, bets=[0.3])
    assert held.add(0.0) == pytest.approx(1 + 1.0 * 0.7)
    assert held.add(1.0) == pytest.approx(1.7 * (1 - 0.3))
    assert held.add(0.5, 0.5) == pytest.approx(1.7 * 0.7 * (1 + 0.5 * 0.2))
    assert held.peak == pytest.approx(1.7)
    both = EProcess(0.7, bets=[0.3, 0.6])
    assert both.add(0.0) == pytest.approx((1.7 + 2.4) / 2)
    assert EProcess(0.7).add(0.7) == pytest.approx(1), "exactly at the line nothing is won"


def test_failures_are_found_out_and_never_overflow():
    held = EProcess(0.7)
    grown = [held.add(0.0) for _ in range(5000)]
    assert grown[3] < 20 < grown[10]
    assert grown == sorted(grown)
    assert held.peak == grown[-1] > 1e200
    assert math.isfinite(held.peak)


def test_the_peak_is_kept():
    held = EProcess(0.7)
    for _ in range(10):
        held.add(0.0)
    peak = held.peak
    assert [held.add(1.0) for _ in range(50)][-1] < peak == held.peak


def test_a_result_without_weight_moves_nothing():
    held = EProcess(0.7)
    assert held.add(0.0, 0.0) == held.add(1.0, 0.0) == 1.0


@pytest.mark.parametrize(("line", "bets"), [(0.0, BETS), (1.0, BETS), (0.7, ()), (0.7, (1.0,)), (0.7, (0.0,))])
def test_lines_and_bets_that_could_ruin_are_refused(line, bets):
    with pytest.raises(ValueError, match="between 0 and 1"):
        EProcess(line, bets=bets)


@pytest.mark.parametrize(("value", "weight"), [(-0.1, 1), (1.1, 1), (0.5, 1.1), (0.5, -0.1)])
def test_values_outside_of_what_was_bet_on_are_refused(value, weight):
    with pytest.raises(ValueError, match="between 0 and 1"):
        EProcess(0.7).add(value, weight)


def test_peeking_after_every_value_is_allowed():
    dice, wrong = random.Random(1), 0
    for _ in range(1000):
        held = EProcess(0.7)
        for _ in range(100):
            held.add(float(dice.random() < 0.7))
        wrong += held.peak >= 20
    assert wrong <= 50


# --- a sudden drop --------------------------------------------------------------------------------------------------


def test_doubt_rises_with_failures_and_falls_with_successes_but_not_below_nothing():
    held = Drop(usual=0.8, imagined=10)
    assert held.add(1.0) == 0.0
    mean_before = 9 / 11
    assert held.add(0.0) == pytest.approx(math.log((1 - mean_before / 2) / (1 - mean_before)))
    before = held.doubt
    assert held.add(1.0) == pytest.approx(before - math.log(2))
    assert (held.before, held.under) == ((1.0, 1.0), (1.0, 2.0))
    held.add(1.0)
    held.add(1.0)
    assert (held.doubt, held.before, held.under) == (0.0, (4.0, 5.0), (0.0, 0.0))


def test_the_better_it_was_the_more_a_failure_says():
    good, middling = Drop(), Drop()
    for number in range(50):
        good.add(1.0)
        middling.add(float(number % 4 > 0))
    while middling.doubt:
        middling.add(1.0)
    assert good.add(0.0) > middling.add(0.0) > 0


def test_half_a_result_is_half_the_doubt():
    whole, half = Drop(), Drop()
    assert half.add(0.0, 0.5) == pytest.approx(whole.add(0.0) / 2)


def test_only_imagined_values_at_first():
    assert Drop(usual=0.5, imagined=4).add(0.0) == pytest.approx(math.log(0.75 / 0.5))


# --- fair shares ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("amounts", "expected"),
    [
        ({}, {}),
        ({"a": 7.0}, {"a": 7.0}),
        ({"a": 9.0, "b": 1.0}, {"a": 1.0, "b": 1.0}),
        ({"a": 9.0, "b": 2.0, "c": 1.0}, {"a": 1.0, "b": 1.0, "c": 1.0}),
        ({"a": 2.0, "b": 2.0, "c": 2.0}, {"a": 2.0, "b": 2.0, "c": 2.0}),
        ({"a": 9.0, "b": 2.0, "c": 1.0, "d": 1.0}, {"a": 2.0, "b": 2.0, "c": 1.0, "d": 1.0}),
        ({"a": 0.0, "b": 0.0}, {"a": 0.0, "b": 0.0}),
    ],
)
def test_no_principal_has_more_than_a_third_or_an_equal_share(amounts, expected):
    assert capped(amounts, share=1 / 3) == pytest.approx(expected)


def test_what_is_free_is_not_cut():
    assert capped({"a": 9.0, "b": 1.0}, share=1 / 3, free=5) == {"a": 5.0, "b": 1.0}
    assert capped({"a": 3.0, "b": 1.0}, share=1 / 3, free=5) == {"a": 3.0, "b": 1.0}


@given(st.lists(st.floats(min_value=0.01, max_value=100), min_size=1, max_size=12))
def test_shares_hold_after_cutting_and_small_ones_are_left_alone(amounts):
    cut = capped(dict(enumerate(amounts)), share=1 / 3)
    most = max(1 / 3, 1 / len(amounts)) * sum(cut.values())
    assert all(each <= most * (1 + 1e-6) for each in cut.values())
    assert all(cut[at] <= amount for at, amount in enumerate(amounts))
    limit = max(cut.values())
    assert all(cut[at] == pytest.approx(min(amount, limit)) for at, amount in enumerate(amounts)), "as little as needed"


@pytest.mark.parametrize(("free", "quantile"), [(5, 2.5706), (10, 2.2281), (29, 2.0452), (119, 1.9801)])
def test_known_quantiles_of_student(free, quantile):
    assert student(0.975, free) == pytest.approx(quantile, abs=0.003)
