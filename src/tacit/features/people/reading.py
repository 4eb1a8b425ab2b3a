"""What is in a store → what a forecast needs to know of it: a version that waits as a question, a refusal as a decision.

Reads; keeps nothing. A lesson, norm or preference that speaks of the same thing is one of the traits, so that what agents
learned bears on what the person is expected to decide: whether they go by it, their decisions show.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterable, Iterator

from tacit import gate
from tacit.domain.candidate import Finding, Severity
from tacit.domain.choice import Choice, ChoiceSort
from tacit.domain.lifecycle import RECALLABLE
from tacit.domain.moment import Moment, Phase
from tacit.domain.origin import Origin
from tacit.domain.ports import Store, Stored
from tacit.domain.skill import Kind
from tacit.features.people.forecast import Question
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
