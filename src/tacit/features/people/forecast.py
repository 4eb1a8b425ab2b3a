"""Where decisions of one person disagree: the same question, answered differently → what kind of disagreement that is. Pure.

Four kinds, each told by what the decisions show rather than by default:

- *noise*: one answer stands alone and did not come back;
- *context*: a circumstance tells the answers apart, so both hold, each where it belongs;
- *drift*: the older answer has not been given for a while, and the newer one more than once since: the newer one holds;
- *tension*: both are recent, both were given more than once, and nothing tells them apart: only the person can say.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from tacit.domain.choice import Choice
from tacit.features.people.calibration import Settled, confidence
from tacit.features.people.prediction import Leaning, Mind
from tacit.features.people.questions import Question

APART = 8
"""Interactions between the newest of either answer from which it may be a change of mind."""
LATELY = 10
"""Interactions back to which both answers must reach for a tension."""
AGAIN = 2
"""Times that an answer must have been given to be more than a slip."""
PURE = 0.9
"""Share of decisions that a circumstance must sort rightly to tell answers apart."""


class ConflictKind(StrEnum):
    """What kind of disagreement it is."""

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
    """The circumstance that tells them apart, where one does."""
    choice_ids: tuple[str, ...] = ()

    @property
    def told(self) -> str:
        """In words."""
        return {
            ConflictKind.DRIFT: f"`{self.newer}` has taken the place of `{self.older}`",
            ConflictKind.CONTEXT: f"`{self.newer}` or `{self.older}`, depending on {self.feature}",
            ConflictKind.TENSION: f"`{self.newer}` and `{self.older}` were both decided lately",
            ConflictKind.NOISE: f"mostly `{self.newer}`, `{self.older}` now and then",
        }[self.kind]


Dated = tuple[int, Choice]
"""A decision with the number of the interaction that it was."""


def conflict_in(history: Sequence[Choice], question: Question) -> Conflict | None:
    """The disagreement among a person's decisions (oldest first) that bears on a question; nothing where they agree."""
    now = len(history)
    same = [
        (at, choice)
        for at, choice in enumerate(history, start=1)
        if choice.sort is question.sort and _shares_most(Question.of(choice), question)
    ]
    return _sorted_out(same, now=now) if len({choice.response for _, choice in same}) > 1 else None


def _sorted_out(same: Sequence[Dated], *, now: int) -> Conflict:
    counts = Counter(choice.response for _, choice in same)
    newest = {choice.response: at for at, choice in same}
    first, second = sorted(counts, key=lambda answer: (-counts[answer], -newest[answer]))[:2]
    newer, older = (first, second) if newest[first] >= newest[second] else (second, first)
    two = [(at, choice) for at, choice in same if choice.response in (newer, older)]
    since = sum(at > newest[older] for at, _ in two)
    feature = telling_apart([choice for _, choice in two])
    if newest[newer] - newest[older] >= APART and since >= AGAIN:
        kind = ConflictKind.DRIFT
    elif min(counts[newer], counts[older]) < AGAIN:
        kind, newer, older = ConflictKind.NOISE, first, second
    elif feature:
        kind = ConflictKind.CONTEXT
    elif now - newest[older] < LATELY and _taking_turns(two):
        kind = ConflictKind.TENSION
    else:
        kind, newer, older = ConflictKind.NOISE, first, second
    told_apart = feature if kind is ConflictKind.CONTEXT else ""
    ids = tuple(choice.id for _, choice in two)
    return Conflict(kind=kind, newer=newer, older=older, feature=told_apart, choice_ids=ids)


