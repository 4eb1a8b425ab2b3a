"""Figures on their way out: reliability and lift → documents in which no field is missing, and words for people.

A canonical form leaves out what is at its default; a program that reads figures must find each of them.
"""

from __future__ import annotations

from typing import Any

from tacit.domain.evidence import Reliability
from tacit.evidence.lift import Lift


def reliability_told(known: Reliability) -> dict[str, Any] | None:
    """An interval with what it rests on; nothing where too little is verified."""
    return reliability_fields(known) if known.known else None


def reliability_fields(known: Reliability) -> dict[str, Any]:
    """All that is known of how reliable something is, known or not."""
    return {
        "known": known.known,
        "low": round(known.low, 4),
        "high": round(known.high, 4),
        "votes": known.votes,
        "worked": known.worked,
        "successes": round(known.successes, 4),
        "trials": round(known.trials, 4),
        "self_reported": known.self_reported,
    }


def lift_told(measured: Lift) -> dict[str, float] | None:
    """What a skill adds to success; nothing where that is not known."""
    gain = measured.success
    return None if gain is None else {"value": gain.value, "low": gain.low, "high": gain.high}


def in_points(value: float) -> str:
    """A difference of shares in points, with its sign."""
    return f"{round(100 * value):+d}" if round(100 * value) else "0"
