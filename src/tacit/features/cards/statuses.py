"""Statuses of the workflow: an id and a word → a new version of the recommendation or card, and what it was before.

Any status may follow any other; earlier versions keep theirs, with their notes. What a card is called moves its lesson only
where a person says so: then the word is a review decision, and is carried out as one or not at all.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Protocol

from tacit.domain.card import Card, CardStatus, SignalKind
from tacit.domain.errors import GateRefusal, Mistake, NotFound, NotPermitted
from tacit.domain.lifecycle import RECALLABLE, Status, Transition
from tacit.domain.ports import Stored
from tacit.domain.recommendation import Recommendation, RecommendationStatus
from tacit.domain.trust import Examination
from tacit.features.cards.aha.fields import recommendation_status
from tacit.features.cards.aha.records import renewed
from tacit.features.cards.aha.scores import GONE
from tacit.features.cards.deck import Deck
from tacit.features.cards.lessons import AHA_ID, lesson_of
from tacit.features.cards.signalling import signal
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


class Reviewer(Protocol):
    """Where a person's decisions are carried out."""

    def review(
        self,
        version_id: str,
        decision: Review | str,
        *,
        by: str,
        reason: str = "",
        content_hash: str = "",
        ticked: Collection[str] = (),
    ) -> Transition:
        """Carry out a decision on one exact version."""

    def examine(self, version_id: str) -> Examination:
        """All that a reviewer must know of a version."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Moved:
    """A record before and after, and when it was first written."""

    before: Card | Recommendation
    after: Card | Recommendation
    created_ts: str
    lesson: Status | None = None
    """Where a card's lesson stands now; nothing where it has none."""


def recommendation_word(word: str) -> RecommendationStatus:
    """Read a status of a recommendation, also in its older spellings."""
    said = word.strip().lower()
    status = recommendation_status(said)
    if status is RecommendationStatus.PROPOSED and said != status:
        raise Mistake(f"unknown status {word!r}", hint=f"use one of: {', '.join(RecommendationStatus)}")
    return status


def card_word(word: str) -> CardStatus:
    """Read a status of a card."""
    said = word.strip().lower()
    if said not in set(CardStatus):
        raise Mistake(f"unknown status {word!r}", hint=f"use one of: {', '.join(CardStatus)}")
    return CardStatus(said)


def move_recommendation(
    deck: Deck, key: str, word: str, *, scope: str = "", note: str = "", source: str = "agent"
) -> Moved:
    """Say where a recommendation stands now; that it was touched, and done, are signals too."""
    status = recommendation_word(word)
    with deck.changing():
        before = deck.recommendations().get(key)
        if before is None:
            raise NotFound(f"no recommendation {key!r} here", hint="`tacit cards review --format json` lists them")
        now = deck.now()
        said = {"status": status, "last_touched_ts": deck.stamp(), "scope": scope or before.scope, "from_file": False}
        after = renewed(before, at=now, by=deck.user, **said, **({"note": redact(note).text} if note else {}))
        deck.keep(after)
        signal(deck, SignalKind.REC_TOUCHED, key, source=source, context=f"status={status}")
        if status is RecommendationStatus.DONE and before.status is not RecommendationStatus.DONE:
            signal(deck, SignalKind.REC_DONE, key, source=source)
    return Moved(before=before, after=after, created_ts=deck.recommendation_history(key)[0].ts)


def require_seen(deck: Deck, key: str, seen: str) -> None:
    """Refuse to decide on a card that says something else by now than in the version that the person read."""
    card = deck.cards().get(key)
    if card is not None and (len(seen) < _SHORTEST or not card.version_id.startswith(seen)):
        hint = f"read it: tacit review {card.version_id[:10]}"
        raise GateRefusal(f"{key} was written anew since you read it", hint=hint)


