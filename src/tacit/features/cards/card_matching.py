"""Whether two cards are the same learning: by the key that somebody gave them, by their words, or nearly by their words.

Careful on purpose: what is taken for the same is not kept twice, so that a difference in a number, a name in code, a
negation or the skill keeps two cards apart, and a card without a title is never taken for another.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from tacit.domain.card import Card
from tacit.domain.recommendation import Recommendation
from tacit.text.near_duplicates import jaccard, text_similarity
from tacit.text.words import term_set

NEAR, NEAR_SOLUTION = 0.8, 0.6
"""How much of their words two cards share in title and occasion, and in the solution, where they are nearly the same."""
_HALF = 0.5
_NOBODYS = frozenset({"", "unknown", "none", "null"})
_WORD = re.compile(r"\w+")
_EXACT = re.compile(r"`[^`]*`|\S*\d\S*|\S*[A-Za-z0-9][_./:=@-][A-Za-z0-9]\S*")
_NEGATION = re.compile(
    r"\b(?:not|no|never|without|avoid|don['’]?t|doesn['’]?t|can['’]?t|cannot|disable[ds]?|off|instead)\b", re.I
)


def normal(text: str) -> str:
    """A text without case, punctuation at word ends and spacing."""
    return " ".join(word.strip(".,;:!?\"'()[]") for word in text.casefold().split()).strip()


class CardIndex:
    """The cards that a newcomer may be the same as, looked up quickly."""

    def __init__(self, cards: Iterable[Card]) -> None:
        self._by_words: dict[tuple[str, str], list[Card]] = {}
        self._by_key: dict[str, Card] = {}
        self._cards: dict[str, tuple[Card, frozenset[str]]] = {}
        for card in cards:
            self.add(card)

    def add(self, card: Card) -> None:
        """Know a card, or the newer version of one."""
        self._cards[card.key] = (card, frozenset(_WORD.findall(f"{card.title} {card.when_to_use}".casefold())))
        if card.equivalence.strip():
            self._by_key[normal(card.equivalence)] = card
        if normal(card.title):
            self._by_words.setdefault((normal(card.title), normal(card.when_to_use)), []).append(card)

    def same(self, card: Card) -> Card | None:
        """The known card that says the same, in its newest version; nothing if there is none."""
        if (key := normal(card.equivalence)) and key in self._by_key:
            return self._newest(self._by_key[key])
        if not normal(card.title):
            return None
        for other in self._by_words.get((normal(card.title), normal(card.when_to_use)), ()):
            if not _differ_in_key(card, other) and _fit(card.primary_skill, other.primary_skill):
                return self._newest(other)
        return self._nearly(card)

    def _newest(self, card: Card) -> Card:
        return self._cards[card.key][0]

    def _nearly(self, card: Card) -> Card | None:
        words = frozenset(_WORD.findall(f"{card.title} {card.when_to_use}".casefold()))
        for other, others in self._cards.values():
            shared = len(words & others)
            if shared >= _HALF * max(len(words), len(others)) and nearly_same(card, other):
                return other
        return None


def nearly_same(left: Card, right: Card) -> bool:
    """Whether two cards differ in wording only."""
    if _differ_in_key(left, right) or not _fit(left.primary_skill, right.primary_skill):
        return False
    if not (normal(left.title) and normal(right.title)) or _exact(left) != _exact(right):
        return False
    mine, yours = (f"{card.title} {card.when_to_use}" for card in (left, right))
    if text_similarity(mine, yours) < NEAR:
        return False
    ways = [term_set(" ".join(card.solution_steps)) for card in (left, right)]
    return jaccard(*ways) >= NEAR_SOLUTION


def same_recommendation(left: Recommendation, right: Recommendation) -> bool:
    """Whether two recommendations are one: the same title for the same skill."""
    return normal(left.title) == normal(right.title) != "" and _fit(left.primary_skill, right.primary_skill)


def _fit(left: str, right: str) -> bool:
    """Whether two cards may belong to one skill; what nobody assigned may belong to any."""
    mine, yours = left.strip().casefold(), right.strip().casefold()
    return mine == yours or mine in _NOBODYS or yours in _NOBODYS


def _differ_in_key(left: Card, right: Card) -> bool:
    mine, yours = normal(left.equivalence), normal(right.equivalence)
    return bool(mine and yours and mine != yours)


def _exact(card: Card) -> tuple[frozenset[str], bool]:
    """What no rewording changes: numbers, names in code, paths; and whether something is ruled out."""
    said = "\n".join((card.title, card.when_to_use, *card.solution_steps))
    names = frozenset(found.strip("`.,;:!?()\"'").casefold() for found in _EXACT.findall(said))
    return names, bool(_NEGATION.search(said))
