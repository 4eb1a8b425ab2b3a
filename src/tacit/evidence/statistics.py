"""Statistics: intervals for proportions and means, and sequential tests that may be checked after every result.
Stdlib only."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from statistics import NormalDist
from typing import TypeVar

T = TypeVar("T")

Z_ONE_SIDED_95 = 1.6448536269514722
"""Normal quantile for a one-sided 95 % bound, which is a two-sided 90 % interval."""
BETS = (0.1, 0.2, 0.3, 0.45, 0.6)
"""Bets against a mean, as fractions of the largest allowed bet: small ones detect small deviations, large ones
large ones."""


def wilson(successes: float, trials: float, *, z: float = Z_ONE_SIDED_95) -> tuple[float, float]:
    """Return the Wilson score interval of a proportion; without trials it is 0 to 1.

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


class Faded:
    """Counts in which older results weigh less: half after `half_life` later ones.

    Age is counted in results, so a fraction of a result ages the others by that fraction.
    """

    __slots__ = ("_fading", "successes", "trials")

    def __init__(self, half_life: float) -> None:
        self._fading = 0.5 ** (1 / half_life)
        self.successes = 0.0
        self.trials = 0.0

    def add(self, value: float, weight: float = 1.0) -> None:
        """Add one result from 0 to 1. A new one weighs one."""
        kept = self._fading**weight
        fresh = (1 - kept) / (1 - self._fading)
        self.successes = self.successes * kept + fresh * value
        self.trials = self.trials * kept + fresh

    def interval(self) -> tuple[float, float]:
        """Return the interval of the share; each end is a one-sided 95 % bound."""
        return wilson(min(self.successes, self.trials), self.trials)


class EProcess:
    """Evidence that the mean of values from 0 to 1 is below a line; may be checked after every value.

    It bets against "the mean is at least `line`", with several stakes at once. If that hypothesis is true, the wealth
    cannot be expected to grow, whenever one stops: the chance that it ever grows by 1/alpha is at most alpha. Weights
    may depend on earlier values, never on the value itself.
    """

    __slots__ = ("_logs", "_stakes", "line", "peak")

    def __init__(self, line: float, *, bets: Sequence[float] = BETS) -> None:
        if not 0 < line < 1 or not bets or not all(0 < bet < 1 for bet in bets):
            raise ValueError("a line and bets must lie between 0 and 1")
        self.line = line
        self._stakes = [bet / (1 - line) for bet in bets]
        self._logs = [0.0] * len(bets)
        self.peak = 1.0
        """The largest growth of the wealth so far; infinite beyond what matters."""

    def add(self, value: float, weight: float = 1.0) -> float:
        """Bet on one more value; return the growth of the wealth so far."""
        if not (0 <= value <= 1 and 0 <= weight <= 1):
            raise ValueError("values and weights must lie between 0 and 1")
        won = weight * (self.line - value)
        self._logs = [held + math.log1p(stake * won) for held, stake in zip(self._logs, self._stakes, strict=True)]
        grown = math.fsum(math.exp(min(held, 700.0)) for held in self._logs) / len(self._logs)
        self.peak = max(self.peak, grown)
        return grown


class Drop:
    """Detects that values from 0 to 1 are suddenly half as high as before: a CUSUM that estimates the level before.

    The usual level is the mean of all values before the suspected change, with a few pseudo-values at `usual`. The
    doubt grows with every value that fits half of it better, and falls otherwise; where it reaches zero, the values
    since the suspected change count as before it.
    """

    __slots__ = ("_before", "_imagined", "_under", "_usual", "doubt")

    def __init__(self, *, usual: float = 0.8, imagined: float = 20.0) -> None:
        self._usual, self._imagined = usual, imagined
        self._before = (0.0, 0.0)
        self._under = (0.0, 0.0)
        self.doubt = 0.0

    @property
    def before(self) -> tuple[float, float]:
        """Successes and trials before the suspected change."""
        return self._before

    @property
    def under(self) -> tuple[float, float]:
        """Successes and trials since the suspected change."""
        return self._under

    def add(self, value: float, weight: float = 1.0) -> float:
        """Add one more value; return the log-likelihood ratio of a change."""
        successes, trials = self._before
        mean_before = (successes + self._usual * self._imagined) / (trials + self._imagined)
        against = math.log((1 - mean_before / 2) / (1 - mean_before))
        self.doubt += weight * ((1 - value) * against - value * math.log(2))
        self._under = (self._under[0] + weight * value, self._under[1] + weight)
        if self.doubt <= 0:
            self.doubt = 0.0
            self._before = (successes + self._under[0], trials + self._under[1])
            self._under = (0.0, 0.0)
        return self.doubt


def capped(amounts: Mapping[T, float], *, share: float, free: float = 0.0) -> dict[T, float]:
    """Cut amounts so that none exceeds a share of the remaining total; nothing is cut below `free`.

    Where there are too few amounts for that share, each may have an equal share.
    """
    most = max(share, 1 / len(amounts)) if amounts else 1.0
    rest = math.fsum(amounts.values())
    limit = 0.0
    for cut, largest in enumerate(sorted(amounts.values(), reverse=True)):
        limit = most * rest / (1 - most * cut)  # the most that `cut` of them may be, with the others unchanged
        if largest <= limit * (1 + 1e-9):
            break
        rest -= largest
    return {owner: min(amount, max(limit, free)) for owner, amount in amounts.items()}


# --- correlated groups ------------------------------------------------------------------------------------------------

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


def student(p: float, free: float) -> float:
    """Return a quantile of Student's t, by its expansion around the normal one; good from about four degrees of freedom."""
    z, free = NormalDist().inv_cdf(p), max(free, 1.0)
    first = (z**3 + z) / 4
    second = (5 * z**5 + 16 * z**3 + 3 * z) / 96
    third = (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384
    return z + first / free + second / free**2 + third / free**3


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
