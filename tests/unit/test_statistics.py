"""The interval of a proportion."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.statistics import wilson

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
    with pytest.raises(ValueError, match="between 0 and trials"):
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
