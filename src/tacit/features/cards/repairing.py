"""Repair: records with gaps → the versions that fill them. Nothing is written unless asked for; a second one finds nothing.

A missing `primary_skill` is that of the nearest event at or before the record, else of the nearest after it, else of a tag
`skill:NAME`, else `unknown`. Older words for a status, as a file may have them, are written anew. When somebody last touched a
record stays as it was: a repair is no touch.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from tacit.domain.card import Card, CardEvent
from tacit.domain.recommendation import Recommendation, RecommendationStatus
from tacit.features.cards.aha.fields import is_alias, recommendation_status
from tacit.features.cards.aha.records import renewed
from tacit.features.cards.aha.slugs import UNKNOWN, skill_name
from tacit.features.cards.aha.stamps import moment
from tacit.features.cards.deck import Deck

_SKILL_TAG = "skill:"


@dataclass(frozen=True, slots=True, kw_only=True)
class Repairs:
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


def plan(deck: Deck) -> Repairs:
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
    return Repairs(cards=cards, recommendations=recommendations)


def repair(deck: Deck) -> Repairs:
    """Mend it: a new version of each record with a gap."""
    with deck.changing():
        found = plan(deck)
        cards, recommendations, at = deck.cards(), deck.recommendations(), deck.now()
        for key, changes in found.cards.items():
            deck.keep(renewed(cards[key], at=at, by=deck.user, **_kept_touch(cards[key]), **changes))
        for key, changes in found.recommendations.items():
            each = recommendations[key]
            said: dict[str, Any] = {**changes}
            if "status" in said:
                said["status"] = RecommendationStatus(said["status"])
            deck.keep(renewed(each, at=at, by=deck.user, **_kept_touch(each), **said))
    return found


def inferred_skill(entry: Card | Recommendation, ts: str, events: Iterable[CardEvent]) -> str:
    """The skill that an entry of this time most likely belongs to."""
    at, tag = moment(ts), next((t for t in entry.tags if t.startswith(_SKILL_TAG) and t[len(_SKILL_TAG) :].strip()), "")
    by_event = _nearest(at, events) if at else ""
    return by_event or skill_name(tag[len(_SKILL_TAG) :])


def _nearest(at: datetime, events: Iterable[CardEvent]) -> str:
    timed = [(moment(event.ts) or event.at, skill_name(event.primary_skill)) for event in events]
    told = [(when, skill) for when, skill in timed if skill != UNKNOWN]
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
