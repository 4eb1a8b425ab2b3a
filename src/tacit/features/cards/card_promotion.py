"""Promotion of cards: ids → copies in the person's own deck that all projects share, as a person asks for it.

Only the latest version of a card goes, as portable, and only if nothing in it is one project's own. Promoting again brings
the copy up to date. A lesson that may be recalled moves through the gates of promotion; at home it waits for review.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from tacit.domain.card import Card, SignalKind
from tacit.domain.errors import GateRefusal, Mistake, NotFound
from tacit.domain.lifecycle import Status
from tacit.domain.scope import Level
from tacit.features.cards.cards import Cards
from tacit.features.cards.records import line_of
from tacit.features.cards.rubric import PORTABLE, Criterion, judge
from tacit.features.cards.scores import GONE
from tacit.features.cards.signals import signal
from tacit.gate.portability import ANYWHERE, Local

_STANDING = frozenset({"ts", "status", "note", "last_touched_ts"})
_HELD_AGAINST = frozenset({Criterion.PORTABLE, Criterion.SAFE})


@dataclass(frozen=True, slots=True, kw_only=True)
class PromotionResult:
    """What came of it: new copies, copies brought up to date, and those that were so already; why lessons stayed behind."""

    requested: tuple[str, ...]
    promoted: tuple[str, ...]
    updated: tuple[str, ...]
    unchanged: tuple[str, ...]
    lessons: dict[str, Status | None]
    """Id → where its lesson stands at home."""
    notes: tuple[str, ...] = ()


def wanted_ids(text: str) -> tuple[str, ...]:
    """Read `--ids a,b`, each once."""
    found = tuple(dict.fromkeys(part.strip() for part in text.split(",") if part.strip()))
    if not found:
        raise Mistake("no ids are given", hint="--ids aha_…,aha_…")
    return found


def promote(deck: Cards, ids: Sequence[str], *, by: str, local: Local = ANYWHERE) -> PromotionResult:
    """Copy cards to the deck that projects share. None goes where anything speaks against one of them; all of it is told."""
    cards = deck.cards()
    _require(deck, ids, cards, local)
    with deck.shared_cards(create=True) as shared:
        if shared is None:
            raise Mistake("this memory has no home to promote to", hint="open the store of a project")
        way = _Way(deck=deck, shared=shared, by=by)
        for key in ids:
            way.take(cards[key])
    for key in way.promoted:
        signal(deck, SignalKind.AHA_PROMOTED, key, source="person")
    return PromotionResult(
        requested=tuple(ids),
        promoted=tuple(way.promoted),
        updated=tuple(way.updated),
        unchanged=tuple(way.unchanged),
        lessons=way.lessons,
        notes=tuple(way.notes),
    )


@dataclass(slots=True, kw_only=True)
class _Way:
    """From one deck to another, and what happened on it."""

    deck: Cards
    shared: Cards
    by: str
    promoted: list[str] = field(default_factory=list)
    updated: list[str] = field(default_factory=list)
    unchanged: list[str] = field(default_factory=list)
    lessons: dict[str, Status | None] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def take(self, card: Card) -> None:
        """Bring one card over, or its copy up to date."""
        known = self.shared.cards().get(card.key)
        copy = _copy(card, known, self.shared)
        if known is not None and card.at <= known.at and _text(known) == _text(copy):
            self.unchanged.append(card.key)
            self.lessons[card.key] = self.shared.lesson_status(known)
            return
        copy = self._with_lesson(card, copy)
        self.shared.add(copy)
        (self.updated if known else self.promoted).append(card.key)
        self.lessons[card.key] = self.shared.lesson_status(copy)

    def _with_lesson(self, card: Card, copy: Card) -> Card:
        """Give the copy its lesson: what may be recalled here moves up with its sources, anything else meets home's gate."""
        if self.deck.is_reviewed(card):
            try:
                moved = self.deck.memory.library.promote(card.version_id, Level.ORGANISATION, by=self.by, ticked=None)
                return replace(copy, version_id=moved.version_id, id="")
            except GateRefusal as refusal:
                self.notes.append(f"{card.key}: its lesson stays here: {refusal.message}")
        origin = self.deck.store.version(card.version_id).version.lowest_origin
        return self.shared.admit(copy, origin=origin, by=self.by)


def _require(deck: Cards, ids: Sequence[str], cards: dict[str, Card], local: Local) -> None:
    missing = [key for key in ids if key not in cards]
    if missing:
        raise NotFound(
            f"no such cards here: {', '.join(missing)}", hint="`tacit cards list` lists them; nothing was promoted"
        )
    against = [f"{key}: {why}" for key in ids for why in _objections(deck, cards[key], local)]
    if against:
        lines = ["not promoted, for this speaks against it:", *(f"  {each}" for each in against)]
        raise GateRefusal("\n".join(lines), hint="mend these cards (tacit cards record) or leave them out")


def _objections(deck: Cards, card: Card, local: Local) -> Iterator[str]:
    if not card.shareable:
        yield "`shareable` is false, so it stays here"
    if card.status in GONE:
        yield f"it is {card.status}"
    if deck.is_held_back(card):
        yield "the gate put it into quarantine, or kept none of it"
    for reason in judge(replace(card, scope=PORTABLE, id=""), local):
        if reason.criterion in _HELD_AGAINST:
            yield str(reason)


def _text(card: Card) -> dict[str, Any]:
    """What a card says, without where it stands and when."""
    return {name: value for name, value in line_of(card).items() if name not in _STANDING}


def _copy(card: Card, known: Card | None, shared: Cards) -> Card:
    """The card as it goes to the shared deck: portable, with the lesson of the copy that is there."""
    version_id = known.version_id if known else ""
    whose = replace(card, at=shared.now(), by=shared.user, session_id="", sources=(), shelf=shared.shelf)
    return replace(whose, scope=PORTABLE, version_id=version_id, id="")
