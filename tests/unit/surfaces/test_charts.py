"""Forest plots: bars where the numbers lie, the line that matters in sight, files that open, errors with a next step."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from tacit.domain.errors import Mistake
from tacit.domain.evidence import Reliability
from tacit.evidence.lift import Lift, LiftDifference, Measure
from tacit.surfaces.cli.charts import (
    Axis,
    ChartRow,
    Scale,
    draw,
    in_points,
    known_reliability,
    lift_fields,
    line,
    reliability_fields,
    ruler,
)
from tacit.surfaces.cli.output import to_json
from tests.raising import raises

GOOD = ChartRow(label="helps", value=0.3, low=0.2, high=0.4, note="40 with, 20 without")
BAD = ChartRow(label="harms", value=-0.2, low=-0.3, high=-0.1)
OPEN = ChartRow(label="unclear", value=0.0, low=-0.2, high=0.2)
AXIS = Axis(title="points")


def test_a_bar_reaches_from_the_low_to_the_high_end_with_the_estimate_in_it() -> None:
    scale = Scale([GOOD, BAD], AXIS, width=41)
    drawn = line(GOOD, AXIS, scale).plain
    assert len(drawn) == 41
    assert (drawn.index("├"), drawn.index("●"), drawn.index("┤")) == tuple(
        scale.column(value) for value in (GOOD.low, GOOD.value, GOOD.high)
    )
    assert drawn.index("┊") == scale.column(0.0) < drawn.index("├")


def test_an_interval_that_holds_the_line_crosses_it() -> None:
    drawn = line(ChartRow(label="x", value=0.1, low=-0.2, high=0.2), AXIS, Scale([GOOD, BAD], AXIS, width=61)).plain
    assert "┼" in drawn
    assert "┊" not in drawn


def test_plain_terminals_get_plain_characters() -> None:
    scale = Scale([OPEN], AXIS, width=31)
    for row in (GOOD, BAD, OPEN):
        assert line(row, AXIS, scale, plain=True).plain.isascii()
    assert ruler(AXIS, scale).plain.isascii()


@pytest.mark.parametrize(
    ("row", "better", "colour"), [(GOOD, True, "green"), (GOOD, False, "red"), (BAD, False, "green")]
)
def test_only_what_is_clear_is_coloured_and_less_may_be_better(row: ChartRow, better: bool, colour: str) -> None:
    drawn = line(row, Axis(more_is_better=better), Scale([row], AXIS, width=31))
    assert [str(span.style) for span in drawn.spans] == [f"not dim {colour}"]
    unclear = line(OPEN, Axis(more_is_better=better), Scale([OPEN], AXIS, width=31))
    assert [str(span.style) for span in unclear.spans] == ["not dim default"]


def test_the_scale_always_holds_the_line_that_matters_and_is_never_empty() -> None:
    far = Scale([GOOD], Axis(reference=0.6), width=31)
    assert far.low <= GOOD.low
    assert far.high >= 0.6
    point = ChartRow(label="x", value=0.0, low=0.0, high=0.0)
    assert Scale([point], AXIS, width=1).width >= 21
    assert line(point, AXIS, Scale([point], AXIS, width=31)).plain.strip() == "●"
    assert Scale([], AXIS, width=31).ticks


def test_the_numbers_under_the_bars_stand_under_their_places_without_touching() -> None:
    scale = Scale([GOOD, BAD], AXIS, width=25)
    told = ruler(AXIS, scale).plain
    assert len(told) == 25
    assert "+0.00" in told
    assert all(word.startswith(("+", "-")) for word in told.split())


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
    assert lift_fields(Lift()) is None


def test_a_lift_of_nothing_is_told_whole() -> None:
    none = Lift(differences={Measure.SUCCESS: LiftDifference(value=0.0, low=-0.1, high=0.1)})
    assert json.loads(to_json(lift_fields(none))) == {"value": 0.0, "low": -0.1, "high": 0.1}


@pytest.mark.parametrize(("value", "told"), [(0.28, "+28"), (-0.051, "-5"), (0.001, "0")])
def test_differences_of_shares_are_told_in_points(value: float, told: str) -> None:
    assert in_points(value) == told
