"""Evidence → Reliability: how often a version helped, as an interval that admits ignorance.

Verified outcomes count, recent ones more; a partial success is half of one. A self-reported failure counts half; a
self-reported success counts nothing, so no number of them moves a rank.
"""

from __future__ import annotations

from collections.abc import Iterable

from tacit.domain.evidence import Evidence, Outcome, Reliability
from tacit.statistics import wilson

HALF_LIFE_USES = 30
"""After so many later uses a result weighs half."""
SELF_REPORT_WEIGHT = 0.5
NEUTRAL = 0.5
"""The rank of a skill that nobody has measured."""

_VALUE = {Outcome.SUCCESS: 1.0, Outcome.PARTIAL: 0.5, Outcome.FAILURE: 0.0}


def reliability(evidence: Iterable[Evidence]) -> Reliability:
    """Weigh all evidence on one version."""
    counted = [item for item in sorted(_one_per_use(evidence), key=lambda e: e.at) if item.outcome in _VALUE]
    verified = [item for item in counted if item.grade.verified]
    claimed = [item for item in counted if not item.grade.verified]
    successes = trials = 0.0
    for age, item in enumerate(reversed(verified)):
        weight = item.weight * 0.5 ** (age / HALF_LIFE_USES)
        trials += weight
        successes += weight * _VALUE[item.outcome]
    doubts = SELF_REPORT_WEIGHT * sum(item.weight * (1 - _VALUE[item.outcome]) for item in claimed)
    low, high = wilson(successes, trials + doubts)
    return Reliability(successes=successes, trials=trials, low=low, high=high, self_reported=len(claimed))


def rank(known: Reliability) -> float:
    """Turn an interval into a rank signal: neutral until the evidence is clear on one side.

    The lower bound counts when it lies above neutral, the upper bound when it lies below.
    """
    if known.low > NEUTRAL:
        return known.low
    return min(NEUTRAL, known.high)


def _one_per_use(evidence: Iterable[Evidence]) -> list[Evidence]:
    """Keep one result per use: the best graded, and of those the latest. One run is one vote."""
    strength = {"machine-verified": 2, "human-verified": 1, "self-reported": 0}
    best: dict[str, Evidence] = {}
    for item in evidence:
        key = item.use_id or item.trajectory_id or item.id
        held = best.get(key)
        if held is None or (strength[item.grade], item.at) >= (strength[held.grade], held.at):
            best[key] = item
    return list(best.values())
