"""The sets of tools that attempts had at hand → the tools that are there wherever a unit's own are.

Recall tells by them whether a place where a tool is gone is one where it would be expected. Which tools were used does not
matter here; attempts that do not say what they had tell nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from collections.abc import Set as AbstractSet

MAX_SURROUNDINGS = 60
_NEARLY_ALL = 0.9


def surroundings_of(own: Sequence[str], toolsets: Collection[AbstractSet[str]]) -> tuple[str, ...]:
    """The tools in (nearly) all sets that hold a unit's own.

    Of many, those whose names begin most like its own are kept: tools of one server do.
    """
    around = [tools for tools in toolsets if tools >= set(own)]
    seen = Counter(tool for tools in around for tool in tools)
    usual = [tool for tool in sorted(seen) if seen[tool] >= _NEARLY_ALL * len(around) and tool not in own]
    usual.sort(key=lambda tool: -max(_shared_beginning(tool, mine) for mine in own))
    return tuple(sorted(usual[:MAX_SURROUNDINGS]))


def _shared_beginning(left: str, right: str) -> int:
    return next(
        (at for at, pair in enumerate(zip(left, right, strict=False)) if pair[0] != pair[1]), min(len(left), len(right))
    )
