"""Estimates from measurements: bootstrap intervals, AUROC, and differences between correlated groups. Stdlib only."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from statistics import NormalDist
from typing import TypeVar

from tacit.evidence.statistics import student, wilson

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """A figure with its 95 % interval and its number of measurements."""

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
    """Return a figure of measurements with its bootstrap interval; None where the figure is not defined for them.

    Measurements of one group are correlated, so whole groups are drawn. A draw for which the figure is not defined is
    left out. The same measurements give the same interval.
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
    """Return the arithmetic mean; None for no values."""
    return math.fsum(values) / len(values) if values else None


def auroc(scored: Sequence[tuple[float, bool]]) -> float | None:
    """Return the chance that a positive scores higher than a negative, a tie counting half; None where one class is
    missing."""
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


Total = tuple[float, float]
"""Of one group: the sum of its measurements, and their number."""
PARTS = 2520
"""The least common multiple of 1 to 10, so that such fractions become whole numbers."""
EXACT_BITS = 4_000_000
"""The largest size in bits of the number in which sums are counted; beyond it, signs are sampled."""


def paired_interval(totals: Sequence[Total], *, widest: float = 0.0, rounds: int = 2000, seed: int = 0) -> Estimate:
    """Return the mean of differences with its 95 % interval, by drawing whole groups; deterministic.

    A symmetric percentile bootstrap with two corrections that simulations called for. Two pseudo-groups are added, one
    up and one down by as much as differing groups differ (or by `widest` where none does), because where few groups
    differ, chance may have hidden as many. And the draws are stretched by as much as a bootstrap of few groups is too
    narrow.
    """
    value, drawn = _ratio(totals)[0], _with_imagined(totals, widest)
    n, dice = len(drawn), random.Random(seed)
    pairs = [complex(total, count) for total, count in drawn]  # one sum adds up both
    middle = math.fsum(total for total, _ in drawn) / math.fsum(count for _, count in drawn)
    off = sorted(abs(both.real / both.imag - middle) for both in (sum(dice.choices(pairs, k=n)) for _ in range(rounds)))
    stretch = math.sqrt(n / (n - 1)) * student(0.975, max(1, len(totals) - 1)) / NormalDist().inv_cdf(0.975)
    reach = off[math.ceil(0.95 * rounds) - 1] * stretch
    low, high = value - reach, value + reach
    if widest:
        low, high = max(-widest, low), min(widest, high)
    return Estimate(value=value, low=low, high=high, n=len(totals))


def clustered(totals: Sequence[Total]) -> Estimate:
    """Return the mean of all measurements with a 95 % interval (Student's t over groups); unbounded for one group."""
    value, error = _ratio(totals)
    reach = student(0.975, len(totals) - 1) * error
    return Estimate(value=value, low=value - reach, high=value + reach, n=len(totals))


def clustered_share(totals: Sequence[Total]) -> Estimate:
    """Return a share with Wilson's interval, with the effective number of trials of correlated groups."""
    value, error = _ratio(totals)
    worth = value * (1 - value) / error**2 if error and 0 < value < 1 else float(len(totals))
    low, high = wilson(value * worth, worth, z=student(0.975, len(totals) - 1))
    return Estimate(value=value, low=low, high=high, n=len(totals))


def detectable(
    totals: Sequence[Total], *, widest: float = 0.0, comparisons: int = 1, alpha: float = 0.05, power: float = 0.8
) -> float:
    """Return the smallest true difference that is detected with this power, at this size and after so many comparisons.

    The textbook formula (quantiles of the level and of the power) leaves two things out. Sums of yes and no come in
    steps, and a test with level `alpha` waits for the next step: on average for half of one, which is the largest
    common part of all groups. And a difference adds variance: it moves some groups and not others, each by something
    between the present difference of groups and `widest` (their geometric mean). With both, the answer solves a
    quadratic equation.
    """
    more = _with_imagined(totals, widest)
    groups, whole = len(totals), math.fsum(count for _, count in totals)
    value, error = abs(_ratio(totals)[0]), _ratio(more)[1]
    errors = student(1 - alpha / 2 / max(1, comparisons), groups - 1) + student(power, groups - 1)
    wait = _in_parts([abs(total) for total, _ in totals if abs(total) > 1e-9])[1] / whole
    plain = errors * error
    if plain + wait <= value:
        return plain + wait
    differing = more[-2][0] / more[-2][1]
    own = errors**2 * (math.sqrt(differing * widest) if widest else differing) / groups
    return wait + own / 2 + math.sqrt(own**2 / 4 + plain**2 - own * (value - wait))


