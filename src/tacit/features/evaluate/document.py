"""A report → plain data, whole: what programs read of a run. Nothing is worded or computed anew."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from tacit.evidence.statistics import Estimate
from tacit.features.evaluate.comparing import Change, Difference
from tacit.features.evaluate.report import Report, standing, stands
from tacit.features.evaluate.words import Apart

FORMAT = 1


def document(told: Report) -> dict[str, Any]:
    """The whole report as plain data."""
    comparison = told.comparison
    return {
        "format": FORMAT,
        "suite": comparison.suite,
        "agent": told.agent,
        "reference": comparison.reference,
        "tasks": comparison.groups,
        "exercises": comparison.exercises,
        "verdict": told.verdict,
        "not_measured": list(told.not_measured),
        "floor": asdict(told.floor) if told.floor else None,
        "at_floor": list(told.at_floor),
        "arms": [
            {
                "arm": figures.arm,
                "attempts": figures.attempts,
                "standing": stands(told, figures),
                "aided": told.tallies[figures.arm].aided,
                "abstained": told.tallies[figures.arm].abstained,
                "seeds": list(figures.seeds),
                "means": {name: _estimate(mean) for name, mean in figures.means.items()},
                "differences": {name: _difference(found) for name, found in figures.differences.items()},
                "regressions": [
                    _change(change, told.apart(figures.arm, change.exercise)) for change in figures.regressions
                ],
                "gains": [_change(change, told.apart(figures.arm, change.exercise)) for change in figures.gains],
                "unpaired": figures.unpaired,
            }
            for figures in comparison.arms
        ],
        "curve": [{"arm": p.arm, "training_tasks": p.tasks, "success": _estimate(p.success)} for p in told.curve],
    }


def _estimate(mean: Estimate) -> dict[str, Any]:
    return {"value": round(mean.value, 6), "low": _finite(mean.low), "high": _finite(mean.high), "tasks": mean.n}


def _difference(found: Difference) -> dict[str, Any]:
    return {
        "value": round(found.value, 6),
        "low": _finite(found.low),
        "high": _finite(found.high),
        "p": found.p,
        "p_holm": found.p_holm,
        "standing": standing(found),
        "detectable": _finite(found.detectable),
        "tasks": found.groups,
        "exercises": found.exercises,
        "by_seed": {str(seed): round(value, 6) for seed, value in found.by_seed.items()},
    }


def _finite(value: float) -> float | None:
    """JSON has no infinity: nothing stands for "not bounded"."""
    return round(value, 6) if abs(value) < float("inf") else None


def _change(change: Change, apart: Apart) -> Mapping[str, Any]:
    return {
        "exercise": change.exercise,
        "task": change.group,
        "reference": round(change.reference, 4),
        "arm": round(change.arm, 4),
        "detail": change.detail,
        "asked": apart.asked,
        "reference_did": apart.reference,
        "arm_did": apart.arm,
    }
