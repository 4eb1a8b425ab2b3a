"""Decisions of each person: recorded with what was forecast, and used to forecast the next ones.

A forecast is made from the ledger alone, so the same ledger gives the same forecast. Nothing
here can change a version. A person who decides against a forecast and says why has taught something: it passes the gate as a
preference of theirs and waits for review like everything else.
"""

from __future__ import annotations

import dataclasses
import hashlib
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tacit.domain.candidate import Candidate, Severity, Verdict
from tacit.domain.identity import digest
from tacit.domain.lifecycle import RECALLABLE, WAITING, Status, Transition
from tacit.domain.skill import OWN_PREFIX, STATED_KINDS, Kind, Provenance, SkillContent, filled_fields
from tacit.domain.stored import StoredVersion
from tacit.domain.trajectory import Origin
from tacit.features.people.calibration import SURE, Track, settled, track
from tacit.features.people.forecast import Outlook, conflict_in, foresee, surprised
from tacit.features.people.ledger_entries import Choice, ChoiceSort, Forecast, Moment, Phase
from tacit.features.people.prediction import DecisionModel
from tacit.features.people.questions import Question
from tacit.gate.checks import worst
from tacit.gate.content_checks import examine_version
from tacit.gate.findings import GateReason
from tacit.gate.review_rules import has_reason, reasons_against_prefill, rests_on_agent_alone, written_reason
from tacit.store import Store
from tacit.store.queries import SET_ASIDE_REASONS
from tacit.text.redaction import redact
from tacit.text.words import term_set, terms

if TYPE_CHECKING:
    from tacit.api import Tacit

MAX_CHARACTERS = 1_200
"""Stored of a text that is decided on: enough to recognise it by its words."""
OVERRULED = "forecast overruled"
"""The source of a preference from a person who decided against a forecast, with a reason."""
HIDDEN_PERCENT = 15
"""Percentage of forecasts that are not shown, drawn at random: so the record tells how good unseen forecasts are."""
NO_REVIEWS = "no reviews of this person are known"
REVIEWED = ("approve", "reject")
UNTAUGHT = "nothing"
_MIN_OVERLAP = 0.5
"""Share of a lesson's words that a text must have for the lesson to be about it."""
_NEIGHBOURS = 5
_WORD = re.compile(r"[a-z0-9]+")
_MAX_NAME = 48
_REFUSALS = frozenset({"denied", "correction", "said"})
_ANONYMOUS = frozenset({"", "hook"})
"""Recorders of moments that are no person."""
_DECISION = {Status.TRIAL: "approve", Status.REJECTED: "reject"}
_NOT_A_JUDGEMENT = (*SET_ASIDE_REASONS, "invalid: ", "undone: ", "rolled_back", "rolled back to")
"""Prefixes of reasons for maintenance, which say nothing about what a person thinks of a version."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Decided:
    """A recorded decision, the forecast of it, and what the difference taught."""

    choice: Choice
    forecast: Forecast | None = None
    """None where nothing was forecast."""
    verdict: Verdict | None = None
    """On the preference that an overruled forecast gave, if it gave one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Queued:
    """A version that waits, and what the person will probably decide on it."""

    stored: StoredVersion
    outlook: Outlook
    shown: bool
    """Whether the person sees the forecast; some are hidden at random."""


