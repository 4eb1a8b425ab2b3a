"""Records a payload: an event, cards, recommendations and the ids that were used. Each card's text passes the gate.

A payload is one change. A payload of the wrong form is a `Mistake` that lists every problem; a card or recommendation that
cannot be stored is refused by itself with its reasons, and the rest is stored. What is known already is not stored twice: a
card is reinforced, a recommendation touched.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, ClassVar

from tacit.domain.candidate import GateDecision
from tacit.domain.errors import GateRefusal, Mistake
from tacit.domain.trajectory import Origin
from tacit.features.cards.card import Card, CardEvent, CardStatus, Recommendation, RecommendationStatus, SignalKind
from tacit.features.cards.card_matching import CardIndex, same_recommendation
from tacit.features.cards.card_records import (
    UNKNOWN_SKILL,
    WELL_FORMED,
    card_id,
    entry_of,
    event_id,
    first_skill_name,
    format_time,
    id_list,
    parse_time,
    recommendation_id,
    renewed,
    text_fields,
    unused_id,
)
from tacit.features.cards.card_signals import BY_AGENT, UsageClaim, UsageReport, new_signal, use
from tacit.features.cards.cards import Cards
from tacit.text.redaction import redact

Judge = Callable[[Card], Sequence[str]]
"""Returns the reasons not to store a card, one sentence each."""
MAX_ITEMS = 500
"""Cards, and recommendations, of one payload."""
_PERSON_ONLY = frozenset({CardStatus.ACCEPTED, CardStatus.BACKPORTED})
_REJECTED = frozenset({RecommendationStatus.REJECTED, RecommendationStatus.DEPRECATED})
_CHECKED_FIELDS = frozenset(
    "title when_to_use problem solution_steps evidence tags gotchas links input_shape output_shape".split()
)


class RecordOutcome(StrEnum):
    """What happened to one card or recommendation of a payload."""

    NEW = "new"
    REINFORCED = "reinforced"
    UPDATED = "updated"
    TOUCHED = "touched"


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorder:
    """Who records: a name, the origin of the text, and a function that judges a card."""

    by: str
    origin: Origin
    judge: Judge


@dataclass(frozen=True, slots=True, kw_only=True)
class RefusedItem:
    """An item of a payload that was not stored, and every reason."""

    what: str
    number: int
    title: str
    reasons: tuple[str, ...]


@dataclass(slots=True, kw_only=True)
class RecordResult:
    """What was stored of a payload."""

    event: CardEvent | None = None
    cards: list[tuple[Card, RecordOutcome]] = field(default_factory=list)
    recommendations: list[tuple[Recommendation, RecordOutcome]] = field(default_factory=list)
    refused: list[RefusedItem] = field(default_factory=list)
    used: UsageReport = field(default_factory=UsageReport)


def record(deck: Cards, payload: Mapping[str, Any], recorder: Recorder) -> RecordResult:
    """Store a payload."""
    usage = _checked_usage(payload)
    result = RecordResult()
    with deck.transaction():
        result.event = _add_event(deck, payload)
        skill = _default_skill(payload)
        _CardItems(deck, recorder, result, skill).store(payload.get("aha_cards") or [])
        _RecommendationItems(deck, recorder, result, skill).store(payload.get("recommendations") or [])
        context = usage.context or (f"event_id={result.event.key}" if result.event else "")
        result.used = use(deck, replace(usage, context=context))
    return result


def _checked_usage(payload: Mapping[str, Any]) -> UsageClaim:
    """Check the form of the payload, and return what was used; raises with all problems at once."""
    problems: list[str] = []
    if payload.get("event") is not None and not isinstance(payload["event"], dict):
        problems.append("`event` must be an object")
    for name in ("aha_cards", "recommendations"):
        items = payload.get(name)
        if items is not None and not isinstance(items, list):
            problems.append(f"`{name}` must be a list")
        elif items and len(items) > MAX_ITEMS:
            problems.append(f"`{name}` has {len(items)} entries; at most {MAX_ITEMS} are allowed")
    given = payload.get("used")
    if given is not None and not isinstance(given, dict):
        problems.append("`used` must be an object with aha_ids and rec_ids")
    used = given if isinstance(given, dict) else {}
    ids: list[list[str]] = []
    for name, value in (
        ("used_aha_ids", payload.get("used_aha_ids")), ("used.aha_ids", used.get("aha_ids")),
        ("used_rec_ids", payload.get("used_rec_ids")), ("used.rec_ids", used.get("rec_ids")),
    ):  # fmt: skip
        try:
            ids.append(id_list(value))
        except Mistake as mistake:
            problems.append(f"`{name}`: {mistake.message}")
    if problems:
        message = "the payload is not valid: " + "; ".join(problems)
        raise Mistake(message, code="invalid_payload", hint="see docs/how-to/work-with-aha-cards.md")
    source, context = (str(payload.get(name) or "").strip() for name in ("usage_source", "usage_context"))
    return UsageClaim(
        cards=ids[0] + ids[1], recommendations=ids[2] + ids[3], source=source or BY_AGENT, context=context
    )


def _default_skill(payload: Mapping[str, Any]) -> str:
    """Return the skill of items that name none: the event's, or the only one in the payload."""
    event = payload.get("event")
    if isinstance(event, dict) and first_skill_name(event.get("primary_skill")) != UNKNOWN_SKILL:
        return first_skill_name(event["primary_skill"])
    items = [*(payload.get("aha_cards") or []), *(payload.get("recommendations") or [])]
    skills = {first_skill_name(item.get("primary_skill")) for item in items if isinstance(item, dict)}
    skills -= {UNKNOWN_SKILL}
    return skills.pop() if len(skills) == 1 else UNKNOWN_SKILL


