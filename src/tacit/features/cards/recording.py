"""Recording: a payload of event, cards, recommendations and used ids → entries, each card's text by way of the gate.

All of a payload is one change. What is wrong with the payload's form is a `Mistake` that lists everything; a card or a
recommendation that cannot be kept is refused by itself, with its reasons, and the rest is kept. What is known already is
not kept twice: a card is reinforced, a recommendation touched.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, TypeVar

from tacit.domain.candidate import Decision
from tacit.domain.card import Card, CardEvent, CardStatus, SignalKind
from tacit.domain.errors import GateRefusal, Mistake
from tacit.domain.origin import Origin
from tacit.domain.recommendation import Recommendation, RecommendationStatus
from tacit.features.cards.card_matching import CardIndex, same_recommendation
from tacit.features.cards.cards import Cards
from tacit.features.cards.records import (
    UNKNOWN_SKILL,
    WELL_FORMED,
    card_id,
    entry_of,
    event_id,
    first_skill_name,
    format_time,
    line_of,
    parse_time,
    recommendation_id,
    renewed,
    unused_id,
)
from tacit.features.cards.signals import BY_AGENT, UsageClaim, UsageReport, new_signal, use
from tacit.text.redaction import redact

Judge = Callable[[Card], Sequence[str]]
"""What speaks against keeping a card: one sentence each."""
MOST = 500
"""Cards, and recommendations, of one payload."""
_ONLY_PEOPLE = frozenset({CardStatus.ACCEPTED, CardStatus.BACKPORTED})
_TURNED_DOWN = frozenset({RecommendationStatus.REJECTED, RecommendationStatus.DEPRECATED})
T = TypeVar("T", Card, Recommendation)


class RecordOutcome(StrEnum):
    """What became of one card or recommendation of a payload."""

    NEW = "new"
    REINFORCED = "reinforced"
    UPDATED = "updated"
    TOUCHED = "touched"


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorder:
    """Who records: a name, how far the words are trusted, and what judges a card's fitness."""

    by: str
    origin: Origin
    judge: Judge


@dataclass(frozen=True, slots=True, kw_only=True)
class RefusedItem:
    """Something of a payload that was not kept, and every reason."""

    what: str
    number: int
    title: str
    reasons: tuple[str, ...]


@dataclass(slots=True, kw_only=True)
class RecordResult:
    """What came of a payload."""

    event: CardEvent | None = None
    cards: list[tuple[Card, RecordOutcome]] = field(default_factory=list)
    recommendations: list[tuple[Recommendation, RecordOutcome]] = field(default_factory=list)
    refused: list[RefusedItem] = field(default_factory=list)
    used: UsageReport = field(default_factory=UsageReport)


def record(deck: Cards, payload: Mapping[str, Any], writer: Recorder) -> RecordResult:
    """Keep what a run taught."""
    usage = _checked(payload)
    recorded = RecordResult()
    with deck.transaction():
        recorded.event = _event(deck, payload)
        skill = _usual_skill(payload)
        _Cards(deck, writer, recorded, skill).take(payload.get("aha_cards") or [])
        _Recommendations(deck, writer, recorded, skill).take(payload.get("recommendations") or [])
        context = usage.context or (f"event_id={recorded.event.key}" if recorded.event else "")
        recorded.used = use(deck, replace(usage, context=context))
    return recorded


def id_list(said: Any) -> list[str]:
    """Ids in a list, or in one text with commas; each once."""
    if said is None:
        return []
    parts = said.split(",") if isinstance(said, str) else said
    if not isinstance(parts, list) or not all(part is None or isinstance(part, str) for part in parts):
        raise Mistake("ids are a list of texts, or one text with commas")
    return list(dict.fromkeys(part.strip() for part in parts if part and part.strip()))


