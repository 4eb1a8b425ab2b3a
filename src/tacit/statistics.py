"""Pure statistics: intervals for proportions and for means of whatever was measured; tests that may be looked at after every
result. No effects, stdlib only.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TypeVar

T = TypeVar("T")

Z_ONE_SIDED_95 = 1.6448536269514722
"""Normal quantile for a one-sided 95 % bound, which is a two-sided 90 % interval."""
BETS = (0.1, 0.2, 0.3, 0.45, 0.6)
"""What is bet against a mean, as parts of the most that may be bet: small ones find small faults, large ones large faults."""


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


class Faded:
    """Counts of which older results weigh ever less: half after `half_life` later ones.

    Age is counted in results, so a small share of one ages the others by as little as it adds.
    """

    __slots__ = ("_fading", "successes", "trials")

    def __init__(self, half_life: float) -> None:
        self._fading = 0.5 ** (1 / half_life)
        self.successes = 0.0
        self.trials = 0.0

    def add(self, value: float, weight: float = 1.0) -> None:
        """Count one more result, from 0 to 1. A whole one weighs one when new."""
        kept = self._fading**weight
        fresh = (1 - kept) / (1 - self._fading)
        self.successes = self.successes * kept + fresh * value
        self.trials = self.trials * kept + fresh

    def interval(self) -> tuple[float, float]:
        """Between which shares the truth lies; each end is a one-sided 95 % bound."""
        return wilson(min(self.successes, self.trials), self.trials)


class EProcess:
    """Evidence that the mean of values from 0 to 1 lies below a line; may be looked at after every value.

    Somebody bets against "the mean is at least `line`", with several stakes at once. If that is true, nobody can expect to win,
    whenever he stops: the chance that his money ever grows by 1/alpha is at most alpha. Weights may depend on what was
    seen before, never on the value itself.
    """

    __slots__ = ("_logs", "_stakes", "line", "peak")

    def __init__(self, line: float, *, bets: Sequence[float] = BETS) -> None:
        if not 0 < line < 1 or not bets or not all(0 < bet < 1 for bet in bets):
            raise ValueError("a line and bets must lie between 0 and 1")
        self.line = line
        self._stakes = [bet / (1 - line) for bet in bets]
        self._logs = [0.0] * len(bets)
        self.peak = 1.0
        """The most that the money ever grew by. Infinite beyond all that matters."""

    def add(self, value: float, weight: float = 1.0) -> float:
        """Bet on one more value; returns by how much the money has grown so far."""
        if not (0 <= value <= 1 and 0 <= weight <= 1):
            raise ValueError("values and weights must lie between 0 and 1")
        won = weight * (self.line - value)
        self._logs = [held + math.log1p(stake * won) for held, stake in zip(self._logs, self._stakes, strict=True)]
        grown = math.fsum(math.exp(min(held, 700.0)) for held in self._logs) / len(self._logs)
        self.peak = max(self.peak, grown)
        return grown


class Drop:
    """Whether values from 0 to 1 are suddenly half as high as before: a CUSUM that learns from them what "before" is.

    What is usual is the mean of all that came before the present doubt, with a few imagined values towards `usual`. Doubt grows
    with every value that fits half of it better, and falls otherwise; where it falls to nothing, the values under it
    become part of what came before.
    """

    __slots__ = ("_before", "_imagined", "_under", "_usual", "doubt")

    def __init__(self, *, usual: float = 0.8, imagined: float = 20.0) -> None:
        self._usual, self._imagined = usual, imagined
        self._before = (0.0, 0.0)
        self._under = (0.0, 0.0)
        self.doubt = 0.0

    @property
    def before(self) -> tuple[float, float]:
        """Successes and trials before the present doubt."""
        return self._before

    @property
    def under(self) -> tuple[float, float]:
        """Successes and trials since the present doubt began."""
        return self._under

    def add(self, value: float, weight: float = 1.0) -> float:
        """Take in one more value; returns the doubt."""
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
    """Cut amounts so that none is more than a share of what is left of all; up to `free` nobody is cut.

    Where there are too few of them for that share, each may be as much as the others.
    """
    most = max(share, 1 / len(amounts)) if amounts else 1.0
    rest = math.fsum(amounts.values())
    limit = 0.0
    for cut, largest in enumerate(sorted(amounts.values(), reverse=True)):
        limit = most * rest / (1 - most * cut)  # what `cut` of them may be at most, beside the others as they are
        if largest <= limit * (1 + 1e-9):
            break
        rest -= largest
    return {owner: min(amount, max(limit, free)) for owner, amount in amounts.items()}
