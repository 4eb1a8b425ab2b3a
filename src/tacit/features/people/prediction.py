"""Past decisions of one person → how likely each answer to the next question is, and why. Stores nothing.

Decisions are weighted by activation (ACT-R): every time something happens it leaves a trace, and traces fade by a power of
their age, `B = ln(sum age^-d)`, counted in decisions and not in days. An explicit correction leaves several traces.

Which circumstances matter to a person is not known beforehand, so several views of the past vote: all decisions, those that
share one circumstance, two, or all of them, and those with similar words; each once with the slow fading of ACT-R and once
with a steep one, which follows a change of mind. A view is trusted as far as it would have predicted earlier decisions.

What was used as a reason becomes more active and is sooner named again, but it gains no vote by that: otherwise a forecast
would strengthen itself.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from tacit.features.people.ledger_entries import Choice, ChoiceSort
from tacit.features.people.questions import Context, Question, Words, similarity, words_of

DECAY = 0.5
"""How fast traces fade in ACT-R."""
STEEP_DECAY = 1.0
"""The fading that follows a change of mind."""
DECAYS = (DECAY, STEEP_DECAY)
CORRECTION_TRACES = 5
"""Traces of one explicit correction."""
FORGOTTEN = -0.5
"""A decision with less activation is not named as a reason."""
MAX_DECISIONS = 300
"""The latest decisions that count."""
_PRIOR_WEIGHT = 0.3
"""Weight of an even distribution, so that one decision is no certainty."""
_NEARNESS = 6.0
"""How much less a decision counts whose words differ."""
_LOSS_DECAY = 0.97
"""Of a view's past errors, with each decision."""
_LEARNING_RATE = 1.0
"""How fast views that predict better are trusted more."""
_COMPLEXITY = 0.5
"""How much less a view is trusted from the start, for each circumstance it uses."""
_MAX_REASONS = 5
_OTHER = ""
"""Stands for an answer that was never given; there is none where the options are known."""

View = tuple[tuple[str, ...] | str, float]
"""The names of the circumstances that a view uses, or `words`, and how fast its decisions fade."""
Shares = dict[str, float]


def presence(ages: Iterable[float], *, decay: float = DECAY) -> float:
    """Return the sum of faded traces, `e^B`: 0 without traces. No age is less than one decision."""
    return math.fsum(max(1.0, age) ** -decay for age in ages)


def activation(ages: Iterable[float], *, decay: float = DECAY) -> float:
    """Return the base-level activation `B`; minus infinity without traces."""
    total = presence(ages, decay=decay)
    return math.log(total) if total else -math.inf


@dataclass(slots=True, eq=False)
class RememberedDecision:
    """One decision: when it was made, and what it says."""

    choice: Choice
    words: Words
    made: list[tuple[int, float]]
    """Numbers of the decisions at which it was made, with the number of traces."""
    retrieved: list[int]
    """Numbers of the decisions at which it was used as a reason."""
    circumstances: Mapping[str, str]
    strength: tuple[float, ...] = ()
    """`e^B` under each fading, as last computed."""

    def update(self, now: int, *, retrieval_votes: float) -> None:
        """Compute its weight at a decision, under each fading."""
        traces = self.made
        if retrieval_votes:
            traces = [*traces, *((at, retrieval_votes) for at in self.retrieved)]
        self.strength = tuple(sum(count * (now - at) ** -decay for at, count in traces) for decay in DECAYS)

    def activation(self, now: int) -> float:
        """Return the base-level activation at a decision, retrievals included."""
        traces = [now - at for at, count in self.made for _ in range(int(count))]
        return activation([*traces, *(now - at for at in self.retrieved)])


@dataclass(frozen=True, slots=True, kw_only=True)
class Likelihoods:
    """Each answer to one question with its share, and the decisions that support the likeliest."""

    shares: Mapping[str, float] = field(default_factory=dict)
    reasons: tuple[Choice, ...] = ()
    decisions: int = 0
    """Decisions of this sort that were counted."""

    @property
    def guess(self) -> str:
        """The likeliest answer; empty where there is none. Of equal ones the first by name."""
        named = {answer: share for answer, share in self.shares.items() if answer != _OTHER}
        return min(named, key=lambda answer: (-named[answer], answer), default="")

    @property
    def score(self) -> float:
        """The share of the likeliest answer."""
        return self.shares.get(self.guess, 0.0) if self.guess else 0.0