def sign_flip(totals: Sequence[float], *, rounds: int = 10_000, seed: int = 0) -> float:
    """Return the chance of a sum this far from 0 if the sign of every group were random.

    Counted exactly where the totals are whole numbers or fractions of up to ten parts and not too many; drawn
    otherwise.
    """
    sizes = [abs(total) for total in totals if abs(total) > 1e-9]
    seen = abs(math.fsum(totals))
    if not sizes or seen < 1e-9:
        return 1.0
    whole, part = _in_parts(sizes)
    if part and sum(whole) * (len(whole) + 1) <= EXACT_BITS:
        return _sign_flip_counted(whole, round(seen / part))
    return _sign_flip_drawn(sizes, seen - 1e-9 * math.fsum(sizes), rounds=rounds, dice=random.Random(seed))


def holm(chances: Mapping[T, float]) -> dict[T, float]:
    """Return p-values corrected for their number, so that the chance of any false positive stays the same."""
    corrected: dict[T, float] = {}
    reached = 0.0
    for at, (owner, p) in enumerate(sorted(chances.items(), key=lambda one: one[1])):
        reached = max(reached, min(1.0, (len(chances) - at) * p))
        corrected[owner] = reached
    return {owner: corrected[owner] for owner in chances}


def _ratio(totals: Sequence[Total]) -> tuple[float, float]:
    """The mean of all measurements and its standard error, from the deviations of the groups."""
    if not totals or not all(count > 0 for _, count in totals):
        raise ValueError("every group needs measurements, and there must be one")
    whole = math.fsum(count for _, count in totals)
    value = math.fsum(total for total, _ in totals) / whole
    if len(totals) < 2:
        return value, math.inf
    spread = math.fsum((total - value * count) ** 2 for total, count in totals) * len(totals) / (len(totals) - 1)
    return value, math.sqrt(spread) / whole


def _with_imagined(totals: Sequence[Total], widest: float) -> list[Total]:
    """The groups and two pseudo-groups of average size that differ as groups do, one each way."""
    count = math.fsum(count for _, count in totals) / len(totals)
    squares = [total**2 for total, _ in totals if abs(total) > 1e-9]
    size = math.sqrt(math.fsum(squares) / len(squares)) if squares else widest * count
    return [*totals, (size, count), (-size, count)]


def _in_parts(sizes: Sequence[float]) -> tuple[list[int], float]:
    """Each size as a multiple of their largest common part, and that part; 0 where there is none."""
    near = [round(size * PARTS) for size in sizes]
    unit = math.gcd(*near)
    if not unit or any(abs(size * PARTS - whole) >= 1e-4 for size, whole in zip(sizes, near, strict=True)):
        return [], 0.0
    return [whole // unit for whole in near], unit / PARTS


def _sign_flip_counted(sizes: Sequence[int], seen: int) -> float:
    """The share of all sign choices whose sum is as far from 0.

    One large number holds, in digits of equal width, how many choices of positive signs have each sum; adding a size
    means adding the number to itself, shifted by that many digits.
    """
    width = len(sizes) + 1
    ways = 1
    for size in sizes:
        ways += ways << (width * size)
    last = (sum(sizes) - seen) // 2  # the largest positive sum that leaves the total as far below 0
    tail = ways & ((1 << width * (last + 1)) - 1)
    count: int = tail % ((1 << width) - 1)  # the sum of all digits
    return min(1.0, 2 * count / (1 << len(sizes)))


def _sign_flip_drawn(sizes: Sequence[float], seen: float, *, rounds: int, dice: random.Random) -> float:
    """The same by sampling: eight signs come from one byte, so their sum is looked up."""
    tables = []
    for start in range(0, len(sizes), 8):
        eight = sizes[start : start + 8]
        tables.append([math.fsum(s if byte >> at & 1 else -s for at, s in enumerate(eight)) for byte in range(256)])
    hits = 0
    for _ in range(rounds):
        drawn = sum(table[byte] for table, byte in zip(tables, dice.randbytes(len(tables)), strict=True))
        hits += abs(drawn) >= seen
    return (1 + hits) / (1 + rounds)
