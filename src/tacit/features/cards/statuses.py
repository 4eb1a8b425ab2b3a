"""Status changes of recommendations and cards, and repairs of records with missing fields.

Any status may follow any other; earlier versions keep theirs, with their notes. A card's status changes its lesson only when
a person sets it: then it is a review decision, and either both change or neither.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from tacit.domain.errors import GateRefusal, Mistake, NotFound, NotPermitted
from tacit.domain.lifecycle import RECALLABLE, WAITING, Status
from tacit.domain.stored import StoredVersion
from tacit.features.cards.card import Card, CardEvent, CardStatus, Recommendation, RecommendationStatus, SignalKind
from tacit.features.cards.card_records import (
    AHA_ID,
    UNKNOWN_SKILL,
    first_skill_name,
    is_alias,
    lesson_of,
    parse_time,
    recommendation_status,
    renewed,
)
from tacit.features.cards.card_signals import signal
from tacit.features.cards.cards import Cards
from tacit.features.cards.scores import GONE
from tacit.gate.review_rules import PersonDecision, has_severe_findings
from tacit.text.redaction import redact

NOT_BY_AGENTS = frozenset({CardStatus.ACCEPTED, CardStatus.BACKPORTED})
"""Statuses that only a person may set."""
_MIN_VERSION_PREFIX = 8
"""Characters that identify a version."""
_SKILL_TAG = "skill:"
_IN_USE = frozenset({*RECALLABLE, Status.STALE})
_DECIDED = frozenset({*_IN_USE, Status.REJECTED, Status.RETIRED})
_REVIEWS: dict[CardStatus, tuple[tuple[Collection[Status], tuple[PersonDecision, ...]], ...]] = {
    CardStatus.ACCEPTED: (
        (WAITING, (PersonDecision.APPROVE,)),
        ({Status.REJECTED}, (PersonDecision.REOPEN, PersonDecision.APPROVE)),
        ({Status.RETIRED, Status.STALE}, (PersonDecision.RESTORE,)),
    ),
    CardStatus.REJECTED: ((WAITING, (PersonDecision.REJECT,)), (_IN_USE, (PersonDecision.RETIRE,))),
    CardStatus.DEPRECATED: ((WAITING, (PersonDecision.REJECT,)), (_IN_USE, (PersonDecision.RETIRE,))),
    CardStatus.PROPOSED: (({*RECALLABLE, Status.REJECTED}, (PersonDecision.REOPEN,)),),
    CardStatus.BACKPORTED: (),
}
"""Status of a card → the review decisions for a lesson with one of these statuses; none for any other."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordChange:
    """A record before and after, and when it was first written."""

    before: Card | Recommendation
    after: Card | Recommendation
    created_ts: str
    lesson: Status | None = None
    """The status of a card's lesson now; None where it has none."""


def parse_recommendation_status(text: str) -> RecommendationStatus:
    """Parse a status of a recommendation, also in its older spellings."""
    status = recommendation_status(text.strip().lower())
    if status is RecommendationStatus.PROPOSED and text.strip().lower() != status:
        hint = f"use one of: {', '.join(RecommendationStatus)}"
        raise Mistake(f"unknown status {text!r}", code="unknown_status", hint=hint)
    return status


def parse_card_status(text: str) -> CardStatus:
    """Parse a status of a card."""
    status = text.strip().lower()
    if status not in set(CardStatus):
        raise Mistake(f"unknown status {text!r}", code="unknown_status", hint=f"use one of: {', '.join(CardStatus)}")
    return CardStatus(status)


def move_recommendation(
    deck: Cards, key: str, word: str, *, scope: str = "", note: str = "", source: str = "agent"
) -> RecordChange:
    """Set the status of a recommendation; also adds the signals that it was touched, and done."""
    status = parse_recommendation_status(word)
    with deck.transaction():
        before = deck.recommendations().get(key)
        if before is None:
            raise NotFound(f"no recommendation {key!r} here", hint="`tacit cards review --format json` lists them")
        changes = {
            "status": status,
            "last_touched_ts": deck.timestamp(),
            "scope": scope or before.scope,
            "from_file": False,
        }
        noted = {"note": redact(note).text} if note else {}
        after = renewed(before, at=deck.now(), by=deck.user, **changes, **noted)
        deck.add(after)
        signal(deck, SignalKind.REC_TOUCHED, key, source=source, context=f"status={status}")
        if status is RecommendationStatus.DONE and before.status is not RecommendationStatus.DONE:
            signal(deck, SignalKind.REC_DONE, key, source=source)
    return RecordChange(before=before, after=after, created_ts=deck.recommendation_history(key)[0].ts)


