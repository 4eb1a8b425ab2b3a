"""Statuses of the workflow: an id and a word → a new version of the recommendation or card, and what it was before.

Any status may follow any other; earlier versions keep theirs, with their notes. What a card is called moves its lesson only
where a person says so: then the word is a review decision, and is carried out as one or not at all.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from tacit.domain.card import Card, CardEvent, CardStatus, SignalKind
from tacit.domain.errors import GateRefusal, Mistake, NotFound, NotPermitted
from tacit.domain.lifecycle import RECALLABLE, Status
from tacit.domain.recommendation import Recommendation, RecommendationStatus
from tacit.domain.stored import Stored
from tacit.features.cards.cards import Cards
from tacit.features.cards.records import (
    AHA_ID,
    UNKNOWN_SKILL,
    first_skill_name,
    is_alias,
    lesson_of,
    parse_time,
    recommendation_status,
    renewed,
)
from tacit.features.cards.scores import GONE
from tacit.features.cards.signals import signal
from tacit.gate import Review, is_grave
from tacit.text.redaction import redact

NOT_BY_AGENTS = frozenset({CardStatus.ACCEPTED, CardStatus.BACKPORTED})
"""Words that tell of a person's decision."""
_SHORTEST = 8
"""Characters of a version's id that tell it from others."""
_WAITS = frozenset({Status.CANDIDATE, Status.QUARANTINED})
_IN_USE = frozenset({*RECALLABLE, Status.STALE})
_DECIDED = frozenset({*_IN_USE, Status.REJECTED, Status.RETIRED})
_MOVES: dict[CardStatus, tuple[tuple[Collection[Status], tuple[Review, ...]], ...]] = {
    CardStatus.ACCEPTED: (
        (_WAITS, (Review.APPROVE,)),
        ({Status.REJECTED}, (Review.REOPEN, Review.APPROVE)),
        ({Status.RETIRED, Status.STALE}, (Review.RESTORE,)),
    ),
    CardStatus.REJECTED: ((_WAITS, (Review.REJECT,)), (_IN_USE, (Review.RETIRE,))),
    CardStatus.DEPRECATED: ((_WAITS, (Review.REJECT,)), (_IN_USE, (Review.RETIRE,))),
    CardStatus.PROPOSED: (({*RECALLABLE, Status.REJECTED}, (Review.REOPEN,)),),
    CardStatus.BACKPORTED: (),
}
"""A person's word → of a lesson that stands so, these decisions; of any other, none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StatusChange:
    """A record before and after, and when it was first written."""

    before: Card | Recommendation
    after: Card | Recommendation
    created_ts: str
    lesson: Status | None = None
    """Where a card's lesson stands now; nothing where it has none."""


def parse_recommendation_status(word: str) -> RecommendationStatus:
    """Read a status of a recommendation, also in its older spellings."""
    said = word.strip().lower()
    status = recommendation_status(said)
    if status is RecommendationStatus.PROPOSED and said != status:
        raise Mistake(f"unknown status {word!r}", hint=f"use one of: {', '.join(RecommendationStatus)}")
    return status


def parse_card_status(word: str) -> CardStatus:
    """Read a status of a card."""
    said = word.strip().lower()
    if said not in set(CardStatus):
        raise Mistake(f"unknown status {word!r}", hint=f"use one of: {', '.join(CardStatus)}")
    return CardStatus(said)


def move_recommendation(
    deck: Cards, key: str, word: str, *, scope: str = "", note: str = "", source: str = "agent"
) -> StatusChange:
    """Say where a recommendation stands now; that it was touched, and done, are signals too."""
    status = parse_recommendation_status(word)
    with deck.transaction():
        before = deck.recommendations().get(key)
        if before is None:
            raise NotFound(f"no recommendation {key!r} here", hint="`tacit cards review --format json` lists them")
        now = deck.now()
        said = {"status": status, "last_touched_ts": deck.timestamp(), "scope": scope or before.scope, "from_file": False}
        after = renewed(before, at=now, by=deck.user, **said, **({"note": redact(note).text} if note else {}))
        deck.add(after)
        signal(deck, SignalKind.REC_TOUCHED, key, source=source, context=f"status={status}")
        if status is RecommendationStatus.DONE and before.status is not RecommendationStatus.DONE:
            signal(deck, SignalKind.REC_DONE, key, source=source)
    return StatusChange(before=before, after=after, created_ts=deck.recommendation_history(key)[0].ts)


