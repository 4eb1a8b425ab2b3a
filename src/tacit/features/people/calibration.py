"""What a score is worth: the record of earlier forecasts → the confidence that may be said aloud. Pure.

A score is how strongly memories speak; how often such a score came true only the record tells. Confidence is the share of
hits among earlier forecasts with a score near this one, later ones weighing more, shrunk towards a cautious reading of the
score itself while there are few. From `SURE` on it is said only where the record at that level bears it out.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from tacit.domain.choice import Forecast
from tacit.evidence.statistics import wilson

SURE = 0.8
"""From here on a forecast may be acted on by somebody who does not look twice, so it must be borne out."""
ALMOST = 0.79
"""The most that is said where the record does not bear out more."""
_WINDOW = 0.12
"""How far scores may be apart to tell something of each other."""
_HALF_LIFE = 60.0
"""Forecasts after which an earlier one weighs half."""
_IMAGINED = 6.0
"""Earlier forecasts that the cautious reading of a score stands for."""
_CAUTION = 0.8
"""How much of a score above even chances is believed before there is a record."""
_LEAST_SUPPORT = 15.0
"""Earlier forecasts, as they weigh now, that must be there before anything is called sure."""
_LATELY = 12
_LATE_MISSES = 2
"""More misses than this among the last so many with such a score: nothing is called sure until that is past."""
_PAUSE = 4
_TELLING = 0.7
"""After a miss at this score or above nothing is called sure for so many such forecasts: it may be a change of mind."""
_Z = 1.0
"""How cautious the record is read: its lower bound, so many standard errors below the share of hits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settled:
    """An earlier forecast whose outcome is known."""

    score: float
    confidence: float
    """What was said then."""
    hit: bool


def confidence(score: float, record: Sequence[Settled], *, even: float = 0.5) -> float:
    """The confidence that may be said of a score, given what came of earlier ones (oldest first).

    `even` is what guessing among the answers would give.
    """
    if score <= 0:
        return 0.0
    weights = [0.5 ** ((len(record) - 1 - at) / _HALF_LIFE) for at in range(len(record))]
    hits = _IMAGINED * _cautious(score, even)
    total = _IMAGINED
    for weight, earlier in zip(weights, record, strict=True):
        nearness = 1 - abs(earlier.score - score) / _WINDOW
        if nearness > 0:
            total += weight * nearness
            hits += weight * nearness * earlier.hit
    said = hits / total
    return said if said < SURE or _borne_out(score, record, weights) else ALMOST


def _cautious(score: float, even: float) -> float:
    return min(even, score) + _CAUTION * max(0.0, score - even)


def _borne_out(score: float, record: Sequence[Settled], weights: Sequence[float]) -> bool:
    """Whether scores like this one, or higher, have come true often enough, and still do lately."""
    telling = [earlier.hit for earlier in record if earlier.score >= _TELLING]
    if not all(telling[-_PAUSE:]):
        return False
    above = [(w, e.hit) for w, e in zip(weights, record, strict=True) if e.score >= score - _WINDOW / 2]
    if sum(not hit for _, hit in above[-_LATELY:]) > _LATE_MISSES:
        return False
    total = sum(weight for weight, _ in above)
    if total < _LEAST_SUPPORT:
        return False
    return wilson(sum(weight for weight, hit in above if hit), total, z=_Z)[0] >= SURE


ALPHA = 0.3
"""How much the latest forecast moves the accuracy that is shown."""
CORRECTION_WEIGHT = 3
"""An explicit correction moves it like so many forecasts."""
EDGES = (0.0, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95, 1.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Bin:
    """Forecasts that were said with about the same confidence, and how many of them came true."""

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
        """Between which shares the truth lies."""
        return wilson(self.hits, self.count)


@dataclass(frozen=True, slots=True, kw_only=True)
class Track:
    """The record of forecasts of one person."""

    forecasts: int = 0
    said: int = 0
    """How many were said; the others were "not known"."""
    hits: int = 0
    """Of those that were said."""
    guessed: int = 0
    """Hits of all guesses, said or not."""
    surprises: int = 0
    brier: float | None = None
    """Of those that were said: the mean squared difference of confidence and what came; 0 is perfect, 0.25 a toss."""
    lately: float | None = None
    """Accuracy of what was said, the latest weighing most and corrections three times."""
    sure: int = 0
    sure_hits: int = 0
    """Of those that were called sure."""
    bins: tuple[Bin, ...] = ()

    @property
    def accuracy(self) -> float | None:
        """The share of what was said that came true."""
        return self.hits / self.said if self.said else None


def settled(forecasts: Iterable[Forecast]) -> list[Settled]:
    """What calibration needs of forecasts whose outcome is known."""
    return [
        Settled(score=each.score, confidence=each.posterior_confidence, hit=each.guess == each.actual)
        for each in forecasts
        if each.actual and each.guess
    ]


def track(forecasts: Sequence[Forecast], *, corrected: Collection[str] = ()) -> Track:
    """The record that forecasts make (oldest first); `corrected` names by key those that were answered with a correction."""
    known = [each for each in forecasts if each.actual]
    said = [each for each in known if each.posterior]
    sure = [each for each in said if each.posterior_confidence >= SURE]
    squares = [(each.posterior_confidence - _hit(each)) ** 2 for each in said]
    return Track(
        forecasts=len(known),
        said=len(said),
        hits=sum(map(_hit, said)),
        guessed=sum(each.guess == each.actual for each in known),
        surprises=sum(each.surprise for each in known),
        brier=sum(squares) / len(squares) if squares else None,
        lately=_lately(said, corrected),
        sure=len(sure),
        sure_hits=sum(map(_hit, sure)),
        bins=calibration_table([(each.posterior_confidence, _hit(each)) for each in said]),
    )


def calibration_table(told: Sequence[tuple[float, bool]]) -> tuple[Bin, ...]:
    """Confidence and whether it came true → one row for each step of confidence that occurs."""
    found = []
    for low, high in pairwise(EDGES):
        inside = [(c, hit) for c, hit in told if low <= c < high or (c >= high == 1.0)]
        if inside:
            mean = sum(c for c, _ in inside) / len(inside)
            hits = sum(hit for _, hit in inside)
            found.append(Bin(low=low, high=high, count=len(inside), hits=hits, mean_confidence=mean))
    return tuple(found)


def _lately(said: Sequence[Forecast], corrected: Collection[str]) -> float | None:
    value: float | None = None
    for each in said:
        for _ in range(CORRECTION_WEIGHT if each.key in corrected else 1):
            value = float(_hit(each)) if value is None else (1 - ALPHA) * value + ALPHA * _hit(each)
    return value


def _hit(forecast: Forecast) -> bool:
    return forecast.posterior == forecast.actual
