"""The figures of skills that programs get."""

from __future__ import annotations

import json

import pytest

from tacit.domain.evidence import Reliability
from tacit.evidence.control_runs import Lift, LiftDifference, Measure
from tacit.surfaces.cli.report import to_json
from tacit.surfaces.cli.stats import _lift_fields, _points
from tacit.surfaces.cli.views import known_reliability, reliability_fields

FIELDS = {"known", "low", "high", "votes", "worked", "successes", "trials", "self_reported"}


def test_the_best_skills_have_an_upper_bound_too() -> None:
    best = Reliability(successes=12.0, trials=12.0, low=0.8, high=1.0, votes=12, worked=12.0)
    written = json.loads(to_json({"reliability": known_reliability(best)}))["reliability"]
    assert set(written) == FIELDS
    assert written["high"] == 1.0


def test_the_worst_skills_have_a_lower_bound_too() -> None:
    worst = Reliability(trials=12.0, high=0.2, votes=12)
    written = json.loads(to_json(reliability_fields(worst)))
    assert (written["low"], written["worked"], written["self_reported"]) == (0.0, 0.0, 0)


def test_what_is_not_known_is_nothing_or_says_so() -> None:
    assert known_reliability(Reliability()) is None
    assert reliability_fields(Reliability())["known"] is False
    assert _lift_fields(Lift()) is None


def test_a_lift_of_nothing_is_told_whole() -> None:
    none = Lift(differences={Measure.SUCCESS: LiftDifference(value=0.0, low=-0.1, high=0.1)})
    assert json.loads(to_json(_lift_fields(none))) == {"value": 0.0, "low": -0.1, "high": 0.1}


@pytest.mark.parametrize(("value", "told"), [(0.28, "+28"), (-0.051, "-5"), (0.001, "0")])
def test_differences_of_shares_are_told__points(value: float, told: str) -> None:
    assert _points(value) == told
