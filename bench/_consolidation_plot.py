"""The learning curves of the consolidation experiment as one picture that needs no page around it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from tacit.features.evaluate.estimates import Estimate
from tacit.features.evaluate.eval_report import CurvePoint

WIDTH, HEIGHT, GAP = 760, 320, 40
LEFT, TOP, LINE = 150, 16, 15
STYLE = """
text{fill:#1c2024;font:13px system-ui,sans-serif}.title{font-weight:600;font-size:15px}.tick,.axis{text-anchor:middle}
.name{text-anchor:end}.grid{stroke:#e0e1e6}.level{stroke:#60646c;stroke-dasharray:5 4}.bar{stroke-width:1.5}
polyline{fill:none;stroke-width:2.5}.line-0 polyline,.line-0 .bar{stroke:#0d74ce}.line-0 circle{fill:#0d74ce}
.line-1 polyline,.line-1 .bar{stroke:#8145b5}.line-1 circle{fill:#8145b5}.line-2 polyline,.line-2 .bar{stroke:#218358}
.line-2 circle{fill:#218358}
"""
TITLES = {
    "free": "Right next step, written freely",
    "given": "Right tool, where the form of a call is given",
}


def picture(told: Mapping[str, Any]) -> str:
    """One curve above the other: what is written, and what is chosen."""
    height = len(TITLES) * (HEIGHT + GAP)
    parts = [f'<rect width="{WIDTH}" height="{height}" fill="white"/>']
    for number, (way, title) in enumerate(TITLES.items()):
        top = number * (HEIGHT + GAP)
        bare = next(arm["success"]["value"] for arm in told[way]["arms"] if arm["arm"] == "none")
        drawn = learning_curve(_points(told[way]["curve"]), level=("bare model", bare))
        placed = drawn.replace("<svg ", f'<svg y="{top + GAP}" width="{WIDTH}" height="{HEIGHT}" ', 1)
        parts += [f'<text class="title" x="20" y="{top + 26}">{title}</text>', placed]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}"><style>{STYLE}</style>'
        f"{''.join(parts)}</svg>\n"
    )


def _points(curve: list[dict[str, Any]]) -> list[CurvePoint]:
    return [
        CurvePoint(arm=arm, tasks=place["tasks"], success=Estimate(**estimate))
        for place in curve
        for arm, estimate in place["success"].items()
    ]


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


def _short(name: str) -> str:
    return name if len(name) <= 18 else f"{name[:17]}…"
