"""A use and all uses of its store → the use with which the work began. Pure.

Whoever asks again does not begin anew: an agent that was given a skill, changes a test, commits it and asks once more would
otherwise be held against its own commit. All of the last day before a use counts, whatever sessions are named, since
whoever asks names them. A use without a commit (what hooks show) gives nothing to compare with and is passed over.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta

from tacit.domain.evidence import Use

_BEFORE = timedelta(days=1)
AHEAD = timedelta(minutes=1)
"""Clocks differ by so much; what is dated further ahead was not written by any clock."""


def begun_with(use: Use, uses: Iterable[Use]) -> Use:
    """The earliest use of the day before this one that a commit is known of; this one if there is none."""
    before = [one for one in uses if one.commit and use.at - _BEFORE <= one.at <= use.at]
    return min(before, key=lambda one: one.at, default=use) if use.commit else use


def is_ahead(at: datetime, now: datetime) -> bool:
    """Whether a time lies in the future."""
    return at > now + AHEAD