class People:
    """All decisions in the ledger, by person."""

    def __init__(self, memory: Tacit) -> None:
        context = memory.context
        self._store, self._scope, self._now = context.store, context.scope, context.now
        self._admit = memory.admit
        self.account = context.person
        self._models: dict[str, tuple[list[str], DecisionModel]] = {}

    def persons(self) -> list[str]:
        """Return the names of all people with decisions."""
        return sorted({choice.person for choice in self._all()})

    def choices(self, person: str) -> list[Choice]:
        """Return a person's decisions, oldest first: answers to questions, and refusals and corrections."""
        return [choice for choice in self._all() if choice.person == person]

    def forecasts(self, person: str, *, settled: bool = True) -> list[Forecast]:
        """Return the forecasts of a person whose outcome is known, oldest first; or all of them."""
        found = [each for each in self._store.entries(Forecast) if each.person == person]
        return [each for each in found if each.actual] if settled else found

    def track(self, person: str, *, sort: ChoiceSort | None = None) -> Track:
        """Return how good forecasts of a person have been."""
        corrected = {choice.key for choice in self.choices(person) if choice.explicit}
        return track([each for each in self.forecasts(person) if sort in (None, each.sort)], corrected=corrected)

    def expect(self, question: Question) -> Outlook:
        """Return what a person will probably answer. Stores nothing."""
        return self._expect(question, self.choices(question.person), self.forecasts(question.person))

    def _expect(self, question: Question, choices: Sequence[Choice], forecasts: Sequence[Forecast]) -> Outlook:
        about = question.features.get("question", "") if question.sort is ChoiceSort.ANSWER else ""
        choices = [choice for choice in choices if choice.sort is not question.sort or _answers(choice, about)]
        outlook = foresee(
            self._model(f"{question.person} {about}", choices, forecasts),
            question,
            record=settled(each for each in forecasts if each.sort is question.sort),
            conflict=conflict_in(choices, question),
        )
        return _unless_one_sided(outlook, choices, question)

    def announce(
        self, key: str, question: Question, *, shown: bool = True, sources: Sequence[str] = (), least: float = 0.0
    ) -> Outlook:
        """Store a forecast before the person decides; replaces an earlier one if that was different.

        It counts as shown to the person only from the confidence `least` on.
        """
        outlook = self.expect(question)
        is_shown = shown and outlook.known and outlook.posterior_confidence >= least
        made = self._forecast(key, question, outlook, shown=is_shown, sources=sources)
        before = self._open_forecast(key, question.person)
        if before is None or dataclasses.replace(before, at=made.at, id="") != made:
            self._store.add(made)
        return outlook

    def decided(
        self,
        key: str,
        question: Question,
        response: str,
        *,
        reason: str = "",
        session_id: str = "",
        sources: Sequence[str] = (),
    ) -> Decided:
        """Store a decision, and the outcome of its forecast if there was one; a reason against the forecast is learned."""
        with self._store.transaction():
            expected = self._open_forecast(key, question.person)
            surprise = expected is not None and surprised(expected.posterior, expected.posterior_confidence, response)
            # Who reviews without having seen the forecast speaks of this version alone.
            is_known = question.sort is not ChoiceSort.REVIEW or (expected is not None and expected.shown)
            choice = Choice(
                key=key,
                at=self._now(),
                by=question.person,
                session_id=session_id,
                sources=tuple(sources),
                person=question.person,
                sort=question.sort,
                response=response,
                situation=question.situation,
                artifact=question.artifact,
                stimulus=question.stimulus,
                features=question.features,
                traits=question.traits,
                reason=shortened(reason),
                explicit=surprise and is_known and bool(reason.strip()),
            )
            self._store.add(choice)
            outcome = None
            if expected is not None:
                outcome = dataclasses.replace(expected, at=self._now(), actual=response, surprise=surprise, id="")
                self._store.add(outcome)
            verdict = self._admit(self._preference(choice)) if _teaches(choice) else None
        return Decided(choice=choice, forecast=outcome, verdict=verdict)

    # --- reviews ------------------------------------------------------------------------------------------------

    def queue(self, waiting: Sequence[StoredVersion], person: str) -> list[Queued]:
        """Return what waits in the best order to review: probable approvals first, the surest of them before all.

        Then come versions without a forecast, then probable rejections; what the gate quarantined comes last. Otherwise the
        oldest is first. Versions that must be read (see `gate.prefill`) count as having no forecast.
        """
        choices = self.choices(person)
        if not any(choice.sort is ChoiceSort.REVIEW for choice in choices):
            return [
                Queued(stored=stored, outlook=Outlook(why_not=NO_REVIEWS, why_not_code="no_reviews"), shown=False)
                for stored in waiting
            ]
        forecasts = self.forecasts(person)  # read once: a long ledger is slow
        expected = [
            (stored, self._expect(self._review_question(stored, person), choices, forecasts)) for stored in waiting
        ]
        ordered = sorted(expected, key=lambda each: (each[0].status is Status.QUARANTINED, -_priority(*each)))
        return [
            Queued(stored=stored, outlook=outlook, shown=outlook.known and not is_hidden(stored))
            for stored, outlook in ordered
        ]

    def show(self, stored: StoredVersion, person: str, *, is_shown: bool = True) -> Queued:
        """Store the forecast of a review that is about to happen; the person sees it only where it is sure."""
        version_id, shown = stored.version.id, is_shown and not is_hidden(stored)
        question = self._review_question(stored, person)
        outlook = self.announce(review_key(version_id), question, shown=shown, sources=(version_id,), least=SURE)
        is_sure = outlook.known and outlook.posterior_confidence >= SURE
        return Queued(stored=stored, outlook=outlook, shown=is_sure and shown)

    def taught_with(self, stored: StoredVersion, person: str) -> str:
        """Return the name of the preference that a person's last review of a version gave; empty if none."""
        made = [
            each for each in self._store.entries(Choice, key=review_key(stored.version.id)) if each.person == person
        ]
        return preference_name(made[-1].reason) if made and _teaches(made[-1]) else ""

    def reviewed(self, stored: StoredVersion, move: Transition) -> Decided | None:
        """Store a review as a decision; None where it is maintenance, or the version did not wait for review."""
        response = _DECISION.get(move.after, "")
        is_maintenance = move.by.startswith(OWN_PREFIX) or move.reason.startswith(_NOT_A_JUDGEMENT)
        if not response or move.before not in WAITING or is_maintenance:
            return None
        person, version_id = move.by.strip(), stored.version.id
        bare = has_reason(move, GateReason.DECIDED_BY_PERSON) or has_reason(move, GateReason.REJECTED_AS)
        bare = bare or move.reason == f"{response} by a person"
        reason = "" if bare else written_reason(move.reason)
        if stored.version.provenance.source == OVERRULED:
            reason = ""  # a reason about a lesson from a forecast teaches no further lesson
        question = self._review_question(stored, person)
        return self.decided(review_key(version_id), question, response, reason=reason, sources=(version_id,))

    # --- what a forecast is made of -----------------------------------------------------------------------------

    def _review_question(self, stored: StoredVersion, person: str) -> Question:
        return review_question(self._store, stored, person, account=self.account)

    def _all(self) -> list[Choice]:
        unasked = from_moments(self._store.entries(Moment), self.account)
        return sorted((*self._store.entries(Choice), *unasked), key=lambda choice: choice.at)

    def _model(self, key: str, choices: Sequence[Choice], forecasts: Sequence[Forecast]) -> DecisionModel:
        """Return a model that has seen these decisions; continues with the cached one where they begin the same."""
        seen, model = self._models.get(key, ([], DecisionModel()))
        if [choice.id for choice in choices[: len(seen)]] != seen:
            seen, model = [], DecisionModel()
        retrieved = {each.key: each.sources for each in forecasts if each.guess == each.actual}
        for choice in choices[len(seen) :]:
            model.see(choice)
            model.retrieve(retrieved.get(choice.key, ()))
        self._models[key] = ([choice.id for choice in choices], model)
        return model

    def _open_forecast(self, key: str, person: str) -> Forecast | None:
        """Return the forecast of a decision that has not been made yet."""
        made = [each for each in self._store.entries(Forecast, key=key) if each.person == person]
        return made[-1] if made and not made[-1].actual else None

    def _forecast(
        self, key: str, question: Question, outlook: Outlook, *, shown: bool, sources: Sequence[str]
    ) -> Forecast:
        return Forecast(
            key=key,
            at=self._now(),
            by="tacit.forecast",
            sources=(*sources, *(choice.id for choice in outlook.reasons)),
            person=question.person,
            sort=question.sort,
            prior=outlook.prior,
            prior_confidence=round(outlook.prior_confidence, 6),
            posterior=outlook.posterior,
            posterior_confidence=round(outlook.posterior_confidence, 6),
            guess=outlook.guess,
            score=round(outlook.score, 6),
            reason=outlook.why_not or (outlook.conflict.description if outlook.conflict else ""),
            shown=shown,
        )

    def _preference(self, choice: Choice) -> Candidate:
        """Return what a person said against a forecast, as a preference of theirs."""
        content = SkillContent(
            kind=Kind.PREFERENCE,
            name=preference_name(choice.reason),
            description=f"{choice.person} decided `{shortened(choice.response)}` on {_subject(choice)}: {choice.reason}",
            body=choice.reason,
            person=self.account or choice.person,  # recall knows people by their account, not by their git name
        )
        provenance = Provenance(made_by=choice.person, source=OVERRULED)
        origins = dict.fromkeys(filled_fields(content), Origin.USER)
        return Candidate(content=content, scope=self._scope, origins=origins, provenance=provenance, by=choice.person)


