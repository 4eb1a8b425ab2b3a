"""Assumptions and moments: what an agent or a person stated about a piece of work, and how it came out. Kept in the ledger."""

from __future__ import annotations

from dataclasses import dataclass
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
