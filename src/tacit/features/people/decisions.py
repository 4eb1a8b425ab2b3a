"""What is in a store → what a forecast needs to know of it: a version that waits as a question, a refusal as a decision.

Reads; keeps nothing. A lesson, norm or preference that speaks of the same thing is one of the traits, so that what agents
learned bears on what the person is expected to decide: whether they go by it, their decisions show.
"""

from __future__ import annotations

import dataclasses
import hashlib
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from tacit import gate
from tacit.domain.candidate import Candidate, Finding, Severity, Verdict
from tacit.domain.choice import Choice, ChoiceSort, Forecast
from tacit.domain.identity import digest
from tacit.domain.lifecycle import RECALLABLE, Status, Transition
from tacit.domain.moment import Moment, Phase
from tacit.domain.origin import Origin
from tacit.domain.ports import Store, Stored
from tacit.domain.scope import Scope
from tacit.domain.skill import Kind, Provenance, SkillContent, said_in
from tacit.features.people.calibration import Track, settled, track
from tacit.features.people.forecast import Outlook, conflict_in, foresee, surprised
from tacit.features.people.prediction import Mind
from tacit.features.people.questions import Question
from tacit.store.queries import SET_ASIDE_REASONS
from tacit.text.redaction import redact
from tacit.text.words import term_set, terms

MOST_CHARACTERS = 1_200
"""Of a text that is decided on: enough to know it again by its words, and no second copy of the library."""
REVIEWED = ("approve", "reject")
UNTAUGHT = "nothing"
_RULES = frozenset({Kind.LESSON, Kind.NORM, Kind.PREFERENCE})
_SPEAKS_OF = 0.5
"""Share of a lesson's words that a text must have for the lesson to bear on it."""
_NEIGHBOURS = 5
_WORD = re.compile(r"[a-z0-9]+")
_LONGEST_NAME = 48
_REFUSALS = frozenset({"denied", "correction", "said"})
_NOBODY = frozenset({"", "hook"})
"""Who notes what a person said in a client: the program that looked on, and no name of theirs."""


def review_key(version_id: str) -> str:
    """What a review of one version is kept under."""
    return f"review {version_id}"


def review_question(store: Store, stored: Stored, person: str, *, account: str = "") -> Question:
    """A version that waits, as the person who is to decide on it, and works under that account, will see it."""
    version, content = stored.version, stored.version.content
    made = version.provenance
    source = "learned" if made.trajectory_ids else "imported" if made.source else "proposed"
    text = cut(f"{content.name}. {content.description}\n{content.body}\n" + "\n".join(s.text for s in content.steps))
    traits = {"kind": str(content.kind), "origin": str(version.lowest_origin), "findings": str(_gravest(stored))}
    traits["taught"] = bearing(store, text, (person, account), but=stored.skill.id)
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


def bearing(store: Store, text: str, names: Collection[str], *, but: str = "") -> str:
    """What in use speaks of a text: a lesson, a norm, a preference of whoever bears one of the names, or nothing.

    The kind and not the name: that somebody goes by what was taught shows long before they have met each lesson themselves.
    """
    asked = terms(text)
    said = set(asked)
    hits = store.search(asked, statuses=RECALLABLE, kinds=_RULES, limit=_NEIGHBOURS) if asked else []
    for hit in hits:
        content = hit.stored.version.content
        if hit.stored.skill.id == but or content.person not in ("", *names):
            continue
        words = term_set(f"{content.name} {content.description}")
        if words and len(words & said) >= _SPEAKS_OF * len(words):
            return str(content.kind)
    return UNTAUGHT


def from_moments(moments: Iterable[Moment], user: str) -> Iterator[Choice]:
    """What people refused or corrected while agents worked, as decisions of theirs; of whoever works here, if nobody is named.

    Only what a person said themselves: a gate's no, or an agent's word, is nobody's decision.
    """
    for moment in moments:
        theirs = moment.phase is Phase.CORRECTIVE and moment.what in _REFUSALS
        person = user if moment.by in _NOBODY or moment.by.startswith("tacit") else moment.by
        if not theirs or not person or moment.origin not in (Origin.USER, Origin.OPERATOR):
            continue
        denied = moment.what == "denied"
        text = cut(moment.text)
        yield Choice(
            key=f"moment {moment.id}",
            at=moment.at,
            by=moment.by,
            session_id=moment.session_id,
            sources=(*moment.sources, moment.id),
            person=person,
            sort=ChoiceSort.PERMISSION if denied else ChoiceSort.CORRECTION,
            response="deny" if denied else text,
            situation=cut(moment.task),
            artifact=text,
            stimulus=moment.what,
            features={"tool": text.removesuffix(" was refused")} if denied else {},
            explicit=not denied,
        )


