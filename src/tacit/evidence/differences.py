"""Two arms, drawn by lot within strata → how far they differ, with a 95 % interval. Pure arithmetic.

Runs are compared only within their stratum (those that had one chance of being held back, and one model); strata are put
together by how much each can tell, n₁n₀/(n₁+n₀), as Mantel and Haenszel do. So a chance that changes while evidence comes in
shifts nothing. Proportions get the score interval of Miettinen and Nurminen, which stays right near 0 and 1 and in
small arms; means get Welch's interval with the variance of each arm pooled over the strata.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import NormalDist, fmean

Z_95 = NormalDist().inv_cdf(0.975)
_STEPS = 30
"""Halvings of the range that a bound is looked for in: a billionth of it is far below what is ever shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Arms:
    """What was measured in one stratum: of runs that saw the skill, and of those that it was held back from."""

    shown: tuple[float, ...]
    held_back: tuple[float, ...]

    @property
    def tells(self) -> float:
        """How much the stratum can tell of the difference; nothing where one arm is empty."""
        first, second = len(self.shown), len(self.held_back)
        return first * second / (first + second) if first and second else 0.0

    @property
    def difference(self) -> float:
        """Mean of those that saw it, less the mean of those that did not."""
        return fmean(self.shown) - fmean(self.held_back)


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """A difference and how far it may be off, at 95 %."""

    value: float
    low: float
    high: float


def of_proportions(strata: Sequence[Arms]) -> Interval | None:
    """The difference of two proportions (values from 0 to 1); nothing where no stratum has both arms."""
    told = [arms for arms in strata if arms.tells]
    if not told:
        return None
    counts = [_Counts.of(arms) for arms in told]
    whole = math.fsum(each.tells for each in counts)
    value = math.fsum(each.tells * each.difference for each in counts) / whole

    def off(difference: float) -> float:
        """How many standard errors the data lie above this difference."""
        spread = math.fsum((each.tells / whole) ** 2 * each.variance(difference) for each in counts)
        return (value - difference) / math.sqrt(max(spread, 1e-12))

    low = _crossing(lambda at: off(at) - Z_95, -1.0, value)
    high = _crossing(lambda at: off(at) + Z_95, value, 1.0)
    return Interval(value=value, low=low, high=high)


def of_means(strata: Sequence[Arms]) -> Interval | None:
    """The difference of two means; nothing where no stratum has both arms, or no arm shows how much it varies."""
    told = [arms for arms in strata if arms.tells]
    spreads = [_spread([arms.shown for arms in told]), _spread([arms.held_back for arms in told])]
    if not told or spreads[0] is None or spreads[1] is None:
        return None
    whole = math.fsum(arms.tells for arms in told)
    weights = [arms.tells / whole for arms in told]
    value = math.fsum(weight * arms.difference for weight, arms in zip(weights, told, strict=True))
    (first, first_free), (second, second_free) = spreads[0], spreads[1]
    parts = (
        first * math.fsum(weight**2 / len(arms.shown) for weight, arms in zip(weights, told, strict=True)),
        second * math.fsum(weight**2 / len(arms.held_back) for weight, arms in zip(weights, told, strict=True)),
    )
    error = math.sqrt(sum(parts))
    if not error:
        return Interval(value=value, low=value, high=value)
    free = sum(parts) ** 2 / (parts[0] ** 2 / first_free + parts[1] ** 2 / second_free)
    reach = t_95(free) * error
    return Interval(value=value, low=value - reach, high=value + reach)


