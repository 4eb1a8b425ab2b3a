"""Lists cards: those that match a query, the best first, from the project and from the person's own store.

Cards without review are marked; shared ones of these are shown to a person only. What the gate holds back is counted with
its reasons and not shown. Only fields that the gate has seen are printed: notes and unknown fields stay in the files.
"""

from __future__ import annotations

import json
import unicodedata
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from tacit.features.cards.card import Card, CardStatus
from tacit.features.cards.card_records import format_time, line_of, parse_time
from tacit.features.cards.cards import CardLedger, Cards
from tacit.features.cards.scores import GONE, Score
from tacit.gate.checks.safety import hidden_characters
from tacit.text.words import query_terms, term_set

LIMIT = 20
_MIN_OVERLAP = 0.5
"""Share of a query's words that a card must contain."""
_NOT_PRINTED = frozenset({"note", "key"})
_TIMES = ("ts", "last_touched_ts")
_NOT_REVIEWED = "not reviewed in your own store (tacit review)"
_INVISIBLE = frozenset({"Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp"})
"""Unicode categories of characters that a reader does not see."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CardFilters:
    """Which cards are wanted; an empty field means any."""

    skill: str = ""
    tag: str = ""
    query: str = ""
    limit: int = LIMIT


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedCard:
    """A card that matches."""

    card: Card
    score: Score
    relevance: float
    is_reviewed: bool

    @property
    def document(self) -> dict[str, Any]:
        """The fields of the card's line that the gate has seen, and what is known of it here."""
        known = {
            "score": self.score.total,
            "explain": self.score.explanation,
            "reviewed": self.is_reviewed,
            "store": self.card.shelf,
            "version_id": self.card.version_id,
        }
        line = line_of(replace(self.card, extra={}, id=""))
        printed = {name: visible(value) for name, value in line.items() if name not in _NOT_PRINTED}
        unreadable = [name for name in _TIMES if printed.get(name) and parse_time(printed[name]) is None]
        printed |= dict.fromkeys(unreadable, format_time(self.card.at))
        if self.card.status is CardStatus.ACCEPTED and not self.is_reviewed:
            printed["status"] = str(CardStatus.PROPOSED)  # only a review accepts
        return printed | known


@dataclass(frozen=True, slots=True, kw_only=True)
class CardList:
    """Cards that match, best first, how many there are in all, and why others are held back."""

    items: list[ListedCard] = field(default_factory=list)
    total: int = 0
    withheld: dict[str, int] = field(default_factory=dict)
    """Reason → number of cards."""
    is_empty: bool = False
    """Whether there are no cards at all yet."""


def list_cards(deck: Cards, filters: CardFilters) -> CardList:
    """Find cards of the project and of the person's own store; the project's version of a shared card wins."""
    with deck.shared_cards() as shared:
        found, withheld = _matching(deck, filters)
        more, also_withheld = _matching(shared, filters, project=deck) if shared else ([], Counter())
        is_empty = not deck.cards() and not (shared and shared.cards())
    ranked = sorted(
        [*found, *more], key=lambda each: (-each.relevance, -each.score.total, -each.card.at.timestamp(), each.card.key)
    )
    items = ranked[: filters.limit] if filters.limit > 0 else ranked
    return CardList(items=items, total=len(ranked), withheld=dict(withheld + also_withheld), is_empty=is_empty)


def visible(value: Any) -> Any:
    """Return a JSON value with hidden characters removed from every text."""
    if isinstance(value, str):
        return "".join(filter(_is_visible, value)) if hidden_characters(value) else value
    if isinstance(value, Mapping):
        return {visible(str(name)): visible(each) for name, each in value.items()}
    return [visible(each) for each in value] if isinstance(value, list | tuple) else value


def _is_visible(character: str) -> bool:
    is_shown = unicodedata.category(character) not in _INVISIBLE and not hidden_characters(f"x{character}")
    return character in "\n\t" or is_shown


def _matching(
    deck: Cards, filters: CardFilters, *, project: Cards | None = None
) -> tuple[list[ListedCard], Counter[str]]:
    """Return the matches; of shared cards without those the project has itself, and with the project's signals."""
    withheld: Counter[str] = Counter()
    scores = deck.scores(more_signals=project.signals() if project else ())
    known = project.cards() if project else {}
    found: list[ListedCard] = []
    for card in deck.cards().values():
        if card.key in known or card.status in GONE or filters.skill not in ("", card.primary_skill):
            continue
        if filters.tag and filters.tag not in card.tags:
            continue
        relevance = relevance_of(card, filters.query)
        if filters.query and relevance <= 0:
            continue
        is_reviewed = deck.is_reviewed(card)
        if deck.is_held_back(card):
            withheld.update([_why_held_back(deck, card)])
        elif deck.is_hidden_from_agents(card):
            withheld.update([_NOT_REVIEWED])
        else:
            found.append(ListedCard(card=card, score=scores[card.key], relevance=relevance, is_reviewed=is_reviewed))
    return found, withheld


def relevance_of(card: Card, query: str) -> float:
    """Return how well a card matches a query: title, occasion and tags count more; 0 where too few words match."""
    wanted = set(query_terms(query))
    line = json.dumps(line_of(card), ensure_ascii=False).lower()
    literal = 1.0 if query.strip() and query.strip().lower() in line else 0.0
    if not wanted:
        return literal
    everywhere = term_set(line)
    if not literal and len(wanted & everywhere) < _MIN_OVERLAP * len(wanted):
        return 0.0
    weight = float(len(wanted & everywhere))
    for text, more in ((card.title, 3.0), (card.when_to_use, 3.0), (" ".join(card.tags), 2.0)):
        weight += more * len(wanted & term_set(text))
    return literal + weight / len(wanted)


def _why_held_back(ledger: CardLedger, card: Card) -> str:
    """Return the findings of the gate, or that it rejected the card."""
    if not card.version_id:
        return "the gate rejected it"
    verdicts = ledger.store.verdicts(version_id=card.version_id, limit=1)
    messages = [finding.message for each in verdicts for finding in each.findings]
    return "; ".join(messages) or "the gate holds it back until a person looks at it (tacit review)"
