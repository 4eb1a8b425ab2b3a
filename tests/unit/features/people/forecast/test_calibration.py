"""What a score is worth: nothing is called sure that the record does not bear out."""

from __future__ import annotations

import random

import pytest

from tacit.features.people.forecast.calibration import ALMOST, SURE, Settled, confidence


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