def require_seen(deck: Cards, key: str, seen: str) -> None:
    """Refuse a decision on a card whose text changed since the version that the person read."""
    card = deck.cards().get(key)
    if card is not None and (len(seen) < _MIN_VERSION_PREFIX or not card.version_id.startswith(seen)):
        hint = f"read it: tacit review {card.version_id[:10]}"
        raise GateRefusal(f"{key} changed since you read it", code="card_changed", hint=hint)


def move_card(deck: Cards, key: str, word: str, *, note: str = "", person: str = "") -> RecordChange:
    """Set the status of a card. For a person this also reviews its lesson; where that fails, nothing changes."""
    status = parse_card_status(word)
    if not person and status in NOT_BY_AGENTS:
        hint = (
            f"tell the person that {key} waits; they accept it with `tacit review`, or with this command at a terminal"
        )
        if status is CardStatus.BACKPORTED:
            hint = "a person applies a backport: tacit cards export-backport --apply"
        raise NotPermitted(f"only a person may set `{status}`", code="person_only", hint=hint)
    with deck.transaction():
        before = deck.cards().get(key)
        if before is None:
            raise NotFound(f"no card {key!r} here", hint="`tacit cards list` lists them")
        if person:
            _review_lesson(deck, before, status, by=person, reason=note)
        elif (lesson := _lesson_status(deck, before)) in _DECIDED:
            message = f"{key} was reviewed, its lesson is {lesson}; only a person may change it"
            raise NotPermitted(message, code="already_reviewed", hint="at a terminal: this command, or `tacit review`")
        changes: dict[str, Any] = {"status": status, "last_touched_ts": deck.timestamp()}
        changes |= {"note": redact(note).text} if note else {}
        after = renewed(before, at=deck.now(), by=deck.user, **changes)
        deck.add(after)
    created_ts = deck.history(key)[0].ts
    return RecordChange(before=before, after=after, created_ts=created_ts, lesson=_lesson_status(deck, after))


def decisions(word: CardStatus, lesson: Status) -> Sequence[PersonDecision]:
    """Return the review decisions that a person's status of a card means for a lesson with this status."""
    return next((moves for statuses, moves in _REVIEWS[word] if lesson in statuses), ())


def _review_lesson(deck: Cards, card: Card, status: CardStatus, *, by: str, reason: str) -> None:
    lesson = _lesson_status(deck, card)
    if lesson is None:
        if status is CardStatus.ACCEPTED:
            message = f"the gate rejected the text of {card.key}"
            raise GateRefusal(message, code="no_lesson", hint="correct it, and record it again")
        return
    for held in _affected_versions(deck, card, status):
        moves = decisions(status, held.status)
        if {PersonDecision.APPROVE, PersonDecision.RESTORE} & set(moves):
            _require_same_text(deck, card, held)
            _require_nothing_grave(deck, card, lesson)
        for move in moves:
            deck.memory.review(held.version.id, move, by=by, reason=reason or f"card {card.key} is {status}")


def _affected_versions(deck: Cards, card: Card, status: CardStatus) -> list[StoredVersion]:
    """Return the card's latest lesson, or, of a card that is withdrawn, every lesson it ever had."""
    own = deck.store.version(card.version_id)
    if status not in GONE:
        return [own]
    before = [
        held for held in deck.store.versions(own.skill.id) if held.version.content.metadata.get(AHA_ID) == card.key
    ]
    return [own, *(held for held in before if held.version.id != own.version.id)]


def _lesson_status(deck: Cards, card: Card) -> Status | None:
    """Return the current status of a card's lesson, not the cached one; None if it has none."""
    try:
        return deck.store.version(card.version_id).status if card.version_id else None
    except NotFound:
        return None


def _require_same_text(deck: Cards, card: Card, held: StoredVersion) -> None:
    """Refuse to accept a card whose lesson was edited in review: the person would approve another text."""
    newest = deck.store.versions(held.skill.id)[-1]
    if newest.version.id != held.version.id or held.version.content != lesson_of(card):
        message = f"{card.key} is not accepted: its lesson was edited and says something else now"
        hint = f"read it: tacit review {newest.version.id[:10]}"
        raise GateRefusal(message, code="lesson_edited", hint=hint)


