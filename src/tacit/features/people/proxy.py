"""The forecast answers for a person where they allowed it: it rejects, folds away, or closes as a duplicate; it never approves.

For example, ann allows `weak=fold` and `duplicate=merge` from 90 % on. Of the weak candidates that wait, those that she would
reject with at least that confidence are folded away in her queue; such duplicates are closed, and what they rest on counts for
the skill that they repeat. `tacit undo NAME` reverses each answer, and so does another session that shows the same.
Versions whose forecast always stays hidden (`is_hidden`) are left for her to answer. Where her answers to those, and what she
undid, show that fewer than 90 % were right, it stops.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from tacit.domain.care import CareKind
from tacit.domain.ledger import About, LedgerEntry, Remark, latest
from tacit.domain.lifecycle import RECALLABLE, CodedReason, Status, Transition, coded, parse_reasons
from tacit.domain.stored import StoredVersion
from tacit.features.people.decisions import People, is_hidden, may_be_ordered, review_key
from tacit.features.people.forecast import MIN_DECISIONS, Outlook
from tacit.features.people.ledger_entries import ChoiceSort, Forecast
from tacit.gate.findings import GateReason
from tacit.gate.review_sources import by_support, folded_away, sessions_behind

if TYPE_CHECKING:
    from tacit.api import Tacit

BY = "tacit.proxy"
MIN_COUNT = 10
"""A record counts as at least so many answers, so that one miss alone does not stop it."""
LEAST_CONFIDENCE, USUAL_CONFIDENCE = 0.8, 0.9
LOOK_SECONDS = 20.0
"""How long duplicates are looked for."""


class Gate(StrEnum):
    """Where the forecast may be allowed to answer."""

    WEAK = "weak"
    """Seen once or doubtful."""
    DUPLICATE = "duplicate"
    """Something newer, or the same, was approved or waits."""


class Answer(StrEnum):
    """How the forecast answers at a gate, where the person would reject."""

    REJECT = "reject"
    FOLD = "fold"
    """It keeps waiting, folded away in the review queue."""
    MERGE = "merge"
    """At `Gate.DUPLICATE`: closed, and its sessions count for the skill that it repeats."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProxyPermission(LedgerEntry):
    """What a person lets the forecast of them answer; the key is the person, and the last entry counts."""

    SORT: ClassVar[str] = "proxy"

    gates: tuple[str, ...] = ()
    """Each gate with its answer, such as `weak=fold`; a gate alone means `reject`. Empty: nothing."""
    confidence: float = USUAL_CONFIDENCE

    @property
    def answers(self) -> dict[Gate, Answer]:
        """The answer at each gate."""
        return dict(map(parse_gate, self.gates))


@dataclass(frozen=True, slots=True, kw_only=True)
class ProxyRecord:
    """How the answers for one person came out."""

    answered: Mapping[str, Answer] = field(default_factory=dict)
    """Versions that are rejected, folded or merged now."""
    undone: int = 0
    agreed: int = 0
    """Sampled versions that the person rejected too."""
    disagreed: int = 0

    def keeps(self, promise: float) -> bool:
        """Whether no more answers were wrong than the promised confidence allows."""
        misses = self.undone + self.disagreed
        return misses <= (1 - promise) * max(MIN_COUNT, self.agreed + misses) + 1e-9


class _Standing(NamedTuple):
    """The gate that a version stands at; of a duplicate what it repeats, and whether it adds nothing to that."""

    gate: Gate
    known: str = ""
    is_covered: bool = True


def parse_gate(text: str) -> tuple[Gate, Answer]:
    """Read a gate with its answer, such as `weak=fold`; raise `ValueError` for anything else."""
    gate, _, answer = text.partition("=")
    parsed = Gate(gate), Answer(answer or Answer.REJECT)
    if parsed == (Gate.WEAK, Answer.MERGE):
        raise ValueError("a weak candidate repeats nothing that it could be merged into")
    return parsed


def permissions(memory: Tacit) -> dict[str, ProxyPermission]:
    """Return what each person allows now."""
    return latest(memory.context.store.entries(ProxyPermission))


def allow(memory: Tacit, person: str, answers: Mapping[Gate, Answer], confidence: float) -> ProxyPermission:
    """Store what a person allows from now on."""
    names = tuple(sorted(f"{gate}={answer}" for gate, answer in answers.items()))
    made = ProxyPermission(key=person, at=memory.context.now(), by=person, gates=names, confidence=confidence)
    memory.context.store.add(made)
    return made


def record_of(memory: Tacit, permission: ProxyPermission) -> ProxyRecord:
    """Return how the answers since a permission came out: what the person undid, and decided on versions left to them."""
    store, person, answered, undone = memory.context.store, permission.key, dict[str, Answer](), set[str]()
    for stored in store.catalogue():
        moves = store.transitions(stored.version.id)
        own = [at for at, move in enumerate(moves) if _is_answer(move, permission)]
        if own and stored.status is Status.REJECTED:
            is_merged = parse_reasons(moves[own[-1]].reason)[0].code == GateReason.FORECAST_MERGED  # type: ignore[index]
            answered[stored.version.id] = Answer.MERGE if is_merged else Answer.REJECT
        if own and any(move.by != BY for move in moves[own[-1] + 1 :][:1]):
            undone.add(stored.version.id)
    folds, own_folds = folded_away(memory.context), set[str]()
    for remark in store.remarks(about=About.FOLD):
        if _is_answer(remark, permission):
            own_folds.add(remark.subject)
        elif remark.subject in own_folds and not remark.text:
            undone.add(remark.subject)
    answered |= dict.fromkeys(own_folds & folds.keys(), Answer.FOLD)
    sampled = [
        each.actual == "reject"
        for each in People(memory).forecasts(person)
        if each.sort is ChoiceSort.REVIEW
        and each.at > permission.at
        and not each.shown
        and _may_answer(each, permission)
        and each.key not in map(review_key, undone)
    ]
    agreed = sum(sampled)
    return ProxyRecord(answered=answered, undone=len(undone), agreed=agreed, disagreed=len(sampled) - agreed)


