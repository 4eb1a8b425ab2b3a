"""Lift: what a skill adds to a run, as an interval from control runs, or not known yet.

Only runs that took part in a random draw are compared, each in the arm it was drawn into, whether it followed the skill
or not (intention to treat). Only verified outcomes count, and of one session the first run. Estimates of keys (models,
scopes) with few runs are shrunk towards the other keys. The intervals hold for a single look; repeated looks are tested
in `maintain.status_changes`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from functools import cached_property
from statistics import NormalDist, fmean

from tacit.domain.evidence import WORTH, Evidence, Grade
from tacit.evidence.statistics import student

LEAST_RUNS = 10
"""Runs with the skill, and runs without it, that are needed before anything is claimed."""
LEAST_OF_A_KEY = 5
"""Runs of one model or scope, in both arms together, that are needed before it is reported."""

_STRENGTH = {Grade.MACHINE: 1, Grade.HUMAN: 0}


class Measure(StrEnum):
    """What is compared: the share of successes, retries per run, and the ratio of steps and tokens."""

    SUCCESS = "success"
    STEPS = "steps"
    RETRIES = "retries"
    TOKENS = "tokens"

    @property
    def is_ratio(self) -> bool:
        """Whether it is a ratio to the runs without the skill: −0.2 means a fifth less."""
        return self in (Measure.STEPS, Measure.TOKENS)

    @property
    def spread(self) -> float:
        """The least standard deviation assumed between keys of one skill: 15 points or 15 %, a quarter of a retry."""
        return 0.25 if self is Measure.RETRIES else 0.15


@dataclass(frozen=True, slots=True, kw_only=True)
class LiftDifference:
    """The difference between runs with the skill and runs without it, with its 95 % interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Lift:
    """What a skill adds, by measure; a missing measure is not known yet."""

    shown: int = 0
    """Runs that were drawn to see the skill."""
    held_back: int = 0
    """Control runs."""
    differences: Mapping[Measure, LiftDifference] = field(default_factory=dict)

    @property
    def known(self) -> bool:
        """Whether anything is claimed about success."""
        return Measure.SUCCESS in self.differences

    @property
    def success(self) -> LiftDifference | None:
        """The share of successes that it adds."""
        return self.differences.get(Measure.SUCCESS)

    @property
    def missing(self) -> tuple[int, int]:
        """How many more runs with it and without it are needed before anything is claimed."""
        return max(0, LEAST_RUNS - self.shown), max(0, LEAST_RUNS - self.held_back)


RunKey = Callable[[Evidence], str]
"""Returns the key by which results are grouped."""


def run_of(row: Evidence) -> str:
    """Return the key of the run that a result belongs to."""
    return row.use_id or row.trajectory_id or row.id


def lift(
    evidence: Iterable[Evidence], *, session: RunKey = run_of, measures: Collection[Measure] = tuple(Measure)
) -> Lift:
    """Compare the runs that saw a skill with its control runs.

    `session` returns what the draw was made for, where several runs share one draw; by default each run is its own.
    """
    runs = _runs(evidence, session)
    return _lift_of(runs, {measure: _compared(runs, measure) for measure in measures} if _enough(runs) else {})


def by_key(evidence: Iterable[Evidence], key: RunKey, *, session: RunKey = run_of) -> dict[str, Lift]:
    """Return the lift for each key (a model, a scope), shrunk towards the other keys where a key has few runs.

    Keys are assumed to differ by `Measure.spread`, or by more where the runs show it. No key is reported before the
    whole is known.
    """
    runs = _runs(evidence, session)
    split: dict[str, list[Evidence]] = {}
    for row in runs:
        split.setdefault(key(row), []).append(row)
    if len(split) < 2:
        return {name: lift(rows) for name, rows in split.items()}
    found: dict[str, dict[Measure, LiftDifference | None]] = {name: {} for name in split}
    for measure in Measure if _enough(runs) else ():
        own = {name: _compared(rows, measure) for name, rows in split.items()}
        spread = max(measure.spread, scatter([each for each in own.values() if each is not None]))
        for name, rows in split.items():
            others = _compared([row for row in runs if key(row) != name], measure)
            shrunk = (
                own[name] if others is None else shrunk_estimate(own[name], others, spread=spread, count=len(split) - 1)
            )
            found[name][measure] = shrunk if len(rows) >= LEAST_OF_A_KEY else None
    return {name: _lift_of(rows, found[name]) for name, rows in sorted(split.items())}


def _lift_of(runs: Sequence[Evidence], found: Mapping[Measure, LiftDifference | None]) -> Lift:
    differences = {measure: _on_scale(measure, interval) for measure, interval in found.items() if interval is not None}
    without = sum(row.control for row in runs)
    return Lift(shown=len(runs) - without, held_back=without, differences=differences)