def require_seen(deck: Cards, key: str, seen: str) -> None:
    """Refuse to decide on a card that says something else by now than in the version that the person read."""
    card = deck.cards().get(key)
    if card is not None and (len(seen) < _SHORTEST or not card.version_id.startswith(seen)):
        hint = f"read it: tacit review {card.version_id[:10]}"
        raise GateRefusal(f"{key} was written anew since you read it", hint=hint)


def move_card(deck: Cards, key: str, word: str, *, note: str = "", person: str = "") -> StatusChange:
    """Say where a card stands now. On a person's word its lesson is decided on too; where that fails, nothing changes."""
    status = parse_card_status(word)
    if not person and status in NOT_BY_AGENTS:
        raise NotPermitted(f"`{status}` is a person's word", hint=_instead(status, key))
    with deck.transaction():
        before = deck.cards().get(key)
        if before is None:
            raise NotFound(f"no card {key!r} here", hint="`tacit cards list` lists them")
        if person:
            _decide(deck, before, status, by=person, reason=note)
        elif (standing := _standing(deck, before)) in _DECIDED:
            raise NotPermitted(
                f"{key} was decided on, its lesson is {standing}; only a person moves it",
                hint="at a terminal: this command, or `tacit review`",
            )
        said = {"status": status, "last_touched_ts": deck.timestamp()}
        after = renewed(before, at=deck.now(), by=deck.user, **said, **({"note": redact(note).text} if note else {}))
        deck.add(after)
    return StatusChange(before=before, after=after, created_ts=deck.history(key)[0].ts, lesson=_standing(deck, after))


def decisions(word: CardStatus, standing: Status) -> Sequence[Review]:
    """What a person's word for a card means for a lesson that stands so."""
    return next((moves for places, moves in _MOVES[word] if standing in places), ())


def _decide(deck: Cards, card: Card, word: CardStatus, *, by: str, reason: str) -> None:
    standing = _standing(deck, card)
    if standing is None:
        if word is CardStatus.ACCEPTED:
            raise GateRefusal(f"the gate turned the text of {card.key} away", hint="mend it, and record it again")
        return
    for held in _spoken_of(deck, card, word):
        moves = decisions(word, held.status)
        if {Review.APPROVE, Review.RESTORE} & set(moves):
            _require_its_own_words(deck, card, held)
            _require_nothing_grave(deck, card, standing)
        for move in moves:
            deck.memory.review(held.version.id, move, by=by, reason=reason or f"card {card.key} is {word}")


def _spoken_of(deck: Cards, card: Card, word: CardStatus) -> list[Stored]:
    """The versions that a word is about: the card's latest text, or, of a card that goes, every text that it ever had."""
    own = deck.store.version(card.version_id)
    if word not in GONE:
        return [own]
    before = [
        held for held in deck.store.versions(own.skill.id) if held.version.content.metadata.get(AHA_ID) == card.key
    ]
    return [own, *(held for held in before if held.version.id != own.version.id)]


def _standing(deck: Cards, card: Card) -> Status | None:
    """Where a card's lesson stands at this very moment, whatever was read before; nothing if it has none."""
    try:
        return deck.store.version(card.version_id).status if card.version_id else None
    except NotFound:
        return None


def _require_its_own_words(deck: Cards, card: Card, held: Stored) -> None:
    """One word approves what the card says, and only if nobody wrote it anew since: an edit in review goes before."""
    newest = deck.store.versions(held.skill.id)[-1]
    if newest.version.id != held.version.id or held.version.content != lesson_of(card):
        raise GateRefusal(
            f"{card.key} is not accepted: its lesson was edited, and says something else now",
            hint=f"read it: tacit review {newest.version.id[:10]}",
        )


