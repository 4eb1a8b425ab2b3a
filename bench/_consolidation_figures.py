"""Figures of the consolidation experiment as plain values for its results, and what its trainings say of themselves."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from _consolidation_run import TRAININGS

from tacit.features.evaluate.comparison import ArmDifference
from tacit.features.evaluate.suite import ResultRow


def estimate_told(estimate: Any) -> dict[str, float]:
    """A mean with its interval."""
    return {key: round(value, 4) for key, value in asdict(estimate).items()}


def difference_told(difference: ArmDifference | None) -> dict[str, Any] | None:
    """A paired difference with its interval; nothing where there was nothing to pair."""
    if difference is None:
        return None
    return {key: round(value, 4) if isinstance(value, float) else value for key, value in asdict(difference).items()}


def share(rows: Iterable[ResultRow]) -> float | None:
    """The share of rows that succeeded; nothing where there are no rows."""
    flags = [row.score.success for row in rows]
    return round(sum(flags) / len(flags), 4) if flags else None


def trainings(outs: Sequence[Path]) -> list[dict[str, Any]]:
    """What was trained, each adapter once: the last one told counts."""
    lines = [line for out in outs for line in (out / TRAININGS).read_text("utf-8").splitlines()]
    return list({training["adapter"]: training for training in map(json.loads, lines)}.values())


def brief(training: Mapping[str, Any]) -> dict[str, Any]:
    """A training without its curve and hashes."""
    kept = ("adapter", "examples", "steps", "tokens", "seconds", "best_held_out", "best_step", "stopped_early")
    return {name: training[name] for name in kept}
