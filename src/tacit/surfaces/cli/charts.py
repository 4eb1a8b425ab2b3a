"""Charts of estimates with intervals: lines for a terminal, or a PNG or SVG file; and the figures as JSON.

Files need matplotlib from the extra `plots`, which is imported only when one is drawn.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.text import Text

from tacit.domain.errors import Mistake
from tacit.domain.evidence import Reliability
from tacit.evidence.lift import Lift
from tacit.surfaces.cli.report import clean, one_line

if TYPE_CHECKING:
    from matplotlib.axes import Axes

INSTALL = "pip install 'tacit[plots]', or in a checkout: pip install '.[plots]'"
FORMATS = (".png", ".svg")
NARROWEST = 21
"""Columns of a terminal below which a bar says nothing."""

_MARKS = {"bar": "─", "low": "├", "high": "┤", "value": "●", "zero": "┊", "crossing": "┼"}
_PLAIN = {"bar": "-", "low": "|", "high": "|", "value": "o", "zero": ":", "crossing": "+"}
_GOOD, _BAD, _OPEN = "#2a7f62", "#b3432b", "#5b6573"
_STYLES = {_GOOD: "green", _BAD: "red", _OPEN: "default"}
_ROW_INCHES, _WIDTH_INCHES, _DOTS = 0.42, 8.0, 150


@dataclass(frozen=True, slots=True, kw_only=True)
class ChartRow:
    """One estimate with its interval and a note."""

    label: str
    value: float
    low: float
    high: float
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Axis:
    """What the rows are drawn along: how a number is written, the line that matters, and the side that is good."""

    title: str = ""
    written: Callable[[float], str] = "{:+.2f}".format
    reference: float = 0.0
    more_is_better: bool = True

    def colour(self, row: ChartRow) -> str:
        """Good or bad where the interval is wholly on one side of the line that matters."""
        if row.low > self.reference:
            return _GOOD if self.more_is_better else _BAD
        if row.high < self.reference:
            return _BAD if self.more_is_better else _GOOD
        return _OPEN


class Scale:
    """Where numbers lie on a line of so many columns; wide enough for all rows and the line that matters."""

    def __init__(self, rows: Sequence[ChartRow], axis: Axis, *, width: int) -> None:
        ends = [axis.reference, *(end for row in rows for end in (row.low, row.high))]
        self._step = _tick(max(ends) - min(ends))
        self.low = math.floor(min(ends) / self._step + 1e-9) * self._step
        self.high = max(math.ceil(max(ends) / self._step - 1e-9) * self._step, self.low + self._step)
        self.width = max(width, NARROWEST)

    def column(self, value: float) -> int:
        """The column of a number."""
        part = (value - self.low) / (self.high - self.low)
        return round(min(1.0, max(0.0, part)) * (self.width - 1))

    @property
    def ticks(self) -> list[float]:
        """Numbers that stand under the line."""
        count = round((self.high - self.low) / self._step)
        return [round(self.low + number * self._step, 10) for number in range(count + 1)]


def line(row: ChartRow, axis: Axis, scale: Scale, *, plain: bool = False) -> Text:
    """One row as a line of a terminal."""
    marks = _PLAIN if plain else _MARKS
    low, middle, high = (scale.column(value) for value in (row.low, row.value, row.high))
    cells = [" "] * scale.width
    cells[scale.column(axis.reference)] = marks["zero"]
    for at in range(low, high + 1):
        cells[at] = marks["crossing" if at == scale.column(axis.reference) else "bar"]
    if low != high:
        cells[low], cells[high] = marks["low"], marks["high"]
    cells[middle] = marks["value"]
    drawn = Text("".join(cells), style="dim")
    drawn.stylize(f"not dim {_STYLES[axis.colour(row)]}", low, high + 1)
    return drawn


def ruler(axis: Axis, scale: Scale) -> Text:
    """The numbers under the lines: as many as have room."""
    cells = [" "] * scale.width
    ticks = sorted(scale.ticks, key=lambda tick: tick != axis.reference)  # the line that matters first
    taken = [False] * scale.width
    for tick in ticks:
        label = axis.written(tick)
        start = min(max(0, scale.column(tick) - len(label) // 2), scale.width - len(label))
        around = range(max(0, start - 1), min(scale.width, start + len(label) + 1))
        if not any(taken[at] for at in around):
            for at, character in enumerate(label, start):
                cells[at], taken[at] = character, True
    return Text("".join(cells), style="dim")


def draw(panels: Sequence[tuple[Axis, Sequence[ChartRow]]], path: Path, *, heading: str = "") -> None:
    """Write a plot as a PNG or SVG file, as its name says: one panel below the other, each along its own axis."""
    if path.suffix.lower() not in FORMATS:
        message = f"cannot draw {path.name}: only {' and '.join(FORMATS)} are known"
        raise Mistake(message, code="unknown_format", hint="--plot lift.png")
    if not path.parent.is_dir():
        hint = "create it first, or name another file"
        raise Mistake(f"there is no folder {path.parent}", code="no_folder", hint=hint)
    try:
        from matplotlib.figure import Figure
    except ModuleNotFoundError as error:
        raise Mistake("drawing into a file needs matplotlib", code="extra_missing", hint=INSTALL) from error
    heights = [1 + len(rows) for _, rows in panels]
    figure = Figure(figsize=(_WIDTH_INCHES, 0.5 + _ROW_INCHES * sum(heights)), layout="constrained")
    plots = figure.subplots(len(panels), 1, squeeze=False, height_ratios=heights)[:, 0]
    for plot, (axis, rows) in zip(plots, panels, strict=True):
        _fill(plot, axis, rows)
    figure.suptitle(_literal(clean(heading)), x=0.01, ha="left", fontsize=12)
    try:
        figure.savefig(path, dpi=_DOTS)
    except OSError as error:
        message = f"{path} cannot be written: {error.strerror}"
        raise Mistake(message, code="cannot_write", hint="name another file") from error


def _fill(plot: Axes, axis: Axis, rows: Sequence[ChartRow]) -> None:
    """Draw one panel: a line and a point for each row, what they are on the left, the figures on the right."""
    places = range(len(rows) - 1, -1, -1)
    for place, row in zip(places, rows, strict=True):
        colour = axis.colour(row)
        plot.plot([row.low, row.high], [place, place], color=colour, linewidth=2.5, solid_capstyle="butt")
        plot.plot([row.value], [place], marker="o", color=colour, markersize=7)
        figures = f"{axis.written(row.value)} [{axis.written(row.low)}, {axis.written(row.high)}]"
        caption = _literal(f"{figures}   {row.note}".rstrip())
        plot.annotate(caption, (1.02, place), xycoords=("axes fraction", "data"), va="center", fontsize=9)
    plot.axvline(axis.reference, color="#9aa3ad", linewidth=1, linestyle="--", zorder=0)
    plot.set_yticks(list(places), [_literal(one_line(row.label, 44)) for row in rows])
    plot.set_ylim(-0.6, len(rows) - 0.4)
    plot.xaxis.set_major_formatter(lambda value, _: axis.written(value))
    plot.locator_params(axis="x", nbins=5)
    plot.set_xlabel(_literal(axis.title))
    plot.spines[["top", "right", "left"]].set_visible(False)
    plot.tick_params(axis="y", length=0)
    plot.grid(axis="x", color="#e6e9ec", linewidth=0.8)
    plot.set_axisbelow(True)


def _literal(text: str) -> str:
    """A text that is drawn as it is: a dollar would begin a formula."""
    return text.replace("$", r"\$")


def _tick(width: float) -> float:
    """A round distance that divides a width into a handful of parts."""
    if width <= 0:
        return 0.1
    rough = width / 4
    power: float = 10.0 ** math.floor(math.log10(rough))
    return next(factor * power for factor in (1, 2, 2.5, 5, 10) if factor * power >= rough * 0.8)


def known_reliability(known: Reliability) -> dict[str, Any] | None:
    """Return an interval with its counts; None where too little is verified."""
    return reliability_fields(known) if known.known else None


def reliability_fields(known: Reliability) -> dict[str, Any]:
    """Return all figures of a reliability, known or not."""
    return {
        "known": known.known,
        "low": round(known.low, 4),
        "high": round(known.high, 4),
        "votes": known.votes,
        "worked": known.worked,
        "successes": round(known.successes, 4),
        "trials": round(known.trials, 4),
        "self_reported": known.self_reported,
    }


def lift_fields(measured: Lift) -> dict[str, float] | None:
    """Return what a skill adds to success; None where that is not known."""
    gain = measured.success
    return None if gain is None else {"value": gain.value, "low": gain.low, "high": gain.high}


def in_points(value: float) -> str:
    """Return a difference of shares in points, with its sign."""
    return f"{round(100 * value):+d}" if round(100 * value) else "0"
