"""Scores of cards from their signals, and the priority of recommendations.

`score = 1 + 2·used + recalled + reinforced + promoted + 2·backported`. A score orders what a person looks at; it changes no
skill, since anybody can send signals.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from tacit.features.cards.card import (
    Backport,
    Card,
    CardStatus,
    Recommendation,
    RecommendationStatus,
    Signal,
    SignalKind,
)

BASE = 1
WEIGHTS: dict[SignalKind, int] = {
    SignalKind.AHA_USED: 2,
    SignalKind.AHA_RECALLED: 1,
    SignalKind.AHA_REINFORCED: 1,
    SignalKind.AHA_PROMOTED: 1,
    SignalKind.AHA_BACKPORTED: 2,
}
MIN_SCORE = 4
"""From this score on a card is a candidate for backporting although nobody used it."""
OPEN = frozenset(status for status in RecommendationStatus if status.is_open)
GONE = frozenset({CardStatus.REJECTED, CardStatus.DEPRECATED})
_IMPACT = {"high": 3, "medium": 2, "low": 1}
_ARTIFACTS = (
    (("template", "query"), "template"),
    (("schema",), "reference-file"),
    (("script", "tooling"), "script"),
    (("skill", "docs"), "skill-md-snippet"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """A card's score, its explanation, and the number of signals of each kind."""

    total: int = BASE
    explanation: str = f"Score {BASE} = base {BASE}"
    counts: Mapping[str, int]

    @property
    def shows_use(self) -> bool:
        """Whether somebody used the card or learned it again."""
        return bool(self.counts[SignalKind.AHA_USED] or self.counts[SignalKind.AHA_REINFORCED])


def score_of(kinds: Iterable[SignalKind]) -> Score:
    """Return the score of one card from the kinds of its signals."""
    given = Counter(kinds)
    counts = {str(kind): given[kind] for kind in WEIGHTS}
    parts = [(kind, given[kind], given[kind] * weight) for kind, weight in WEIGHTS.items() if given[kind]]
    total = BASE + sum(points for _, _, points in parts)
    terms = [f"base {BASE}", *(f"{kind}×{count} ({points})" for kind, count, points in parts)]
    return Score(total=total, explanation=f"Score {total} = {' + '.join(terms)}", counts=counts)


def scores(cards: Iterable[str], signals: Iterable[Signal]) -> dict[str, Score]:
    """Return the score of each card; signals of unknown cards, or of recommendations, are ignored."""
    kinds: dict[str, list[SignalKind]] = {key: [] for key in cards}
    for signal in signals:
        if signal.target in kinds:
            kinds[signal.target].append(signal.kind)
    return {key: score_of(given) for key, given in kinds.items()}


def counted(signals: Iterable[Signal], backports: Iterable[Backport]) -> list[Signal]:
    """Return the signals that count: `backported` does not, once every backport of the card was undone."""
    undone, applied = set[str](), set[str]()
    for each in backports:
        ids = each.result or each.requested if each.undone or each.applied else ()
        (undone if each.undone else applied).update(ids)
    withdrawn = undone - applied
    return [each for each in signals if each.kind is not SignalKind.AHA_BACKPORTED or each.target not in withdrawn]


def priority(recommendation: Recommendation) -> int:
    """Return the priority of a recommendation: its effect on speed first, then on quality."""
    speed, quality = (
        _IMPACT.get(str(recommendation.expected_impact.get(side, "")).strip().lower(), 0)
        for side in ("speed", "quality")
    )
    return 10 * speed + quality


def backported_ids(cards: Iterable[Card], backports: Iterable[Backport]) -> set[str]:
    """Return the cards that are in some skill or document: by an applied backport, or by their status."""
    by_status = {card.key for card in cards if card.status is CardStatus.BACKPORTED}
    applied = [each for each in backports if each.applied and not each.undone]
    return by_status | {key for each in applied for key in each.result or each.requested}


def is_candidate(
    card: Card, score: Score, done: Collection[str], *, is_reviewed: bool = False, least: int = MIN_SCORE
) -> bool:
    """Return whether a card is worth a backport: shareable, not rejected, not done, and proven by score, use or review.

    The status `accepted` alone proves nothing: anybody can write it.
    """
    if card.key in done or not card.shareable or card.status in GONE or card.status is CardStatus.BACKPORTED:
        return False
    return score.total >= least or score.shows_use or (is_reviewed and card.status is CardStatus.ACCEPTED)


def artifact_hint(tags: Iterable[str]) -> str:
    """Return what a card might become in a skill, by its tags."""
    text = " ".join(tags).lower()
    return next((name for words, name in _ARTIFACTS if any(word in text for word in words)), "reference-file")
