"""The ledger entries of people: their decisions and forecasts of them, assumptions, and moments to learn from.

A forecast sorts and pre-fills; it never decides. An assumption is stated before the work, and compared with what happened.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import ClassVar

from tacit.domain.ledger import LedgerEntry
from tacit.domain.trajectory import Origin


class Phase(StrEnum):
    """When something is learned."""

    PROSPECTIVE = "prospective"
    IN_FLIGHT = "in-flight"
    CORRECTIVE = "corrective"
    RETROSPECTIVE = "retrospective"


class Aspect(StrEnum):
    """What an assumption is about."""

    COMPLEXITY = "complexity"
    APPROACH = "approach"
    PREFERENCES = "preferences"
    SCOPE = "scope"
    RISK = "risk"
    """Of a pre-mortem: what may go wrong."""


class Held(StrEnum):
    """How an assumption came out."""

    OPEN = "open"
    HELD = "held"
    WRONG = "wrong"
    UNKNOWN = "unknown"
    """The work ended, and nothing shows it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Assumption(LedgerEntry):
    """One version of an assumption; the last one has its outcome."""

    SORT: ClassVar[str] = "assumption"

    text: str
    aspect: Aspect = Aspect.APPROACH
    phase: Phase = Phase.PROSPECTIVE
    """When it was stated."""
    check: str = ""
    """A command that shows whether it holds, if there is one."""
    task: str = ""
    held: Held = Held.OPEN
    instead: str = ""
    """What was true instead, if it was wrong."""
    reason: str = ""
    """What shows how it came out."""
    version_id: str = ""
    """The skill whose precondition it is."""
    steps: tuple[int, ...] = ()
    """Steps of the run, named in `sources`, that show how it came out."""
    settled_by: str = ""
    """Who settled it; `by` stays who stated it and chose its check."""
    lesson: str = ""
    """The lesson from its being wrong; it waits for review."""
    origin: Origin = Origin.AGENT


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment(LedgerEntry):
    """Something to learn from: a pre-mortem, a checkpoint, a correction, a refusal, a retrospective."""

    SORT: ClassVar[str] = "moment"

    phase: Phase
    what: str
    """A short name: `pre-mortem`, `checkpoint`, `correction`, `denied`, `gate`, `ended`."""
    text: str = ""
    task: str = ""
    assumptions: tuple[str, ...] = ()
    """Keys of the assumptions that it states or checks."""
    origin: Origin = Origin.AGENT


class ChoiceSort(StrEnum):
    """What kind of decision it is."""

    REVIEW = "review"
    PERMISSION = "permission"
    CORRECTION = "correction"
    ANSWER = "answer"


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice(LedgerEntry):
    """One decision of a person; `key` identifies the question, so that the same question has the same key again."""

    SORT: ClassVar[str] = "choice"

    person: str
    sort: ChoiceSort
    response: str
    """What was decided: `approve`, `deny`, the text of an answer."""
    situation: str = ""
    """The circumstances: task, scope, client."""
    artifact: str = ""
    """What was decided on: the skill's text, the command, the change."""
    stimulus: str = ""
    """What was asked."""
    features: Mapping[str, str] = field(default_factory=dict)
    """Circumstances known before looking at the artifact, such as `scope`, `client`, `tool`."""
    traits: Mapping[str, str] = field(default_factory=dict)
    """Properties of the artifact, such as `kind`, `origin`."""
    reason: str = ""
    explicit: bool = False
    """Whether the person stated it in words; a correction can also be inferred."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecast(LedgerEntry):
    """The expected decision of a person; `key` is that of the choice. The last version has the actual decision."""

    SORT: ClassVar[str] = "forecast"

    person: str
    sort: ChoiceSort
    prior: str = ""
    prior_confidence: float = 0.0
    """Confidence without the artifact."""
    posterior: str = ""
    posterior_confidence: float = 0.0
    """Confidence with the artifact. An empty response means unknown."""
    guess: str = ""
    """The best guess, even if it was not shown, so that its accuracy can be measured."""
    score: float = 0.0
    """The raw score of the guess, before calibration."""
    reason: str = ""
    actual: str = ""
    """What the person decided; empty until they did."""
    surprise: bool = False
    shown: bool = False
    """Whether it was shown to the person before they decided."""
