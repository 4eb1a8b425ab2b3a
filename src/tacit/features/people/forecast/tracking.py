"""How good forecasts of a person have been: settled forecasts → counts, accuracy, Brier score, calibration. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from tacit.domain.choice import Forecast
from tacit.evidence.statistics import wilson
from tacit.features.people.forecast.calibration import SURE, Settled

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