def review_key(version_id: str) -> str:
    """Return the key of the review of one version."""
    return f"review {version_id}"


def review_question(store: Store, stored: StoredVersion, person: str, *, account: str = "") -> Question:
    """Return a version that waits as a question to the person who reviews it, and who works under that account."""
    version, content = stored.version, stored.version.content
    made = version.provenance
    source = "learned" if made.trajectory_ids else "imported" if made.source else "proposed"
    steps = "\n".join(step.text for step in content.steps)
    text = shortened(f"{content.name}. {content.description}\n{content.body}\n{steps}")
    traits = {
        "kind": str(content.kind),
        "origin": str(version.lowest_origin),
        "findings": str(_highest_severity(stored)),
    }
    traits["taught"] = related_rule(store, text, (person, account), excluding=stored.skill.id)
    return Question(
        person=person,
        sort=ChoiceSort.REVIEW,
        situation=f"{stored.skill.scope.level} {source}",
        artifact=text,
        stimulus="review",
        features={"scope": str(stored.skill.scope.level), "source": source},
        traits=traits,
        options=REVIEWED,
    )


def related_rule(store: Store, text: str, names: Collection[str], *, excluding: str = "") -> str:
    """Return the kind of the rule in use that is about a text: lesson, norm, a preference of these names, or nothing.

    The kind and not the name: whether a person follows rules shows before they have met each of them.
    """
    query = terms(text)
    words = set(query)
    hits = store.search(query, statuses=RECALLABLE, kinds=STATED_KINDS, limit=_NEIGHBOURS) if query else []
    for hit in hits:
        content = hit.stored.version.content
        if hit.stored.skill.id == excluding or content.person not in ("", *names):
            continue
        rule = term_set(f"{content.name} {content.description}")
        if rule and len(rule & words) >= _MIN_OVERLAP * len(rule):
            return str(content.kind)
    return UNTAUGHT


