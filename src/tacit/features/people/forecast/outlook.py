"""A question, a mind and its record → what is said aloud: prior and posterior with confidence, or "not known". Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from tacit.domain.choice import Choice
from tacit.features.people.forecast.calibration import Settled, confidence
from tacit.features.people.forecast.conflicts import Conflict, ConflictKind
from tacit.features.people.forecast.prediction import Leaning, Mind
from tacit.features.people.forecast.question import Question
from tacit.features.people.forecast.surprise import stirred

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