def _checked(payload: Mapping[str, Any]) -> UsageClaim:
    """Look at the payload's form, and read what was used; every problem is told at once."""
    problems: list[str] = []
    if payload.get("event") is not None and not isinstance(payload["event"], dict):
        problems.append("`event` must be an object")
    for name in ("aha_cards", "recommendations"):
        items = payload.get(name)
        if items is not None and not isinstance(items, list):
            problems.append(f"`{name}` must be a list")
        elif items and len(items) > MOST:
            problems.append(f"`{name}` has {len(items)} entries; one payload takes {MOST}")
    used_object = payload.get("used")
    if used_object is not None and not isinstance(used_object, dict):
        problems.append("`used` must be an object with aha_ids and rec_ids")
    used = used_object if isinstance(used_object, dict) else {}
    read: list[list[str]] = []
    for name, said in (
        ("used_aha_ids", payload.get("used_aha_ids")), ("used.aha_ids", used.get("aha_ids")),
        ("used_rec_ids", payload.get("used_rec_ids")), ("used.rec_ids", used.get("rec_ids")),
    ):  # fmt: skip
        try:
            read.append(id_list(said))
        except Mistake as mistake:
            problems.append(f"`{name}`: {mistake.message}")
    if problems:
        raise Mistake(
            "the payload cannot be read: " + "; ".join(problems), hint="see docs/how-to/work-with-aha-cards.md"
        )
    source, context = (str(payload.get(name) or "").strip() for name in ("usage_source", "usage_context"))
    return UsageClaim(cards=read[0] + read[1], recommendations=read[2] + read[3], source=source or BY_AGENT, context=context)


def _usual_skill(payload: Mapping[str, Any]) -> str:
    """The skill of whatever names none: the event's, or the only one that the payload names."""
    event = payload.get("event")
    if isinstance(event, dict) and first_skill_name(event.get("primary_skill")) != UNKNOWN_SKILL:
        return first_skill_name(event["primary_skill"])
    items = [*(payload.get("aha_cards") or []), *(payload.get("recommendations") or [])]
    named = {first_skill_name(item.get("primary_skill")) for item in items if isinstance(item, dict)} - {UNKNOWN_SKILL}
    return named.pop() if len(named) == 1 else UNKNOWN_SKILL


def _event(deck: Cards, payload: Mapping[str, Any]) -> CardEvent | None:
    if not payload.get("event"):
        return None
    line = {**payload["event"], "primary_skill": _usual_skill(payload)}
    line["ts"] = _time(deck, line)
    read = entry_of(CardEvent, {**line, "id": ""}, by=deck.user, at=deck.now())
    taken, known = deck.events(), payload["event"].get("id")
    if isinstance(known, str) and WELL_FORMED.fullmatch(known):
        key = known
    else:
        key = unused_id(lambda last: event_id(read.ts, read.task_summary, last), taken, read.primary_skill)
    event = replace(read, key=key, at=deck.now(), id="")
    deck.add(event)
    return event


def _time(deck: Cards, line: Mapping[str, Any]) -> str:
    """The time that a line tells, or the present."""
    told = parse_time(line.get("ts"))
    return format_time(told) if told else deck.timestamp()


def _own_id(line: Mapping[str, Any], prefix: str) -> tuple[str, str]:
    """The id that a line has chosen, and what is wrong with it."""
    said = line.get("id")
    if said in (None, ""):
        return "", ""
    if isinstance(said, str) and said.startswith(prefix) and WELL_FORMED.fullmatch(said):
        return (said, "") if redact(said).text == said else ("", "id: holds what looks like a secret; leave it out")
    return "", f"id: {said!r} is no id of this sort (leave it out, or write {prefix}… with letters, digits, _ . -)"


