"""Calibration: the record of earlier forecasts → the confidence of a new one, and how good forecasts have been.

A score is the share of votes for an answer; only the record tells how often such a score came true. Confidence is the share
of hits among earlier forecasts with a similar score, later ones weighing more, shrunk towards a cautious reading of the score
itself while there are few. Confidence reaches `SURE` only where the record at that level supports it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from tacit.evidence.statistics import wilson
from tacit.features.people.ledger_entries import Forecast

SURE = 0.8
"""From here on a forecast may be accepted without a second look, so the record must support it."""
ALMOST = 0.79
"""The highest confidence that the record need not support."""
_WINDOW = 0.12
"""Scores within this distance count as similar."""
_HALF_LIFE = 60.0
"""An earlier forecast weighs half after so many."""
_PRIOR_COUNT = 6.0
"""The cautious reading of a score counts as so many earlier forecasts."""
_CAUTION = 0.8
"""Share of a score above even chances that counts without a record."""
_MIN_SUPPORT = 15.0
"""Weighted number of earlier forecasts that `SURE` needs."""
_RECENT = 12
_MAX_RECENT_MISSES = 2
"""With more misses among the last forecasts of such a score, nothing is sure."""
_PAUSE = 4
_HIGH_SCORE = 0.7
"""After a miss at this score or above, nothing is sure for `_PAUSE` such forecasts: the person may have changed."""
_Z = 1.0
"""The lower bound of the record is so many standard errors below the share of hits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settled:
    """An earlier forecast whose outcome is known."""

    score: float
    confidence: float
    """The confidence at that time."""
    hit: bool


def confidence(score: float, record: Sequence[Settled], *, even: float = 0.5) -> float:
    """Return the confidence of a score, given the outcome of earlier forecasts (oldest first).

    `even` is the chance of a random guess.
    """
    if score <= 0:
        return 0.0
    weights = [0.5 ** ((len(record) - 1 - at) / _HALF_LIFE) for at in range(len(record))]
    hits = _PRIOR_COUNT * _cautious(score, even)
    total = _PRIOR_COUNT
    for weight, earlier in zip(weights, record, strict=True):
        nearness = 1 - abs(earlier.score - score) / _WINDOW
        if nearness > 0:
            total += weight * nearness
            hits += weight * nearness * earlier.hit
    found = hits / total
    return found if found < SURE or _is_supported(score, record, weights) else ALMOST


def _cautious(score: float, even: float) -> float:
    return min(even, score) + _CAUTION * max(0.0, score - even)


def _is_supported(score: float, record: Sequence[Settled], weights: Sequence[float]) -> bool:
    """Return whether scores like this one, or higher, came true often enough, and still do."""
    high = [earlier.hit for earlier in record if earlier.score >= _HIGH_SCORE]
    if not all(high[-_PAUSE:]):
        return False
    above = [(w, e.hit) for w, e in zip(weights, record, strict=True) if e.score >= score - _WINDOW / 2]
    if sum(not hit for _, hit in above[-_RECENT:]) > _MAX_RECENT_MISSES:
        return False
    total = sum(weight for weight, _ in above)
    if total < _MIN_SUPPORT:
        return False
    return wilson(sum(weight for weight, hit in above if hit), total, z=_Z)[0] >= SURE


ALPHA = 0.3
"""How much the latest forecast moves the recent accuracy."""
CORRECTION_WEIGHT = 3
"""An explicit correction moves it like so many forecasts."""
EDGES = (0.0, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95, 1.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Bin:
    """Forecasts of similar confidence, and how many of them came true."""

    low: float
    high: float
    count: int
    hits: int
    mean_confidence: float

    @property
    def accuracy(self) -> float:
        """The share that came true."""
        return self.hits / self.count if self.count else 0.0

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % confidence interval of the accuracy."""
        return wilson(self.hits, self.count)


@dataclass(frozen=True, slots=True, kw_only=True)
class Track:
    """The record of forecasts of one person."""

    forecasts: int = 0
    given: int = 0
    """Forecasts with an answer; the others were "not known"."""
    hits: int = 0
    """Of those with an answer."""
    guessed: int = 0
    """Hits of all guesses, given or not."""
    surprises: int = 0
    brier: float | None = None
    """Mean squared difference of confidence and outcome, of those with an answer; 0 is perfect, 0.25 a coin toss."""
    lately: float | None = None
    """Recent accuracy: the latest weigh most, and corrections three times."""
    sure: int = 0
    sure_hits: int = 0
    """Of those with a confidence of `SURE` or more."""
    bins: tuple[Bin, ...] = ()

    @property
    def accuracy(self) -> float | None:
        """The share of forecasts with an answer that came true."""
        return self.hits / self.given if self.given else None


def settled(forecasts: Iterable[Forecast]) -> list[Settled]:
    """Return what calibration needs of forecasts whose outcome is known."""
    return [
        Settled(score=each.score, confidence=each.posterior_confidence, hit=each.guess == each.actual)
        for each in forecasts
        if each.actual and each.guess
    ]


def track(forecasts: Sequence[Forecast], *, corrected: Collection[str] = ()) -> Track:
    """Return the record of forecasts (oldest first); `corrected` has the keys of those that a correction answered."""
    known = [each for each in forecasts if each.actual]
    given = [each for each in known if each.posterior]
    sure = [each for each in given if each.posterior_confidence >= SURE]
    squares = [(each.posterior_confidence - _is_hit(each)) ** 2 for each in given]
    return Track(
        forecasts=len(known),
        given=len(given),
        hits=sum(map(_is_hit, given)),
        guessed=sum(each.guess == each.actual for each in known),
        surprises=sum(each.surprise for each in known),
        brier=sum(squares) / len(squares) if squares else None,
        lately=_recent_accuracy(given, corrected),
        sure=len(sure),
        sure_hits=sum(map(_is_hit, sure)),
        bins=calibration_table([(each.posterior_confidence, _is_hit(each)) for each in given]),
    )


def calibration_table(outcomes: Sequence[tuple[float, bool]]) -> tuple[Bin, ...]:
    """Return one row for each step of confidence that occurs, from confidences and whether each came true."""
    found = []
    for low, high in pairwise(EDGES):
        inside = [(c, hit) for c, hit in outcomes if low <= c < high or (c >= high == 1.0)]
        if inside:
            mean = sum(c for c, _ in inside) / len(inside)
            hits = sum(hit for _, hit in inside)
            found.append(Bin(low=low, high=high, count=len(inside), hits=hits, mean_confidence=mean))
    return tuple(found)


def _recent_accuracy(given: Sequence[Forecast], corrected: Collection[str]) -> float | None:
    value: float | None = None
    for each in given:
        for _ in range(CORRECTION_WEIGHT if each.key in corrected else 1):
            value = float(_is_hit(each)) if value is None else (1 - ALPHA) * value + ALPHA * _is_hit(each)
    return value


def _is_hit(forecast: Forecast) -> bool:
    return forecast.posterior == forecast.actual
