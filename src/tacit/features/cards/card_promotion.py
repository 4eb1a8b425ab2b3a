"""Promotion of cards: copies in the person's own store, which all their projects share. Only a person promotes.

Only the latest version of a card is copied, as portable, and only if nothing in it belongs to one project. Promoting again
updates the copy. A lesson in use moves through the gates of promotion; in the person's own store it waits for review.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from tacit.domain.errors import GateRefusal, Mistake, NotFound
from tacit.domain.lifecycle import Status
from tacit.domain.scope import Level
from tacit.features.cards.card import Card, SignalKind
from tacit.features.cards.card_records import id_list, text_fields
from tacit.features.cards.card_signals import signal
from tacit.features.cards.cards import Cards
from tacit.features.cards.rubric import PORTABLE, Criterion, judge
from tacit.features.cards.scores import GONE
from tacit.maintain.portability import NO_PROJECT_FACTS, ProjectFacts

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
    if found := tuple(id_list(text)):
        return found
    raise Mistake("no ids were given", code="no_ids", hint="--ids aha_…,aha_…")


def promote(deck: Cards, ids: Sequence[str], *, by: str, local: ProjectFacts = NO_PROJECT_FACTS) -> PromotionResult:
    """Copy cards to the shared store. If anything speaks against one of them, none is copied and all is reported."""
    cards = deck.cards()
    _require_promotable(deck, ids, cards, local)
    outcomes: dict[str, str] = {}
    lessons: dict[str, Status | None] = {}
    notes: list[str] = []
    with deck.shared_cards(create=True) as shared:
        if shared is None:
            hint = "open the store of a project"
            raise Mistake("this store has no home to promote to", code="no_home", hint=hint)
        for key in ids:
            known = shared.cards().get(key)
            copy = replace(cards[key], at=shared.now(), by=shared.user, session_id="", sources=(), shelf=shared.shelf)
            copy = replace(copy, scope=PORTABLE, version_id=known.version_id if known else "", id="")
            if known is not None and cards[key].at <= known.at and text_fields(known) == text_fields(copy):
                outcomes[key], lessons[key] = "unchanged", shared.lesson_status(known)
                continue
            copy = _with_lesson(deck, shared, cards[key], copy, by=by, notes=notes)
            shared.add(copy)
            outcomes[key], lessons[key] = "updated" if known else "promoted", shared.lesson_status(copy)
    promoted, updated, unchanged = (
        tuple(key for key, outcome in outcomes.items() if outcome == name)
        for name in ("promoted", "updated", "unchanged")
    )
    for key in promoted:
        signal(deck, SignalKind.AHA_PROMOTED, key, source="person")
    return PromotionResult(
        requested=tuple(ids),
        promoted=promoted,
        updated=updated,
        unchanged=unchanged,
        lessons=lessons,
        notes=tuple(notes),
    )


def _with_lesson(deck: Cards, shared: Cards, card: Card, copy: Card, *, by: str, notes: list[str]) -> Card:
    """Return the copy with a lesson: one in use here is promoted with its sources, any other passes the gate."""
    if deck.is_reviewed(card):
        try:
            moved = deck.memory.library.promote(card.version_id, Level.ORGANISATION, by=by, ticked=None)
            return replace(copy, version_id=moved.version_id, id="")
        except GateRefusal as refusal:
            notes.append(f"{card.key}: its lesson stays here: {refusal.message}")
    origin = deck.store.version(card.version_id).version.lowest_origin
    return shared.admit(copy, origin=origin, by=by)


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
