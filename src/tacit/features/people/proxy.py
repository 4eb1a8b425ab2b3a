"""The forecast answers for a person where that person allowed it: it turns weak candidates and duplicates away.

For example, ann allows `weak` from 90 % on. Of the weak candidates that wait, those that she would reject with at least that
confidence are rejected by `tacit.proxy`, with a reason that names her and the confidence; `tacit undo NAME` reverses it, and so
does another session that shows the same.
Versions whose forecast always stays hidden (`is_hidden`) are left for her to answer. Where her answers to those, and what she
undid, show that fewer than 90 % were right, it stops.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, ClassVar

from tacit.domain.care import CareKind
from tacit.domain.ledger import LedgerEntry, latest
from tacit.domain.lifecycle import Status, Transition, coded, parse_reasons
from tacit.domain.stored import StoredVersion
from tacit.features.people.decisions import People, is_hidden, may_be_ordered
from tacit.features.people.forecast import MIN_DECISIONS, Outlook
from tacit.features.people.ledger_entries import ChoiceSort, Forecast
from tacit.gate.findings import GateReason
from tacit.gate.review_sources import by_support

if TYPE_CHECKING:
    from tacit.api import Tacit

BY = "tacit.proxy"
MIN_COUNT = 10
"""A record counts as at least so many answers, so that one miss alone does not stop it."""
LEAST_CONFIDENCE, USUAL_CONFIDENCE = 0.8, 0.9


class Gate(StrEnum):
    """What the forecast may be allowed to turn away."""

    WEAK = "weak"
    """Seen once or doubtful."""
    DUPLICATE = "duplicate"
    """Something newer, or the same, was approved or waits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProxyPermission(LedgerEntry):
    """What a person lets the forecast of them answer; the key is the person, and the last entry counts."""

    SORT: ClassVar[str] = "proxy"

    gates: tuple[str, ...] = ()
    """Empty: nothing."""
    confidence: float = USUAL_CONFIDENCE


@dataclass(frozen=True, slots=True, kw_only=True)
class ProxyRecord:
    """How the answers for one person came out."""

    answered: tuple[str, ...] = ()
    """Versions that are turned away now."""
    undone: int = 0
    agreed: int = 0
    """Sampled versions that the person rejected too."""
    disagreed: int = 0

    def keeps(self, promise: float) -> bool:
        """Whether no more answers were wrong than the promised confidence allows."""
        misses = self.undone + self.disagreed
        return misses <= (1 - promise) * max(MIN_COUNT, self.agreed + misses) + 1e-9


def permissions(memory: Tacit) -> dict[str, ProxyPermission]:
    """Return what each person allows now."""
    return latest(memory.context.store.entries(ProxyPermission))


def allow(memory: Tacit, person: str, gates: Sequence[Gate], confidence: float) -> ProxyPermission:
    """Store what a person allows from now on."""
    names = tuple(sorted({gate.value for gate in gates}))
    made = ProxyPermission(key=person, at=memory.context.now(), by=person, gates=names, confidence=confidence)
    memory.context.store.add(made)
    return made


def record_of(memory: Tacit, permission: ProxyPermission) -> ProxyRecord:
    """Return how the answers since a permission came out: what the person undid, and decided on versions left to them."""
    store, person, answered, undone = memory.context.store, permission.key, list[str](), 0
    for stored in store.catalogue():
        moves = store.transitions(stored.version.id)
        own = [at for at, move in enumerate(moves) if _is_answer(move, permission)]
        if own and stored.status is Status.REJECTED:
            answered.append(stored.version.id)
        undone += bool(own) and any(move.by != BY for move in moves[own[-1] + 1 :][:1])
    sampled = [
        each.actual == "reject"
        for each in People(memory).forecasts(person)
        if each.sort is ChoiceSort.REVIEW
        and each.at > permission.at
        and not each.shown
        and _may_answer(each, permission)
    ]
    agreed = sum(sampled)
    return ProxyRecord(answered=tuple(answered), undone=undone, agreed=agreed, disagreed=len(sampled) - agreed)


def answer_reviews(memory: Tacit) -> list[Transition]:
    """Turn away what people allowed the forecast of them to turn away; return what was done."""
    allowed = permissions(memory)
    done = list(_reopened(memory)) if allowed else []
    for person, permission in allowed.items():
        if permission.gates and record_of(memory, permission).keeps(permission.confidence):
            done += _answers(memory, person, permission)
    return done


def _reopened(memory: Tacit) -> Iterator[Transition]:
    """Let wait again what was turned away as weak and was seen again since."""
    rejected = memory.context.store.catalogue(statuses={Status.REJECTED})
    last = ((stored, memory.context.store.transitions(stored.version.id)[-1]) for stored in rejected)
    weak = [stored for stored, move in last if _values(move).get("gate") == Gate.WEAK]
    for stored in by_support(memory.context, weak)[0]:
        yield memory.reviews.decide(stored.version.id, "reopen", by=BY, reason=coded(GateReason.SEEN_AGAIN))


def _answers(memory: Tacit, person: str, permission: ProxyPermission) -> Iterator[Transition]:
    people, waiting = People(memory), memory.reviews.waiting()
    gates = _gates_of(memory, waiting)
    rejected = [each for each in people.choices(person) if each.sort is ChoiceSort.REVIEW and each.response == "reject"]
    kinds = Counter(each.traits.get("kind", "") for each in rejected)
    for stored in waiting:
        gate, version_id = gates.get(stored.version.id, ""), stored.version.id
        if kinds[stored.version.content.kind] < MIN_DECISIONS:
            continue  # what somebody thinks of lessons says nothing of facts
        if gate not in permission.gates or stored.status is not Status.CANDIDATE or not may_be_ordered(stored):
            continue
        outlook = people.show(stored, person, is_shown=False).outlook
        was_answered = any(move.by == BY for move in memory.context.store.transitions(version_id))  # and undone
        if was_answered or is_hidden(stored) or not _may_answer(outlook, permission):
            continue
        sure = f"{outlook.posterior_confidence:.0%}"
        reason = coded(GateReason.FORECAST, person=person, sure=sure, gate=gate)
        yield memory.reviews.decide(version_id, "reject", by=BY, reason=reason)


def _gates_of(memory: Tacit, waiting: Sequence[StoredVersion]) -> dict[str, str]:
    """Version → the gate that it stands at; versions at no such gate are left out."""
    _, weak = by_support(memory.context, waiting)
    found: dict[str, str] = {stored.version.id: Gate.WEAK for stored in weak}
    for care in memory.library.plan(only=(CareKind.SUPERSEDED, CareKind.MERGE)):
        if care.move and not care.candidate:
            found[care.move.version_id] = Gate.DUPLICATE
    return found


def _values(move: Transition) -> Mapping[str, Any]:
    """What the forecast stored with an answer; empty for a change that somebody else made."""
    reasons = parse_reasons(move.reason) if move.by == BY else None
    return next((each.values for each in reasons or ()), {})


def _is_answer(move: Transition, permission: ProxyPermission) -> bool:
    """Whether the forecast of this person made a change since the permission was given."""
    return move.at > permission.at and _values(move).get("person") == permission.key


def _may_answer(forecast: Outlook | Forecast, permission: ProxyPermission) -> bool:
    """Whether it is sure enough that the person would reject."""
    return forecast.posterior == "reject" and forecast.posterior_confidence >= permission.confidence
