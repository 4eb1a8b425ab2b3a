"""Whether two cards are the same: by the key that somebody gave them, by their words, or nearly by their words.

Cautious on purpose, since a card that is taken for another is not stored: a difference in a number, a name in code, a
negation or the skill separates two cards, and a card without a title is never taken for another.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from tacit.features.cards.card import Card, Recommendation
from tacit.text.similarity import jaccard, text_similarity
from tacit.text.words import term_set

NEAR, NEAR_SOLUTION = 0.8, 0.6
"""Similarity of title and occasion, and of the solution, from which two cards are nearly the same."""
_MIN_SHARED = 0.5
_UNASSIGNED = frozenset({"", "unknown", "none", "null"})
_WORD = re.compile(r"\w+")
_EXACT = re.compile(r"`[^`]*`|\S*\d\S*|\S*[A-Za-z0-9][_./:=@-][A-Za-z0-9]\S*")
_NEGATION = re.compile(
    r"\b(?:not|no|never|without|avoid|don['’]?t|doesn['’]?t|can['’]?t|cannot|disable[ds]?|off|instead)\b", re.I
)


def normal(text: str) -> str:
    """Return a text without case, punctuation at word ends and extra spaces."""
    return " ".join(word.strip(".,;:!?\"'()[]") for word in text.casefold().split()).strip()


class CardIndex:
    """An index of cards that finds the one that is the same as a new card."""

    def __init__(self, cards: Iterable[Card]) -> None:
        self._by_words: dict[tuple[str, str], list[Card]] = {}
        self._by_key: dict[str, Card] = {}
        self._cards: dict[str, tuple[Card, frozenset[str]]] = {}
        for card in cards:
            self.add(card)

    def add(self, card: Card) -> None:
        """Add a card, or a newer version of one."""
        self._cards[card.key] = (card, _occasion_words(card))
        if card.equivalence.strip():
            self._by_key[normal(card.equivalence)] = card
        if normal(card.title):
            self._by_words.setdefault((normal(card.title), normal(card.when_to_use)), []).append(card)

    def same(self, card: Card) -> Card | None:
        """Return the newest version of the card that is the same; None if there is none."""
        if (key := normal(card.equivalence)) and key in self._by_key:
            return self._cards[self._by_key[key].key][0]
        if not normal(card.title):
            return None
        for other in self._by_words.get((normal(card.title), normal(card.when_to_use)), ()):
            if not _differ_in_key(card, other) and _may_share_skill(card.primary_skill, other.primary_skill):
                return self._cards[other.key][0]
        words = _occasion_words(card)
        for other, others in self._cards.values():
            shared = len(words & others)
            if shared >= _MIN_SHARED * max(len(words), len(others)) and nearly_same(card, other):
                return other
        return None


def nearly_same(left: Card, right: Card) -> bool:
    """Return whether two cards differ in wording only."""
    if _differ_in_key(left, right) or not _may_share_skill(left.primary_skill, right.primary_skill):
        return False
    if not (normal(left.title) and normal(right.title)) or _exact_parts(left) != _exact_parts(right):
        return False
    one, other = (f"{card.title} {card.when_to_use}" for card in (left, right))
    if text_similarity(one, other) < NEAR:
        return False
    solutions = [term_set(" ".join(card.solution_steps)) for card in (left, right)]
    return jaccard(*solutions) >= NEAR_SOLUTION


def same_recommendation(left: Recommendation, right: Recommendation) -> bool:
    """Return whether two recommendations have the same title for the same skill."""
    same_title = normal(left.title) == normal(right.title) != ""
    return same_title and _may_share_skill(left.primary_skill, right.primary_skill)


def _occasion_words(card: Card) -> frozenset[str]:
    return frozenset(_WORD.findall(f"{card.title} {card.when_to_use}".casefold()))


def _may_share_skill(left: str, right: str) -> bool:
    """Return whether two cards may belong to one skill; an unassigned card may belong to any."""
    one, other = left.strip().casefold(), right.strip().casefold()
    return one == other or one in _UNASSIGNED or other in _UNASSIGNED


def _differ_in_key(left: Card, right: Card) -> bool:
    one, other = normal(left.equivalence), normal(right.equivalence)
    return bool(one and other and one != other)


def _exact_parts(card: Card) -> tuple[frozenset[str], bool]:
    """Return what rewording does not change: numbers, names in code, paths; and whether there is a negation."""
    text = "\n".join((card.title, card.when_to_use, *card.solution_steps))
    names = frozenset(found.strip("`.,;:!?()\"'").casefold() for found in _EXACT.findall(text))
    return names, bool(_NEGATION.search(text))
