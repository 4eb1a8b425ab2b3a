"""Figures of a comparison → inline SVG: a forest plot of intervals, a learning curve. Colours come from the page's style."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

from tacit.features.evaluate.comparing import METRICS, Comparison
from tacit.features.evaluate.report import CurvePoint, difference, standing

WIDTH, LEFT, RIGHT, ROW, TOP, LINE = 760, 150, 170, 34, 16, 15


def forest(comparison: Comparison, *, metric: str = "success") -> str:
    """Every arm's difference from the reference as a point with its interval; nothing where there is none."""
    told = [(each.arm, found) for each in comparison.others if (found := each.differences.get(metric))]
    if not told:
        return ""
    bounds = [value for _, found in told for value in (found.low, found.high) if math.isfinite(value)]
    ticks = _ticks(min([0.0, *bounds]), max([0.0, *bounds]))
    low, high = ticks[0], ticks[-1]
    bottom = TOP + ROW * len(told)

    def x(value: float) -> float:
        return LEFT + (min(max(value, low), high) - low) / (high - low) * (WIDTH - LEFT - RIGHT)

    parts = [f'<line class="grid" x1="{x(t):.1f}" x2="{x(t):.1f}" y1="{TOP}" y2="{bottom}"/>' for t in ticks]
    parts.append(f'<line class="zero" x1="{x(0):.1f}" x2="{x(0):.1f}" y1="{TOP - 6}" y2="{bottom}"/>')
    parts += [f'<text class="tick" x="{x(t):.1f}" y="{bottom + 18}">{difference(metric, t)}</text>' for t in ticks]
    for at, (arm, found) in enumerate(told):
        y = TOP + ROW * at + ROW / 2
        kind = standing(found).replace(" ", "-")
        label = (
            f"{difference(metric, found.value)} ({difference(metric, found.low)} to {difference(metric, found.high)})"
        )
        parts.append(
            f'<g class="{kind}"><title>{escape(arm)}: {label}, {standing(found)}</title>'
            f'<text class="name" x="{LEFT - 14}" y="{y + 5:.1f}">{escape(_short(arm))}</text>'
            f'<line class="bar" x1="{x(found.low):.1f}" x2="{x(found.high):.1f}" y1="{y}" y2="{y}"/>'
            f'<circle cx="{x(found.value):.1f}" cy="{y}" r="5.5"/>'
            f'<text class="value" x="{WIDTH - RIGHT + 14}" y="{y + 5:.1f}">{label}</text></g>'
        )
    unit = "points" if METRICS[metric].share else METRICS[metric].label
    said = f"{unit}, less {escape(comparison.reference)}"
    parts.append(f'<text class="axis" x="{(LEFT + WIDTH - RIGHT) / 2}" y="{bottom + 38}">{said}</text>')
    return _svg(bottom + 48, f"Differences from {comparison.reference} with 95 % intervals", parts)


def learning_curve(points: Sequence[CurvePoint], *, level: tuple[str, float] | None = None) -> str:
    """Success by training tasks, with intervals; `level` is an arm that needs no training, as a dashed line."""
    if not points:
        return ""
    height, bottom, right = 320, 270, WIDTH - 110
    sizes = sorted({point.tasks for point in points})
    first, last = math.log(max(1, sizes[0])), math.log(max(2, sizes[-1]))

    def x(tasks: int) -> float:
        return LEFT / 2 + (math.log(max(1, tasks)) - first) / max(last - first, 1e-9) * (right - LEFT / 2)

    def y(value: float) -> float:
        return TOP + (1 - value) * (bottom - TOP)

    parts = []
    for mark in (0, 0.25, 0.5, 0.75, 1):
        parts.append(f'<line class="grid" x1="{LEFT / 2}" x2="{right}" y1="{y(mark):.1f}" y2="{y(mark):.1f}"/>')
        parts.append(f'<text class="name" x="{LEFT / 2 - 10}" y="{y(mark) + 5:.1f}">{100 * mark:.0f} %</text>')
    parts += [f'<text class="tick" x="{x(size):.1f}" y="{bottom + 20}">{size:,}</text>' for size in sizes]
    parts.append(
        f'<text class="axis" x="{(LEFT / 2 + right) / 2}" y="{bottom + 42}">training tasks (logarithmic)</text>'
    )
    ends: list[tuple[float, str]] = []
    if level:
        parts.append(
            f'<line class="level" x1="{LEFT / 2}" x2="{right}" y1="{y(level[1]):.1f}" y2="{y(level[1]):.1f}"/>'
        )
        ends.append((y(level[1]), level[0]))
    for number, arm in enumerate(sorted({point.arm for point in points})):
        own = [point for point in points if point.arm == arm]
        path = " ".join(f"{x(p.tasks):.1f},{y(p.success.value):.1f}" for p in own)
        parts.append(f'<g class="line-{number % 4}"><polyline points="{path}"/>')
        for p in own:
            across, low, high = f"{x(p.tasks):.1f}", f"{y(p.success.low):.1f}", f"{y(p.success.high):.1f}"
            parts.append(f'<line class="bar" x1="{across}" x2="{across}" y1="{low}" y2="{high}"/>')
            parts.append(f'<circle cx="{across}" cy="{y(p.success.value):.1f}" r="4.5"/>')
        parts.append("</g>")
        ends.append((y(own[-1].success.value), arm))
    parts += [
        f'<text class="value" x="{right + 10}" y="{at + 5:.1f}">{escape(_short(name))}</text>'
        for at, name in _apart(ends)
    ]
    return _svg(height, "Success by training tasks", parts)


def _svg(height: float, title: str, parts: Sequence[str]) -> str:
    return (
        f'<svg viewBox="0 0 {WIDTH} {height:.0f}" role="img" aria-label="{escape(title, quote=True)}">'
        f"{''.join(parts)}</svg>"
    )


def _apart(labels: Sequence[tuple[float, str]]) -> list[tuple[float, str]]:
    """Labels from top to bottom, none on top of another; the lowest stays where it belongs."""
    placed: list[tuple[float, str]] = []
    for at, name in sorted(labels, reverse=True):
        placed.append((min(at, placed[-1][0] - LINE) if placed else at, name))
    return placed[::-1]


def _ticks(low: float, high: float) -> list[float]:
    """Round numbers that enclose a range."""
    span = high - low or 1.0
    step = 10 ** math.floor(math.log10(span / 4))
    step *= next(factor for factor in (1, 2, 5, 10) if span / (step * factor) <= 6)
    return [step * at for at in range(math.floor(low / step), math.ceil(high / step) + 1)]


def _short(name: str) -> str:
    return name if len(name) <= 18 else f"{name[:17]}…"
