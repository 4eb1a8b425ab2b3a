"""What should be asked before a task is begun: its words, and what was asked before → the questions that are open. Pure.

Four things are usually left unsaid: how far the task goes, how it is done, what the person likes, and how large it is. What the
task's own words say is not asked. Questions that somebody gives are always asked.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from tacit.domain.choice import Choice, ChoiceSort
from tacit.domain.moment import Aspect
from tacit.features.people.forecast.similarity import cosine
from tacit.text.words import term_set

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
    said = task.casefold()
    asked = [Ask(key=key_of(text), text=text, aspect=aspect_of(text)) for text in map(_tidy, given) if text]
    asked += [
        Ask(key=str(aspect), text=text, aspect=aspect, options=options)
        for aspect, text, options in _USUAL
        if not _SAYS[aspect].search(said)
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
    said = text.casefold()
    for aspect, pattern in _ABOUT:
        if pattern.search(said):
            return aspect
    return Aspect.APPROACH


_ABOUT = (
    (Aspect.SCOPE, re.compile(r"\b(include|part of|scope|only|also|which (files|parts|ones)|how far|where)\b")),
    (Aspect.COMPLEXITY, re.compile(r"\b(large|long|big|how (many|much)|effort|size)\b")),
    (Aspect.PREFERENCES, re.compile(r"\b(prefer|like|want|favou?rite|style|rather)\b")),
)


def _tidy(text: str) -> str:
    return " ".join(text.split())[:_MOST_CHARACTERS]