def answer_reviews(memory: Tacit) -> list[str]:
    """Answer what people allowed the forecast of them to answer; return the ids of the versions that it changed."""
    allowed = permissions(memory)
    done = list(_reopened(memory)) if allowed else []
    for person, permission in allowed.items():
        if permission.gates and record_of(memory, permission).keeps(permission.confidence):
            done += _answers(memory, person, permission)
    return done


def _reopened(memory: Tacit) -> Iterator[str]:
    """Let wait again what was turned away as weak and was seen again since."""
    rejected = memory.context.store.catalogue(statuses={Status.REJECTED})
    last = ((stored, memory.context.store.transitions(stored.version.id)[-1]) for stored in rejected)
    weak = [stored for stored, move in last if _values(move).get("gate") == Gate.WEAK]
    for stored in by_support(memory.context, weak)[0]:
        yield memory.reviews.decide(stored.version.id, "reopen", by=BY, reason=coded(GateReason.SEEN_AGAIN)).version_id


def _answers(memory: Tacit, person: str, permission: ProxyPermission) -> Iterator[str]:
    people, waiting, answers = People(memory), memory.reviews.waiting(), permission.answers
    standings = _standings(memory, waiting)
    rejected = [each for each in people.choices(person) if each.sort is ChoiceSort.REVIEW and each.response == "reject"]
    kinds = Counter(each.traits.get("kind", "") for each in rejected)
    folded = {remark.subject for remark in memory.context.store.remarks(about=About.FOLD) if remark.by == BY}
    for stored in waiting:
        version_id = stored.version.id
        standing = standings.get(version_id)
        answer = answers.get(standing.gate) if standing else None
        if not standing or not answer or (answer is Answer.REJECT and not standing.is_covered):
            continue
        if kinds[stored.version.content.kind] < MIN_DECISIONS:
            continue  # what somebody thinks of lessons says nothing of facts
        if stored.status is not Status.CANDIDATE or not may_be_ordered(stored):
            continue
        moves = memory.context.store.transitions(version_id)
        was_answered = version_id in folded or any(move.by == BY for move in moves)  # and undone
        if was_answered or moves[-1].after in RECALLABLE:  # approved, and only to be signed again
            continue
        outlook = people.show(stored, person, is_shown=False).outlook
        if is_hidden(stored) or not _may_answer(outlook, permission):
            continue
        _carry_out(memory, stored, standing, answer, person=person, sure=f"{outlook.posterior_confidence:.0%}")
        yield version_id


def _carry_out(
    memory: Tacit, stored: StoredVersion, standing: _Standing, answer: Answer, *, person: str, sure: str
) -> None:
    reviews, version_id = memory.reviews, stored.version.id
    values: dict[str, str | int] = {"person": person, "sure": sure, "gate": standing.gate}
    if answer is Answer.MERGE:
        known = memory.version(standing.known)
        names = {"given": stored.version.name, "name": known.version.name}
        reason = coded(GateReason.FORECAST_MERGED, **values, **names)
        reviews.close_duplicate(version_id, known, by=BY, reason=reason)
    elif answer is Answer.FOLD:
        sessions = len(sessions_behind(memory.context, stored.version))
        reviews.fold(version_id, by=BY, reason=coded(GateReason.FORECAST, **values, sessions=sessions))
    else:
        reviews.decide(version_id, "reject", by=BY, reason=coded(GateReason.FORECAST, **values))


def _standings(memory: Tacit, waiting: Sequence[StoredVersion]) -> dict[str, _Standing]:
    """Version → the gate that it stands at; versions at no gate are left out."""
    _, weak = by_support(memory.context, waiting)
    found = {stored.version.id: _Standing(Gate.WEAK) for stored in weak}
    for care in memory.library.plan(only=(CareKind.SUPERSEDED, CareKind.MERGE), seconds=LOOK_SECONDS):
        if care.candidate:  # both were to be merged into new text
            known, given = care.candidate.parents
            found[given] = _Standing(Gate.DUPLICATE, known, is_covered=False)
        elif care.move:
            known = next((str(each.values["id"]) for each in care.reasons if "id" in each.values), "")
            found[care.move.version_id] = _Standing(Gate.DUPLICATE, known)
    return found


def _values(answer: Transition | Remark) -> Mapping[str, Any]:
    """What the forecast stored with an answer; empty for a change that somebody else made."""
    text = answer.text if isinstance(answer, Remark) else answer.reason
    reasons: Sequence[CodedReason] = (parse_reasons(text) if answer.by == BY else None) or ()
    return next((each.values for each in reasons), {})


def _is_answer(answer: Transition | Remark, permission: ProxyPermission) -> bool:
    """Whether the forecast of this person gave an answer since the permission was given."""
    return answer.at > permission.at and _values(answer).get("person") == permission.key


def _may_answer(forecast: Outlook | Forecast, permission: ProxyPermission) -> bool:
    """Whether it is sure enough that the person would reject."""
    return forecast.posterior == "reject" and forecast.posterior_confidence >= permission.confidence
