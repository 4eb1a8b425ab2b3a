"""Intervals, tests and sizes where measurements of one group hang together; corrections for many comparisons."""

from __future__ import annotations

import math
import random
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.evidence.statistics import (
    clustered,
    clustered_share,
    detectable,
    holm,
    paired_interval,
    sign_flip,
    student,
)

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


def test_differences_too_small_to_have_parts_are_drawn():
    assert sign_flip([1e-7] * 12, rounds=500) < 0.05


def test_nothing_that_differs_shows_nothing():
    assert sign_flip([0.0, 0.0]) == sign_flip([]) == 1.0


def test_holm_multiplies_the_smallest_by_their_number_and_never_changes_the_order():
    assert holm({"a": 0.01, "b": 0.04, "c": 0.03}) == pytest.approx({"a": 0.03, "b": 0.06, "c": 0.06})


def test_a_corrected_chance_is_at_most_certain():
    assert holm({"a": 0.6, "b": 0.9}) == {"a": 1.0, "b": 1.0}


def yes_and_no(up: int, down: int, groups: int, *, each: float = 1.0) -> list[tuple[float, float]]:
    """So many groups of one exercise in which an arm solves more, so many in which it solves less, and others alike."""
    return [(each, each)] * up + [(-each, each)] * down + [(0.0, each)] * (groups - up - down)


def chance_to_find(up: float, down: float, groups: int, *, level: float = 0.05) -> float:
    """Exactly: of groups that go up or down with these chances, how often the counted signs stay below the level."""
    found = 0.0
    for differing in range(groups + 1):
        here = math.comb(groups, differing) * (up + down) ** differing * (1 - up - down) ** (groups - differing)
        if here < 1e-9:
            continue
        chances = [math.comb(differing, won) for won in range(differing + 1)]
        for won in range(differing // 2 + 1, differing + 1):
            if 2 * sum(chances[won:]) <= level * 2**differing:
                share = up / (up + down)
                found += here * chances[won] * share**won * (1 - share) ** (differing - won)
    return found


def test_the_stated_difference_is_found_with_the_stated_power():
    # 240 tasks, a quarter of which differ by chance alone; the difference turns some that were alike.
    stated = detectable(yes_and_no(30, 30, 240), widest=1.0)
    assert 0.8 <= chance_to_find(0.125 + stated, 0.125, 240) < 0.9
    seven = detectable(yes_and_no(30, 30, 240), widest=1.0, comparisons=7)
    assert 0.8 <= chance_to_find(0.125 + seven, 0.125, 240, level=0.05 / 7) < 0.9


def test_data_in_which_hardly_anything_differs_promise_no_more_than_those_that_hold_the_difference():
    alike, holding = yes_and_no(2, 2, 120), yes_and_no(14, 2, 120)
    stated = detectable(alike, widest=1.0)
    assert chance_to_find(1 / 60 + stated, 1 / 60, 120) >= 0.8
    assert stated == pytest.approx(detectable(holding, widest=1.0), rel=0.1)


def test_a_difference_that_the_data_hold_already_brings_no_further_spread():
    totals = yes_and_no(80, 10, 120)  # 58 points, far more than can be missed
    textbook = (
        (student(0.975, 119) + student(0.8, 119))
        * (clustered(totals).high - clustered(totals).value)
        / student(0.975, 119)
    )
    assert detectable(totals, widest=1.0) == pytest.approx(textbook + 1 / 120, rel=0.03)


def test_a_test_of_yes_and_no_waits_for_its_next_step_and_one_of_other_numbers_does_not():
    whole = yes_and_no(80, 10, 120)
    other = [(total * math.pi, count) for total, count in whole]
    assert detectable(whole) - detectable(other) / math.pi == pytest.approx(1 / 120)


def test_counts_have_no_widest_and_are_stated_on_their_own_scale():
    totals = drawn(60)
    assert detectable([(100 * total, count) for total, count in totals]) == pytest.approx(100 * detectable(totals))


def test_more_groups_detect_a_smaller_difference():
    few, more, many = (detectable(drawn(50) * times) for times in (1, 4, 16))
    assert 0.4 < more / few < 0.5
    assert 0.4 < many / more < 0.5


def test_more_comparisons_need_a_larger_difference():
    assert detectable(drawn(60), comparisons=7) > 1.2 * detectable(drawn(60))


@pytest.mark.parametrize(("free", "quantile"), [(5, 2.5706), (10, 2.2281), (29, 2.0452), (119, 1.9801)])
def test_known_quantiles_of_student(free, quantile):
    assert student(0.975, free) == pytest.approx(quantile, abs=0.003)