def telling_apart(choices: Sequence[Choice]) -> str:
    """The circumstance whose values sort the answers best, if any sorts nearly all; each value must be seen again."""
    best, found = PURE, ""
    names = sorted({name for choice in choices for name in Question.of(choice).circumstances})
    for name in names:
        by_value: dict[str, Counter[str]] = {}
        for choice in choices:
            value = Question.of(choice).circumstances.get(name, "")
            by_value.setdefault(value, Counter())[choice.response] += 1
        answers = {counts.most_common(1)[0][0] for counts in by_value.values()}
        if len(answers) < 2 or any(counts.total() < AGAIN for counts in by_value.values()):
            continue
        rightly = sum(max(counts.values()) for counts in by_value.values()) / len(choices)
        if rightly >= best:
            best, found = rightly + 1e-9, name
    return found


def _taking_turns(two: Sequence[Dated]) -> bool:
    """Whether neither answer is rare among the latest: a third of them at least."""
    lately = Counter(choice.response for _, choice in two[-2 * AGAIN - 2 :])
    return len(lately) > 1 and min(lately.values()) * 3 >= lately.total()


def _shares_most(one: Question, other: Question) -> bool:
    """Whether two questions are the same as far as circumstances tell: at most one of them differs."""
    ours, theirs = one.circumstances, other.circumstances
    names = ours.keys() | theirs.keys()
    differing = sum(ours.get(name) != theirs.get(name) for name in names)
    return differing <= (1 if len(names) > 1 else 0)


FLOOR = 0.55
"""Below this confidence nothing is said: not known."""
LEAST_MEMORIES = 3
"""Decisions of that sort below which nothing is said."""
TENSE = 0.5
"""The most confidence where the person is seen to be of two minds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outlook:
    """What is expected of a person. An empty response means: not known."""

    prior: str = ""
    prior_confidence: float = 0.0
    posterior: str = ""
    posterior_confidence: float = 0.0
    guess: str = ""
    score: float = 0.0
    stirred: bool = False
    """Whether looking at the artifact changed what is expected."""
    conflict: Conflict | None = None
    reasons: tuple[Choice, ...] = field(default=())
    why_not: str = ""
    """Why nothing is said, where nothing is."""

    @property
    def known(self) -> bool:
        """Whether something is said."""
        return bool(self.posterior)


def foresee(
    mind: Mind, question: Question, *, record: Sequence[Settled] = (), conflict: Conflict | None = None
) -> Outlook:
    """Ask twice: without the artifact, and with it. What the record does not bear out is not said."""
    options = len(question.options) or 2
    before, after = mind.lean(question.blind), mind.lean(question)
    prior_confidence = confidence(before.score, record, even=1 / options)
    sure = confidence(after.score, record, even=1 / options)
    tense = conflict is not None and conflict.kind is ConflictKind.TENSION
    if tense:
        sure = min(sure, TENSE)
    why_not = _why_not(after, sure, conflict if tense else None)
    prior = (before.guess if prior_confidence >= FLOOR and before.memories >= LEAST_MEMORIES else "", prior_confidence)
    posterior = ("" if why_not else after.guess, sure)
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
    )


def _why_not(leaning: Leaning, sure: float, tension: Conflict | None) -> str:
    if leaning.memories < LEAST_MEMORIES:
        return f"too little is known: {leaning.memories} of at least {LEAST_MEMORIES} decisions of this sort"
    if tension is not None:
        return f"they are of two minds: {tension.told}"
    if sure < FLOOR:
        return "earlier decisions do not agree"
    return ""


MOVED = 0.3
"""A change of confidence by more than this is a surprise."""
EXPECTED = 0.65
"""From this confidence on it is a surprise if something else comes."""


def stirred(prior: tuple[str, float], posterior: tuple[str, float]) -> bool:
    """Whether looking changed what is expected: another answer, or another confidence in it."""
    (before, less), (after, more) = prior, posterior
    return (bool(before) and bool(after) and before != after) or abs(more - less) > MOVED


def surprised(expected: str, confidence: float, actual: str) -> bool:
    """Whether a decision is other than what was said with some confidence."""
    return bool(expected) and confidence >= EXPECTED and actual != expected
