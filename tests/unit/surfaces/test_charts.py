"""Plots: files that open, errors with a next step; and the figures that programs get."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from tacit.domain.errors import Mistake
from tacit.domain.evidence import Reliability
from tacit.evidence.control_runs import Lift, LiftDifference, Measure
from tacit.surfaces.cli.charts import Axis, ChartRow, draw
from tacit.surfaces.cli.report import to_json
from tacit.surfaces.cli.stats import _lift_fields, _points
from tacit.surfaces.cli.views import known_reliability, reliability_fields
from tests.raising import raises

GOOD = ChartRow(label="helps", value=0.3, low=0.2, high=0.4, note="40 with, 20 without")
BAD = ChartRow(label="harms", value=-0.2, low=-0.3, high=-0.1)
OPEN = ChartRow(label="unclear", value=0.0, low=-0.2, high=0.2)
AXIS = Axis(title="points")


def test_only_what_is_clear_is_coloured_and_less_may_be_better() -> None:
    fewer = Axis(more_is_better=False)
    assert AXIS.colour(GOOD) == fewer.colour(BAD) != AXIS.colour(BAD) == fewer.colour(GOOD)
    assert AXIS.colour(OPEN) == fewer.colour(OPEN) not in (AXIS.colour(GOOD), AXIS.colour(BAD))


@pytest.mark.parametrize(("name", "begins"), [("lift.png", b"\x89PNG"), ("lift.SVG", b"<?xml")])
def test_a_file_is_drawn_as_its_name_says(tmp_path: Path, name: str, begins: bytes) -> None:
    pytest.importorskip("matplotlib")
    draw([(AXIS, [GOOD, BAD]), (Axis(title="costs $5"), [OPEN])], tmp_path / name, heading="of $x$ \x1b[31m")
    assert (tmp_path / name).read_bytes().startswith(begins)


def test_a_file_that_cannot_be_is_an_error_with_a_next_step(tmp_path: Path) -> None:
    with raises(Mistake, "unknown_format"):
        draw([(AXIS, [GOOD])], tmp_path / "lift.gif")
    with raises(Mistake, "no_folder"):
        draw([(AXIS, [GOOD])], tmp_path / "nowhere" / "lift.png")


def test_without_matplotlib_the_command_that_brings_it_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(Mistake) as raised:
        draw([(AXIS, [GOOD])], tmp_path / "lift.png")
    assert raised.value.code == "extra_missing"


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