def _require_nothing_grave(deck: Cards, card: Card, standing: Status) -> None:
    """What was found to be grave is not waved through by one word: it is read first."""
    grave = [finding for finding in deck.memory.reviews.examine(card.version_id).findings if is_grave([finding])]
    if grave or standing is Status.QUARANTINED:
        told = "; ".join(finding.message for finding in grave) or "it was put into quarantine"
        raise GateRefusal(f"{card.key} is not accepted: {told}", hint=f"read it: tacit review {card.version_id[:10]}")


def _instead(status: CardStatus, key: str) -> str:
    if status is CardStatus.BACKPORTED:
        return "a backport that a person applies says so by itself: tacit cards export-backport --apply"
    return f"say that {key} waits; a person accepts it with `tacit review`, or this command at a terminal"


_SKILL_TAG = "skill:"


@dataclass(frozen=True, slots=True, kw_only=True)
class RepairPlan:
    """What a repair would change: id → the fields with their new values."""

    cards: Mapping[str, Mapping[str, str]]
    recommendations: Mapping[str, Mapping[str, str]]

    def __bool__(self) -> bool:
        return bool(self.cards or self.recommendations)

    def document(self) -> dict[str, Any]:
        """The planned changes and their counts, as both tools print them."""
        planned = {
            "aha_updates": [{"id": key, **changes} for key, changes in self.cards.items()],
            "rec_updates": [{"id": key, **changes} for key, changes in self.recommendations.items()],
        }
        return {"planned": planned, "counts": {name: len(listed) for name, listed in planned.items()}}


def plan_repair(deck: Cards) -> RepairPlan:
    """What is to be mended, as things stand now."""
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
        if _is_older_word(each.extra.get("status")):
            changes["status"] = str(each.status)
        if changes:
            recommendations[key] = changes
    return RepairPlan(cards=cards, recommendations=recommendations)


def repair(deck: Cards) -> RepairPlan:
    """Mend it: a new version of each record with a gap."""
    with deck.transaction():
        found = plan_repair(deck)
        cards, recommendations, at = deck.cards(), deck.recommendations(), deck.now()
        for key, changes in found.cards.items():
            deck.add(renewed(cards[key], at=at, by=deck.user, **_kept_touch(cards[key]), **changes))
        for key, changes in found.recommendations.items():
            each = recommendations[key]
            said: dict[str, Any] = {**changes}
            if "status" in said:
                said["status"] = RecommendationStatus(said["status"])
            deck.add(renewed(each, at=at, by=deck.user, **_kept_touch(each), **said))
    return found


def inferred_skill(entry: Card | Recommendation, ts: str, events: Iterable[CardEvent]) -> str:
    """The skill that an entry of this time most likely belongs to."""
    at, tag = (
        parse_time(ts),
        next((t for t in entry.tags if t.startswith(_SKILL_TAG) and t[len(_SKILL_TAG) :].strip()), ""),
    )
    by_event = _nearest(at, events) if at else ""
    return by_event or first_skill_name(tag[len(_SKILL_TAG) :])


def _nearest(at: datetime, events: Iterable[CardEvent]) -> str:
    timed = [(parse_time(event.ts) or event.at, first_skill_name(event.primary_skill)) for event in events]
    told = [(when, skill) for when, skill in timed if skill != UNKNOWN_SKILL]
    before = [each for each in told if each[0] <= at]
    if before:
        return max(before, key=lambda each: each[0])[1]
    return min(told, key=lambda each: each[0])[1] if told else ""


def _lacks_skill(entry: Card | Recommendation) -> bool:
    """Whether no skill is told; one that nobody could name is told as `unknown`, and stays."""
    return not entry.primary_skill.strip() or "primary_skill" in entry.extra


def _kept_touch(entry: Card | Recommendation) -> dict[str, str]:
    """When it was last touched, said outright, since the new version has a time of its own."""
    return {"last_touched_ts": entry.last_touched_ts or entry.ts}


def _is_older_word(word: object) -> bool:
    """Whether a status, as its line says it, is a known older word; words that nobody knows are left alone."""
    return is_alias(word) and recommendation_status(word) is not RecommendationStatus.PROPOSED