def move_card(
    deck: Deck, key: str, word: str, *, note: str = "", person: str = "", reviewer: Reviewer | None = None
) -> Moved:
    """Say where a card stands now. On a person's word its lesson is decided on too; where that fails, nothing changes."""
    status = card_word(word)
    if not person and status in NOT_BY_AGENTS:
        raise NotPermitted(f"`{status}` is a person's word", hint=_instead(status, key))
    with deck.changing():
        before = deck.cards().get(key)
        if before is None:
            raise NotFound(f"no card {key!r} here", hint="`tacit cards list` lists them")
        if person and reviewer is not None:
            _decide(deck, before, status, by=person, reason=note, reviewer=reviewer)
        elif not person and (standing := _standing(deck, before)) in _DECIDED:
            raise NotPermitted(
                f"{key} was decided on, its lesson is {standing}; only a person moves it",
                hint="at a terminal: this command, or `tacit review`",
            )
        said = {"status": status, "last_touched_ts": deck.stamp()}
        after = renewed(before, at=deck.now(), by=deck.user, **said, **({"note": redact(note).text} if note else {}))
        deck.keep(after)
    return Moved(before=before, after=after, created_ts=deck.history(key)[0].ts, lesson=_standing(deck, after))


def decisions(word: CardStatus, standing: Status) -> Sequence[Review]:
    """What a person's word for a card means for a lesson that stands so."""
    return next((moves for places, moves in _MOVES[word] if standing in places), ())


def _decide(deck: Deck, card: Card, word: CardStatus, *, by: str, reason: str, reviewer: Reviewer) -> None:
    standing = _standing(deck, card)
    if standing is None:
        if word is CardStatus.ACCEPTED:
            raise GateRefusal(f"the gate turned the text of {card.key} away", hint="mend it, and record it again")
        return
    for held in _spoken_of(deck, card, word):
        moves = decisions(word, held.status)
        if {Review.APPROVE, Review.RESTORE} & set(moves):
            _require_its_own_words(deck, card, held)
            _require_nothing_grave(card, standing, reviewer)
        for move in moves:
            reviewer.review(held.version.id, move, by=by, reason=reason or f"card {card.key} is {word}")


def _spoken_of(deck: Deck, card: Card, word: CardStatus) -> list[Stored]:
    """The versions that a word is about: the card's latest text, or, of a card that goes, every text that it ever had."""
    own = deck.store.version(card.version_id)
    if word not in GONE:
        return [own]
    before = [
        held for held in deck.store.versions(own.skill.id) if held.version.content.metadata.get(AHA_ID) == card.key
    ]
    return [own, *(held for held in before if held.version.id != own.version.id)]


def _standing(deck: Deck, card: Card) -> Status | None:
    """Where a card's lesson stands at this very moment, whatever was read before; nothing if it has none."""
    try:
        return deck.store.version(card.version_id).status if card.version_id else None
    except NotFound:
        return None


def _require_its_own_words(deck: Deck, card: Card, held: Stored) -> None:
    """One word approves what the card says, and only if nobody wrote it anew since: an edit in review goes before."""
    newest = deck.store.versions(held.skill.id)[-1]
    if newest.version.id != held.version.id or held.version.content != lesson_of(card):
        raise GateRefusal(
            f"{card.key} is not accepted: its lesson was edited, and says something else now",
            hint=f"read it: tacit review {newest.version.id[:10]}",
        )


def _require_nothing_grave(card: Card, standing: Status, reviewer: Reviewer) -> None:
    """What was found to be grave is not waved through by one word: it is read first."""
    grave = [finding for finding in reviewer.examine(card.version_id).findings if is_grave([finding])]
    if grave or standing is Status.QUARANTINED:
        told = "; ".join(finding.message for finding in grave) or "it was put into quarantine"
        raise GateRefusal(f"{card.key} is not accepted: {told}", hint=f"read it: tacit review {card.version_id[:10]}")


def _instead(status: CardStatus, key: str) -> str:
    if status is CardStatus.BACKPORTED:
        return "a backport that a person applies says so by itself: tacit cards export-backport --apply"
    return f"say that {key} waits; a person accepts it with `tacit review`, or this command at a terminal"
