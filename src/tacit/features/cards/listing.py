"""Listing: what a deck holds → the cards that fit, the most fitting first; nothing that was turned down or is held back.

The project's own cards and those that all projects share. What nobody reviewed is marked, and of what is shared it is shown
to a person only; what the gate holds back is counted, with its reasons, and not shown. Of a card only that is told which the
gate has looked at: notes and fields that nobody here knows stay in the files.
"""

from __future__ import annotations

import json
import unicodedata
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from tacit.domain.card import Card, CardStatus
from tacit.features.cards.cards import CardLedger, Cards
from tacit.features.cards.records import format_time, line_of, parse_time
from tacit.features.cards.scores import GONE, Score
from tacit.gate.safety import hidden_characters
from tacit.text.words import query_terms, term_set

_HIDING = frozenset({"Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp"})


def visible(value: Any) -> Any:
    """Take hidden characters out of every text in a value; a text that hides nothing stays as it is."""
    if isinstance(value, str):
        return "".join(filter(_is_seen, value)) if hidden_characters(value) else value
    if isinstance(value, Mapping):
        return {visible(str(name)): visible(each) for name, each in value.items()}
    return [visible(each) for each in value] if isinstance(value, list | tuple) else value


def _is_seen(character: str) -> bool:
    return character in "\n\t" or (
        unicodedata.category(character) not in _HIDING and not hidden_characters(f"x{character}")
    )


LIMIT = 20
_ENOUGH = 0.5
"""The part of a query's words that a card must hold."""
_UNSEEN = frozenset({"note", "key"})
_TIMES = ("ts", "last_touched_ts")
_NOBODY = "nobody reviewed it in your own store (tacit review)"
_WEIGHTS = (("title", 3.0), ("when_to_use", 3.0), ("tags", 2.0))


@dataclass(frozen=True, slots=True, kw_only=True)
class CardFilters:
    """Which cards are asked for; what is empty asks for nothing in particular."""

    skill: str = ""
    tag: str = ""
    query: str = ""
    limit: int = LIMIT


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedCard:
    """A card that fits."""

    card: Card
    score: Score
    relevance: float
    is_reviewed: bool

    @property
    def document(self) -> dict[str, Any]:
        """What of the card's line the gate has looked at, and what is known of it here."""
        known = {
            "score": self.score.total,
            "explain": self.score.explanation,
            "reviewed": self.is_reviewed,
            "store": self.card.shelf,
            "version_id": self.card.version_id,
        }
        line = line_of(replace(self.card, extra={}, id=""))
        told = {name: visible(value) for name, value in line.items() if name not in _UNSEEN}
        told |= {name: format_time(self.card.at) for name in _TIMES if told.get(name) and parse_time(told[name]) is None}
        if self.card.status is CardStatus.ACCEPTED and not self.is_reviewed:
            told["status"] = str(CardStatus.PROPOSED)  # that somebody accepted it is told by the review alone
        return told | known


@dataclass(frozen=True, slots=True, kw_only=True)
class CardList:
    """What was found, best first, how many there were in all, and why others are held back."""

    items: list[ListedCard] = field(default_factory=list)
    total: int = 0
    withheld: dict[str, int] = field(default_factory=dict)
    """Reason → how many cards."""
    is_empty: bool = False
    """Whether there are no cards at all yet."""


def list_cards(deck: Cards, wanted: CardFilters) -> CardList:
    """Find cards of the project and of the person's own store; the project's version of a shared card goes first."""
    with deck.shared_cards() as shared:
        found, withheld = _found(deck, wanted)
        more, also = _found(shared, wanted, project=deck) if shared else ([], Counter())
        is_empty = not deck.cards() and not (shared and shared.cards())
    ranked = sorted([*found, *more], key=_order)
    cut = ranked[: wanted.limit] if wanted.limit > 0 else ranked
    return CardList(items=cut, total=len(ranked), withheld=dict(withheld + also), is_empty=is_empty)


def _order(found: ListedCard) -> tuple[float, int, float, str]:
    return (-found.relevance, -found.score.total, -found.card.at.timestamp(), found.card.key)


def _found(deck: Cards, wanted: CardFilters, *, project: Cards | None = None) -> tuple[list[ListedCard], Counter[str]]:
    """What fits; of a deck that projects share, without what the project has itself, and with what it noted of the rest."""
    withheld: Counter[str] = Counter()
    scores = deck.scores(more_signals=project.signals() if project else ())
    known = project.cards() if project else {}
    found: list[ListedCard] = []
    for card in deck.cards().values():
        if card.key in known or card.status in GONE or not _fits(card, wanted):
            continue
        relevance = relevance_of(card, wanted.query)
        if wanted.query and relevance <= 0:
            continue
        is_reviewed = deck.is_reviewed(card)
        if deck.is_held_back(card):
            withheld.update([_why(deck, card)])
            continue
        if deck.is_hidden_from_agents(card):
            withheld.update([_NOBODY])
            continue
        found.append(ListedCard(card=card, score=scores[card.key], relevance=relevance, is_reviewed=is_reviewed))
    return found, withheld


def _fits(card: Card, wanted: CardFilters) -> bool:
    return (not wanted.skill or card.primary_skill == wanted.skill) and (not wanted.tag or wanted.tag in card.tags)


def relevance_of(card: Card, query: str) -> float:
    """How well a card answers a query: words in title, occasion and tags count more; 0 where too few are in it."""
    wanted = set(query_terms(query))
    said = json.dumps(line_of(card), ensure_ascii=False).lower()
    literal = 1.0 if query.strip() and query.strip().lower() in said else 0.0
    if not wanted:
        return literal
    everywhere = term_set(said)
    if not literal and len(wanted & everywhere) < _ENOUGH * len(wanted):
        return 0.0
    weight = len(wanted & everywhere) + sum(each * len(wanted & words) for each, words in _telling(card))
    return literal + weight / len(wanted)


def _telling(card: Card) -> Iterator[tuple[float, frozenset[str]]]:
    for name, weight in _WEIGHTS:
        value = getattr(card, name)
        yield weight, term_set(value if isinstance(value, str) else " ".join(value))


def _why(pile: CardLedger, card: Card) -> str:
    """Why a card is held back: what the gate found, or that it kept nothing of it."""
    if not card.version_id:
        return "the gate admitted no lesson of it"
    said = [
        finding.message
        for each in pile.store.verdicts(version_id=card.version_id, limit=1)
        for finding in each.findings
    ]
    return "; ".join(said) or "the gate holds it back until a person looks at it (tacit review)"
