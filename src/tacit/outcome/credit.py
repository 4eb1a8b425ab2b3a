"""A use and its result → Evidence per version: who gets the credit.

One shown skill gets all of it. Of several, those that the caller says were followed; where nobody says, all share it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime

from tacit.domain.errors import Mistake
from tacit.domain.evidence import Evidence, Grade, Outcome, Use


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
