"""Opening a deck: a memory and where one stands → the project's deck, with the way to the one that projects share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from datetime import datetime
from pathlib import Path
from typing import Protocol

from tacit.config.location import CardPlaces, StoreLocation, card_places
from tacit.domain.ports import Store
from tacit.domain.scope import Level, Scope
from tacit.features.cards.aha.slugs import user_slug
from tacit.features.cards.deck import Beside, Deck, Door
from tacit.features.cards.folder import BELOW, Folder
from tacit.features.cards.pile import GLOBAL, Where
from tacit.maintain.promotion import home_store

Clock = Callable[[], datetime]


class Memory(Door, Protocol):
    """What a deck needs of a memory, beside its door."""

    store: Store
    place: StoreLocation | None

    def _beside(self, store: Store, scope: Scope) -> Door:
        """The same memory over another store."""


def open_deck(memory: Memory, *, clock: Clock, places: CardPlaces | None = None) -> Deck:
    """The deck of a memory; `places` says where its files lie, not given: around where one stands."""
    places = places or card_places(str(Path.cwd()))
    root, user = Path(places.root), user_slug(places.account)
    where = Where(root=root, user=user, folder=Folder(root / BELOW / user, within=root))
    beside = _beside(memory, places, clock=clock)
    return Deck(memory.store, memory, where, clock=clock, beside=beside)


def folder_here() -> Path:
    """Where the card folder of this project and user lies, or would."""
    places = card_places(str(Path.cwd()))
    return Path(places.root) / BELOW / user_slug(places.account)


def shared_folder(places: CardPlaces) -> Path:
    """Where the cards that projects share have their files: the folder that was named, or the one in the home."""
    return Path(places.shared) if places.shared else Path(places.home) / BELOW / user_slug(places.account)


def _beside(memory: Memory, places: CardPlaces, *, clock: Clock) -> Beside:
    folder, user = Folder(shared_folder(places)), user_slug(places.account)

    @contextmanager
    def opened(create: bool, by_person: bool) -> Iterator[Deck | None]:
        # What lies in the shared folder, or where a variable points, goes into the person's own store on a person's word only.
        with home_store(memory.place, create=create or (by_person and folder.exists)) as store:
            if store is None:
                yield None
                return
            where = Where(root=Path(places.home), user=user, folder=folder, shelf=GLOBAL)
            deck = Deck(store, memory._beside(store, Scope(Level.ORGANISATION)), where, clock=clock)
            deck.by_person = by_person
            deck.sync()
            yield deck

    def beside(create: bool, by_person: bool) -> AbstractContextManager[Deck | None]:
        return opened(create, by_person)

    return beside
