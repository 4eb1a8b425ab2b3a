"""Decks, cards and payloads for tests."""

from __future__ import annotations

import hashlib
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from tacit.api import Tacit
from tacit.config.location import CardPlaces, StoreLocation
from tacit.domain.trajectory import Origin
from tacit.features.cards.cards import Cards
from tacit.features.cards.folder import BELOW
from tacit.features.cards.recording import Recorder
from tacit.store import open_store
from tests.unit.making import NOW

USER = "ann"
AGENT = Recorder(by="agent", origin=Origin.AGENT, judge=lambda card: [])
PERSON = Recorder(by=USER, origin=Origin.USER, judge=lambda card: [])
_NOUNS = (
    "parser socket migration cursor tokenizer scheduler renderer fixture linker sampler compiler proxy ledger balancer "
    "exporter importer watcher resolver bundler profiler allocator decoder encoder mapper reducer router crawler indexer"
).split()
_VERBS = (
    "restart rebuild flush rotate pin split merge drain replay warm seed prune lock trace mirror shard batch".split()
)


def _words(*seed: object) -> list[str]:
    digest = hashlib.sha256(repr(seed).encode()).digest()
    nouns = [_NOUNS[byte % len(_NOUNS)] for byte in digest[:6]]
    verbs = [_VERBS[byte % len(_VERBS)] for byte in digest[6:10]]
    return [*nouns, *verbs, digest[10:14].hex()]


def payload_card(writer: int, number: int, **fields: Any) -> dict[str, Any]:
    """A card unlike any other that has another writer or number."""
    one, two, three, four, five, six, first, second, third, last, name = _words(writer, number)
    return {
        "title": f"{first.title()} the {one} {two} of w{writer}n{number} before the {three}",
        "when_to_use": f"The {four} of {name} fails while one wants to {second} the {five}",
        "problem": f"The {six} still holds the old {one}, so that {name} answers with stale rows",
        "solution_steps": [f"Run `{first} {one}-{name}`", f"Then {third} the {two} and {last} the {six}"],
        "evidence": [f"command: pytest tests/test_{one}_{name}.py -q passed afterwards"],
        "primary_skill": f"{one}-care",
        "scope": "project",
        "shareable": True,
        "tags": [one, two],
    } | fields


class Clock:
    """A clock that goes on only when told."""

    def __init__(self, at: datetime = NOW) -> None:
        self.at = at

    def __call__(self) -> datetime:
        return self.at

    def pass_by(self, **span: float) -> None:
        """Let time pass."""
        self.at += timedelta(**span)


class World:
    """A project with a memory, a home, and a clock."""

    def __init__(self, folder: Path) -> None:
        self.root, self.home, self.clock = folder / "project", folder / "home", Clock()
        self.root.mkdir(parents=True)
        database = str(self.root / ".tacit" / "tacit.db")
        self.place = StoreLocation(database=database, project=self.root, chosen_by="test", home=self.home / ".tacit")
        self.place.prepare()
        self.memory = self._opened()

    def _opened(self) -> Tacit:
        store = open_store(self.place.database)
        return Tacit(store, place=self.place, clock=self.clock)

    @property
    def folder(self) -> Path:
        """The folder that is kept in step, once it is made."""
        return self.root / BELOW / USER

    def deck(self, *, user: str = USER) -> Cards:
        """A deck as a new command would open it."""
        places = CardPlaces(str(self.root), user, shared=str(self.home / "shared"))
        return Cards(self.memory, places)

    def lines(self, name: str) -> list[str]:
        """The lines of one of the folder's files."""
        path = self.folder / name
        return path.read_text(encoding="utf-8").splitlines() if path.exists() else []
