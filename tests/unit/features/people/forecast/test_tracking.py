"""The record of forecasts: counts, accuracy, Brier score, the accuracy of late, and a table of calibration."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tacit.domain.choice import ChoiceSort, Forecast
from tacit.features.people.forecast import calibration_table, settled, track
from tests.unit.making import NOW


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
    assert (record.forecasts, record.said, record.hits, record.guessed) == (3, 2, 1, 2)
    assert record.brier == pytest.approx((0.01 + 0.49) / 2)
    assert (record.sure, record.sure_hits) == (1, 1)


def test_accuracy_of_late_follows_the_latest_and_corrections_count_three_times() -> None:
    told = [came(1, "approve", 0.7, "approve"), came(2, "approve", 0.7, "reject")]
    assert track(told).lately == pytest.approx(0.7)
    assert track(told, corrected={"review 2"}).lately == pytest.approx(0.7**3)


def test_only_what_has_come_out_teaches_calibration() -> None:
    told = [
        came(1, "approve", 0.7, "approve"),
        came(2, "approve", 0.7, ""),
        came(3, "", 0.5, "reject", guess="approve"),
    ]
    assert [each.hit for each in settled(told)] == [True, False]


def test_a_table_has_one_row_for_each_step_of_confidence_that_occurs() -> None:
    rows = calibration_table([(0.56, True), (0.58, False), (0.8, True), (1.0, True)])
    assert [(row.low, row.count, row.hits) for row in rows] == [(0.55, 2, 1), (0.8, 1, 1), (0.95, 1, 1)]
    assert rows[0].accuracy == 0.5
    assert rows[0].mean_confidence == pytest.approx(0.57)
    low, high = rows[0].interval
    assert low < 0.5 < high
