"""Pure statistics: intervals for proportions and for means of whatever was measured. No effects, stdlib only."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TypeVar

T = TypeVar("T")

Z_ONE_SIDED_95 = 1.6448536269514722
"""Normal quantile for a one-sided 95 % bound, which is a two-sided 90 % interval."""


def wilson(successes: float, trials: float, *, z: float = Z_ONE_SIDED_95) -> tuple[float, float]:
    """Wilson score interval of a proportion; without trials, everything is possible.

    Fractional counts are allowed, so that a partial success can weigh a half.
    """
    if trials <= 0:
        return 0.0, 1.0
    if not 0 <= successes <= trials:
        raise ValueError("successes must lie between 0 and trials")
    share = successes / trials
    weight = z * z / trials
    centre = (share + weight / 2) / (1 + weight)
    half = z / (1 + weight) * math.sqrt(share * (1 - share) / trials + weight / (4 * trials))
    return max(0.0, centre - half), min(1.0, centre + half)


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """A figure with its 95 % interval and the number of measurements it rests on."""

    value: float
    low: float
    high: float
    n: int


def bootstrap(
    measured: Sequence[T],
    figure: Callable[[Sequence[T]], float | None],
    *,
    groups: Sequence[Hashable] | None = None,
    rounds: int = 2000,
    seed: int = 0,
) -> Estimate | None:
    """A figure of measurements with its bootstrap interval; nothing where the figure says nothing of them.

    Measurements of one group hang together, so whole groups are drawn. A draw of which the figure says nothing is left
    out. The same measurements give the same interval.
    """
    value = figure(measured) if measured else None
    if value is None:
        return None
    if groups is not None and len(groups) != len(measured):
        raise ValueError("every measurement needs a group")
    held: dict[Hashable, list[T]] = {}
    for at, one in enumerate(measured):
        held.setdefault(at if groups is None else groups[at], []).append(one)
    drawers, dice = list(held.values()), random.Random(seed)
    drawn: list[float] = []
    for _ in range(rounds):
        found = figure([one for group in dice.choices(drawers, k=len(drawers)) for one in group])
        if found is not None:
            drawn.append(found)
    drawn.sort()
    if not drawn:
        return Estimate(value=value, low=value, high=value, n=len(measured))
    low, high = drawn[int(0.025 * len(drawn))], drawn[max(0, math.ceil(0.975 * len(drawn)) - 1)]
    return Estimate(value=value, low=low, high=high, n=len(measured))


def mean(values: Sequence[float]) -> float | None:
    """The arithmetic mean; nothing of nothing."""
    return math.fsum(values) / len(values) if values else None


def auroc(scored: Sequence[tuple[float, bool]]) -> float | None:
    """How likely a positive scores higher than a negative, a tie counting half; nothing where one sort is missing."""
    positives = sum(positive for _, positive in scored)
    negatives = len(scored) - positives
    if not positives or not negatives:
        return None
    below = wins = 0.0
    for _, tied in groupby(sorted(scored), key=lambda one: one[0]):
        marks = [positive for _, positive in tied]
        ours = sum(marks)
        others = len(marks) - ours
        wins += ours * (below + others / 2)
        below += others
    return wins / (positives * negatives)