def cut(text: str) -> str:
    """A text as it is kept with a decision: without secrets, and not longer than it needs to be."""
    return redact(text[:MOST_CHARACTERS]).text.strip()


def named(words: str) -> str:
    """A skill's name for what somebody said: its first words, whole, and a digest, since these may not be enough."""
    slug = ""
    for word in _WORD.findall(words.casefold()):
        if len(slug) + len(word) >= _LONGEST_NAME:
            break
        slug = f"{slug}-{word}" if slug else word
    return f"{slug or 'said'}-{hashlib.sha256(words.encode('utf-8', 'replace')).hexdigest()[:6]}"


def unready(stored: Stored, findings: Iterable[Finding]) -> list[str]:
    """Why no answer may be laid ready for a version, in words; empty where one may.

    What is known of earlier decisions says nothing of what this text would do: it is read, and not confirmed. The findings are
    those that the person sees.
    """
    examination = gate.examined_version(stored.version)
    needs, order = examination.needs, list(Severity)
    told = [f"it touches {', '.join(each)}" for each in (needs.hosts, needs.secrets) if each]
    told += [f"it {', '.join(needs.effects)}"] if needs.effects else []
    weighing = [each for each in findings if order.index(each.severity) >= order.index(Severity.MEDIUM)]
    told += ["something was found in it"] if weighing else []
    told += ["something in it came from outside"] if examination.literals else []
    return told


def by_an_agent(stored: Stored) -> bool:
    """Whether nothing but an agent's word, or a text from outside, stands behind a version: no run, and no person."""
    version = stored.version
    return not version.provenance.trajectory_ids and version.lowest_origin.rank < Origin.USER.rank


def is_plain(stored: Stored) -> bool:
    """Whether earlier decisions may say where a version stands in the queue."""
    return not by_an_agent(stored) and not unready(stored, gate.examined_version(stored.version).findings)


def _gravest(stored: Stored) -> Severity | str:
    """How much the gravest finding of today's checks weighs."""
    found = gate.examined_version(stored.version).findings
    order = list(Severity)
    return max((finding.severity for finding in found), key=order.index, default="none")


OVERRULED = "forecast overruled"
"""The source of a preference that came from a person who decided otherwise than expected, with a reason."""
UNPROMPTED = 15
"""Of a hundred forecasts so many are not shown, by lot: so the record also tells how good they are unseen."""
UNKNOWN = "no review of theirs is known"
_WAITS = frozenset({Status.CANDIDATE, Status.QUARANTINED})
_DECIDED = {Status.TRIAL: "approve", Status.REJECTED: "reject"}
_NOT_A_JUDGEMENT = (*SET_ASIDE_REASONS, "invalid: ", "undone: ", "rolled back to")
"""Beginnings of reasons that tell of housekeeping and not of what a person thinks of a version."""


class Door(Protocol):
    """The loop's side: where a lesson goes in."""

    def admit(self, candidate: Candidate) -> Verdict:
        """Judge a candidate and keep what comes of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Decided:
    """A decision beside what was expected, and what came of the difference."""

    choice: Choice
    forecast: Forecast | None = None
    """Nothing where none was announced."""
    verdict: Verdict | None = None
    """Of the preference that an overruled forecast gave, if it gave one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Queued:
    """A version that waits, and what the person is expected to decide on it."""

    stored: Stored
    outlook: Outlook
    shown: bool
    """Whether the person is told; a few they are not, by lot."""