def _on_scale(measure: Measure, interval: LiftDifference) -> LiftDifference:
    if measure.is_ratio:
        value, low, high = (math.expm1(each) for each in (interval.value, interval.low, interval.high))
    elif measure is Measure.SUCCESS:
        value, low, high = (min(1.0, max(-1.0, each)) for each in (interval.value, interval.low, interval.high))
    else:
        value, low, high = interval.value, interval.low, interval.high
    return LiftDifference(value=value, low=low, high=high)


def _enough(runs: Sequence[Evidence]) -> bool:
    without = sum(row.control for row in runs)
    return min(without, len(runs) - without) >= LEAST_RUNS


def _compared(runs: Sequence[Evidence], measure: Measure) -> LiftDifference | None:
    """The difference within strata of one chance and one model; None where too little was measured."""
    strata: dict[tuple[float, str], tuple[list[float], list[float]]] = {}
    for row in runs:
        value = _measured(row, measure)
        if value is not None:
            strata.setdefault((round(row.share, 4), row.model), ([], []))[row.control].append(value)
    arms = [Arms(shown=tuple(shown), held_back=tuple(without)) for shown, without in strata.values()]
    return proportion_difference(arms) if measure is Measure.SUCCESS else mean_difference(arms)


def _measured(row: Evidence, measure: Measure) -> float | None:
    """The value of one run; of steps and tokens the logarithm, because a few runs take many times what most take."""
    if measure is Measure.SUCCESS:
        return WORTH[row.outcome]
    if row.effort is None:
        return None
    taken = int(getattr(row.effort, measure.value))
    if not measure.is_ratio:
        return float(taken)
    return math.log(taken) if taken > 0 else None  # a run with zero was not measured


def _runs(evidence: Iterable[Evidence], session: RunKey) -> list[Evidence]:
    """One result per run: the best graded, and of these the latest; of each session the first run."""
    best: dict[str, Evidence] = {}
    for row in evidence:
        if not row.grade.verified or row.share <= 0 or row.outcome not in WORTH:
            continue
        held = best.get(run_of(row))
        if held is None or _preference(row) >= _preference(held):
            best[run_of(row)] = row
    first: dict[str, Evidence] = {}
    for row in sorted(best.values(), key=lambda row: (row.at, row.id)):
        first.setdefault(session(row), row)
    return list(first.values())


def _preference(row: Evidence) -> tuple[int, datetime]:
    return _STRENGTH[row.grade], row.at


Z_95 = NormalDist().inv_cdf(0.975)
_STEPS = 30
"""Bisection steps when searching a bound; the error is far below what is ever shown."""


@dataclass(frozen=True, kw_only=True)
class Arms:
    """The values of one stratum: of runs that saw the skill, and of control runs."""

    shown: tuple[float, ...]
    held_back: tuple[float, ...]

    @property
    def information(self) -> float:
        """The weight of the stratum in the difference; 0 where one arm is empty."""
        first, second = len(self.shown), len(self.held_back)
        return first * second / (first + second) if first and second else 0.0

    @cached_property
    def means(self) -> tuple[float, float]:
        """The mean with the skill, and the mean without it."""
        return fmean(self.shown), fmean(self.held_back)

    @property
    def difference(self) -> float:
        """Mean with the skill minus mean without it."""
        return self.means[0] - self.means[1]

    def variance(self, difference: float) -> float:
        """Of the difference of two proportions, if this were the true one: at the likeliest proportions that differ by it."""
        shown = self._likeliest(difference)
        held_back = min(1.0, max(0.0, shown - difference))
        plain = shown * (1 - shown) / len(self.shown) + held_back * (1 - held_back) / len(self.held_back)
        runs = len(self.shown) + len(self.held_back)
        return plain * runs / (runs - 1)

    def _likeliest(self, difference: float) -> float:
        """The root of the likelihood's cubic that is a proportion (Farrington and Manning)."""
        (p_shown, p_held_back), d = self.means, difference
        ratio = len(self.held_back) / len(self.shown)
        a = 1 + ratio
        b = -(1 + ratio + p_shown + ratio * p_held_back + d * (ratio + 2))
        c = d * d + d * (2 * p_shown + ratio + 1) + p_shown + ratio * p_held_back
        e = -p_shown * d * (1 + d)
        v = (b / (3 * a)) ** 3 - b * c / (6 * a * a) + e / (2 * a)
        u = math.copysign(math.sqrt(max(0.0, (b / (3 * a)) ** 2 - c / (3 * a))), v)
        turn = (math.pi + math.acos(min(1.0, max(-1.0, v / u**3)))) / 3 if u else math.pi / 2
        root = 2 * u * math.cos(turn) - b / (3 * a)
        return min(1.0, 1 + d, max(0.0, d, root))