def _add_event(deck: Cards, payload: Mapping[str, Any]) -> CardEvent | None:
    if not payload.get("event"):
        return None
    line = {**payload["event"], "primary_skill": _default_skill(payload)}
    line["ts"] = _timestamp(deck, line)
    read = entry_of(CardEvent, {**line, "id": ""}, by=deck.user, at=deck.now())
    taken, given = deck.events(), payload["event"].get("id")
    if isinstance(given, str) and WELL_FORMED.fullmatch(given):
        key = given
    else:
        key = unused_id(lambda last: event_id(read.ts, read.task_summary, last), taken, read.primary_skill)
    event = replace(read, key=key, at=deck.now(), id="")
    deck.add(event)
    return event


def _timestamp(deck: Cards, line: Mapping[str, Any]) -> str:
    """Return the time of a line, or the current time."""
    given = parse_time(line.get("ts"))
    return format_time(given) if given else deck.timestamp()


def _given_id(line: Mapping[str, Any], prefix: str) -> tuple[str, str]:
    """Return the id that a line has chosen, and what is wrong with it."""
    given = line.get("id")
    if given in (None, ""):
        return "", ""
    if isinstance(given, str) and given.startswith(prefix) and WELL_FORMED.fullmatch(given):
        is_clean = redact(given).text == given
        return (given, "") if is_clean else ("", "id: looks like a secret; leave it out")
    return "", f"id: {given!r} is not valid (leave it out, or write {prefix}… with letters, digits, _ . -)"


