"""A review of a deck: what it holds, and what the person's own deck holds → the document of `agenda`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tacit.domain.card import Card, Signal
from tacit.domain.recommendation import Recommendation
from tacit.features.cards.agenda import Agenda, Records, Wanted
from tacit.features.cards.deck import Deck


def review(deck: Deck, wanted: Wanted, *, include_global: bool = False) -> dict[str, Any]:
    """Everything that is open, stale or worth graduating, in order."""
    shared, shared_signals = _shared(deck) if include_global else ({}, [])
    cards = deck.cards()
    records = Records(
        cards=cards,
        recommendations=_versions(deck),
        signals=deck.signals(),
        backports=list(deck.backports().values()),
        shared=shared,
        shared_signals=shared_signals,
        withheld={key for key, card in cards.items() if deck.is_held_back(card)},
        reviewed={key for key, card in cards.items() if deck.is_reviewed(card)},
        withheld_recommendations={key for key, each in deck.recommendations().items() if deck.is_withheld(each)},
    )
    return Agenda(records, wanted, deck.now()).document()


def _versions(deck: Deck) -> Mapping[str, list[Recommendation]]:
    found: dict[str, list[Recommendation]] = {}
    for version in deck.store.entries(Recommendation):
        found.setdefault(version.key, []).append(version)
    return found


def _shared(deck: Deck) -> tuple[dict[str, Card], list[Signal]]:
    """The cards that all projects share, without those that nobody may be shown, and their signals."""
    with deck.global_deck() as shared:
        if shared is None:
            return {}, []
        cards = shared.cards().items()
        shown = {k: card for k, card in cards if not shared.is_held_back(card) and not shared.is_for_people(card)}
        return shown, shared.signals()
