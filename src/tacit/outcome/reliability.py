"""Evidence → Reliability: how often a version helped, as an interval that admits ignorance.

Verified outcomes count, recent ones more; a partial success is half of one. A self-reported failure counts half; a
self-reported success counts nothing, so no number of them moves a rank.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from tacit.domain.evidence import Evidence, Grade, Outcome, Reliability
from tacit.domain.skill import SkillVersion
from tacit.statistics import wilson

HALF_LIFE_USES = 30
"""After so many later uses a result weighs half."""
SELF_REPORT_WEIGHT = 0.5
NEUTRAL = 0.5
"""The rank of a skill that nobody has measured."""

_STRENGTH = {Grade.MACHINE: 2, Grade.HUMAN: 1, Grade.SELF: 0}
_VALUE = {Outcome.SUCCESS: 1.0, Outcome.PARTIAL: 0.5, Outcome.FAILURE: 0.0}


def reliability(evidence: Iterable[Evidence]) -> Reliability:
    """Weigh all evidence on one version."""
    counted = sorted(_one_per_use(evidence), key=lambda item: item.at)
    verified = [item for item in counted if item.grade.verified]
    claimed = [item for item in counted if not item.grade.verified]
    successes = trials = age = 0.0
    for item in reversed(verified):
        weight = _faded(age) - _faded(age + item.weight)
        age += item.weight
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


def reinforced(version: SkillVersion, evidence: Iterable[Evidence]) -> int:
    """How often a version was confirmed: by further attempts that went its way, and by verified uses that worked."""
    worked = sum(item.grade.verified and item.outcome is Outcome.SUCCESS for item in _one_per_use(evidence))
    return max(0, len(version.provenance.trajectory_ids) - 1) + worked


def _faded(age: float) -> float:
    """What all results from this age on can weigh together. A whole result weighs one when new.

    Age is counted in results, so a small share of one ages the others by as little as it adds.
    """
    fading = 0.5 ** (1 / HALF_LIFE_USES)
    return float(fading**age / (1 - fading))


def _one_per_use(evidence: Iterable[Evidence]) -> list[Evidence]:
    """Keep one result per use, the best graded. One run is one vote.

    Of several verified ones the latest counts; of several claims the worst, since a claim may lower but never raise.
    """
    best: dict[str, Evidence] = {}
    for item in evidence:
        key = item.use_id or item.trajectory_id or item.id
        held = best.get(key)
        if item.outcome in _VALUE and (held is None or _preference(item) >= _preference(held)):
            best[key] = item
    return list(best.values())


def _preference(item: Evidence) -> tuple[int, float, datetime]:
    doubt = 0.0 if item.grade.verified else 1 - _VALUE[item.outcome]
    return _STRENGTH[item.grade], doubt, item.at
