"""Independent evidence: may policy alone let a version in? Attempts behind it → how many vouch for it, each for itself. Pure.

Only machine-verified successes count, and of one session, with all its subagents, one. Those whose session nobody knows count
as one together: they may be the same.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable

from tacit.domain.evidence import Grade
from tacit.domain.skill import Provenance, SkillContent
from tacit.domain.stored import Episode
from tacit.gate.grounding import backing

Successes = Callable[[Collection[str]], int]
"""How many independent machine-verified successes stand behind these attempts."""


def independent(episodes: Iterable[Episode]) -> int:
    """Count the sessions that ended in a success which a machine verified."""
    return len(
        {
            episode.parent_session_id or episode.session_id
            for episode in episodes
            if episode.assessment.verified_success and episode.assessment.grade is Grade.MACHINE
        }
    )


def unproven(content: SkillContent, provenance: Provenance, *, successes: Successes, least: int) -> str:
    """Say what has too little behind it for policy alone; empty where all of it has enough.

    What all attempts together prove says nothing of a step that only one of them took.
    """
    if successes(provenance.trajectory_ids) < least:
        return f"fewer than {least} independent verified successes"
    for path, attempts in backing(content, provenance):
        if successes(attempts) < least:
            return f"{path} was seen in fewer than {least} independent verified successes"
    return ""


def nobody(_: Collection[str]) -> int:
    """Nothing is known of any attempt."""
    return 0
