"""Codes for why recall gives a skill or does not. Loads nothing heavy: hooks import it."""

from __future__ import annotations

from enum import StrEnum


class ReasonCode(StrEnum):
    """Why a skill was left out, or why nothing was given. `recall.reasons` writes the English."""

    # Decided by ranking and cutting.
    BELOW_THRESHOLD = "below_threshold"
    NEAREST_MISS = "nearest_miss"
    """Below the threshold, and among the nearest of those."""
    ALREADY_SHOWN = "already_shown"
    OVER_LIMIT = "over_limit"
    OVER_BUDGET = "over_budget"
    SAME_CONTENT = "same_content"
    PART_OF_COMPOSITE = "part_of_composite"
    SHADOWED = "shadowed"
    NO_CLOSE_PASSAGE = "no_close_passage"
    NOT_WEIGHED = "not_weighed"
    """More norms hold here than recall weighs."""
    HELD_BACK = "held_back"
    """Kept from this run as a control."""

    # The skill may not be used for this query.
    OTHER_SCOPE = "other_scope"
    OTHER_KIND = "other_kind"
    OTHER_MOMENT = "other_moment"
    """Shown at the start of a session or at the call that it is about, not for the words of a task."""
    OTHER_PERSON = "other_person"
    OTHER_CATEGORY = "other_category"
    EXCLUDED = "excluded"
    EXCLUDED_MODEL = "excluded_model"
    MISSING_TOOLS = "missing_tools"
    NOT_ALLOWED = "not_allowed"
    PARTS_MISSING_TOOLS = "parts_missing_tools"
    PARTS_NOT_ALLOWED = "parts_not_allowed"
    PRECONDITION_FALSE = "precondition_false"
    LOW_RELIABILITY = "low_reliability"

    # Only for a whole answer.
    NONE_REQUESTED = "none_requested"
    NOT_USABLE_HERE = "not_usable_here"
    ONLY_COMMON_WORDS = "only_common_words"
    NO_SHARED_WORDS = "no_shared_words"
    NOTHING_LEARNED = "nothing_learned"
    """The store holds no skill."""
    NOTHING_APPROVED = "nothing_approved"
    """Skills wait for a review, and none is approved."""
    NOTHING_IN_USE = "nothing_in_use"
    """There are skills, and none of them is in use any more."""
    PAUSED = "paused"
    HOOK_OFF = "hook_off"
    """Hooks are off here: paused, excluded by the settings, or without a store."""

    # Why a plan is empty or incomplete.
    NOT_CALLED = "not_called"
    """The words of the task call for no skill with cues."""
    EXPECTED_TOOLS_MISSING = "expected_tools_missing"
    """Tools are missing that the other available tools usually come with."""
    READINGS_MISSING = "readings_missing"
    PARTLY_GIVEN = "partly_given"
