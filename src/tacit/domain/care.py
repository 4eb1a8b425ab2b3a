"""Care: something that maintenance found in the library, why, and the change it proposes. Applied elsewhere."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from tacit.domain.candidate import Candidate
from tacit.domain.ledger import Remark
from tacit.domain.lifecycle import CodedReason, Transition

BY_ITSELF = "tacit.tend"
"""The author of changes that maintenance makes without a person."""
MIRROR = "tacit.mirror"
"""The author of versions copied from the person's own store, and of their status changes."""


class CareKind(StrEnum):
    """What sort of finding it is."""

    STANDING = "standing"
    """Verified evidence changes a version's status: trusted, back on trial, suspended or retired."""
    STALE = "stale"
    """Nothing has confirmed the version for a long time."""
    VALUE = "value"
    """The version is shown and does not help."""
    MERGE = "merge"
    """Two skills have the same content."""
    SUPERSEDED = "superseded"
    """A draft still waits although something newer, or the same, was approved."""
    CONTRADICTION = "contradiction"
    """Two skills cannot both be followed."""
    CONTRACT = "contract"
    """Something that the skill relies on has changed or is missing."""
    VALIDATION = "validation"
    """The steps were run again."""
    COMPOSITE = "composite"
    """A part of the composite has changed or is missing."""
    REFINEMENT = "refinement"
    """Runs show a better way."""
    REGRESSION = "regression"
    """The version fails a task that its parent solved."""
    PROMOTION = "promotion"
    """The skill qualifies for a broader scope."""


class CareReason(StrEnum):
    """Why a finding was made. Transitions that maintenance appends store these codes."""

    TRUST_EARNED = "trust_earned"
    TRUST_LOST = "trust_lost"
    BELOW_RETIREMENT_LINE = "below_retirement_line"
    SUDDEN_DROP = "sudden_drop"
    SUSPENDED = "suspended"
    LAST_SUCCESS_TOO_OLD = "last_success_too_old"
    NEVER_CONFIRMED = "never_confirmed"
    NEVER_FOLLOWED = "never_followed"
    BETTER_WITHOUT = "better_without"
    FIX_NO_LONGER_HELPS = "fix_no_longer_helps"
    TAKEN_BACK = "taken_back"
    SAME_AS = "same_as"
    SUPERSEDED_BY_VERSION = "superseded_by_version"
    SUPERSEDED_BY_SKILL = "superseded_by_skill"
    MERGED_INTO = "merged_into"
    SIMILAR_SKILL = "similar_skill"
    STEP_KEPT = "step_kept"
    CONTRADICTS = "contradicts"
    CONTRADICTION_OPEN = "contradiction_open"
    OBSOLETE = "obsolete"
    PART_MERGED = "part_merged"
    PART_UNUSABLE = "part_unusable"
    PART_CHANGED = "part_changed"
    FILE_MISSING = "file_missing"
    TARGET_MISSING = "target_missing"
    PROGRAM_MISSING = "program_missing"
    PROGRAM_CHANGED = "program_changed"
    PASSED = "passed"
    FAILED = "failed"
    NOT_CHECKABLE = "not_checkable"
    WORKS_AGAIN = "works_again"
    STEP_DOES_NOT_WORK = "step_does_not_work"
    STEP_ADDED_BY_ALL = "step_added_by_all"
    STEP_SKIPPED_BY_ALL = "step_skipped_by_all"
    SHORTER_WAY = "shorter_way"
    LOW_SUCCESS_RATE = "low_success_rate"
    HIGH_FRICTION = "high_friction"
    REPEATED_CORRECTION = "repeated_correction"
    FAILS_SOLVED_TASKS = "fails_solved_tasks"
    SEEN_IN_SESSIONS = "seen_in_sessions"
    KNOWN_ELSEWHERE = "known_elsewhere"
    TRUSTED_AND_PORTABLE = "trusted_and_portable"


class Advice(StrEnum):
    """What a person can do about a finding."""

    SHOW_SKILL = "show_skill"
    RESTORE_OR_RETIRE = "restore_or_retire"
    VERIFY_OR_PIN = "verify_or_pin"
    IMPROVE_OR_RETIRE = "improve_or_retire"
    MERGE_OR_RETIRE = "merge_or_retire"
    UNDO_SET_ASIDE = "undo_set_aside"
    RETIRE_ONE = "retire_one"
    RECOMPOSE = "recompose"
    RESTORE_PART = "restore_part"
    RETIRE_SKILL = "retire_skill"
    EDIT_SKILL = "edit_skill"
    PROPOSE_REVISION = "propose_revision"
    REVIEW_WAITING = "review_waiting"
    ROLL_BACK = "roll_back"
    PROMOTE = "promote"
    PINNED = "pinned"
    NOT_APPLIED = "not_applied"


@dataclass(frozen=True, slots=True, kw_only=True)
class Care:
    """One finding and what applying it does: a status change, a candidate for the gate, a remark, or only advice."""

    kind: CareKind
    subject: str
    """Id of the version, or of the skill."""
    name: str
    reasons: tuple[CodedReason, ...]
    skill_id: str = ""
    move: Transition | None = None
    candidate: Candidate | None = None
    remark: Remark | None = None
    evidence_ids: tuple[str, ...] = ()
    advice: tuple[CodedReason, ...] = ()
    """What a person can do about it, best a command."""
    applied: bool = False

    @property
    def codes(self) -> tuple[str, ...]:
        """The codes of the reasons."""
        return tuple(reason.code for reason in self.reasons)
