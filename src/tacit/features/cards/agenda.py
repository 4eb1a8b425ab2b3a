"""What is left to do: recommendations, cards, signals and backports → one document with the next actions.

A card's `score` counts all signals alike. Cards are ordered by `decayed_score`, in which a signal loses half its weight every
`HALF_LIFE_DAYS`: what helped last week comes before what helped last year. Recommendations and candidates for a backport share
the next actions, so that neither hides the other.
"""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from tacit.domain.errors import Mistake
from tacit.features.cards.card import Backport, Card, CardStatus, Recommendation, RecommendationStatus, Signal
from tacit.features.cards.card_records import format_time, line_of, parse_time, recommendation_status
from tacit.features.cards.cards import Cards
from tacit.features.cards.scores import (
    BASE,
    GONE,
    MIN_SCORE,
    WEIGHTS,
    Score,
    artifact_hint,
    backported_ids,
    counted,
    is_candidate,
    priority,
    scores,
)

HALF_LIFE_DAYS = 90.0
STALE_DAYS = 7
DEFAULT_LIMIT = 10
"""Entries of each list."""
SUGGESTED = "mark in_progress and implement, or reject or deprecate it if it is no longer relevant"
NOT_SEEN = "it comes from a file that nobody here looked at: a person reads it and sets its status (rec-status)"
_DAY_S = 86_400.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewFilters:
    """Filters of a review, and how long each list is."""

    skill: str = ""
    scope: str = ""
    query: str = ""
    statuses: tuple[str, ...] = ()
    since: datetime | None = None
    stale_days: int = STALE_DAYS
    min_aha_score: int = MIN_SCORE
    backport_limit: int = DEFAULT_LIMIT
    top_aha_limit: int = DEFAULT_LIMIT
    next_actions_limit: int = DEFAULT_LIMIT
    recs_limit: int = DEFAULT_LIMIT

    def lets_through(self, entry: Card | Recommendation) -> bool:
        """Return whether an entry passes all filters; one without a readable time is in no window."""
        if self.skill and entry.primary_skill != self.skill:
            return False
        if self.scope and entry.scope != self.scope:
            return False
        status = entry.effective_status if isinstance(entry, Recommendation) else entry.status
        if self.statuses and status not in self.statuses:
            return False
        if self.query and self.query.lower() not in json.dumps(line_of(entry), ensure_ascii=False).lower():
            return False
        touched = touched_at(entry)
        return self.since is None or (touched is not None and touched >= self.since)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewInput:
    """What a review reads: the latest versions of cards, and all versions of recommendations."""

    cards: Mapping[str, Card]
    recommendations: Mapping[str, Sequence[Recommendation]]
    """Id → its versions, oldest first."""
    signals: Sequence[Signal] = ()
    backports: Collection[Backport] = ()
    shared: Mapping[str, Card] = field(default_factory=dict)
    """Cards of the person's own store."""
    shared_signals: Sequence[Signal] = ()
    withheld: Collection[str] = ()
    """Ids of cards that the gate holds back: counted, and not shown."""
    reviewed: Collection[str] = ()
    """Ids of cards whose text was approved."""
    withheld_recommendations: Collection[str] = ()
    """Ids of recommendations with grave findings: counted, and not shown."""


def review(deck: Cards, filters: ReviewFilters, *, include_global: bool = False) -> dict[str, Any]:
    """Return everything that is open, stale or worth a backport, in order."""
    shared, shared_signals = _shared_cards(deck) if include_global else ({}, [])
    cards = deck.cards()
    versions: dict[str, list[Recommendation]] = {}
    for version in deck.store.entries(Recommendation):
        versions.setdefault(version.key, []).append(version)
    found = ReviewInput(
        cards=cards,
        recommendations=versions,
        signals=deck.signals(),
        backports=list(deck.backports().values()),
        shared=shared,
        shared_signals=shared_signals,
        withheld={key for key, card in cards.items() if deck.is_held_back(card)},
        reviewed={key for key, card in cards.items() if deck.is_reviewed(card)},
        withheld_recommendations={key for key, each in deck.recommendations().items() if deck.is_withheld(each)},
    )
    return Agenda(found, filters, deck.now()).document()


def parse_statuses(words: str) -> tuple[str, ...]:
    """Parse `--status a,b`: statuses of recommendations and of cards, also older spellings; lists all unknown words."""
    known = {*RecommendationStatus, *CardStatus}
    given = [word.strip().lower() for word in words.split(",") if word.strip()]
    parsed = {word: word if word in known else str(recommendation_status(word)) for word in given}
    unknown = [w for w, status in parsed.items() if w not in known and status == RecommendationStatus.PROPOSED]
    if unknown:
        hint = f"the statuses are {', '.join(sorted(known))}"
        raise Mistake(f"unknown status: {', '.join(unknown)}", code="unknown_status", hint=hint)
    return tuple(dict.fromkeys(str(parsed[word]) for word in given))


def touched_at(entry: Card | Recommendation) -> datetime | None:
    """Return when an entry was last touched, if that is known."""
    return parse_time(entry.last_touched_ts) or parse_time(entry.ts)


