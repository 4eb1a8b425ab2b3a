"""Promotion of cards: copies in the person's own store, which all their projects share. Only a person promotes.

Only the latest version of a card is copied, as portable, and only if nothing in it belongs to one project. Promoting again
updates the copy. A lesson in use moves through the gates of promotion; in the person's own store it waits for review.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from tacit.domain.errors import GateRefusal, Mistake, NotFound
from tacit.domain.lifecycle import Status
from tacit.domain.scope import Level
from tacit.features.cards.card import Card, SignalKind
from tacit.features.cards.card_records import line_of
from tacit.features.cards.card_signals import signal
from tacit.features.cards.cards import Cards
from tacit.features.cards.rubric import PORTABLE, Criterion, judge
from tacit.features.cards.scores import GONE
from tacit.gate.portability import NO_PROJECT_FACTS, ProjectFacts

_NOT_TEXT = frozenset({"ts", "status", "note", "last_touched_ts"})
_BLOCKING = frozenset({Criterion.PORTABLE, Criterion.SAFE})


@dataclass(frozen=True, slots=True, kw_only=True)
class PromotionResult:
    """New copies, updated copies, and copies that were up to date; and why lessons were not moved."""

    requested: tuple[str, ...]
    promoted: tuple[str, ...]
    updated: tuple[str, ...]
    unchanged: tuple[str, ...]
    lessons: dict[str, Status | None]
    """Id → the status of its lesson in the person's own store."""
    notes: tuple[str, ...] = ()


def wanted_ids(text: str) -> tuple[str, ...]:
    """Parse `--ids a,b`, each once."""
    found = tuple(dict.fromkeys(part.strip() for part in text.split(",") if part.strip()))
    if not found:
        raise Mistake("no ids were given", code="no_ids", hint="--ids aha_…,aha_…")
    return found


def promote(deck: Cards, ids: Sequence[str], *, by: str, local: ProjectFacts = NO_PROJECT_FACTS) -> PromotionResult:
    """Copy cards to the shared store. If anything speaks against one of them, none is copied and all is reported."""
    cards = deck.cards()
    _require_promotable(deck, ids, cards, local)
    with deck.shared_cards(create=True) as shared:
        if shared is None:
            hint = "open the store of a project"
            raise Mistake("this store has no home to promote to", code="no_home", hint=hint)
        copier = _Copier(deck=deck, shared=shared, by=by)
        for key in ids:
            copier.copy(cards[key])
    for key in copier.promoted:
        signal(deck, SignalKind.AHA_PROMOTED, key, source="person")
    return PromotionResult(
        requested=tuple(ids),
        promoted=tuple(copier.promoted),
        updated=tuple(copier.updated),
        unchanged=tuple(copier.unchanged),
        lessons=copier.lessons,
        notes=tuple(copier.notes),
    )


@dataclass(slots=True, kw_only=True)
class _Copier:
    """Copies cards from one store to another, and collects the results."""

    deck: Cards
    shared: Cards
    by: str
    promoted: list[str] = field(default_factory=list)
    updated: list[str] = field(default_factory=list)
    unchanged: list[str] = field(default_factory=list)
    lessons: dict[str, Status | None] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def copy(self, card: Card) -> None:
        """Copy one card, or update its copy."""
        known = self.shared.cards().get(card.key)
        copy = _portable_copy(card, known, self.shared)
        if known is not None and card.at <= known.at and _text_fields(known) == _text_fields(copy):
            self.unchanged.append(card.key)
            self.lessons[card.key] = self.shared.lesson_status(known)
            return
        copy = self._with_lesson(card, copy)
        self.shared.add(copy)
        (self.updated if known else self.promoted).append(card.key)
        self.lessons[card.key] = self.shared.lesson_status(copy)

    def _with_lesson(self, card: Card, copy: Card) -> Card:
        """Return the copy with a lesson: one in use here is promoted with its sources, any other passes the gate."""
        if self.deck.is_reviewed(card):
            try:
                library = self.deck.memory.library
                moved = library.promote(card.version_id, Level.ORGANISATION, by=self.by, ticked=None)
                return replace(copy, version_id=moved.version_id, id="")
            except GateRefusal as refusal:
                self.notes.append(f"{card.key}: its lesson stays here: {refusal.message}")
        origin = self.deck.store.version(card.version_id).version.lowest_origin
        return self.shared.admit(copy, origin=origin, by=self.by)


def _require_promotable(deck: Cards, ids: Sequence[str], cards: dict[str, Card], local: ProjectFacts) -> None:
    missing = [key for key in ids if key not in cards]
    if missing:
        message = f"no such cards here: {', '.join(missing)}; nothing was promoted"
        raise NotFound(message, code="unknown_cards", hint="`tacit cards list` lists them")
    objections = [f"{key}: {why}" for key in ids for why in _objections(deck, cards[key], local)]
    if objections:
        lines = ["nothing was promoted:", *(f"  {each}" for each in objections)]
        hint = "correct these cards (tacit cards record) or leave them out"
        raise GateRefusal("\n".join(lines), code="not_promotable", hint=hint)


def _objections(deck: Cards, card: Card, local: ProjectFacts) -> Iterator[str]:
    if not card.shareable:
        yield "`shareable` is false"
    if card.status in GONE:
        yield f"it is {card.status}"
    if deck.is_held_back(card):
        yield "the gate quarantined or rejected it"
    for reason in judge(replace(card, scope=PORTABLE, id=""), local):
        if reason.criterion in _BLOCKING:
            yield str(reason)


def _text_fields(card: Card) -> dict[str, Any]:
    """Return what a card says, without its status and times."""
    return {name: value for name, value in line_of(card).items() if name not in _NOT_TEXT}


def _portable_copy(card: Card, known: Card | None, shared: Cards) -> Card:
    """Return the card for the shared store: portable, with the lesson of the copy that is there."""
    version_id = known.version_id if known else ""
    copy = replace(card, at=shared.now(), by=shared.user, session_id="", sources=(), shelf=shared.shelf)
    return replace(copy, scope=PORTABLE, version_id=version_id, id="")
