"""What a ledger holds of the card workflow: entries → the latest of each thing, its history and its worth. Only reads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from tacit.domain.card import Backport, Card, CardEvent, Signal
from tacit.domain.entry import E, Entry, latest
from tacit.domain.errors import NotFound
from tacit.domain.lifecycle import RECALLABLE, Status
from tacit.domain.ports import Store, Stored
from tacit.domain.recommendation import Recommendation
from tacit.domain.skill import SkillContent
from tacit.features.cards.aha.index_md import Held, index_md
from tacit.features.cards.aha.scores import Score, counted, scores
from tacit.features.cards.aha.stamps import stamp
from tacit.features.cards.folder import Folder
from tacit.features.cards.lessons import lesson_of
from tacit.gate import unquotable

PROJECT, GLOBAL = "project", "global"
_AGAINST = frozenset({Status.QUARANTINED, Status.REJECTED, Status.RETIRED, None})
"""Where the lesson of a card stands that agents are not shown; one without a lesson was turned away."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Where:
    """Whose cards they are, and where their files lie."""

    root: Path
    user: str
    folder: Folder
    shelf: str = PROJECT


class Desk:
    """Where a person works at cards, and when."""

    def __init__(self, where: Where, *, clock: Callable[[], datetime]) -> None:
        self.where = where
        self._now = clock

    @property
    def user(self) -> str:
        """Whose stream of cards it is; every entry's `by`."""
        return self.where.user

    @property
    def root(self) -> Path:
        """The repository that the cards belong to."""
        return self.where.root

    @property
    def shelf(self) -> str:
        """`project` or `global`."""
        return self.where.shelf

    @property
    def folder(self) -> Path:
        """Where its files lie, or would."""
        return self.where.folder.path

    @property
    def keeps_folder(self) -> bool:
        """Whether there is a folder to keep in step."""
        return self.where.folder.exists

    def now(self) -> datetime:
        """The present, by the clock of this memory."""
        return self._now()

    def stamp(self) -> str:
        """The present as card files write it."""
        return stamp(self._now())


class Ledger(Desk):
    """What was noted of cards, and of what belongs to them: the latest of each, its history, its worth."""

    def __init__(self, store: Store, where: Where, *, clock: Callable[[], datetime]) -> None:
        super().__init__(where, clock=clock)
        self.store = store
        self._seen: dict[type[Entry], list[Any]] = {}

    def cards(self) -> dict[str, Card]:
        """The latest version of each card, whatever its status, in the order in which they first came."""
        return latest(self._all(Card))

    def history(self, key: str) -> list[Card]:
        """All versions of a card, oldest first."""
        return [card for card in self._all(Card) if card.key == key]

    def recommendations(self) -> dict[str, Recommendation]:
        """The latest version of each recommendation."""
        return latest(self._all(Recommendation))

    def recommendation_history(self, key: str) -> list[Recommendation]:
        """All versions of a recommendation, oldest first."""
        return [each for each in self._all(Recommendation) if each.key == key]

    def events(self) -> dict[str, CardEvent]:
        """What cards came from."""
        return latest(self._all(CardEvent))

    def signals(self) -> list[Signal]:
        """All signals, each once, oldest first."""
        return list(latest(self._all(Signal)).values())

    def backports(self) -> dict[str, Backport]:
        """The latest version of each backport."""
        return latest(self._all(Backport))

    def scores(self, *, beside: Sequence[Signal] = ()) -> dict[str, Score]:
        """What each card has shown itself worth, here and by what was noted elsewhere."""
        return scores(self.cards(), counted([*self.signals(), *beside], self.backports().values()))

    def _all(self, sort: type[E]) -> list[E]:
        if sort not in self._seen:
            found = self.store.entries(sort)
            self._seen[sort] = [each for each in found if not isinstance(each, Card) or each.shelf == self.shelf]
        return self._seen[sort]

    def _forget(self) -> None:
        self._seen.clear()


class Pile(Ledger):
    """All cards of a store, and how their lessons stand."""

    def __init__(self, store: Store, where: Where, *, clock: Callable[[], datetime]) -> None:
        super().__init__(store, where, clock=clock)
        self._lessons: dict[str, Stored | None] = {}

    def standing(self, card: Card) -> Status | None:
        """Where the card's lesson stands; nothing if it has none."""
        stored = self._lesson(card.version_id)
        return stored.status if stored else None

    def is_reviewed(self, card: Card) -> bool:
        """Whether a person, or policy, let this very text of the card in."""
        return self.standing(card) in RECALLABLE and self.says(card)

    def says(self, card: Card) -> bool:
        """Whether the card's lesson says what the card says; a link alone carries no approval."""
        stored = self._lesson(card.version_id)
        return stored is not None and stored.version.content == lesson_of(card)

    def is_held_back(self, card: Card) -> bool:
        """Whether the gate found the card's text fit for a reviewer only or kept none of it, or a person was against it."""
        if self.standing(card) in _AGAINST:
            return True
        return not self.says(card) and bool(unquotable(_text(lesson_of(card))))

    def is_withheld(self, recommendation: Recommendation) -> bool:
        """Whether the checks find something grave in a recommendation, which no gate looks at otherwise."""
        return bool(unquotable(_advice(recommendation)))

    def index(self) -> str:
        """INDEX.md as it should be now."""
        held = Held(
            cards=list(self.cards().values()),
            recommendations=list(self.recommendations().values()),
            backports=list(self.backports().values()),
            scores=self.scores(),
            shows=lambda card: not self.is_held_back(card),
            is_reviewed=self.is_reviewed,
            advises=lambda each: not self.is_withheld(each),
        )
        return index_md(held, self.now())

    def _lesson(self, version_id: str) -> Stored | None:
        if version_id not in self._lessons:
            try:
                self._lessons[version_id] = self.store.version(version_id) if version_id else None
            except NotFound:
                self._lessons[version_id] = None
        return self._lessons[version_id]

    def _forget(self) -> None:
        super()._forget()
        self._lessons.clear()


def _text(content: SkillContent) -> str:
    return "\n".join(str(said) for said in (content.name, content.description, *content.tags, content.body))


def _advice(each: Recommendation) -> str:
    """All of a recommendation that is shown to anybody."""
    told = (each.title, each.why, each.implementation_hint, each.note, each.primary_skill, *each.tags)
    impact = (f"{side}: {much}" for side, much in each.expected_impact.items())
    return "\n".join(part for part in (each.key, *told, *impact) if part)
