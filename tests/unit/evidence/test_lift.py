"""Lift: only drawn runs, verified, one per session; not known before there are enough; and its intervals."""

from __future__ import annotations

import math
import random
from collections.abc import Iterable
from typing import Any

import pytest

from tacit.domain.evidence import Effort, Evidence, Following, Grade, Outcome
from tacit.evidence.control_runs import (
    LEAST_RUNS,
    Arms,
    Lift,
    LiftDifference,
    Measure,
    by_key,
    lift,
    mean_difference,
    proportion_difference,
)
from tacit.evidence.statistics import student
from tests.unit.making import later


def run(number: int, *, works: bool, control: bool = False, **more: Any) -> Evidence:
    reported: dict[str, Any] = {"share": 0.3, "grade": Grade.MACHINE, "use_id": f"u{number}"} | more
    outcome = Outcome.SUCCESS if works else Outcome.FAILURE
    return Evidence(version_id="v", outcome=outcome, at=later(number), control=control, **reported)


def runs(shown: tuple[int, int], held_back: tuple[int, int], *, start: int = 0, **more: Any) -> list[Evidence]:
    """So many successes of so many runs, with the skill and without it."""
    arms = [(works < good, control) for control, (good, of) in enumerate((shown, held_back)) for works in range(of)]
    return [run(start + at, works=works, control=bool(control), **more) for at, (works, control) in enumerate(arms)]


def success(found: Lift) -> tuple[float, float, float]:
    assert found.success is not None
    return found.success.value, found.success.low, found.success.high


def test_a_lift_is_the_difference_of_the_two_arms() -> None:
    found = lift(runs((56, 70), (48, 80)))
    assert (found.shown, found.held_back) == (70, 80)
    assert success(found) == pytest.approx((0.2, 0.0528, 0.3382), abs=1e-4)
    assert found.success is not None
    assert found.success.low > 0


@pytest.mark.parametrize("arms", [((9, 9), (5, 40)), ((20, 40), (4, 9))])
def test_nothing_is_claimed_before_both_arms_have_enough_runs(arms: tuple[tuple[int, int], tuple[int, int]]) -> None:
    found = lift(runs(*arms))
    assert found.success is None
    assert found.differences == {}
    assert min(found.shown, found.held_back) == LEAST_RUNS - 1
    assert lift([]) == Lift()


def test_runs_without_a_lot_and_without_a_verifier_do_not_count() -> None:
    drawn = runs((12, 20), (8, 20))
    more = [
        *runs((30, 30), (0, 0), start=100, share=0.0),
        *runs((30, 30), (0, 30), start=200, grade=Grade.SELF),
        Evidence(version_id="v", outcome=Outcome.UNKNOWN, grade=Grade.MACHINE, at=later(1), use_id="x", share=0.3),
    ]
    assert lift([*drawn, *more]) == lift(drawn)


def test_a_run_stays_where_the_lot_put_it_whether_it_followed_or_not() -> None:
    plain = runs((12, 20), (8, 20))
    followed = [
        run(n, works=row.outcome is Outcome.SUCCESS, control=row.control, following=Following.IGNORED)
        for n, row in enumerate(plain)
    ]
    assert lift(followed) == lift(plain)


def test_one_run_is_one_row_and_the_best_graded_latest_one_holds() -> None:
    rows = runs((12, 20), (8, 20))
    again = run(0, works=False, grade=Grade.HUMAN, by="ann")
    assert lift([*rows, again]) == lift(rows), "a person does not outweigh a machine that looked"
    later_on = Evidence(
        version_id="v", outcome=Outcome.FAILURE, grade=Grade.MACHINE, at=later(900), use_id="u0", share=0.3
    )
    assert success(lift([*rows, later_on]))[0] == pytest.approx(11 / 20 - 8 / 20)


def test_of_a_session_only_the_first_run_counts_since_its_lot_was_drawn_once() -> None:
    rows = runs((12, 24), (8, 24))
    found = lift(rows, session=lambda row: f"s{int(row.use_id[1:]) // 2}")
    assert (found.shown, found.held_back) == (12, 12)


