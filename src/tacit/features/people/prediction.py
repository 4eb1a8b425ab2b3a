"""How present a memory is, after ACT-R: traces with ages → activation, counted in interactions and not in days. Pure.

Every time something is met it leaves a trace, and traces fade by a power of their age: `B = ln(sum age^-d)`. What was met
often and lately is present; what was met once, long ago, is not. An explicit correction leaves several traces at once. Knows
nothing of what the memories say.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from tacit.domain.choice import Choice, ChoiceSort
from tacit.features.people.questions import Context, Question, Words, alike, words_of

DECAY = 0.5
"""How fast traces fade in ACT-R."""
CORRECTION_TRACES = 5
"""Traces that one explicit correction leaves."""
FORGOTTEN = -0.5
"""Activation below which a memory is not named as a reason; its share in a forecast is small anyway."""


def presence(ages: Iterable[float], *, decay: float = DECAY) -> float:
    """The sum of faded traces, `e^B`: 0 for what was never met. No age is less than one interaction."""
    return math.fsum(max(1.0, age) ** -decay for age in ages)


def activation(ages: Iterable[float], *, decay: float = DECAY) -> float:
    """Base-level activation `B` of a memory; minus infinity for what was never met."""
    total = presence(ages, decay=decay)
    return math.log(total) if total else -math.inf


def traces_of(*, explicit: bool) -> int:
    """How many traces one decision leaves."""
    return CORRECTION_TRACES if explicit else 1


MOST_MEMORIES = 300
"""Decisions that are thought of, the latest."""
STEEP = 1.0
"""The fading that follows a change of mind."""
DECAYS = (DECAY, STEEP)
_IMAGINED = 0.3
"""Weight of what is imagined beside what was seen, so that one decision is no certainty."""
_NEARNESS = 6.0
"""How much less a memory speaks whose words differ."""
_FADING = 0.97
"""Of a view's past failures, with each decision."""
_EAGERNESS = 1.0
"""How fast views that foresee better are trusted more."""
_COMPLEXITY = 0.5
"""By how much less a view is trusted from the start, for each circumstance that it asks for."""
_MOST_REASONS = 5
_ELSE = ""
"""Stands for an answer that nobody gave yet; where the options are known there is none."""

View = tuple[tuple[str, ...] | str, float]
"""The names of the circumstances that a view asks for, or `words`, and how fast its memories fade."""
Shares = dict[str, float]


@dataclass(slots=True, eq=False)
class Memory:
    """One decision as it is remembered: when it was met, and what it says."""

    choice: Choice
    words: Words
    met: list[tuple[int, float]]
    """Interactions at which it was decided, with the number of traces."""
    thought_of: list[int]
    """Interactions at which it was retrieved."""
    circumstances: Mapping[str, str]
    strength: tuple[float, ...] = ()
    """`e^B` under each fading, as it was last reckoned."""

    def reckon(self, now: int, *, retrieval_votes: float) -> None:
        """How strongly it will speak at an interaction, under each fading."""
        traces = self.met
        if retrieval_votes:
            traces = [*traces, *((at, retrieval_votes) for at in self.thought_of)]
        self.strength = tuple(sum(count * (now - at) ** -decay for at, count in traces) for decay in DECAYS)

    def activation(self, now: int) -> float:
        """Base-level activation at an interaction, retrievals and all."""
        traces = [now - at for at, count in self.met for _ in range(int(count))]
        return activation([*traces, *(now - at for at in self.thought_of)])


@dataclass(frozen=True, slots=True, kw_only=True)
class Leaning:
    """What the memories say to one question: each answer with its share, and the memories that speak for the first."""

    shares: Mapping[str, float] = field(default_factory=dict)
    reasons: tuple[Choice, ...] = ()
    memories: int = 0
    """Decisions of this sort that were thought of."""

    @property
    def guess(self) -> str:
        """The likeliest answer; empty where there is none. Of equal ones the first by name."""
        named = {answer: share for answer, share in self.shares.items() if answer != _ELSE}
        return min(named, key=lambda answer: (-named[answer], answer), default="")

    @property
    def score(self) -> float:
        """The share of the likeliest answer."""
        return self.shares.get(self.guess, 0.0) if self.guess else 0.0