class _Cards:
    """The cards of one payload."""

    def __init__(self, deck: Cards, writer: Recorder, recorded: RecordResult, skill: str) -> None:
        self._deck, self._writer, self._recorded, self._skill = deck, writer, recorded, skill
        self._known = CardIndex(deck.cards().values())

    def take(self, lines: Sequence[Any]) -> None:
        """Keep each, in order."""
        for number, line in enumerate(lines, start=1):
            card, reasons = self._read(line)
            if card is None or reasons:
                title = line.get("title") if isinstance(line, dict) else ""
                self._refuse(number, str(title or ""), reasons)
            else:
                self._place(number, card, is_named=bool(line.get("id")))

    def _refuse(self, number: int, title: str, reasons: Sequence[str]) -> None:
        self._recorded.refused.append(
            RefusedItem(what="aha_card", number=number, title=title[:200], reasons=tuple(reasons))
        )

    def _read(self, line: Any) -> tuple[Card | None, list[str]]:
        if not isinstance(line, dict):
            return None, ["a card is an object with title, when_to_use, problem, solution_steps and evidence"]
        deck = self._deck
        key, fault = _own_id(line, "aha_")
        skill = first_skill_name(line.get("primary_skill"))
        said = {**line, "id": key, "ts": _time(deck, line), "primary_skill": self._skill if skill == UNKNOWN_SKILL else skill}
        if (before := deck.cards().get(key)) is not None:  # under its id a card is told anew: what is left out stays
            kept = {name: value for name, value in line_of(before).items() if name not in _STANDING}
            said = kept | said | ({"primary_skill": before.primary_skill} if skill == UNKNOWN_SKILL else {})
        card = replace(entry_of(Card, said, by=deck.user, at=deck.now()), at=deck.now(), shelf=deck.shelf, id="")
        shapes = [f"{name}: has the wrong shape" for name in card.extra if name in _SHAPED]
        if card.status in _ONLY_PEOPLE and self._writer.origin is not Origin.USER:
            card = replace(card, status=CardStatus.PROPOSED, id="")  # that a person decided is not an agent's to say
        return card, [*([fault] if fault else []), *shapes, *self._writer.judge(card)]

    def _place(self, number: int, card: Card, *, is_named: bool) -> None:
        held = self._deck.cards()
        same = self._known.same(card)
        before = held.get(card.key) if is_named else None
        if before is not None and _text(before) != _text(card):
            self._update(number, before, card)
        elif before is not None:
            self._reinforce(number, before, card)
        elif same is None:
            self._add(number, card)
        else:
            self._reinforce(number, same, card)

    def _add(self, number: int, card: Card) -> None:
        taken = self._deck.cards()
        if card.key in taken:
            make = lambda last: card_id(card.ts, card.title, card.when_to_use, last)  # noqa: E731
            card = replace(card, key=unused_id(make, taken, card.primary_skill), id="")
        self._keep(number, card, RecordOutcome.NEW)

    def _update(self, number: int, before: Card, card: Card) -> None:
        """A card under an id that exists, and that says something else: its next version."""
        self._keep(number, replace(card, version_id=before.version_id, id=""), RecordOutcome.UPDATED)

    def _reinforce(self, number: int, known: Card, card: Card) -> None:
        """The same was learned again: what is new in it is added, and a signal says so."""
        added = _added_to_card(known, card)
        if added:
            more = renewed(known, at=self._deck.now(), by=self._deck.user, **added)
            if not self._keep(number, more, RecordOutcome.REINFORCED):
                return
        else:
            self._recorded.cards.append((known, RecordOutcome.REINFORCED))
        kind, context = SignalKind.AHA_REINFORCED, "the same was learned again"
        self._deck.add(new_signal(self._deck, kind, known.key, source=BY_AGENT, context=context))

    def _keep(self, number: int, card: Card, outcome: RecordOutcome) -> bool:
        try:
            kept = self._deck.admit(card, origin=self._writer.origin, by=self._writer.by, source="cards record")
        except GateRefusal as refusal:
            self._refuse(number, card.title, [refusal.message])
            return False
        verdict = self._deck.verdicts.get(card.key)
        if not kept.version_id and verdict and verdict.decision is Decision.REJECT:
            self._refuse(number, card.title, [finding.message for finding in verdict.findings])
            return False
        self._deck.add(kept)
        self._known.add(kept)
        self._recorded.cards.append((kept, outcome))
        return True


_SHAPED = frozenset(
    {
        "title",
        "when_to_use",
        "problem",
        "solution_steps",
        "evidence",
        "tags",
        "gotchas",
        "links",
        "input_shape",
        "output_shape",
    }
)


_STANDING = frozenset({"ts", "status", "note", "last_touched_ts"})


def _text(card: Card) -> dict[str, Any]:
    """What a card says, without where it stands and when."""
    return {name: value for name, value in line_of(card).items() if name not in _STANDING}