class People:
    """All decisions that a ledger holds, by person."""

    def __init__(
        self, store: Store, door: Door, *, scope: Scope, clock: Callable[[], datetime], user: str = ""
    ) -> None:
        self._store, self._door, self._scope, self._now = store, door, scope, clock
        self.account = user
        self._minds: dict[str, tuple[list[str], Mind]] = {}

    def persons(self) -> list[str]:
        """Everybody of whom a decision is known, by name."""
        return sorted({choice.person for choice in self._all()})

    def choices(self, person: str) -> list[Choice]:
        """What a person decided, oldest first: what was asked of them, and what they refused or corrected unasked."""
        return [choice for choice in self._all() if choice.person == person]

    def forecasts(self, person: str, *, settled: bool = True) -> list[Forecast]:
        """What was expected of a person and has come out, oldest first; or also what is still open."""
        found = [each for each in self._store.entries(Forecast) if each.person == person]
        return [each for each in found if each.actual] if settled else found

    def track(self, person: str, *, sort: ChoiceSort | None = None) -> Track:
        """How good forecasts of a person have been."""
        corrected = {choice.key for choice in self.choices(person) if choice.explicit}
        told = [each for each in self.forecasts(person) if sort in (None, each.sort)]
        return track(told, corrected=corrected)

    def expect(self, question: Question) -> Outlook:
        """What a person is expected to answer. Keeps nothing, and is the same for the same ledger."""
        return self._expect(question, self.choices(question.person), self.forecasts(question.person))

    def _expect(self, question: Question, choices: Sequence[Choice], came: Sequence[Forecast]) -> Outlook:
        about = question.features.get("question", "") if question.sort is ChoiceSort.ANSWER else ""
        choices = [choice for choice in choices if choice.sort is not question.sort or _answers(choice, about)]
        known = foresee(
            self._mind(f"{question.person} {about}", choices, came),
            question,
            record=settled(each for each in came if each.sort is question.sort),
            conflict=conflict_in(choices, question),
        )
        return _unless_one_sided(known, choices, question)

    def announce(self, key: str, question: Question, *, shown: bool = True, sources: Sequence[str] = ()) -> Outlook:
        """Keep what is expected, before the person decides; in place of what was expected before, if that is another."""
        known = self.expect(question)
        made = self._forecast(key, question, known, shown=shown and known.known, sources=sources)
        before = self._open(key, question.person)
        if before is None or dataclasses.replace(before, at=made.at, id="") != made:
            self._store.add_entry(made)
        return known

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
        """Keep what a person decided beside what was announced; what they say against that is put before the gate.

        What nobody announced is no forecast: then the decision alone is kept.
        """
        with self._store.transaction():
            expected = self._open(key, question.person)
            surprise = expected is not None and surprised(
                expected.posterior, expected.posterior_confidence, response
            )
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
                reason=cut(reason),
                explicit=surprise and bool(reason.strip()),
            )
            self._store.add_entry(choice)
            came = None
            if expected is not None:
                came = dataclasses.replace(expected, at=self._now(), actual=response, surprise=surprise, id="")
                self._store.add_entry(came)
            verdict = self._door.admit(self._taught(choice)) if choice.explicit else None
        return Decided(choice=choice, forecast=came, verdict=verdict)

    # --- reviews ------------------------------------------------------------------------------------------------

    def queue(self, waiting: Sequence[Stored], person: str) -> list[Queued]:
        """What waits, in the order in which it is best looked at: what will probably be approved first, the surest before all.

        Then what nothing is known of, then what will probably be turned down; what the gate set apart comes last. Among equals
        the oldest is first. What reaches out, has a finding that weighs, or rests on an agent's word alone stands with what
        nothing is known of, whatever is expected: no record of decisions moves it forward or back.
        """
        choices = self.choices(person)
        if not any(choice.sort is ChoiceSort.REVIEW for choice in choices):
            return [Queued(stored=stored, outlook=Outlook(why_not=UNKNOWN), shown=False) for stored in waiting]
        came = self.forecasts(person)  # read once: of a long ledger each reading is felt
        asked = [(stored, self._expect(self._asked(stored, person), choices, came)) for stored in waiting]
        ordered = sorted(asked, key=lambda each: (each[0].status is Status.QUARANTINED, -_place(*each)))
        return [
            Queued(stored=stored, outlook=known, shown=known.known and not _by_lot(stored)) for stored, known in ordered
        ]

    def show(self, stored: Stored, person: str, *, told: bool = True) -> Queued:
        """Announce what is expected of a version that is about to be decided on, whether the person is told or not."""
        version_id, told = stored.version.id, told and not _by_lot(stored)
        question = self._asked(stored, person)
        known = self.announce(review_key(version_id), question, shown=told, sources=(version_id,))
        return Queued(stored=stored, outlook=known, shown=known.known and told)

    def has_seen(self, stored: Stored, person: str) -> bool:
        """Whether a page of this version was before this person earlier, as far as the ledger tells."""
        return self._open(review_key(stored.version.id), person) is not None

    def taught_with(self, stored: Stored, person: str) -> str:
        """The name of the preference that a person's last review of a version gave; empty where it gave none."""
        made = [
            each for each in self._store.entries(Choice, key=review_key(stored.version.id)) if each.person == person
        ]
        return named(made[-1].reason) if made and made[-1].explicit else ""

    def reviewed(self, stored: Stored, move: Transition) -> Decided | None:
        """Keep a review as a decision of the person; nothing where it is none: housekeeping, or not on what waited."""
        response = _DECIDED.get(move.after, "")
        own = move.by.startswith("tacit.") or move.reason.startswith(_NOT_A_JUDGEMENT)
        if not response or move.before not in _WAITS or own:
            return None
        person, version_id = move.by.strip(), stored.version.id
        said = "" if move.reason == f"{response} by a person" else move.reason
        if stored.version.provenance.source == OVERRULED:
            said = ""  # what is said of a lesson about forecasts makes no further one
        question = self._asked(stored, person)
        return self.decided(review_key(version_id), question, response, reason=said, sources=(version_id,))

    # --- what a forecast is made of -----------------------------------------------------------------------------

    def _asked(self, stored: Stored, person: str) -> Question:
        return review_question(self._store, stored, person, account=self.account)

    def _all(self) -> list[Choice]:
        unasked = from_moments(self._store.entries(Moment), self.account)
        return sorted((*self._store.entries(Choice), *unasked), key=lambda choice: choice.at)

    def _mind(self, whose: str, choices: Sequence[Choice], came: Sequence[Forecast]) -> Mind:
        """The mind that has seen these decisions; goes on from what it saw before, if that is still how they begin."""
        seen, mind = self._minds.get(whose, ([], Mind()))
        if [choice.id for choice in choices[: len(seen)]] != seen:
            seen, mind = [], Mind()
        thought_of = {each.key: each.sources for each in came if each.guess == each.actual}
        for choice in choices[len(seen) :]:
            mind.see(choice)
            mind.retrieve(thought_of.get(choice.key, ()))
        self._minds[whose] = ([choice.id for choice in choices], mind)
        return mind

    def _open(self, key: str, person: str) -> Forecast | None:
        """The forecast that was made for a decision and has not come out yet."""
        made = [each for each in self._store.entries(Forecast, key=key) if each.person == person]
        return made[-1] if made and not made[-1].actual else None

    def _forecast(
        self, key: str, question: Question, known: Outlook, *, shown: bool, sources: Sequence[str]
    ) -> Forecast:
        return Forecast(
            key=key,
            at=self._now(),
            by="tacit.forecast",
            sources=(*sources, *(choice.id for choice in known.reasons)),
            person=question.person,
            sort=question.sort,
            prior=known.prior,
            prior_confidence=round(known.prior_confidence, 6),
            posterior=known.posterior,
            posterior_confidence=round(known.posterior_confidence, 6),
            guess=known.guess,
            score=round(known.score, 6),
            reason=known.why_not or (known.conflict.told if known.conflict else ""),
            shown=shown,
        )

    def _taught(self, choice: Choice) -> Candidate:
        """What a person said against a forecast, as a preference of theirs."""
        content = SkillContent(
            kind=Kind.PREFERENCE,
            name=named(choice.reason),
            description=f"{choice.person} decided `{cut(choice.response)}` on {_about(choice)}: {choice.reason}",
            body=choice.reason,
            person=self.account
            or choice.person,  # recall knows people by their account, and not by what git calls them
        )
        made = Provenance(made_by=choice.person, source=OVERRULED)
        origins = dict.fromkeys(said_in(content), Origin.USER)
        return Candidate(content=content, scope=self._scope, origins=origins, provenance=made, by=choice.person)


