"""Care: one thing that looking after the library found, why, and what would come of it. Proposed; carried out elsewhere."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from tacit.domain.candidate import Candidate
from tacit.domain.lifecycle import Transition
from tacit.domain.remark import Remark

BY_ITSELF = "tacit.tend"
"""Who moves a version, or puts two together, when nobody asked for it."""


class CareKind(StrEnum):
    """What sort of care it is."""

    STANDING = "standing"
    """Verified evidence has moved a version: trusted, back on trial, suspended or retired by test."""
    STALE = "stale"
    """Nothing has confirmed it for long."""
    VALUE = "value"
    """It is shown and does not help."""
    MERGE = "merge"
    """Two skills say the same."""
    SUPERSEDED = "superseded"
    """It still waits although something newer, or the same, was approved."""
    CONTRADICTION = "contradiction"
    """Two skills cannot both be done."""
    CONTRACT = "contract"
    """What it relies on has changed or is gone."""
    VALIDATION = "validation"
    """Its steps were tried again."""
    COMPOSITE = "composite"
    """A part of it has changed or is gone."""
    REFINEMENT = "refinement"
    """Runs show a better way."""
    REGRESSION = "regression"
    """It fails where its parent worked."""
    PROMOTION = "promotion"
    """It has earned a broader scope."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Care:
    """One finding, and what applying it does: a move, a candidate put before the gate, a remark, or nothing but advice."""

    kind: CareKind
    subject: str
    """Id of the version, or of the skill."""
    name: str
    reason: str
    skill_id: str = ""
    move: Transition | None = None
    candidate: Candidate | None = None
    remark: Remark | None = None
    evidence_ids: tuple[str, ...] = ()
    advice: str = ""
    """What a person could do about it, best a command."""
    applied: bool = False
