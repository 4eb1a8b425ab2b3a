"""What a score is worth: the record of earlier forecasts → the confidence that may be said aloud. Pure.

A score is how strongly memories speak; how often such a score came true only the record tells. Confidence is the share of
hits among earlier forecasts with a score near this one, later ones weighing more, shrunk towards a cautious reading of the
score itself while there are few. From `SURE` on it is said only where the record at that level bears it out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

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