def _added_to_card(known: Card, card: Card) -> dict[str, Any]:
    """What another telling of a card adds to it; empty where it adds nothing. What is there stays as it was."""
    added: dict[str, Any] = {}
    for name in ("solution_steps", "evidence", "tags", "gotchas", "links"):
        here = getattr(known, name)
        if more := [item for item in dict.fromkeys(getattr(card, name)) if item not in here]:
            added[name] = (*here, *more)
    for name in ("when_to_use", "problem", "equivalence"):
        if not getattr(known, name) and getattr(card, name):
            added[name] = getattr(card, name)
    if known.primary_skill in ("", UNKNOWN_SKILL) and card.primary_skill not in ("", UNKNOWN_SKILL):
        added["primary_skill"] = card.primary_skill
    return added


class _Recommendations:
    """The recommendations of one payload."""

    def __init__(self, deck: Cards, writer: Recorder, recorded: RecordResult, skill: str) -> None:
        self._deck, self._writer, self._recorded, self._skill = deck, writer, recorded, skill

    def take(self, lines: Sequence[Any]) -> None:
        """Keep each, in order."""
        for number, line in enumerate(lines, start=1):
            read, reasons = self._read(line)
            if read is None or reasons:
                title = str(line.get("title") or "") if isinstance(line, dict) else ""
                refused = RefusedItem(what="recommendation", number=number, title=title[:200], reasons=tuple(reasons))
                self._recorded.refused.append(refused)
            else:
                self._place(read)

    def _read(self, line: Any) -> tuple[Recommendation | None, list[str]]:
        if not isinstance(line, dict):
            return None, ["a recommendation is an object with title, why, expected_impact and implementation_hint"]
        deck = self._deck
        key, fault = _own_id(line, "rec_")
        skill, ts = first_skill_name(line.get("primary_skill")), _time(deck, line)
        said = {**line, "id": key, "ts": ts, "primary_skill": self._skill if skill == UNKNOWN_SKILL else skill}
        said["last_touched_ts"] = line.get("last_touched_ts") or ts
        read = replace(entry_of(Recommendation, said, by=deck.user, at=deck.now()), at=deck.now(), id="")
        if read.status is RecommendationStatus.ACCEPTED and self._writer.origin is not Origin.USER:
            read = replace(read, status=RecommendationStatus.PROPOSED, id="")  # that too is a person's to say
        faults = [fault] if fault else []
        faults += [] if read.title.strip() else ["title: is missing; say in a line what should be improved"]
        faults += (
            [] if read.why.strip() or read.implementation_hint.strip() else ["why: is missing; say why it matters"]
        )
        return read, faults

    def _place(self, read: Recommendation) -> None:
        held = self._deck.recommendations()
        same = next((each for each in held.values() if _is_one(read, each)), None)
        if same is None:
            if read.key in held:
                make = lambda last: recommendation_id(read.ts, read.title, last)  # noqa: E731
                read = replace(read, key=unused_id(make, held, read.primary_skill), id="")
            self._deck.add(read)
            self._recorded.recommendations.append((read, RecordOutcome.NEW))
            return
        now = self._deck.now()
        added = _added_to_recommendation(same, read)
        touched = renewed(same, at=now, by=self._deck.user, last_touched_ts=format_time(now), **added)
        kind, context = SignalKind.REC_TOUCHED, "the same was recommended again"
        signal = new_signal(self._deck, kind, same.key, source=BY_AGENT, context=context)
        self._deck.add(*([touched] if added else []), signal)
        self._recorded.recommendations.append((touched if added else same, RecordOutcome.TOUCHED))


def _is_one(read: Recommendation, known: Recommendation) -> bool:
    """Whether a recommendation is known: by its id or its words. One that was done and comes back is a new one."""
    still = known.status.is_open or known.status in _TURNED_DOWN
    return still and (known.key == read.key or same_recommendation(read, known))


def _added_to_recommendation(known: Recommendation, read: Recommendation) -> dict[str, Any]:
    """What another telling adds."""
    added: dict[str, Any] = {}
    if more := [tag for tag in dict.fromkeys(read.tags) if tag not in known.tags]:
        added["tags"] = (*known.tags, *more)
    for name in ("why", "implementation_hint", "expected_impact", "backport"):
        if not getattr(known, name) and getattr(read, name):
            added[name] = getattr(read, name)
    return added
