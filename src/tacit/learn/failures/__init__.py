"""Failure analysis: the kind of failure, the first wrong step and its cause; pitfalls of a skill.

A failed attempt is compared with successful attempts at the same task; without one, its signs are compared with those of
explained failures at other tasks.
"""

from tacit.learn.failures.analysis import FailurePool, FoundPitfall, explain_failure, found_pitfalls
from tacit.learn.failures.attempt_changes import ExpectedCall, FailureCause, FailureKind

__all__ = [
    "ExpectedCall",
    "FailureCause",
    "FailureKind",
    "FailurePool",
    "FoundPitfall",
    "explain_failure",
    "found_pitfalls",
]
