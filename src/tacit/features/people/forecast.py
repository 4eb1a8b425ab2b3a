"""A forecast of one decision: prior and posterior with confidence, or "not known" with the reason; and conflicts.

Decisions of one person may disagree on the same question. There are four kinds of conflict:

- *noise*: one answer was given once and did not return;
- *context*: a circumstance separates the answers, so both hold, each in its place;
- *drift*: the older answer was not given for a while, and the newer one more than once since: the newer one holds;
- *tension*: both are recent and repeated, and nothing separates them: only the person can tell.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from tacit.features.people.calibration import Settled, confidence
from tacit.features.people.ledger_entries import Choice
from tacit.features.people.prediction import DecisionModel, Likelihoods
from tacit.features.people.questions import Question

MIN_CONFIDENCE = 0.55
"""Below this confidence there is no forecast."""
MIN_DECISIONS = 3
"""With fewer decisions of that sort there is no forecast."""
TENSION_CONFIDENCE = 0.5
"""The highest confidence where the person decided both ways lately."""
MOVED = 0.3
"""A change of confidence by more than this is a surprise."""
EXPECTED = 0.65
"""From this confidence on, another decision is a surprise."""
DRIFT_DISTANCE = 8
"""Decisions between the newest of either answer from which it may be a change of mind."""
RECENT = 10
"""Both answers of a tension must be among the last so many decisions."""
REPEATED = 2
"""An answer given less often is a slip."""
SEPARATES = 0.9
"""Share of decisions that a circumstance must sort correctly to separate answers."""


class ConflictKind(StrEnum):
    """The kind of disagreement."""

    DRIFT = "drift"
    CONTEXT = "context"
    TENSION = "tension"
    NOISE = "noise"


@dataclass(frozen=True, slots=True, kw_only=True)
class Conflict:
    """Two answers of one person to the same question."""

    kind: ConflictKind
    newer: str
    older: str
    feature: str = ""
    """The circumstance that separates them, if one does."""
    choice_ids: tuple[str, ...] = ()

    @property
    def description(self) -> str:
        """The conflict in words."""
        return {
            ConflictKind.DRIFT: f"`{self.newer}` replaced `{self.older}`",
            ConflictKind.CONTEXT: f"`{self.newer}` or `{self.older}`, depending on {self.feature}",
            ConflictKind.TENSION: f"`{self.newer}` and `{self.older}` were both decided lately",
            ConflictKind.NOISE: f"mostly `{self.newer}`, sometimes `{self.older}`",
        }[self.kind]


@dataclass(frozen=True, slots=True, kw_only=True)
class Outlook:
    """What a person will probably decide. An empty response means: not known."""

    prior: str = ""
    prior_confidence: float = 0.0
    posterior: str = ""
    posterior_confidence: float = 0.0
    guess: str = ""
    score: float = 0.0
    stirred: bool = False
    """Whether looking at the artifact changed the forecast."""
    conflict: Conflict | None = None
    reasons: tuple[Choice, ...] = field(default=())
    why_not: str = ""
    """Why there is no forecast, in words."""
    why_not_code: str = ""
    """The same as a code: `too_few_decisions`, `tension`, `disagreement`, `no_reviews` or `one_sided`."""

    @property
    def known(self) -> bool:
        """Whether there is a forecast."""
        return bool(self.posterior)


Dated = tuple[int, Choice]
"""A decision with its number in the history."""


def conflict_in(history: Sequence[Choice], question: Question) -> Conflict | None:
    """Return the conflict among a person's decisions (oldest first) about a question; None where they agree."""
    same = [
        (at, choice)
        for at, choice in enumerate(history, start=1)
        if choice.sort is question.sort and _shares_most(Question.of(choice), question)
    ]
    has_conflict = len({choice.response for _, choice in same}) > 1
    return _classified(same, now=len(history)) if has_conflict else None


def _classified(same: Sequence[Dated], *, now: int) -> Conflict:
    counts = Counter(choice.response for _, choice in same)
    newest = {choice.response: at for at, choice in same}
    first, second = sorted(counts, key=lambda answer: (-counts[answer], -newest[answer]))[:2]
    newer, older = (first, second) if newest[first] >= newest[second] else (second, first)
    two = [(at, choice) for at, choice in same if choice.response in (newer, older)]
    since = sum(at > newest[older] for at, _ in two)
    feature = separating_feature([choice for _, choice in two])
    if newest[newer] - newest[older] >= DRIFT_DISTANCE and since >= REPEATED:
        kind = ConflictKind.DRIFT
    elif min(counts[newer], counts[older]) < REPEATED:
        kind, newer, older = ConflictKind.NOISE, first, second
    elif feature:
        kind = ConflictKind.CONTEXT
    elif now - newest[older] < RECENT and _alternate(two):
        kind = ConflictKind.TENSION
    else:
        kind, newer, older = ConflictKind.NOISE, first, second
    ids = tuple(choice.id for _, choice in two)
    separated_by = feature if kind is ConflictKind.CONTEXT else ""
    return Conflict(kind=kind, newer=newer, older=older, feature=separated_by, choice_ids=ids)


