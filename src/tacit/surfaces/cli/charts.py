"""Charts of estimates with intervals as PNG or SVG files.

They need matplotlib from the extra `plots`, which is imported only when one is drawn.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tacit.domain.errors import Mistake
from tacit.surfaces.cli.report import clean, one_line

if TYPE_CHECKING:
    from matplotlib.axes import Axes

INSTALL = "pip install 'tacit[plots]', or in a checkout: pip install '.[plots]'"
FORMATS = (".png", ".svg")
_GOOD, _BAD, _OPEN = "#2a7f62", "#b3432b", "#5b6573"
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
