"""Lift: only runs under a lot, as they were drawn; verified, one a session; not known before there are enough."""

from __future__ import annotations

import random
from collections.abc import Iterable
from typing import Any

import pytest

from tacit.domain.evidence import Effort, Evidence, Following, Grade, Outcome
from tacit.evidence.lift import LEAST_RUNS, Lift, Measure, by_key, lift
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
    assert (found.shown, found.held_back, found.known) == (70, 80, True)
    assert success(found) == pytest.approx((0.2, 0.0528, 0.3382), abs=1e-4)
    assert found.success is not None
    assert found.success.is_clear


@pytest.mark.parametrize("arms", [((9, 9), (5, 40)), ((20, 40), (4, 9))])
def test_nothing_is_claimed_before_both_arms_have_enough_runs(arms: tuple[tuple[int, int], tuple[int, int]]) -> None:
    found = lift(runs(*arms))
    assert not found.known
    assert found.differences == {}
    assert sum(found.missing) == 1
    assert lift([]) == Lift()
    assert lift([]).missing == (LEAST_RUNS, LEAST_RUNS)


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


def test_what_nobody_measured_is_missing_and_the_rest_is_reported() -> None:
    found = lift(runs((15, 20), (10, 20)))
    assert set(found.differences) == {Measure.SUCCESS}
    unmeasured = lift([*efforts(1, 20, control=False, start=0), *runs((0, 0), (10, 20), start=900)])
    assert Measure.TOKENS not in unmeasured.differences


def test_few_runs_of_one_model_are_pulled_towards_the_others() -> None:
    many = runs((80, 100), (50, 100), model="large")
    few = runs((1, 3), (2, 3), start=900, model="rare")
    found = by_key([*many, *few], lambda row: row.model)
    assert set(found) == {"large", "rare"}
    assert success(found["rare"])[0] > 0, "alone it would be -0.33"
    assert success(found["large"])[0] == pytest.approx(0.3, abs=0.03)
    width = {name: success(each)[2] - success(each)[1] for name, each in found.items()}
    assert width["rare"] > width["large"]


def test_a_model_with_almost_no_runs_gets_no_figure_and_one_model_is_the_whole() -> None:
    rows = runs((80, 100), (50, 100), model="large")
    single = run(901, works=False, model="rare")
    assert not by_key([*rows, single], lambda row: row.model)["rare"].known
    assert by_key(rows, lambda row: row.model)["large"] == lift(rows)


def test_no_key_is_reported_before_the_whole_is_known() -> None:
    rows = [*runs((5, 6), (1, 3), model="a"), *runs((5, 6), (1, 3), start=50, model="b")]
    assert not any(each.known for each in by_key(rows, lambda row: row.model).values())


def test_order_of_the_rows_does_not_matter() -> None:
    rows = [*runs((12, 20), (8, 20), model="a"), *runs((5, 20), (8, 20), start=70, share=0.5)]
    mixed = rows.copy()
    random.Random(1).shuffle(mixed)
    assert lift(mixed) == lift(rows)