def separating_feature(choices: Sequence[Choice]) -> str:
    """Return the circumstance whose values sort the answers best, if any sorts nearly all; each value must repeat."""
    best, found = SEPARATES, ""
    names = sorted({name for choice in choices for name in Question.of(choice).circumstances})
    for name in names:
        by_value: dict[str, Counter[str]] = {}
        for choice in choices:
            value = Question.of(choice).circumstances.get(name, "")
            by_value.setdefault(value, Counter())[choice.response] += 1
        answers = {counts.most_common(1)[0][0] for counts in by_value.values()}
        if len(answers) < 2 or any(counts.total() < REPEATED for counts in by_value.values()):
            continue
        sorted_share = sum(max(counts.values()) for counts in by_value.values()) / len(choices)
        if sorted_share >= best:
            best, found = sorted_share + 1e-9, name
    return found


def _alternate(two: Sequence[Dated]) -> bool:
    """Return whether each answer is at least a third of the latest ones."""
    latest = Counter(choice.response for _, choice in two[-2 * REPEATED - 2 :])
    return len(latest) > 1 and min(latest.values()) * 3 >= latest.total()


def _shares_most(one: Question, other: Question) -> bool:
    """Return whether two questions have the same circumstances, except at most one."""
    ours, theirs = one.circumstances, other.circumstances
    names = ours.keys() | theirs.keys()
    differing = sum(ours.get(name) != theirs.get(name) for name in names)
    return differing <= (1 if len(names) > 1 else 0)


def foresee(
    model: DecisionModel, question: Question, *, record: Sequence[Settled] = (), conflict: Conflict | None = None
) -> Outlook:
    """Forecast a decision twice, without the artifact and with it; `record` decides which confidence is supported."""
    options = len(question.options) or 2
    before, after = model.likelihoods(question.blind), model.likelihoods(question)
    prior_confidence = confidence(before.score, record, even=1 / options)
    posterior_confidence = confidence(after.score, record, even=1 / options)
    has_tension = conflict is not None and conflict.kind is ConflictKind.TENSION
    if has_tension:
        posterior_confidence = min(posterior_confidence, TENSION_CONFIDENCE)
    code, why_not = _why_not(after, posterior_confidence, conflict if has_tension else None)
    has_prior = prior_confidence >= MIN_CONFIDENCE and before.decisions >= MIN_DECISIONS
    prior = (before.guess if has_prior else "", prior_confidence)
    posterior = ("" if why_not else after.guess, posterior_confidence)
    return Outlook(
        prior=prior[0],
        prior_confidence=prior[1],
        posterior=posterior[0],
        posterior_confidence=posterior[1],
        guess=after.guess,
        score=after.score,
        stirred=stirred(prior, posterior),
        conflict=conflict,
        reasons=after.reasons,
        why_not=why_not,
        why_not_code=code,
    )


def _why_not(likelihoods: Likelihoods, sure: float, tension: Conflict | None) -> tuple[str, str]:
    """Return the code and the words of why there is no forecast; empty where there is one."""
    if likelihoods.decisions < MIN_DECISIONS:
        return "too_few_decisions", f"too few decisions of this sort: {likelihoods.decisions} of {MIN_DECISIONS}"
    if tension is not None:
        return "tension", f"undecided: {tension.description}"
    if sure < MIN_CONFIDENCE:
        return "disagreement", "earlier decisions do not agree"
    return "", ""


def stirred(prior: tuple[str, float], posterior: tuple[str, float]) -> bool:
    """Return whether looking changed the forecast: another answer, or another confidence in it."""
    (before, less), (after, more) = prior, posterior
    return (bool(before) and bool(after) and before != after) or abs(more - less) > MOVED


def surprised(expected: str, confidence: float, actual: str) -> bool:
    """Return whether a decision differs from what was forecast with some confidence."""
    return bool(expected) and confidence >= EXPECTED and actual != expected


def describe(outlook: Outlook) -> str:
    """Return a forecast in one line: the answer and how sure that is, or why there is none."""
    if not outlook.known:
        return f"not known: {outlook.why_not}"
    is_changed = outlook.prior and outlook.prior != outlook.posterior
    prior = f"; without reading it: {outlook.prior}" if is_changed else ""
    return f"{outlook.posterior} ({outlook.posterior_confidence:.0%}{prior})"