class DecisionModel:
    """A model of one person's decisions. `see` adds one; asking changes nothing."""

    def __init__(self, *, retrieval_votes: float = 0.0) -> None:
        self._now = 0
        self._retrieval_votes = retrieval_votes
        self._decisions: dict[ChoiceSort, list[RememberedDecision]] = {}
        self._by_context: dict[tuple[ChoiceSort, Context], list[RememberedDecision]] = {}
        self._by_id: dict[str, RememberedDecision] = {}
        self._losses: dict[tuple[ChoiceSort, View], float] = {}

    def see(self, choice: Choice) -> None:
        """Add one decision, and note how well each view would have predicted it."""
        question = Question.of(choice)
        words = words_of(question)
        predicted = self._views(question, words, answers=(choice.response,))
        for view, shares in predicted.items():
            before = self._losses.get((choice.sort, view), 0.0)
            loss = -math.log(max(shares.get(choice.response, 0.0), 1e-6))
            self._losses[choice.sort, view] = before * _LOSS_DECAY + loss
        self._now += 1
        made = [(self._now, float(CORRECTION_TRACES if choice.explicit else 1))]
        decision = RememberedDecision(choice, words, made, [], question.circumstances)
        self._decisions.setdefault(choice.sort, []).append(decision)
        self._by_id[choice.id] = decision
        for context in question.contexts():
            self._by_context.setdefault((choice.sort, context), []).append(decision)
        if len(self._decisions[choice.sort]) > MAX_DECISIONS:
            self._forget_oldest(choice.sort)

    def _forget_oldest(self, sort: ChoiceSort) -> None:
        oldest = self._decisions[sort].pop(0)
        self._by_id.pop(oldest.choice.id, None)
        for context in Question.of(oldest.choice).contexts():
            self._by_context[sort, context].remove(oldest)

    def retrieve(self, choice_ids: Iterable[str]) -> None:
        """Leave one more trace on decisions that were used as reasons; unknown ids are skipped."""
        for identity in choice_ids:
            if decision := self._by_id.get(identity):
                decision.retrieved.append(self._now)

    def likelihoods(self, question: Question) -> Likelihoods:
        """Return how likely each answer is."""
        decisions = self._decisions.get(question.sort, [])
        if not decisions:
            return Likelihoods()
        words = words_of(question)
        views = self._views(question, words, answers=question.options)
        trust = self._trust(question.sort, views)
        answers = sorted({answer for shares in views.values() for answer in shares})
        mixed = {answer: sum(trust[view] * views[view].get(answer, 0.0) for view in views) for answer in answers}
        found = Likelihoods(shares=mixed, decisions=len(decisions))
        return dataclasses.replace(found, reasons=self._reasons(question, words, found.guess))

    def _trust(self, sort: ChoiceSort, views: Iterable[View]) -> dict[View, float]:
        nats = {
            view: -_LEARNING_RATE * self._losses.get((sort, view), 0.0) - _COMPLEXITY * _circumstances_used(view)
            for view in views
        }
        best = max(nats.values())
        weights = {view: math.exp(each - best) for view, each in nats.items()}
        total = sum(weights.values())
        return {view: weight / total for view, weight in weights.items()}

    def _views(self, question: Question, words: Words, *, answers: Sequence[str]) -> dict[View, Shares]:
        """Return the prediction of each view."""
        decisions = self._decisions.get(question.sort, [])
        for decision in decisions:
            decision.update(self._now + 1, retrieval_votes=self._retrieval_votes)
        known = {decision.choice.response for decision in decisions}.union(answers)
        if not question.options:
            known.add(_OTHER)
        even = dict.fromkeys(sorted(known), 1 / len(known)) if known else {}
        near = [math.exp(_NEARNESS * (similarity(words, each.words) - 1)) for each in decisions] if words else []
        found: dict[View, Shares] = {}
        for fading, decay in enumerate(DECAYS):
            overall = _shares(decisions, even, fading)
            found[(), decay] = overall
            for context in question.contexts():
                if context:
                    sharing = self._by_context.get((question.sort, context), [])
                    found[tuple(name for name, _ in context), decay] = _shares(sharing, overall, fading)
            if near:
                found["words", decay] = _shares(decisions, overall, fading, near=near)
        return found

    def _reasons(self, question: Question, words: Words, guess: str) -> tuple[Choice, ...]:
        """Return the decisions that support an answer most, without forgotten ones."""
        circumstances = question.circumstances
        found: list[tuple[float, int, Choice]] = []
        for at, decision in enumerate(self._decisions.get(question.sort, [])):
            if decision.choice.response != guess:
                continue
            shared = sum(decision.circumstances.get(name) == value for name, value in circumstances.items())
            likeness = (shared / len(circumstances) if circumstances else 0.0) + similarity(words, decision.words)
            base_level = decision.activation(self._now + 1)
            if base_level >= FORGOTTEN or shared == len(circumstances):
                found.append((0.5 * math.tanh(base_level + 0.5) + likeness, at, decision.choice))
        found.sort(key=lambda each: (-each[0], -each[1]))
        return tuple(choice for _, _, choice in found[:_MAX_REASONS])


def _shares(
    decisions: Sequence[RememberedDecision], prior: Shares, fading: int, *, near: Sequence[float] | None = None
) -> Shares:
    """Return each answer's share of the decisions under one fading, together with a weighted prior."""
    weights = {answer: _PRIOR_WEIGHT * share for answer, share in prior.items()}
    for at, decision in enumerate(decisions):
        weights[decision.choice.response] += decision.strength[fading] * (near[at] if near else 1.0)
    total = sum(weights.values())
    return {answer: weight / total for answer, weight in weights.items()}


def _circumstances_used(view: View) -> int:
    names, _ = view
    return 1 if names == "words" else len(names)
