"""Values that came as JSON → what no line and no ledger can hold: numbers that are none, endless depth or width. Pure."""

from __future__ import annotations

import math
from typing import Any

DEEPEST = 50
"""Lists and objects within one another; more is no record of anything."""
MOST_ITEMS = 1_000
"""Items of one list or object; nobody reads more, and comparing them takes long."""


def unfit(value: Any) -> str:
    """What is wrong with a value, with the field it stands in; empty where nothing is."""
    waiting: list[tuple[str, int, Any]] = [("", 0, value)]
    while waiting:
        where, depth, here = waiting.pop()
        if isinstance(here, float) and not math.isfinite(here):
            return f"`{where or 'it'}` is {_named(here)}, which is no JSON number"
        if not isinstance(here, dict | list):
            continue
        if depth > DEEPEST:
            return f"`{_begin(where)}` is nested too deeply; {DEEPEST} levels are taken"
        if len(here) > MOST_ITEMS:
            return f"`{where or 'it'}` has {len(here):,} items; {MOST_ITEMS:,} are taken"
        items = here.items() if isinstance(here, dict) else enumerate(here)
        waiting += [(_below(where, name), depth + 1, item) for name, item in items]
    return ""


def _below(where: str, name: str | int) -> str:
    """The name of a field within another; a long one is cut, for it is only shown."""
    if len(where) > 200:
        return where
    return f"{where}[{name}]" if isinstance(name, int) else f"{where}.{name[:60]}" if where else name[:60]


def _begin(where: str) -> str:
    """The first few names of a way that is too long to be shown."""
    parts = where.replace("[", ".[").split(".")
    return ".".join(parts[:4]).replace(".[", "[")


def _named(number: float) -> str:
    return "NaN" if math.isnan(number) else "Infinity, or too large"
