"""Evidence under a lot → Lift: what a skill adds to a run, with an interval, or that it is not known yet.

Only runs for which a lot was drawn are compared, and each stays in the arm that the lot put it in, whether it followed the
skill or not (intention to treat). Verified outcomes only; of one session the first run counts, since its lot was drawn once.
Keys (models, scopes) with few runs are pulled towards the other keys. The intervals are right at one look; looking
after every run and stopping at the first clear answer is for `standing`, not for them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from tacit.domain.evidence import WORTH, Evidence, Grade
from tacit.evidence.differences import Arms, Interval, of_means, of_proportions, pulled, scatter

LEAST_RUNS = 10
"""So many runs with the skill, and so many without it, before anything is claimed."""
LEAST_OF_A_KEY = 5
"""So many runs of one model or scope, in both arms together, before anything is said of it."""

_STRENGTH = {Grade.MACHINE: 1, Grade.HUMAN: 0}


class Measure(StrEnum):
    """What is compared: the share of successes, retries a run, and how many times the steps and tokens."""

    SUCCESS = "success"
    STEPS = "steps"
    RETRIES = "retries"
    TOKENS = "tokens"

    @property
    def is_ratio(self) -> bool:
        """Whether it is told as a share of what the runs without the skill took: −0.2 is a fifth less."""
        return self in (Measure.STEPS, Measure.TOKENS)

    @property
    def spread(self) -> float:
        """How far keys of one skill are taken to scatter at least: 15 points or 15 %, a quarter of a retry."""
        return 0.25 if self is Measure.RETRIES else 0.15


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """How far runs with the skill differ from those without it: with its 95 % interval."""

    value: float
    low: float
    high: float

    @property
    def is_clear(self) -> bool:
        """Whether the interval leaves out zero."""
        return self.low > 0 or self.high < 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Lift:
    """What a skill adds, by measure; what is missing is not known yet."""

    shown: int = 0
    """Runs that the lot gave the skill to."""
    held_back: int = 0
    """Runs that the lot kept it from."""
    differences: Mapping[Measure, Difference] = field(default_factory=dict)

    @property
    def known(self) -> bool:
        """Whether anything is claimed about success."""
        return Measure.SUCCESS in self.differences

    @property
    def success(self) -> Difference | None:
        """The share of successes that it adds."""
        return self.differences.get(Measure.SUCCESS)

    @property
    def missing(self) -> tuple[int, int]:
        """How many runs with it and without it are wanting before anything is claimed."""
        return max(0, LEAST_RUNS - self.shown), max(0, LEAST_RUNS - self.held_back)


Naming = Callable[[Evidence], str]
"""What runs are told apart or put together by."""


def run_of(row: Evidence) -> str:
    """The run that a result belongs to."""
    return row.use_id or row.trajectory_id or row.id


def lift(
    evidence: Iterable[Evidence], *, session: Naming = run_of, measures: Collection[Measure] = tuple(Measure)
) -> Lift:
    """Compare the runs that saw a skill with those that a lot kept it from.

    `session` names what the lot was drawn for, where several runs share one; without it each run stands for itself.
    """
    runs = _runs(evidence, session)
    return _told(runs, {measure: _compared(runs, measure) for measure in measures} if _enough(runs) else {})


def by_key(evidence: Iterable[Evidence], key: Naming, *, session: Naming = run_of) -> dict[str, Lift]:
    """The same for each key (a model, a scope), with few runs pulled towards what the others show.

    Keys are taken to differ by `Measure.spread`, or by more where their runs say so. Nothing is told before the whole is known.
    """
    runs = _runs(evidence, session)
    split: dict[str, list[Evidence]] = {}
    for row in runs:
        split.setdefault(key(row), []).append(row)
    if len(split) < 2:
        return {name: lift(rows) for name, rows in split.items()}
    found: dict[str, dict[Measure, Interval | None]] = {name: {} for name in split}
    for measure in Measure if _enough(runs) else ():
        own = {name: _compared(rows, measure) for name, rows in split.items()}
        spread = max(measure.spread, scatter([each for each in own.values() if each is not None]))
        for name, rows in split.items():
            others = _compared([row for row in runs if key(row) != name], measure)
            told = own[name] if others is None else pulled(own[name], others, spread=spread, count=len(split) - 1)
            found[name][measure] = told if len(rows) >= LEAST_OF_A_KEY else None
    return {name: _told(rows, found[name]) for name, rows in sorted(split.items())}


def _told(runs: Sequence[Evidence], found: Mapping[Measure, Interval | None]) -> Lift:
    differences = {measure: _as_told(measure, interval) for measure, interval in found.items() if interval is not None}
    without = sum(row.control for row in runs)
    return Lift(shown=len(runs) - without, held_back=without, differences=differences)


def _as_told(measure: Measure, interval: Interval) -> Difference:
    if measure.is_ratio:
        value, low, high = (math.expm1(each) for each in (interval.value, interval.low, interval.high))
    elif measure is Measure.SUCCESS:
        value, low, high = (min(1.0, max(-1.0, each)) for each in (interval.value, interval.low, interval.high))
    else:
        value, low, high = interval.value, interval.low, interval.high
    return Difference(value=value, low=low, high=high)


def _enough(runs: Sequence[Evidence]) -> bool:
    without = sum(row.control for row in runs)
    return min(without, len(runs) - without) >= LEAST_RUNS


def _compared(runs: Sequence[Evidence], measure: Measure) -> Interval | None:
    """The difference within strata of one chance and one model; nothing where too little was measured."""
    strata: dict[tuple[float, str], tuple[list[float], list[float]]] = {}
    for row in runs:
        value = _measured(row, measure)
        if value is not None:
            strata.setdefault((round(row.share, 4), row.model), ([], []))[row.control].append(value)
    arms = [Arms(shown=tuple(shown), held_back=tuple(without)) for shown, without in strata.values()]
    return of_proportions(arms) if measure is Measure.SUCCESS else of_means(arms)


def _measured(row: Evidence, measure: Measure) -> float | None:
    """What one run shows; of steps and tokens the logarithm, for some runs take many times what most take."""
    if measure is Measure.SUCCESS:
        return WORTH[row.outcome]
    if row.effort is None:
        return None
    taken = int(getattr(row.effort, measure.value))
    if not measure.is_ratio:
        return float(taken)
    return math.log(taken) if taken > 0 else None  # a run without any was not measured


def _runs(evidence: Iterable[Evidence], session: Naming) -> list[Evidence]:
    """One result per run, the best graded and of these the latest; of each session the first run."""
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
