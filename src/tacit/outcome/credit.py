"""A use and its result → Evidence per version: who gets the credit.

One shown skill gets all of it. Of several, those that the caller says were followed; where nobody says, all share it. The
parts of a composite are credited each for itself, with outcomes of their own where they are told apart.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime

from tacit.domain.errors import Mistake
from tacit.domain.evidence import Evidence, Grade, Outcome, Use

Followed = Collection[str] | Mapping[str, Outcome | str]
"""The versions that a run followed, or those versions with their own outcomes."""


def parse_outcome(value: Outcome | str) -> Outcome:
    """Read an outcome that somebody states."""
    try:
        return Outcome(value)
    except ValueError:
        raise Mistake(f"unknown outcome {value!r}", hint=f"use one of: {', '.join(Outcome)}") from None


def evidence_for(
    use: Use,
    outcome: Outcome,
    *,
    grade: Grade,
    at: datetime,
    followed: Followed | None = None,
    details: Mapping[str, str] | None = None,
) -> list[Evidence]:
    """Make one piece of evidence for each version that the run is credited to; `followed` may tell their own outcomes."""
    unknown = sorted(set(followed or ()) - set(use.version_ids))
    if unknown:
        raise Mistake(f"{unknown[0]} was not shown in that use", hint=f"shown: {', '.join(use.version_ids)}")
    credited = [version_id for version_id in use.version_ids if followed is None or version_id in followed]
    extra = dict(details or {})
    own = followed if isinstance(followed, Mapping) else {}
    return [
        Evidence(
            version_id=version_id,
            outcome=parse_outcome(own.get(version_id, outcome)),
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