def _require_nothing_grave(deck: Cards, card: Card, lesson: Status) -> None:
    """Refuse to accept a card with grave findings: these must be read first."""
    findings = deck.memory.reviews.examine(card.version_id).findings
    grave = [finding for finding in findings if has_severe_findings([finding])]
    if grave or lesson is Status.QUARANTINED:
        why = "; ".join(finding.message for finding in grave) or "it is quarantined"
        hint = f"read it: tacit review {card.version_id[:10]}"
        raise GateRefusal(f"{card.key} is not accepted: {why}", code="grave_findings", hint=hint)


# --- repair -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class RepairPlan:
    """What a repair would change: id → the fields with their new values."""

    cards: Mapping[str, Mapping[str, str]]
    recommendations: Mapping[str, Mapping[str, str]]

    def __bool__(self) -> bool:
        return bool(self.cards or self.recommendations)

    def document(self) -> dict[str, Any]:
        """Return the planned changes and their counts, with the keys of the original tool."""
        planned = {
            "aha_updates": [{"id": key, **changes} for key, changes in self.cards.items()],
            "rec_updates": [{"id": key, **changes} for key, changes in self.recommendations.items()],
        }
        return {"planned": planned, "counts": {name: len(listed) for name, listed in planned.items()}}


def plan_repair(deck: Cards) -> RepairPlan:
    """Return what a repair would change now: missing skills and older spellings of a status."""
    events = list(deck.events().values())
    cards = {
        key: {"primary_skill": inferred_skill(card, deck.history(key)[0].ts, events)}
        for key, card in deck.cards().items()
        if _lacks_skill(card)
    }
    recommendations: dict[str, dict[str, str]] = {}
    for key, each in deck.recommendations().items():
        changes = {}
        if _lacks_skill(each):
            changes["primary_skill"] = inferred_skill(each, deck.recommendation_history(key)[0].ts, events)
        if is_alias(each.extra.get("status")):
            changes["status"] = str(each.status)
        if changes:
            recommendations[key] = changes
    return RepairPlan(cards=cards, recommendations=recommendations)


def repair(deck: Cards) -> RepairPlan:
    """Add a repaired version of each record that needs one; a second repair finds nothing."""
    with deck.transaction():
        found = plan_repair(deck)
        at, cards = deck.now(), deck.cards()
        planned: list[tuple[Any, Mapping[str, str]]]
        planned = [(cards[key], changes) for key, changes in found.cards.items()]
        planned += [(deck.recommendations()[key], changes) for key, changes in found.recommendations.items()]
        for each, changes in planned:
            # a repair is no touch, but its version has a new time
            values: dict[str, Any] = {"last_touched_ts": each.last_touched_ts or each.ts, **changes}
            if "status" in values:
                values["status"] = RecommendationStatus(values["status"])
            deck.add(renewed(each, at=at, by=deck.user, **values))
    return found


def inferred_skill(entry: Card | Recommendation, ts: str, events: Iterable[CardEvent]) -> str:
    """Return the skill of the nearest event at or before the entry, else after it, else of a tag `skill:NAME`."""
    at = parse_time(ts)
    tagged = (tag.removeprefix(_SKILL_TAG) for tag in entry.tags if tag.startswith(_SKILL_TAG))
    by_event = _nearest_skill(at, events) if at else ""
    return by_event or first_skill_name(next((name for name in tagged if name.strip()), ""))


def _nearest_skill(at: datetime, events: Iterable[CardEvent]) -> str:
    timed = [(parse_time(event.ts) or event.at, first_skill_name(event.primary_skill)) for event in events]
    known = [(when, skill) for when, skill in timed if skill != UNKNOWN_SKILL]
    before = [each for each in known if each[0] <= at]
    if before:
        return max(before, key=lambda each: each[0])[1]
    return min(known, key=lambda each: each[0])[1] if known else ""


def _lacks_skill(entry: Card | Recommendation) -> bool:
    """Return whether no skill is given; `unknown` counts as given, and stays."""
    return not entry.primary_skill.strip() or "primary_skill" in entry.extra
