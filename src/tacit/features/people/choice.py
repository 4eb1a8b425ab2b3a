"""A person's decision, and its forecast. A forecast sorts and pre-fills; it never decides."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import ClassVar

from tacit.domain.ledger import LedgerEntry


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
