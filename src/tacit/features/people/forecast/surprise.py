"""When something is surprising: a look at the artifact changed the forecast, or the person decided otherwise. Pure."""

from __future__ import annotations

MOVED = 0.3
"""A change of confidence by more than this is a surprise."""
EXPECTED = 0.65
"""From this confidence on it is a surprise if something else comes."""


def stirred(prior: tuple[str, float], posterior: tuple[str, float]) -> bool:
    """Whether looking changed what is expected: another answer, or another confidence in it."""
    (before, less), (after, more) = prior, posterior
    return (bool(before) and bool(after) and before != after) or abs(more - less) > MOVED


def surprised(expected: str, confidence: float, actual: str) -> bool:
    """Whether a decision is other than what was said with some confidence."""
    return bool(expected) and confidence >= EXPECTED and actual != expected