def t_95(free: float) -> float:
    """The 97.5 % quantile of Student's t with so many degrees of freedom, by its expansion around the normal one."""
    z, free = Z_95, max(free, 1.0)
    first = (z**3 + z) / 4
    second = (5 * z**5 + 16 * z**3 + 3 * z) / 96
    third = (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384
    fourth = (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92160
    return z + first / free + second / free**2 + third / free**3 + fourth / free**4


def pulled(own: Interval | None, others: Interval, *, spread: float, count: int) -> Interval:
    """An estimate for one key, pulled towards that of `count` other keys as far as its own data leave it open.

    Keys are taken to scatter around a common value by `spread`. What the others show is then a forecast for this one, as
    wide as they are uncertain and as keys scatter; it is put together with the key's own data by how sure each is.
    """
    forecast = _error(others) ** 2 + spread**2 * (1 + 1 / count)
    centre = (others.low + others.high) / 2
    precision, value = 1 / forecast, centre / forecast
    if own is not None:
        sure = 1 / max(_error(own) ** 2, 1e-12)
        precision, value = precision + sure, value + sure * (own.low + own.high) / 2
    middle, reach = value / precision, Z_95 / math.sqrt(precision)
    return Interval(value=middle, low=middle - reach, high=middle + reach)


def scatter(intervals: Sequence[Interval]) -> float:
    """How far keys differ beyond what chance explains (DerSimonian and Laird); 0 where chance is enough."""
    if len(intervals) < 2:
        return 0.0
    sure = [1 / max(_error(each) ** 2, 1e-12) for each in intervals]
    middles = [(each.low + each.high) / 2 for each in intervals]
    mean = math.fsum(s * m for s, m in zip(sure, middles, strict=True)) / math.fsum(sure)
    seen = math.fsum(s * (m - mean) ** 2 for s, m in zip(sure, middles, strict=True))
    scale = math.fsum(sure) - math.fsum(s * s for s in sure) / math.fsum(sure)
    return math.sqrt(max(0.0, (seen - (len(intervals) - 1)) / scale)) if scale > 0 else 0.0


def _error(interval: Interval) -> float:
    return (interval.high - interval.low) / (2 * Z_95)


def _spread(arms: Sequence[Sequence[float]]) -> tuple[float, int] | None:
    """Variance within the strata of one arm, and its degrees of freedom; nothing where no stratum has two runs."""
    free = sum(len(values) - 1 for values in arms)
    if free < 1:
        return None
    within = math.fsum((value - fmean(values)) ** 2 for values in arms for value in values)
    return within / free, free


def _crossing(function: Callable[[float], float], low: float, high: float) -> float:
    """Where a falling function passes zero; the end of the range if it does not."""
    if function(low) <= 0:
        return low
    if function(high) >= 0:
        return high
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if function(middle) > 0 else (low, middle)
    return (low + high) / 2


@dataclass(frozen=True, slots=True, kw_only=True)
class _Counts:
    """A stratum of proportions: runs and share of successes in each arm."""

    n_shown: int
    n_held_back: int
    p_shown: float
    p_held_back: float

    @classmethod
    def of(cls, arms: Arms) -> _Counts:
        first, second = arms.shown, arms.held_back
        return cls(n_shown=len(first), n_held_back=len(second), p_shown=fmean(first), p_held_back=fmean(second))

    @property
    def tells(self) -> float:
        return self.n_shown * self.n_held_back / (self.n_shown + self.n_held_back)

    @property
    def difference(self) -> float:
        return self.p_shown - self.p_held_back

    def variance(self, difference: float) -> float:
        """Of the observed difference, if this were the true one: at the likeliest proportions that differ by it."""
        shown = self._likeliest(difference)
        held_back = min(1.0, max(0.0, shown - difference))
        runs = self.n_shown + self.n_held_back
        plain = shown * (1 - shown) / self.n_shown + held_back * (1 - held_back) / self.n_held_back
        return plain * runs / (runs - 1)

    def _likeliest(self, difference: float) -> float:
        """The root of the likelihood's cubic that is a proportion (Farrington and Manning)."""
        ratio, d = self.n_held_back / self.n_shown, difference
        a = 1 + ratio
        b = -(1 + ratio + self.p_shown + ratio * self.p_held_back + d * (ratio + 2))
        c = d * d + d * (2 * self.p_shown + ratio + 1) + self.p_shown + ratio * self.p_held_back
        e = -self.p_shown * d * (1 + d)
        v = (b / (3 * a)) ** 3 - b * c / (6 * a * a) + e / (2 * a)
        u = math.copysign(math.sqrt(max(0.0, (b / (3 * a)) ** 2 - c / (3 * a))), v)
        turn = (math.pi + math.acos(min(1.0, max(-1.0, v / u**3)))) / 3 if u else math.pi / 2
        root = 2 * u * math.cos(turn) - b / (3 * a)
        return min(1.0, 1 + d, max(0.0, d, root))