class Mind:
    """What is remembered of one person's decisions. `see` adds one; asking changes nothing."""

    def __init__(self, *, retrieval_votes: float = 0.0) -> None:
        self._now = 0
        self._retrieval_votes = retrieval_votes
        self._memories: dict[ChoiceSort, list[Memory]] = {}
        self._by_context: dict[tuple[ChoiceSort, Context], list[Memory]] = {}
        self._by_id: dict[str, Memory] = {}
        self._failures: dict[tuple[ChoiceSort, View], float] = {}

    @property
    def interactions(self) -> int:
        """How many decisions were seen."""
        return self._now

    def see(self, choice: Choice) -> None:
        """Remember one more decision, and note how well each view would have foreseen it."""
        question = Question.of(choice)
        words = words_of(question)
        foreseen = self._views(question, words, answers=(choice.response,))
        for view, shares in foreseen.items():
            held = self._failures.get((choice.sort, view), 0.0)
            loss = -math.log(max(shares.get(choice.response, 0.0), 1e-6))
            self._failures[choice.sort, view] = held * _FADING + loss
        self._now += 1
        memory = Memory(choice, words, [(self._now, traces_of(explicit=choice.explicit))], [], question.circumstances)
        self._memories.setdefault(choice.sort, []).append(memory)
        self._by_id[choice.id] = memory
        for context in question.contexts():
            self._by_context.setdefault((choice.sort, context), []).append(memory)
        if len(self._memories[choice.sort]) > MOST_MEMORIES:
            self._forget_oldest(choice.sort)

    def _forget_oldest(self, sort: ChoiceSort) -> None:
        oldest = self._memories[sort].pop(0)
        self._by_id.pop(oldest.choice.id, None)
        for context in Question.of(oldest.choice).contexts():
            self._by_context[sort, context].remove(oldest)

    def retrieve(self, choice_ids: Iterable[str]) -> None:
        """Leave one more trace on decisions that were thought of; those that are not remembered are passed over."""
        for identity in choice_ids:
            if memory := self._by_id.get(identity):
                memory.thought_of.append(self._now)

    def lean(self, question: Question) -> Leaning:
        """How likely each answer is, as far as the memories say."""
        memories = self._memories.get(question.sort, [])
        if not memories:
            return Leaning()
        words = words_of(question)
        views = self._views(question, words, answers=question.options)
        trust = self._trust(question.sort, views)
        answers = sorted({answer for shares in views.values() for answer in shares})
        mixed = {answer: sum(trust[view] * views[view].get(answer, 0.0) for view in views) for answer in answers}
        leaning = Leaning(shares=mixed, memories=len(memories))
        return dataclasses.replace(leaning, reasons=self._reasons(question, words, leaning.guess))

    def _trust(self, sort: ChoiceSort, views: Iterable[View]) -> dict[View, float]:
        nats = {
            view: -_EAGERNESS * self._failures.get((sort, view), 0.0) - _COMPLEXITY * _asked_for(view) for view in views
        }
        best = max(nats.values())
        weights = {view: math.exp(each - best) for view, each in nats.items()}
        total = sum(weights.values())
        return {view: weight / total for view, weight in weights.items()}

    def _views(self, question: Question, words: Words, *, answers: Sequence[str]) -> dict[View, Shares]:
        """What each view of the past says to a question."""
        memories = self._memories.get(question.sort, [])
        for memory in memories:
            memory.reckon(self._now + 1, retrieval_votes=self._retrieval_votes)
        known = {memory.choice.response for memory in memories}.union(answers)
        if not question.options:
            known.add(_ELSE)
        even = dict.fromkeys(sorted(known), 1 / len(known)) if known else {}
        near = [math.exp(_NEARNESS * (alike(words, memory.words) - 1)) for memory in memories] if words else []
        found: dict[View, Shares] = {}
        for fading, decay in enumerate(DECAYS):
            whole = _shares(memories, even, fading)
            found[(), decay] = whole
            for context in question.contexts():
                if context:
                    met = self._by_context.get((question.sort, context), [])
                    found[tuple(name for name, _ in context), decay] = _shares(met, whole, fading)
            if near:
                found["words", decay] = _shares(memories, whole, fading, near=near)
        return found

    def _reasons(self, question: Question, words: Words, guess: str) -> tuple[Choice, ...]:
        """The memories that speak most for an answer, those that are forgotten left out."""
        circumstances = question.circumstances
        told: list[tuple[float, int, Choice]] = []
        for at, memory in enumerate(self._memories.get(question.sort, [])):
            if memory.choice.response != guess:
                continue
            shared = sum(memory.circumstances.get(name) == value for name, value in circumstances.items())
            likeness = (shared / len(circumstances) if circumstances else 0.0) + alike(words, memory.words)
            base_level = memory.activation(self._now + 1)
            if base_level >= FORGOTTEN or shared == len(circumstances):
                told.append((0.5 * math.tanh(base_level + 0.5) + likeness, at, memory.choice))
        told.sort(key=lambda each: (-each[0], -each[1]))
        return tuple(choice for _, _, choice in told[:_MOST_REASONS])


def mind_of(choices: Iterable[Choice], retrieved: Mapping[str, Sequence[str]] | None = None) -> Mind:
    """The mind that has seen these decisions in this order.

    `retrieved` tells which decisions were thought of before each, by its id: each of them leaves one more trace.
    """
    mind = Mind()
    for choice in choices:
        mind.see(choice)
        mind.retrieve((retrieved or {}).get(choice.id, ()))
    return mind


def _shares(
    memories: Sequence[Memory], imagined: Shares, fading: int, *, near: Sequence[float] | None = None
) -> Shares:
    """Each answer's part of what memories say under one fading, beside what is imagined."""
    weights = {answer: _IMAGINED * share for answer, share in imagined.items()}
    for at, memory in enumerate(memories):
        weights[memory.choice.response] += memory.strength[fading] * (near[at] if near else 1.0)
    total = sum(weights.values())
    return {answer: weight / total for answer, weight in weights.items()}


def _asked_for(view: View) -> int:
    names, _ = view
    return 1 if names == "words" else len(names)