def test_a_share_that_changes_with_time_shifts_nothing() -> None:
    """Early and hard: half held back. Late and easy: a tenth. The skill does nothing."""
    rows = [*runs((20, 100), (20, 100), share=0.5), *runs((162, 180), (18, 20), start=1000, share=0.1)]
    value, low, high = success(lift(rows))
    assert value == pytest.approx(0, abs=1e-9)
    assert low < 0 < high


def test_models_are_compared_with_themselves() -> None:
    rows = [*runs((9, 10), (36, 40), model="large"), *runs((8, 40), (2, 10), start=500, model="small")]
    assert success(lift(rows))[0] == pytest.approx(0, abs=1e-9)


def test_a_partial_success_is_half_of_one() -> None:
    rows = runs((0, 20), (0, 20))
    half = [
        Evidence(version_id="v", outcome=Outcome.PARTIAL, grade=Grade.MACHINE, at=r.at, use_id=r.use_id, share=r.share)
        for r in rows[:20]
    ]
    assert success(lift([*half, *rows[20:]]))[0] == pytest.approx(0.5)


def efforts(factor: float, count: int, *, control: bool, start: int) -> Iterable[Evidence]:
    dice = random.Random(start)
    for number in range(start, start + count):
        taken = Effort(
            steps=max(1, round(factor * dice.lognormvariate(3, 0.3))),
            retries=dice.randrange(3),
            tokens=round(factor * dice.lognormvariate(9, 0.5)),
        )
        yield run(number, works=True, control=control, effort=taken)


def test_steps_and_tokens_are_reported_as_a_part_of_what_runs_without_it_take() -> None:
    found = lift([*efforts(0.5, 80, control=False, start=0), *efforts(1.0, 80, control=True, start=1000)])
    steps, tokens, retries = (found.differences[m] for m in (Measure.STEPS, Measure.TOKENS, Measure.RETRIES))
    assert steps.low < -0.5 < steps.high
    assert tokens.low < -0.5 < tokens.high
    assert steps.high < -0.3
    assert retries.low < 0 < retries.high


def test_unmeasured_values_are_missing_and_the_rest_is_reported() -> None:
    found = lift(runs((15, 20), (10, 20)))
    assert set(found.differences) == {Measure.SUCCESS}
    unmeasured = lift([*efforts(1, 20, control=False, start=0), *runs((0, 0), (10, 20), start=900)])
    assert Measure.TOKENS not in unmeasured.differences


def test_each_model_is_measured_by_its_own_runs_alone() -> None:
    many = runs((80, 100), (50, 100), model="large")
    few = runs((1, 3), (2, 3), start=900, model="rare")
    found = by_key([*many, *few], lambda row: row.model)
    assert found["large"] == lift(many)
    assert (found["rare"].shown, found["rare"].held_back) == (3, 3)
    assert found["rare"].success is None


def test_no_model_is_reported_before_it_has_enough_runs() -> None:
    rows = [*runs((5, 6), (1, 3), model="a"), *runs((5, 6), (1, 3), start=50, model="b")]
    assert not any(each.success for each in by_key(rows, lambda row: row.model).values())


def test_order_of_the_rows_does_not_matter() -> None:
    rows = [*runs((12, 20), (8, 20), model="a"), *runs((5, 20), (8, 20), start=70, share=0.5)]
    mixed = rows.copy()
    random.Random(1).shuffle(mixed)
    assert lift(mixed) == lift(rows)


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
    assert found.high - found.value == pytest.approx(student(0.975, free) * error)


def test_means_of_runs_that_are_all_alike_have_no_width_and_single_runs_have_no_interval() -> None:
    same = mean_difference([Arms(shown=(2.0, 2.0), held_back=(5.0, 5.0))])
    assert same == LiftDifference(value=-3.0, low=-3.0, high=-3.0)
    assert mean_difference([Arms(shown=(2.0,), held_back=(5.0, 6.0))]) is None


@pytest.mark.parametrize(("free", "known"), [(3, 3.182), (5, 2.571), (9, 2.262), (30, 2.042), (1e9, 1.960)])
def test_students_quantile_is_right_to_the_second_place(free: float, known: float) -> None:
    assert student(0.975, free) == pytest.approx(known, abs=0.005)
