"""What a person decided, and what was forecast before they did. A forecast orders and pre-fills; it never decides."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import ClassVar

from tacit.domain.ledger import Entry


class ChoiceSort(StrEnum):
    """What kind of decision it is."""

    REVIEW = "review"
    PERMISSION = "permission"
    CORRECTION = "correction"
    ANSWER = "answer"


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice(Entry):
    """One decision of a person; `key` names what was decided on, so that the same question decided again has the same key."""

    SORT: ClassVar[str] = "choice"

    person: str
    sort: ChoiceSort
    response: str
    """What was decided: `approve`, `deny`, the text of an answer."""
    situation: str = ""
    """In which circumstances: the task, the scope, the client."""
    artifact: str = ""
    """What was decided on: the skill's text, the command, the change."""
    stimulus: str = ""
    """What was asked."""
    features: Mapping[str, str] = field(default_factory=dict)
    """Circumstances by name that are known before one looks, such as `scope`, `client`, `tool`."""
    traits: Mapping[str, str] = field(default_factory=dict)
    """What one sees by looking at the artifact, by name, such as `kind`, `origin`."""
    reason: str = ""
    explicit: bool = False
    """Whether the person said so in as many words: a correction leaves several traces."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecast(Entry):
    """What was expected of a person; `key` is that of the choice. The last version tells what came."""

    SORT: ClassVar[str] = "forecast"

    person: str
    sort: ChoiceSort
    prior: str = ""
    prior_confidence: float = 0.0
    """Without the artifact."""
    posterior: str = ""
    posterior_confidence: float = 0.0
    """With it. An empty response: not known."""
    guess: str = ""
    """The best guess, said or not, so that the record can show whether it should have been said."""
    score: float = 0.0
    """How strongly the memories spoke for the guess, before the record was asked what such a score is worth."""
    reason: str = ""
    actual: str = ""
    """What the person decided; empty until they did."""
    surprise: bool = False
    shown: bool = False
    """Whether the person was told before they decided."""
