"""The four learning moments: before work, during it, when somebody says no, and after the end.

An assumption is stated before or during work, checked at milestones, and compared with what happened.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar

from tacit.domain.ledger import LedgerEntry
from tacit.domain.origin import Origin


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
    """How an assumption stands to what happened."""

    OPEN = "open"
    HELD = "held"
    WRONG = "wrong"
    UNKNOWN = "unknown"
    """The work ended, and nothing tells."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Assumption(LedgerEntry):
    """One version of something that was taken for granted; the last one tells how it came out."""

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
    """What was the case, where it was wrong."""
    reason: str = ""
    """What shows how it came out."""
    version_id: str = ""
    """The skill whose precondition it is."""
    steps: tuple[int, ...] = ()
    """Steps of the run, named in `sources`, that show how it came out."""
    settled_by: str = ""
    """Who said or found how it came out; `by` stays who stated it, and chose its check."""
    lesson: str = ""
    """The version that its being wrong gave; it waits for a person."""
    origin: Origin = Origin.AGENT


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment(LedgerEntry):
    """Something happened that one learns from: a pre-mortem, a checkpoint, a correction, a refusal, a look back."""

    SORT: ClassVar[str] = "moment"

    phase: Phase
    what: str
    """A short name: `pre-mortem`, `checkpoint`, `correction`, `denied`, `gate`, `ended`."""
    text: str = ""
    task: str = ""
    assumptions: tuple[str, ...] = ()
    """Keys of the assumptions that it states or looks at."""
    origin: Origin = Origin.AGENT
