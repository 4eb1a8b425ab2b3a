"""Signals → one score, and the calibrated relevance that decides whether anything is said. Pure, and quick to load.

All signals speak in one unit, nats of evidence, as full-text scores do: a rare word that is found is worth six to ten of
them, a cosine of 0.4 is worth 56. So a query of one rare word, or of a hundred words, is decided by its words, and one whose
words tell nothing by its meaning; nothing depends on what else was found. The numbers were fitted on the development halves
of what `bench/recall_quality.py` asks; what was in view beyond them, and so is not held out, is told in docs/lab.md.
"""

from __future__ import annotations

import math

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

WEIGHTS = {
    "words": 1.0,
    "names": 1.0,
    "example": 40.0,
    "meaning": 140.0,
    "state": 6.0,
    "reliability": 8.0,
    "prominence": 1.5,
    "scope": 1.0,
}
"""Nats for one unit of each signal: `words` and `names` come in nats, the others from 0 to 1 (a prominence may be more)."""
CHANCES = (10.0, 50.0)
"""Nats by words that may be chance, at least and at most: so much counts half, less counts less, much counts fully."""
SHORT = 10
"""A query of so few terms has one meaning, which one vector tells, and a word that is found by chance is a large part of it."""
SCALE = 50.0
"""Evidence of so many nats gives a score of 0.63."""
BY_WORDS = (-2.77, 4.06, 0.17)
"""Log odds by words: a constant, for the share of what both say that they share, for the logarithm of nats by words."""
ENOUGH = 5.0
"""Nats by words below which a shared part says the less: one rare word is more, three everyday words are not."""
BY_MEANING = (-4.2, 10.0)
"""Log odds by meaning: a constant, and for the cosine."""


def carried(signals: Mapping[str, float]) -> dict[str, float]:
    """What each signal adds to the evidence, in nats, the most first; those that add nothing are left away."""
    given = {name: weight * signals.get(name, 0.0) for name, weight in WEIGHTS.items()}
    return dict(sorted(((name, nats) for name, nats in given.items() if nats), key=lambda each: -each[1]))


def focus(asked: int) -> float:
    """How much of a query's meaning one vector can tell, from 0 to 1, by the number of its terms."""
    return min(1.0, SHORT / max(1, asked))


def chance(asked: int) -> float:
    """How many nats by words may be chance, for a query of so many terms."""
    least, most = CHANCES
    return max(least, most * focus(asked) ** 2)


def beyond_chance(words: float, by_chance: float) -> float:
    """What counts of evidence by words."""
    return words * words / (words + by_chance)


def slope(words: float, by_chance: float) -> float:
    """How much the evidence grows with one more nat by words, where there are so many; never more than all of it."""
    return WEIGHTS["words"] * (1.0 - (by_chance / (by_chance + words)) ** 2)


def evidence(signals: Mapping[str, float]) -> float:
    """All signals together, in nats; those that were not asked for add nothing."""
    return math.fsum(weight * signals.get(name, 0.0) for name, weight in WEIGHTS.items())


def score(signals: Mapping[str, float]) -> float:
    """The same from 0 to 1: who has more evidence has the higher score."""
    return -math.expm1(-max(0.0, evidence(signals)) / SCALE)


def relevance(share: float, words: float, *, meaning: float | None = None) -> float:
    """How likely it is that something fits: from the shared part of what both say, evidence by words, and the cosine."""
    constant, of_share, of_words = BY_WORDS
    enough = min(1.0, words / ENOUGH)  # a large part of a request that tells nothing is nothing
    by_words = enough * _likely(constant + of_share * share + of_words * math.log1p(words))
    constant, of_cosine = BY_MEANING
    by_meaning = 0.0 if meaning is None else _likely(constant + of_cosine * meaning)
    return 1.0 - (1.0 - by_words) * (1.0 - by_meaning)


def _likely(log_odds: float) -> float:
    return 1.0 / (1.0 + math.exp(-log_odds))