class _Items:
    """The cards, or the recommendations, of one payload."""

    what: ClassVar[str]

    def __init__(self, deck: Cards, recorder: Recorder, result: RecordResult, skill: str) -> None:
        self._deck, self._recorder, self._result, self._skill = deck, recorder, result, skill

    def store(self, lines: Sequence[Any]) -> None:
        """Store each, in order."""
        for number, line in enumerate(lines, start=1):
            entry, reasons = self._read(line)
            if entry is None or reasons:
                title = line.get("title") if isinstance(line, dict) else ""
                self._refuse(number, str(title or ""), reasons)
            else:
                self._store_entry(number, entry, has_id=bool(line.get("id")))

    def _refuse(self, number: int, title: str, reasons: Sequence[str]) -> None:
        refused = RefusedItem(what=self.what, number=number, title=title[:200], reasons=tuple(reasons))
        self._result.refused.append(refused)

    def _read(self, line: Any) -> tuple[Any, list[str]]:
        raise NotImplementedError

    def _store_entry(self, number: int, entry: Any, *, has_id: bool) -> None:
        raise NotImplementedError


class _CardItems(_Items):
    """The cards of one payload."""

    what = "aha_card"

    def __init__(self, deck: Cards, recorder: Recorder, result: RecordResult, skill: str) -> None:
        super().__init__(deck, recorder, result, skill)
        self._known = CardIndex(deck.cards().values())

    def _read(self, line: Any) -> tuple[Card | None, list[str]]:
        if not isinstance(line, dict):
            return None, ["a card is an object with title, when_to_use, problem, solution_steps and evidence"]
        deck = self._deck
        key, fault = _given_id(line, "aha_")
        skill = first_skill_name(line.get("primary_skill"))
        values = {**line, "id": key, "ts": _timestamp(deck, line)}
        values["primary_skill"] = self._skill if skill == UNKNOWN_SKILL else skill
        if (before := deck.cards().get(key)) is not None:  # an update: fields that are left out stay
            values = (
                text_fields(before)
                | values
                | ({"primary_skill": before.primary_skill} if skill == UNKNOWN_SKILL else {})
            )
        card = replace(entry_of(Card, values, by=deck.user, at=deck.now()), at=deck.now(), shelf=deck.shelf, id="")
        misshapen = [f"{name}: has the wrong shape" for name in card.extra if name in _CHECKED_FIELDS]
        if card.status in _PERSON_ONLY and self._recorder.origin is not Origin.USER:
            card = replace(card, status=CardStatus.PROPOSED, id="")  # an agent cannot claim a person's decision
        return card, [*([fault] if fault else []), *misshapen, *self._recorder.judge(card)]

    def _store_entry(self, number: int, entry: Card, *, has_id: bool) -> None:
        card, same = entry, self._known.same(entry)
        before = self._deck.cards().get(card.key) if has_id else None
        if before is not None and text_fields(before) != text_fields(card):
            updated = replace(card, version_id=before.version_id, id="")
            self._admit(number, updated, RecordOutcome.UPDATED)
        elif before is not None:
            self._reinforce(number, before, card)
        elif same is None:
            if card.key in (taken := self._deck.cards()):
                make = lambda last: card_id(card.ts, card.title, card.when_to_use, last)  # noqa: E731
                card = replace(card, key=unused_id(make, taken, card.primary_skill), id="")
            self._admit(number, card, RecordOutcome.NEW)
        else:
            self._reinforce(number, same, card)

    def _reinforce(self, number: int, known: Card, card: Card) -> None:
        """Add what is new to a known card, and a signal that it was learned again."""
        added = _added_to_card(known, card)
        if added:
            more = renewed(known, at=self._deck.now(), by=self._deck.user, **added)
            if not self._admit(number, more, RecordOutcome.REINFORCED):
                return
        else:
            self._result.cards.append((known, RecordOutcome.REINFORCED))
        kind, context = SignalKind.AHA_REINFORCED, "the same was learned again"
        self._deck.add(new_signal(self._deck, kind, known.key, source=BY_AGENT, context=context))

    def _admit(self, number: int, card: Card, outcome: RecordOutcome) -> bool:
        recorder = self._recorder
        try:
            admitted = self._deck.admit(card, origin=recorder.origin, by=recorder.by, source="cards record")
        except GateRefusal as refusal:
            self._refuse(number, card.title, [refusal.message])
            return False
        verdict = self._deck.verdicts.get(card.key)
        if not admitted.version_id and verdict and verdict.decision is GateDecision.REJECT:
            self._refuse(number, card.title, [finding.message for finding in verdict.findings])
            return False
        self._deck.add(admitted)
        self._known.add(admitted)
        self._result.cards.append((admitted, outcome))
        return True


