"""A use and its result → Evidence per version: who gets the credit.

One shown skill gets all of it. Of several, those that the caller says were followed, or those whose steps the run really
took; where nobody knows, all share it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime

from tacit.domain.errors import Mistake
from tacit.domain.evidence import Evidence, Grade, Outcome, Use
from tacit.domain.skill import SkillVersion
from tacit.domain.trajectory import Trajectory
from tacit.text.similarity import shared_subsequence

FOLLOWED_FROM = 0.5
"""A run that took at least this share of a skill's required steps, in order, is said to have followed it."""


def parse_outcome(value: Outcome | str) -> Outcome:
    """Read an outcome that somebody states."""
    try:
        return Outcome(value)
    except ValueError:
        raise Mistake(f"unknown outcome {value!r}", hint=f"use one of: {', '.join(Outcome)}") from None


def adherence(version: SkillVersion, trajectory: Trajectory) -> float | None:
    """How much of a skill's required tool calls a run made, in order; `None` if the skill names no tools."""
    wanted = [step.tool for step in version.content.steps if step.tool and not step.optional]
    if not wanted:
        return None
    done = [step.tool for step in trajectory.actions if not step.failed]
    return shared_subsequence(wanted, done) / len(wanted)


def evidence_for(
    use: Use,
    outcome: Outcome,
    *,
    grade: Grade,
    at: datetime,
    followed: Collection[str] | None = None,
    details: Mapping[str, str] | None = None,
) -> list[Evidence]:
    """Make one piece of evidence for each version that the run is credited to."""
    credited = [version_id for version_id in use.version_ids if followed is None or version_id in followed]
    extra = dict(details or {})
    return [
        Evidence(
            version_id=version_id,
            outcome=outcome,
            grade=grade,
            at=at,
            use_id=use.id,
            model=use.model,
            adherence=1.0 if followed is not None else None,
            weight=1.0 if followed is not None else 1.0 / len(credited),
            verifier=extra.get("verifier", ""),
            trajectory_id=extra.get("trajectory_id", ""),
            by=extra.get("by", ""),
            note=extra.get("note", ""),
        )
        for version_id in credited
    ]