def proportion_difference(strata: Sequence[Arms]) -> LiftDifference | None:
    """Return the difference of two proportions (values from 0 to 1); None where no stratum has both arms."""
    complete = [arms for arms in strata if arms.information]
    if not complete:
        return None
    whole = math.fsum(each.information for each in complete)
    value = math.fsum(each.information * each.difference for each in complete) / whole

    def off(difference: float) -> float:
        """How many standard errors the data are above this difference."""
        spread = math.fsum((each.information / whole) ** 2 * each.variance(difference) for each in complete)
        return (value - difference) / math.sqrt(max(spread, 1e-12))

    low = _crossing(lambda at: off(at) - Z_95, -1.0, value)
    high = _crossing(lambda at: off(at) + Z_95, value, 1.0)
    return LiftDifference(value=value, low=low, high=high)


def mean_difference(strata: Sequence[Arms]) -> LiftDifference | None:
    """Return the difference of two means; None where no stratum has both arms, or the variance is not known."""
    complete = [arms for arms in strata if arms.information]
    spreads = [_spread([arms.shown for arms in complete]), _spread([arms.held_back for arms in complete])]
    if not complete or spreads[0] is None or spreads[1] is None:
        return None
    whole = math.fsum(arms.information for arms in complete)
    weights = [arms.information / whole for arms in complete]
    value = math.fsum(weight * arms.difference for weight, arms in zip(weights, complete, strict=True))
    (first, first_free), (second, second_free) = spreads[0], spreads[1]
    parts = (
        first * math.fsum(weight**2 / len(arms.shown) for weight, arms in zip(weights, complete, strict=True)),
        second * math.fsum(weight**2 / len(arms.held_back) for weight, arms in zip(weights, complete, strict=True)),
    )
    error = math.sqrt(sum(parts))
    if not error:
        return LiftDifference(value=value, low=value, high=value)
    free = sum(parts) ** 2 / (parts[0] ** 2 / first_free + parts[1] ** 2 / second_free)
    reach = student(0.975, free) * error
    return LiftDifference(value=value, low=value - reach, high=value + reach)


def shrunk_estimate(own: LiftDifference | None, others: LiftDifference, *, spread: float, count: int) -> LiftDifference:
    """Return the estimate for one key, shrunk towards that of `count` other keys.

    Keys are assumed to vary around a common value by `spread`. The others then give a prior for this key, as wide as
    they are uncertain and as keys vary; prior and own data are combined by their precision.
    """
    forecast = _error(others) ** 2 + spread**2 * (1 + 1 / count)
    centre = (others.low + others.high) / 2
    precision, value = 1 / forecast, centre / forecast
    if own is not None:
        sure = 1 / max(_error(own) ** 2, 1e-12)
        precision, value = precision + sure, value + sure * (own.low + own.high) / 2
    middle, reach = value / precision, Z_95 / math.sqrt(precision)
    return LiftDifference(value=middle, low=middle - reach, high=middle + reach)


def scatter(intervals: Sequence[LiftDifference]) -> float:
    """Return the variation between keys beyond chance (DerSimonian and Laird); 0 where chance explains it."""
    if len(intervals) < 2:
        return 0.0
    sure = [1 / max(_error(each) ** 2, 1e-12) for each in intervals]
    middles = [(each.low + each.high) / 2 for each in intervals]
    mean = math.fsum(s * m for s, m in zip(sure, middles, strict=True)) / math.fsum(sure)
    seen = math.fsum(s * (m - mean) ** 2 for s, m in zip(sure, middles, strict=True))
    scale = math.fsum(sure) - math.fsum(s * s for s in sure) / math.fsum(sure)
    return math.sqrt(max(0.0, (seen - (len(intervals) - 1)) / scale)) if scale > 0 else 0.0


def _error(interval: LiftDifference) -> float:
    return (interval.high - interval.low) / (2 * Z_95)


def _spread(arms: Sequence[Sequence[float]]) -> tuple[float, int] | None:
    """Variance within the strata of one arm, and its degrees of freedom; None where no stratum has two runs."""
    free = sum(len(values) - 1 for values in arms)
    if free < 1:
        return None
    within = math.fsum((value - fmean(values)) ** 2 for values in arms for value in values)
    return within / free, free


def _crossing(function: Callable[[float], float], low: float, high: float) -> float:
    """Where a falling function crosses zero; the end of the range if it does not."""
    if function(low) <= 0:
        return low
    if function(high) >= 0:
        return high
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if function(middle) > 0 else (low, middle)
    return (low + high) / 2
