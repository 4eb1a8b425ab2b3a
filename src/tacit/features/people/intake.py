"""The intake of a task: its open questions, the expected answers, what the person answers, and the difference.

Usually four things are left open: scope, approach, preferences and size. What the task says itself is not asked. Answers become
decisions, settle forecasts, and are assumptions that the session's work rests on; an expectation that the person corrects is
stored as a wrong assumption.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from tacit.domain.errors import Mistake
from tacit.domain.identity import content_id
from tacit.domain.trajectory import Origin
from tacit.features.people.decisions import Decided, People, related_rule, shortened
from tacit.features.people.forecast import Outlook
from tacit.features.people.ledger_entries import Aspect, Assumption, Choice, ChoiceSort, Held
from tacit.features.people.questions import Question, cosine
from tacit.text.words import term_set

if TYPE_CHECKING:
    from tacit.api import Tacit

MOST_EARLIER = 3
"""Questions from earlier tasks that are asked again."""
ALIKE = 0.35
"""How alike two tasks must be for a question of the one to be worth asking of the other."""
SIZES = ("small", "medium", "large")
_MOST_CHARACTERS = 300
_USUAL = (
    (Aspect.SCOPE, "What is not part of it?", ()),
    (Aspect.APPROACH, "How shall it be done?", ()),
    (Aspect.PREFERENCES, "What do you want done your way?", ()),
    (Aspect.COMPLEXITY, "How large is it?", SIZES),
)
_SAYS = {
    Aspect.SCOPE: re.compile(
        r"\b(only|just|except|without|leave|nothing else|not? (touch|change)|everything|all of)\b"
    ),
    Aspect.APPROACH: re.compile(r"\b(using|by means of|with the help of|via|as in|like the|instead of|step by step)\b"),
    Aspect.PREFERENCES: re.compile(r"\b(prefer|always|never|i like|i want|my way|as usual|please (don't|do not))\b"),
    Aspect.COMPLEXITY: re.compile(r"\b(small|quick|trivial|simple|large|big|huge|one-liner|rewrite|medium)\b"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """One open question of a task."""

    key: str
    """Names it among the questions of the task; the same question has the same key in every task."""
    text: str
    aspect: Aspect
    options: tuple[str, ...] = ()


def open_questions(task: str, *, given: Sequence[str] = (), earlier: Sequence[Choice] = ()) -> list[Ask]:
    """What to ask: what was given, what the task leaves unsaid, and what was asked of tasks like it."""
    answer_text = task.casefold()
    asked = [Ask(key=key_of(text), text=text, aspect=aspect_of(text)) for text in map(_tidy, given) if text]
    asked += [
        Ask(key=str(aspect), text=text, aspect=aspect, options=options)
        for aspect, text, options in _USUAL
        if not _SAYS[aspect].search(answer_text)
    ]
    asked += _asked_of_alike(task, earlier)
    return list({each.key: each for each in reversed(asked)}.values())[::-1]


def _asked_of_alike(task: str, earlier: Sequence[Choice]) -> list[Ask]:
    words = term_set(task)
    usual = {str(aspect) for aspect, _, _ in _USUAL}
    found: dict[str, tuple[float, Ask]] = {}
    for choice in earlier:
        key, text = choice.features.get("question", ""), _tidy(choice.stimulus)
        if choice.sort is not ChoiceSort.ANSWER or not key or not text or key in usual:
            continue
        nearness = cosine(words, term_set(choice.situation))
        if nearness >= ALIKE and nearness > found.get(key, (0.0, None))[0]:
            found[key] = (nearness, Ask(key=key, text=text, aspect=aspect_of(text)))
    best = sorted(found.values(), key=lambda each: (-each[0], each[1].key))
    return [ask for _, ask in best[:MOST_EARLIER]]


def key_of(text: str) -> str:
    """The key of a question that somebody wrote: its words."""
    return "-".join(re.findall(r"[^\W_]+", text.casefold()))[:60] or "question"


def aspect_of(text: str) -> Aspect:
    """What a question is about, as far as its words say; usually how something is done."""
    answer_text = text.casefold()
    for aspect, pattern in _ABOUT:
        if pattern.search(answer_text):
            return aspect
    return Aspect.APPROACH


_ABOUT = (
    (Aspect.SCOPE, re.compile(r"\b(include|part of|scope|only|also|which (files|parts|ones)|how far|where)\b")),
    (Aspect.COMPLEXITY, re.compile(r"\b(large|long|big|how (many|much)|effort|size)\b")),
    (Aspect.PREFERENCES, re.compile(r"\b(prefer|like|want|favou?rite|style|rather)\b")),
)


def _tidy(text: str) -> str:
    return " ".join(text.split())[:_MOST_CHARACTERS]


MOST_ANSWER = 400
"""Characters of an answer that are stored."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """One question, what was expected, and what the person said; nothing where they passed it over."""

    ask: Ask
    outlook: Outlook
    answer: str = ""
    decided: Decided | None = None
    assumptions: tuple[Assumption, ...] = ()


class Interview:
    """The questions of one task to one person."""

    def __init__(self, memory: Tacit, *, task: str, person: str, session_id: str = "") -> None:
        if not task.strip():
            raise Mistake("an intake needs a task", code="no_task", hint='tacit moments intake "Add a currency field"')
        self._people, self._store, self._now = People(memory), memory.context.store, memory.context.now
        self.task, self.person, self.session_id = shortened(task), person, session_id
        self._digest = hashlib.sha256(self.task.encode("utf-8", "replace")).hexdigest()[:12]

    def questions(self, given: Sequence[str] = ()) -> list[Ask]:
        """What is open, the questions that were given first."""
        return open_questions(self.task, given=given, earlier=self._people.choices(self.person))

    def expect(self, ask: Ask) -> Outlook:
        """What the person is expected to answer. Keeps nothing."""
        return self._people.expect(self._question(ask))

    def announce(self, ask: Ask, *, shown: bool = True) -> Outlook:
        """What the person is expected to answer, kept before they do."""
        return self._people.announce(self._key(ask), self._question(ask), shown=shown)

    def answer(self, ask: Ask, text: str, *, reason: str = "") -> Answered:
        """Keep an answer beside what was expected, and what it lets the work take for granted."""
        answer_text = self._in_their_spelling(text, ask)
        outlook = self.expect(ask)
        if not answer_text:
            return Answered(ask=ask, outlook=outlook)
        with self._store.transaction():
            done = self._people.decided(
                self._key(ask), self._question(ask), answer_text, reason=reason, session_id=self.session_id
            )
            assumptions = self._assumptions(ask, done, at=self._now())
            for assumption in assumptions:
                self._store.add(assumption)
        return Answered(ask=ask, outlook=outlook, answer=answer_text, decided=done, assumptions=tuple(assumptions))

    def _assumptions(self, ask: Ask, done: Decided, *, at: datetime) -> list[Assumption]:
        """What was expected and is wrong, and what holds as far as the person said."""
        key, answer_text = self._key(ask), done.choice.response
        expected = done.forecast.posterior if done.forecast else ""
        found = []
        if expected and expected != answer_text:
            found.append(self._assumption(ask, f"{key} expected", expected, at=at, instead=answer_text))
        return [*found, self._assumption(ask, key, answer_text, at=at)]

    def _assumption(self, ask: Ask, key: str, text: str, *, at: datetime, instead: str = "") -> Assumption:
        return Assumption(
            key=content_id("a", [key]),  # as all assumptions are called, and told apart by how they begin
            at=at,
            by=self.person if not instead else "tacit.forecast",
            session_id=self.session_id,
            text=f"{ask.text} {text}",
            aspect=ask.aspect,
            task=self.task,
            held=Held.WRONG if instead else Held.OPEN,
            instead=instead,
            settled_by=self.person if instead else "",
            reason=f"{self.person} said otherwise" if instead else f"{self.person} said so",
            origin=Origin.USER,
        )

    def _question(self, ask: Ask) -> Question:
        taught = related_rule(self._store, self.task, (self.person, self._people.account))
        features = {"aspect": str(ask.aspect), "question": ask.key, "taught": taught}
        return Question(
            person=self.person,
            sort=ChoiceSort.ANSWER,
            situation=self.task,
            stimulus=ask.text,
            features=features,
            options=ask.options,
        )

    def _key(self, ask: Ask) -> str:
        return f"intake {self._digest} {ask.key}"

    def _in_their_spelling(self, text: str, ask: Ask) -> str:
        """An answer without secrets and blanks, spelled as this person spelled it before, or as the options do."""
        answer_text = shortened(" ".join(text.split())[:MOST_ANSWER])
        before = [each.response for each in self._people.choices(self.person) if each.sort is ChoiceSort.ANSWER]
        return next(
            (known for known in (*ask.options, *before) if known.casefold() == answer_text.casefold()), answer_text
        )
