"""Differences of two arms: published intervals, strata that do not mislead, small and empty arms."""

from __future__ import annotations

import math

import pytest

from tacit.evidence.lift import (
    Arms,
    EstimateInterval,
    mean_difference,
    proportion_difference,
    scatter,
    shrunk_estimate,
    t_95,
)


def counted(shown: int, of_shown: int, held_back: int, of_held_back: int) -> Arms:
    return Arms(
        shown=(1.0,) * shown + (0.0,) * (of_shown - shown),
        held_back=(1.0,) * held_back + (0.0,) * (of_held_back - held_back),
    )


@pytest.mark.parametrize(
    ("arms", "low", "high"),
    [
        (counted(56, 70, 48, 80), 0.0528, 0.3382),
        (counted(9, 10, 3, 10), 0.1700, 0.8406),
        (counted(5, 56, 0, 29), -0.0326, 0.1933),
        (counted(10, 10, 0, 20), 0.7156, 1.0),
    ],
)
def test_proportions_have_the_published_score_interval(arms: Arms, low: float, high: float) -> None:
    """The values are those of Newcombe's comparison of eleven methods, table II, for Miettinen and Nurminen's."""
    found = proportion_difference([arms])
    assert found is not None
    assert (round(found.low, 4), round(found.high, 4)) == (low, high)


def test_the_same_data_with_the_arms_exchanged_give_the_mirrored_interval() -> None:
    one, other = proportion_difference([counted(12, 30, 5, 20)]), proportion_difference([counted(5, 20, 12, 30)])
    assert one is not None
    assert other is not None
    assert (one.low, one.high) == pytest.approx((-other.high, -other.low), abs=1e-6)


@pytest.mark.parametrize("arms", [counted(10, 10, 10, 10), counted(0, 10, 0, 10)])
def test_arms_without_any_variation_still_leave_room_for_a_difference(arms: Arms) -> None:
    found = proportion_difference([arms])
    assert found is not None
    assert found.value == 0
    assert -0.35 < found.low < -0.2
    assert 0.2 < found.high < 0.35


def test_strata_that_were_drawn_unevenly_do_not_mislead() -> None:
    """Hard tasks were mostly held back, easy ones mostly shown: taken together the skill would seem to help by far."""
    strata = [counted(4, 20, 16, 80), counted(72, 80, 18, 20)]
    together = counted(76, 100, 34, 100)
    apart, misled = proportion_difference(strata), proportion_difference([together])
    assert apart is not None
    assert misled is not None
    assert apart.value == pytest.approx(0)
    assert apart.low < 0 < apart.high
    assert misled.low > 0.25


def test_a_stratum_with_one_empty_arm_tells_nothing() -> None:
    whole = counted(9, 12, 4, 12)
    assert proportion_difference([whole, counted(5, 5, 0, 0)]) == proportion_difference([whole])
    assert proportion_difference([counted(5, 5, 0, 0)]) is None
    assert proportion_difference([]) is None
    assert mean_difference([]) is None


def test_means_have_welchs_interval() -> None:
    arms = Arms(shown=(3.0, 4.0, 5.0, 4.0), held_back=(6.0, 9.0, 7.0, 8.0, 10.0))
    found = mean_difference([arms])
    assert found is not None
    assert found.value == pytest.approx(-4.0)
    error = math.sqrt((2 / 3) / 4 + 2.5 / 5)
    free = (1 / 6 + 0.5) ** 2 / ((1 / 6) ** 2 / 3 + 0.5**2 / 4)
    assert found.high - found.value == pytest.approx(t_95(free) * error)


def test_means_of_runs_that_are_all_alike_have_no_width_and_single_runs_have_no_interval() -> None:
    same = mean_difference([Arms(shown=(2.0, 2.0), held_back=(5.0, 5.0))])
    assert same == EstimateInterval(value=-3.0, low=-3.0, high=-3.0)
    assert mean_difference([Arms(shown=(2.0,), held_back=(5.0, 6.0))]) is None


@pytest.mark.parametrize(("free", "known"), [(3, 3.182), (5, 2.571), (9, 2.262), (30, 2.042), (1e9, 1.960)])
def test_students_quantile_is_right_to_the_second_place(free: float, known: float) -> None:
    assert t_95(free) == pytest.approx(known, abs=0.005)


def test_a_key_of_which_little_is_known_is_pulled_to_the_others() -> None:
    others = EstimateInterval(value=0.2, low=0.15, high=0.25)
    sparse, dense = (
        EstimateInterval(value=-0.4, low=-1.0, high=0.2),
        EstimateInterval(value=-0.4, low=-0.45, high=-0.35),
    )
    assert shrunk_estimate(sparse, others, spread=0.1, count=3).value > 0
    assert shrunk_estimate(dense, others, spread=0.1, count=3).value == pytest.approx(-0.4, abs=0.05)
    unknown = shrunk_estimate(None, others, spread=0.1, count=3)
    assert unknown.value == pytest.approx(0.2)
    assert unknown.high - unknown.low > 2 * (others.high - others.low)


def test_keys_scatter_only_beyond_what_chance_explains() -> None:
    near = [EstimateInterval(value=v, low=v - 0.2, high=v + 0.2) for v in (0.1, 0.15, 0.05)]
    far = [EstimateInterval(value=v, low=v - 0.05, high=v + 0.05) for v in (-0.4, 0.4)]
    assert scatter(near) == 0
    assert scatter(far) == pytest.approx(0.56, abs=0.02)
    assert scatter(near[:1]) == 0