def _answers(choice: Choice, question: str) -> bool:
    """Whether a decision tells something of a question: what was said to another one does not, whatever the words."""
    return not question or choice.features.get("question", "") == question


def _about(choice: Choice) -> str:
    """What was decided on, in a few words."""
    if choice.sort is ChoiceSort.REVIEW:
        return f"a {choice.traits.get('kind', 'skill')} from {choice.traits.get('origin', 'somewhere')} text"
    return f"“{choice.stimulus}”"


def _place(stored: Stored, known: Outlook) -> float:
    """How likely an approval is, from 1 to -1; 0 where nothing is known, or nothing that is known may count."""
    if not known.known or not is_plain(stored):
        return 0.0
    return known.posterior_confidence if known.posterior == "approve" else -known.posterior_confidence


def _by_lot(stored: Stored) -> bool:
    """Whether nothing is said of this one; the lot is the same whenever it is drawn."""
    return int(digest(stored.version.id)[-6:], 16) % 100 < UNPROMPTED


def _unless_one_sided(known: Outlook, choices: Sequence[Choice], question: Question) -> Outlook:
    """Of permissions only refusals are seen: what was always refused, as far as one saw, is no forecast."""
    seen = {choice.response for choice in choices if choice.sort is question.sort}
    if question.sort is not ChoiceSort.PERMISSION or len(seen) > 1 or not known.known:
        return known
    return dataclasses.replace(known, posterior="", prior="", why_not="only refusals are seen, never what was allowed")
