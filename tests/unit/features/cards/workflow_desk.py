"""A project of ann's with its cards, and the home that her projects share, in a clock that tests turn."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from tacit.api import Tacit
from tacit.config.location import CardPlaces, StoreLocation
from tacit.domain.trajectory import Origin
from tacit.features.cards.card import Card, CardEvent, Recommendation, SignalKind
from tacit.features.cards.card_records import entry_of, format_time
from tacit.features.cards.cards import Cards
from tacit.store import Store, open_store
from tests.unit.making import NOW

USER = "ann"
CARD: dict[str, Any] = {
    "title": "Export writes cents",
    "when_to_use": "Reading the order export",
    "problem": "Totals were a hundred times too high",
    "solution_steps": ["Divide `gross` by 100"],
    "primary_skill": "orders",
    "shareable": True,
}
RECOMMENDATION: dict[str, Any] = {
    "title": "Name the unit in the column",
    "why": "Everybody reads it wrongly once",
    "expected_impact": {"speed": "low", "quality": "high"},
    "primary_skill": "orders",
}


class Desk:
    """One project with a deck; the folder of the original tool is there if asked for."""

    def __init__(self, folder: Path, *, with_folder: bool = False, home: Path | None = None) -> None:
        self.root, self.home = folder / "invoices", home or folder / "home"
        (self.root / ".tacit").mkdir(parents=True)
        self.hours = 0.0
        database = str(self.root / ".tacit" / "tacit.db")
        store: Store = open_store(database)
        place = StoreLocation(database=database, project=self.root, chosen_by="test", home=self.home / ".tacit")
        self.loop = Tacit(store, place=place, clock=self.now)
        self.places = CardPlaces(str(self.root), USER, shared=str(self.home / "cards" / USER))
        self.deck = self.opened()
        if with_folder:
            self.deck.location.folder.make()
            self.deck.sync()

    def now(self) -> datetime:
        return NOW + timedelta(hours=self.hours)

    def opened(self) -> Cards:
        """The deck as the next command finds it."""
        deck = Cards(self.loop, self.places)
        deck.sync()
        return deck

    def wait(self, *, days: float = 0.0, hours: float = 0.0) -> None:
        self.hours += 24 * days + hours

    def card(self, **said: Any) -> Card:
        """Record a card, through the gate."""
        made = self._made(Card, CARD | said)
        kept = self.deck.admit(made, origin=Origin.USER, by=USER)
        self.deck.add(kept)
        return kept

    def recommendation(self, **said: Any) -> Recommendation:
        made: Recommendation = self._made(Recommendation, RECOMMENDATION | said)
        self.deck.add(made)
        return made

    def event(self, **said: Any) -> CardEvent:
        made: CardEvent = self._made(CardEvent, {"task_summary": "fixed totals"} | said)
        self.deck.add(made)
        return made

    def used(self, card: Card, times: int = 1) -> None:
        from tacit.features.cards.card_signals import signal

        for number in range(times):
            signal(self.deck, SignalKind.AHA_USED, card.key, source="agent", context=f"run {number}")

    def approve(self, card: Card) -> None:
        self.wait(hours=1)
        self.loop.review(card.version_id, "approve", by=USER)
        self.deck.sync()

    def close(self) -> None:
        self.loop.close()

    def _made(self, sort: Any, said: Mapping[str, Any]) -> Any:
        return entry_of(sort, {"ts": format_time(self.now())} | dict(said), by=USER, at=self.now())