def age_days(since: datetime | None, now: datetime) -> int:
    """Return whole days since a time; 0 where it is unknown, or in the future."""
    return max(0, (now - since).days) if since else 0


def decayed(signals: Iterable[Signal], now: datetime) -> float:
    """Return the score that cards are ordered by: each signal's weight, halved with every half-life."""
    total = float(BASE)
    for signal in signals:
        old_days = max(0.0, (now - (parse_time(signal.ts) or signal.at)).total_seconds() / _DAY_S)
        total += WEIGHTS.get(signal.kind, 0) * math.exp2(-old_days / HALF_LIFE_DAYS)
    return total


def interleaved(
    recommendations: Sequence[dict[str, Any]], candidates: Sequence[dict[str, Any]], limit: int
) -> list[dict[str, Any]]:
    """Return both lists in one, each in its own order: the second place and every third after it is a candidate's.

    Where one list ends, the other fills its places; so two places are enough to see one of each.
    """
    left, right = list(recommendations), list(candidates)
    taken: list[dict[str, Any]] = []
    while len(taken) < limit and (left or right):
        is_candidates_turn = len(taken) % 3 == 1
        taken.append((right if (is_candidates_turn and right) or not left else left).pop(0))
    return taken


def review_window(since: str, days: int | None, now: datetime) -> datetime | None:
    """Return where a review's window begins: `since` overrides `days`; None means no limit."""
    if since:
        begun = parse_time(since)
        if begun is None:
            hint = "write it like 2026-01-31T00:00:00Z, or 2026-01-31"
            raise Mistake(f"`{since}` is not a time", code="invalid_time", hint=hint)
        return begun
    return now - timedelta(days=max(0, days)) if days is not None else None