def from_moments(moments: Iterable[Moment], user: str) -> Iterator[Choice]:
    """Yield what people refused or corrected while agents worked, as decisions; of `user` where nobody is named.

    What the gate refused, or an agent said, is not a person's decision.
    """
    for moment in moments:
        is_refusal = moment.phase is Phase.CORRECTIVE and moment.what in _REFUSALS
        person = user if moment.by in _ANONYMOUS or moment.by.startswith("tacit") else moment.by
        if not is_refusal or not person or moment.origin not in (Origin.USER, Origin.OPERATOR):
            continue
        denied = moment.what == "denied"
        text = shortened(moment.text)
        yield Choice(
            key=f"moment {moment.id}",
            at=moment.at,
            by=moment.by,
            session_id=moment.session_id,
            sources=(*moment.sources, moment.id),
            person=person,
            sort=ChoiceSort.PERMISSION if denied else ChoiceSort.CORRECTION,
            response="deny" if denied else text,
            situation=shortened(moment.task),
            artifact=text,
            stimulus=moment.what,
            features={"tool": text.removesuffix(" was refused")} if denied else {},
            explicit=not denied,
        )


def shortened(text: str) -> str:
    """Return a text as it is stored with a decision: redacted, and at most so long."""
    return redact(text[:MAX_CHARACTERS]).text.strip()


def _teaches(choice: Choice) -> bool:
    """Whether a decision against a forecast says enough to be a preference: a single word is none."""
    return choice.explicit and len(choice.reason.split()) > 1


def preference_name(reason: str) -> str:
    """Return a skill name for a reason: its first whole words, and a digest to keep it unique."""
    slug = ""
    for word in _WORD.findall(reason.casefold()):
        if len(slug) + len(word) >= _MAX_NAME:
            break
        slug = f"{slug}-{word}" if slug else word
    return f"{slug or 'said'}-{hashlib.sha256(reason.encode('utf-8', 'replace')).hexdigest()[:6]}"


def may_be_ordered(stored: StoredVersion) -> bool:
    """Return whether earlier decisions may move a version in the queue."""
    findings = examine_version(stored.version).findings
    return not rests_on_agent_alone(stored) and not reasons_against_prefill(stored, findings)


def _highest_severity(stored: StoredVersion) -> Severity | str:
    """Return the highest severity of today's findings."""
    found = examine_version(stored.version).findings
    return worst(found) or "none"


def _answers(choice: Choice, question: str) -> bool:
    """Return whether a decision is an answer to this question; answers to others count for nothing."""
    return not question or choice.features.get("question", "") == question


def _subject(choice: Choice) -> str:
    """Return what was decided on, in a few words."""
    if choice.sort is ChoiceSort.REVIEW:
        return f"a {choice.traits.get('kind', 'skill')} from {choice.traits.get('origin', 'somewhere')} text"
    return f"“{choice.stimulus}”"


def _priority(stored: StoredVersion, outlook: Outlook) -> float:
    """Return how likely an approval is, from 1 to -1; 0 where there is no forecast, or none that may count."""
    if not outlook.known or not may_be_ordered(stored):
        return 0.0
    sign = 1 if outlook.posterior == "approve" else -1
    return sign * outlook.posterior_confidence


def is_hidden(stored: StoredVersion) -> bool:
    """Return whether the forecast of this version stays hidden; the same version always gives the same answer."""
    return int(digest(stored.version.id)[-6:], 16) % 100 < HIDDEN_PERCENT


def _unless_one_sided(outlook: Outlook, choices: Sequence[Choice], question: Question) -> Outlook:
    """Drop a forecast of a permission where only refusals are known: what was allowed is never recorded."""
    responses = {choice.response for choice in choices if choice.sort is question.sort}
    if question.sort is not ChoiceSort.PERMISSION or len(responses) > 1 or not outlook.known:
        return outlook
    why_not = "only refusals are recorded, never permissions"
    return dataclasses.replace(outlook, posterior="", prior="", why_not=why_not, why_not_code="one_sided")
