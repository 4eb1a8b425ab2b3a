"""Intervals, tests and sizes where measurements of one group hang together; corrections for many comparisons."""

from __future__ import annotations

import math
import random
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.statistics import clustered, clustered_share, detectable, holm, paired_interval, sign_flip, student

THIRDS = st.lists(st.integers(min_value=-6, max_value=6).map(lambda n: n / 3), min_size=1, max_size=9)


def drawn(groups: int, *, seed: int = 1, effect: float = 0.0) -> list[tuple[float, float]]:
    dice = random.Random(seed)
    return [(dice.gauss(effect, 0.4) * 2, 2.0) for _ in range(groups)]


def test_the_interval_of_a_difference_holds_it_and_is_the_same_each_time():
    totals = drawn(40, effect=0.2)
    found = paired_interval(totals, widest=1.0)
    assert found == paired_interval(totals, widest=1.0)
    assert found.low < found.value < found.high
    assert found.value == pytest.approx(sum(total for total, _ in totals) / 80)
    assert found.n == 40


def test_more_groups_give_a_narrower_interval():
    few, many = paired_interval(drawn(30)), paired_interval(drawn(270))
    assert many.high - many.low < (few.high - few.low) / 2


def test_groups_that_hang_together_count_as_groups_and_not_as_measurements():
    once = [(float(at % 2), 1.0) for at in range(40)]
    ten_times = [(10 * total, 10.0) for total, _ in once]
    first, second = paired_interval(once), paired_interval(ten_times)
    assert second.high - second.low == pytest.approx(first.high - first.low)


def test_where_no_group_differs_a_difference_is_not_ruled_out_altogether():
    found = paired_interval([(0.0, 1.0)] * 30, widest=1.0)
    assert found.value == 0
    assert 0.05 < found.high < 0.2
    assert found.low == -found.high


def test_counts_that_never_differ_have_no_scale_to_imagine_a_difference_on():
    found = paired_interval([(0.0, 1.0)] * 30)
    assert (found.low, found.high) == (0.0, 0.0)


def test_an_interval_of_shares_stays_within_what_shares_can_differ_by():
    found = paired_interval([(1.0, 1.0)] * 4 + [(0.0, 1.0)], widest=1.0)
    assert found.high == 1.0


def test_one_group_rules_nothing_out():
    assert clustered([(3.0, 2.0)]).high == math.inf


def test_a_share_of_everything_is_not_certain():
    found = clustered_share([(1.0, 1.0)] * 30)
    assert found.value == found.high == 1.0
    assert 0.8 < found.low < 0.95


def test_a_share_is_less_certain_where_groups_are_all_or_nothing():
    mixed = clustered_share([(1.0, 2.0), (1.0, 2.0), (2.0, 2.0), (0.0, 2.0)] * 10)
    apart = clustered_share([(2.0, 2.0), (0.0, 2.0)] * 20)
    assert mixed.value == apart.value == 0.5
    assert mixed.high - mixed.low < apart.high - apart.low


@pytest.mark.parametrize("totals", [[], [(1.0, 0.0)]])
def test_groups_without_measurements_are_refused(totals):
    with pytest.raises(ValueError, match="measurements"):
        clustered(totals)


@given(THIRDS)
def test_signs_are_counted_as_if_every_choice_was_tried(totals):
    seen = abs(sum(totals)) - 1e-9
    tried = [
        abs(sum(s * t for s, t in zip(signs, totals, strict=True))) for signs in product((1, -1), repeat=len(totals))
    ]
    assert sign_flip(totals) == pytest.approx(sum(each >= seen for each in tried) / len(tried))


def test_signs_that_cannot_be_counted_are_drawn_to_the_same_end():
    dice = random.Random(4)
    whole = [float(dice.randint(-6, 12)) for _ in range(40)]
    counted = sign_flip(whole)
    drawn_ = sign_flip([each * math.pi for each in whole])
    assert 0.0001 < counted < 0.5
    assert drawn_ == pytest.approx(counted, abs=0.02)


def test_a_drawn_chance_is_never_nothing():
    assert sign_flip([math.pi + at / 97 for at in range(60)], rounds=500) == pytest.approx(1 / 501)


def test_nothing_that_differs_shows_nothing():
    assert sign_flip([0.0, 0.0]) == sign_flip([]) == 1.0


def test_holm_multiplies_the_smallest_by_their_number_and_never_changes_the_order():
    assert holm({"a": 0.01, "b": 0.04, "c": 0.03}) == pytest.approx({"a": 0.03, "b": 0.06, "c": 0.06})


def test_a_corrected_chance_is_at_most_certain():
    assert holm({"a": 0.6, "b": 0.9}) == {"a": 1.0, "b": 1.0}


def test_four_times_the_groups_detect_half_the_difference():
    few, many = detectable(drawn(50)), detectable(drawn(50) * 4)
    assert many == pytest.approx(few / 2, rel=0.05)


def test_more_comparisons_need_a_larger_difference():
    assert detectable(drawn(60), comparisons=7) > 1.2 * detectable(drawn(60))


@pytest.mark.parametrize(("free", "quantile"), [(5, 2.5706), (10, 2.2281), (29, 2.0452), (119, 1.9801)])
def test_known_quantiles_of_student(free, quantile):
    assert student(0.975, free) == pytest.approx(quantile, abs=0.003)