class Agenda:
    """One review: what passes the filters, in order, as a document."""

    def __init__(self, records: ReviewInput, filters: ReviewFilters, now: datetime) -> None:
        self._records, self._filters, self._now = records, filters, now
        self._counted = counted(records.signals, records.backports)
        self._signals = _by_target(records.signals)
        shown = [
            versions
            for key, versions in records.recommendations.items()
            if key not in records.withheld_recommendations and filters.lets_through(versions[-1])
        ]
        self._views = [self._recommendation_view(versions) for versions in shown]
        self._touched = {versions[-1].key: touched_at(versions[-1]) for versions in shown}
        self._untouched = {versions[-1].key for versions in shown if self._is_untouched(versions)}

    def document(self) -> dict[str, Any]:
        """Return the keys that the original tool prints, and some more."""
        filters, records = self._filters, self._records
        open_, stale, untouched = self._open(), self._stale(), self._never_touched()
        candidates, top = self._candidates(), self._top()
        limit = max(0, filters.recs_limit)
        recommended, backports = list(map(_action, open_)), list(map(_backport_action, candidates))
        actions = interleaved(recommended, backports, max(0, filters.next_actions_limit))
        return {
            "filters": {
                "skill": filters.skill or None,
                "scope": filters.scope or None,
                "since": format_time(filters.since) if filters.since else None,
                "stale_days": filters.stale_days,
                "query": filters.query or None,
                "status": list(filters.statuses) or None,
            },
            "summary": {
                "aha_cards": len(records.cards),
                "recommendations": len(records.recommendations),
                "open_recommendations": len(open_),
                "open_recommendations_project": sum(1 for view in open_ if view["scope"] == "project"),
                "open_recommendations_portable": sum(1 for view in open_ if view["scope"] == "portable"),
                "stale_recommendations": len(stale),
                "untouched_recommendations": len(untouched),
                "backport_candidates": len(candidates),
                "signals": len(records.signals),
                "backports": len(records.backports),
                "global_aha_cards": len(records.shared),
                "withheld_aha_cards": len(records.withheld),
                "withheld_recommendations": len(records.withheld_recommendations),
            },
            "next_actions": actions,
            "recommendations": {
                "open": open_[:limit],
                "stale": stale[:limit],
                "untouched": untouched[:limit],
                "by_status": self._by_status(),
            },
            "aha": {
                "top_by_score": top[: max(0, filters.top_aha_limit)],
                "backport_candidates": candidates[: max(0, filters.backport_limit)],
            },
        }

    def _recommendation_view(self, versions: Sequence[Recommendation]) -> dict[str, Any]:
        last = versions[-1]
        return {
            "id": last.key,
            "title": last.title,
            "status": str(last.effective_status),
            "origin": "file" if last.from_file else "here",
            "created_ts": versions[0].ts,
            "last_touched_ts": last.last_touched_ts or last.ts,
            "scope": last.scope,
            "priority": priority(last),
            "expected_impact": dict(last.expected_impact),
            "primary_skill": last.primary_skill,
            "tags": list(last.tags),
            "why": last.why,
            "implementation_hint": last.implementation_hint,
            "note": last.note,
        }

    def _is_untouched(self, versions: Sequence[Recommendation]) -> bool:
        """Return whether it was never touched; a repair adds a version and is no touch."""
        touches = {version.last_touched_ts or versions[0].ts for version in versions}
        return len(touches) == 1 and versions[-1].key not in self._signals

    def _idle_days(self, view: Mapping[str, Any]) -> int:
        return age_days(self._touched[view["id"]], self._now)

    def _open(self) -> list[dict[str, Any]]:
        """Return open recommendations by priority, and then by the time since they were touched."""
        views = [view for view in self._views if RecommendationStatus(view["status"]).is_open]
        return sorted(views, key=lambda view: (-view["priority"], -self._idle_days(view)))

    def _stale(self) -> list[dict[str, Any]]:
        limit = max(0, self._filters.stale_days)
        views = [view for view in self._open() if self._touched[view["id"]] and self._idle_days(view) >= limit]
        return sorted(views, key=lambda view: (-self._idle_days(view), -view["priority"]))

    def _never_touched(self) -> list[dict[str, Any]]:
        views = [view for view in self._open() if view["id"] in self._untouched]
        created = {view["id"]: age_days(parse_time(view["created_ts"]), self._now) for view in views}
        return sorted(views, key=lambda view: (-view["priority"], -created[view["id"]]))

    def _by_status(self) -> dict[str, list[dict[str, Any]]]:
        named = [status for status in sorted(RecommendationStatus) if status in (self._filters.statuses or {status})]
        return {str(status): [view for view in self._views if view["status"] == status] for status in named}

    def _shown_cards(self, cards: Iterable[Card]) -> list[Card]:
        """Return cards that pass the filters, are not held back, and not rejected unless that status was asked for."""
        asked = self._filters.statuses
        return [
            card
            for card in cards
            if card.key not in self._records.withheld
            and (card.status not in GONE or card.status in asked)
            and self._filters.lets_through(card)
        ]

    def _top(self) -> list[dict[str, Any]]:
        own = self._shown_cards(self._records.cards.values())
        found = self._ranked(own, self._counted, shelf="project")
        shared = [card for key, card in self._records.shared.items() if key not in self._records.cards]
        found += self._ranked(self._shown_cards(shared), self._records.shared_signals, shelf="global")
        return sorted(found, key=lambda view: (-view["decayed_score"], -view["score"], view["title"]))

    def _candidates(self) -> list[dict[str, Any]]:
        records, least = self._records, self._filters.min_aha_score
        done = backported_ids(records.cards.values(), records.backports)
        own = self._shown_cards(records.cards.values())
        found = scores([card.key for card in own], self._counted)
        proven = [
            card
            for card in own
            if is_candidate(card, found[card.key], done, is_reviewed=card.key in records.reviewed, least=least)
        ]
        views = self._ranked(proven, self._counted, shelf="project")
        for view in views:
            view["artifact_suggestion"] = artifact_hint(view["tags"])
            view["how_to_backport"] = (
                f"tacit cards export-backport --skill-path <target-skill-dir> --ids {view['id']} --make-diff"
            )
        return views

    def _ranked(self, cards: Sequence[Card], signals: Sequence[Signal], *, shelf: str) -> list[dict[str, Any]]:
        found = scores([card.key for card in cards], signals)
        given = _by_target(signals)
        views = [
            self._card_view(card, found[card.key], decayed(given.get(card.key, ()), self._now), shelf) for card in cards
        ]
        return sorted(views, key=lambda view: (-view["decayed_score"], -view["score"], view["title"]))

    def _card_view(self, card: Card, score: Score, weight: float, shelf: str) -> dict[str, Any]:
        return {
            "id": card.key,
            "title": card.title,
            "primary_skill": card.primary_skill,
            "status": str(card.status),
            "scope": card.scope,
            "score": score.total,
            "decayed_score": round(weight, 3),
            "explain": score.explanation,
            "counts": dict(score.counts),
            "tags": list(card.tags),
            "reviewed": card.key in self._records.reviewed,
            "shelf": shelf,
        }


def _action(view: Mapping[str, Any]) -> dict[str, Any]:
    shown = {name: view[name] for name in ("id", "title", "status", "scope", "why", "origin")}
    return {"type": "recommendation", **shown, "suggested_next": NOT_SEEN if view["origin"] == "file" else SUGGESTED}


def _backport_action(view: Mapping[str, Any]) -> dict[str, Any]:
    accept = f"a person approves it (tacit cards aha-status --id {view['id']} --status accepted), then "
    return {
        "type": "backport_candidate",
        "id": view["id"],
        "title": view["title"],
        "target_skill": view["primary_skill"],
        "score": view["score"],
        "suggested_next": ("" if view["reviewed"] else accept) + view["how_to_backport"],
    }


def _by_target(signals: Iterable[Signal]) -> dict[str, list[Signal]]:
    found: dict[str, list[Signal]] = {}
    for signal in signals:
        found.setdefault(signal.target, []).append(signal)
    return found


def _shared_cards(deck: Cards) -> tuple[dict[str, Card], list[Signal]]:
    """Return the shared cards that may be shown, and all their signals."""
    with deck.shared_cards() as shared:
        if shared is None:
            return {}, []
        shown = {
            key: card
            for key, card in shared.cards().items()
            if not shared.is_held_back(card) and not shared.is_hidden_from_agents(card)
        }
        return shown, shared.signals()
