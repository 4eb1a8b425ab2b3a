"""What a score is worth: nothing is called sure that the record does not bear out."""

from __future__ import annotations

import random
from datetime import timedelta

import pytest

from tacit.features.people.calibration import ALMOST, SURE, Settled, calibration_table, confidence, settled, track
from tacit.features.people.ledger_entries import ChoiceSort, Forecast
from tests.unit.making import NOW


def record(score: float, hits: int, misses: int) -> list[Settled]:
    """Earlier forecasts of one score, the misses spread evenly among them."""
    total = hits + misses
    step = total // misses if misses else total + 1
    return [Settled(score=score, confidence=score, hit=not (misses and at % step == step - 1)) for at in range(total)]


def test_nothing_scores_nothing() -> None:
    assert confidence(0.0, []) == 0.0


def test_without_a_record_nobody_is_sure_whatever_the_score() -> None:
    assert confidence(0.999, []) < SURE
    assert confidence(0.999, record(0.99, 10, 0)) < SURE


def test_a_good_record_makes_sure() -> None:
    assert confidence(0.9, record(0.9, 40, 0)) >= SURE


def test_a_score_that_came_true_less_often_than_it_says_is_worth_less() -> None:
    said = confidence(0.95, record(0.95, 30, 10))
    assert said == pytest.approx(0.76, abs=0.04)


def test_a_modest_score_that_always_came_true_is_worth_more() -> None:
    assert confidence(0.6, record(0.6, 40, 0)) > 0.75


def test_misses_lately_take_it_back_until_they_are_past() -> None:
    good = record(0.9, 60, 0)
    missed = [Settled(score=0.9, confidence=0.9, hit=False)] * 3
    assert confidence(0.9, good) >= SURE
    assert confidence(0.9, [*good, *missed]) <= ALMOST
    assert confidence(0.9, [*good, *missed, *good]) >= SURE


def test_one_miss_is_a_pause_and_not_an_end() -> None:
    good, missed = record(0.9, 60, 0), Settled(score=0.9, confidence=0.9, hit=False)
    hit = Settled(score=0.9, confidence=0.79, hit=True)
    assert confidence(0.9, [*good, missed, *[hit] * 3]) <= ALMOST
    assert confidence(0.9, [*good, missed, *[hit] * 4]) >= SURE


def test_a_record_of_low_scores_bears_no_high_one_out() -> None:
    assert confidence(0.95, record(0.6, 60, 0)) < SURE


def test_later_results_weigh_more() -> None:
    good, bad = record(0.7, 40, 0), [Settled(score=0.7, confidence=0.7, hit=False)] * 40
    assert confidence(0.7, [*good, *bad]) < confidence(0.7, [*bad, *good])


def test_where_forecasts_hit_seven_in_ten_hardly_anything_is_called_sure() -> None:
    dice = random.Random(11)
    sure = 0
    for _ in range(40):
        earlier: list[Settled] = []
        for _ in range(100):
            score = 0.5 + dice.random() / 2
            said = confidence(score, earlier)
            sure += said >= SURE
            earlier.append(Settled(score=score, confidence=said, hit=dice.random() < 0.7))
    assert sure / 4000 < 0.02


def came(number: int, said: str, confidence: float, actual: str, *, guess: str = "") -> Forecast:
    return Forecast(
        key=f"review {number}",
        at=NOW + timedelta(minutes=number),
        person="ann",
        sort=ChoiceSort.REVIEW,
        posterior=said,
        posterior_confidence=confidence,
        guess=guess or said,
        score=confidence,
        actual=actual,
    )


def test_an_empty_record_knows_nothing() -> None:
    record = track([])
    assert (record.accuracy, record.brier, record.lately, record.bins) == (None, None, None, ())


def test_hits_and_brier_score_are_of_what_was_said_and_has_come_out() -> None:
    record = track(
        [
            came(1, "approve", 0.9, "approve"),
            came(2, "approve", 0.7, "reject"),
            came(3, "", 0.5, "reject", guess="reject"),
            came(4, "approve", 0.9, ""),
        ]
    )
    assert (record.forecasts, record.given, record.hits, record.guessed) == (3, 2, 1, 2)
    assert record.brier == pytest.approx((0.01 + 0.49) / 2)
    assert (record.sure, record.sure_hits) == (1, 1)


def test_accuracy_of_late_follows_the_latest_and_corrections_count_three_times() -> None:
    description = [came(1, "approve", 0.7, "approve"), came(2, "approve", 0.7, "reject")]
    assert track(description).lately == pytest.approx(0.7)
    assert track(description, corrected={"review 2"}).lately == pytest.approx(0.7**3)


def test_only_what_has_come_out_teaches_calibration() -> None:
    description = [
        came(1, "approve", 0.7, "approve"),
        came(2, "approve", 0.7, ""),
        came(3, "", 0.5, "reject", guess="approve"),
    ]
    assert [each.hit for each in settled(description)] == [True, False]


def test_a_table_has_one_row_for_each_step_of_confidence_that_occurs() -> None:
    rows = calibration_table([(0.56, True), (0.58, False), (0.8, True), (1.0, True)])
    assert [(row.low, row.count, row.hits) for row in rows] == [(0.55, 2, 1), (0.8, 1, 1), (0.95, 1, 1)]
    assert rows[0].accuracy == 0.5
    assert rows[0].mean_confidence == pytest.approx(0.57)
    low, high = rows[0].interval
    assert low < 0.5 < high
