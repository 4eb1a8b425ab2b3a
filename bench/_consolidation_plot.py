"""The learning curves of the consolidation experiment as one picture that needs no page around it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tacit.evidence.statistics import Estimate
from tacit.features.evaluate.plots import learning_curve
from tacit.features.evaluate.report import CurvePoint

WIDTH, HEIGHT, GAP = 760, 320, 40
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
