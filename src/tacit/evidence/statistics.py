"""Statistics: intervals for proportions and means, and sequential tests that may be checked after every result.
Stdlib only."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
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


def student(p: float, free: float) -> float:
    """Return a quantile of Student's t, by its expansion around the normal one; good from about four degrees of freedom."""
    z, free = NormalDist().inv_cdf(p), max(free, 1.0)
    first = (z**3 + z) / 4
    second = (5 * z**5 + 16 * z**3 + 3 * z) / 96
    third = (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384
    fourth = (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92160
    return z + first / free + second / free**2 + third / free**3 + fourth / free**4


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

    __slots__ = ("_imagined", "_usual", "before", "doubt", "under")

    def __init__(self, *, usual: float = 0.8, imagined: float = 20.0) -> None:
        self._usual, self._imagined = usual, imagined
        self.before = (0.0, 0.0)
        """Successes and trials before the suspected change."""
        self.under = (0.0, 0.0)
        """Successes and trials since the suspected change."""
        self.doubt = 0.0

    def add(self, value: float, weight: float = 1.0) -> float:
        """Add one more value; return the log-likelihood ratio of a change."""
        successes, trials = self.before
        mean_before = (successes + self._usual * self._imagined) / (trials + self._imagined)
        against = math.log((1 - mean_before / 2) / (1 - mean_before))
        self.doubt += weight * ((1 - value) * against - value * math.log(2))
        self.under = (self.under[0] + weight * value, self.under[1] + weight)
        if self.doubt <= 0:
            self.doubt = 0.0
            self.before = (successes + self.under[0], trials + self.under[1])
            self.under = (0.0, 0.0)
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