def _additions(known: Any, new: Any, *, lists: Sequence[str], values: Sequence[str]) -> dict[str, Any]:
    """Return what another version of an entry adds to its lists and its empty fields; existing values stay."""
    added: dict[str, Any] = {}
    for name in lists:
        here = getattr(known, name)
        if more := [item for item in dict.fromkeys(getattr(new, name)) if item not in here]:
            added[name] = (*here, *more)
    return added | {name: getattr(new, name) for name in values if not getattr(known, name) and getattr(new, name)}


def _added_to_card(known: Card, card: Card) -> dict[str, Any]:
    lists = ("solution_steps", "evidence", "tags", "gotchas", "links")
    added = _additions(known, card, lists=lists, values=("when_to_use", "problem", "equivalence"))
    if known.primary_skill in ("", UNKNOWN_SKILL) and card.primary_skill not in ("", UNKNOWN_SKILL):
        added["primary_skill"] = card.primary_skill
    return added


class _RecommendationItems(_Items):
    """The recommendations of one payload."""

    what = "recommendation"

    def _read(self, line: Any) -> tuple[Recommendation | None, list[str]]:
        if not isinstance(line, dict):
            return None, ["a recommendation is an object with title, why, expected_impact and implementation_hint"]
        deck = self._deck
        key, fault = _given_id(line, "rec_")
        skill, ts = first_skill_name(line.get("primary_skill")), _timestamp(deck, line)
        values = {**line, "id": key, "ts": ts, "primary_skill": self._skill if skill == UNKNOWN_SKILL else skill}
        values["last_touched_ts"] = line.get("last_touched_ts") or ts
        read = replace(entry_of(Recommendation, values, by=deck.user, at=deck.now()), at=deck.now(), id="")
        if read.status is RecommendationStatus.ACCEPTED and self._recorder.origin is not Origin.USER:
            read = replace(read, status=RecommendationStatus.PROPOSED, id="")  # an agent cannot claim this either
        faults = [fault] if fault else []
        if not read.title.strip():
            faults.append("title: is missing; say in a line what should be improved")
        if not read.why.strip() and not read.implementation_hint.strip():
            faults.append("why: is missing; say why it matters")
        return read, faults

    def _store_entry(self, number: int, entry: Recommendation, *, has_id: bool) -> None:
        del number, has_id
        read, known = entry, self._deck.recommendations()
        same = next((each for each in known.values() if _is_known(read, each)), None)
        if same is None:
            if read.key in known:
                make = lambda last: recommendation_id(read.ts, read.title, last)  # noqa: E731
                read = replace(read, key=unused_id(make, known, read.primary_skill), id="")
            self._deck.add(read)
            self._result.recommendations.append((read, RecordOutcome.NEW))
            return
        now = self._deck.now()
        values = ("why", "implementation_hint", "expected_impact", "backport")
        added = _additions(same, read, lists=["tags"], values=values)
        touched = renewed(same, at=now, by=self._deck.user, last_touched_ts=format_time(now), **added)
        kind, context = SignalKind.REC_TOUCHED, "the same was recommended again"
        signal = new_signal(self._deck, kind, same.key, source=BY_AGENT, context=context)
        self._deck.add(*([touched] if added else []), signal)
        self._result.recommendations.append((touched if added else same, RecordOutcome.TOUCHED))


def _is_known(read: Recommendation, known: Recommendation) -> bool:
    """Return whether two recommendations are the same; one that was done and comes back is a new one."""
    is_current = known.status.is_open or known.status in _REJECTED
    return is_current and (known.key == read.key or same_recommendation(read, known))
