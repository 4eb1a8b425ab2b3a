"""Ids of the card workflow: what a record says → the id that both tools give it.

Twelve hexadecimal digits of SHA-1 over a record's telling fields behind a prefix. SHA-1 names things here and protects
nothing. Two records of one second may agree in all those fields: `fresh` then gives the second one an id of its own.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Container, Sequence
from datetime import UTC, datetime

WELL_FORMED = re.compile(r"(?:aha|rec|evt|sig)_[A-Za-z0-9_.-]{1,80}")
"""What an id may look like that somebody chose; it stands in comments of files, so nothing in it may end one."""


def card_id(ts: str, title: str, when_to_use: str, primary_skill: str) -> str:
    """The id of a card."""
    return _named("aha", ts, title, when_to_use, primary_skill)


def recommendation_id(ts: str, title: str, primary_skill: str, *, when_to_use: str = "") -> str:
    """The id of a recommendation, which has no `when_to_use` as a rule."""
    return _named("rec", ts, title, when_to_use, primary_skill)


def event_id(ts: str, task_summary: str, primary_skill: str) -> str:
    """The id of an event."""
    return _named("evt", ts, task_summary, primary_skill)


def signal_id(ts: str, kind: str, target: str, source: str, *, context: str = "") -> str:
    """The id of a signal; `target` is the id of a card or of a recommendation, as the kind says."""
    is_card = kind.startswith("aha_")
    return _named("sig", ts, kind, target if is_card else "", "" if is_card else target, source, context)


def backport_id(at: datetime, skill_name: str, ids: Sequence[str]) -> str:
    """The id of a backport: its time, and six digits over the time, the target's name and the cards."""
    ts = at.astimezone(UTC).strftime("%Y%m%dT%H%M%SZ")
    return f"slbp_{ts}_{_digits('|'.join((ts, skill_name, ','.join(ids))), 6)}"


def fresh(make: Callable[[str], str], taken: Container[str], last: str) -> str:
    """The id that `make` gives to the last of its telling fields, or to that field with a number, until nobody has it."""
    found, number = make(last), 2
    while found in taken:
        found, number = make(f"{last}#{number}"), number + 1
    return found


def _named(prefix: str, *said: str) -> str:
    return f"{prefix}_{_digits('|'.join(said), 12)}"


def _digits(text: str, length: int) -> str:
    return hashlib.sha1(text.encode("utf-8", "surrogatepass"), usedforsecurity=False).hexdigest()[:length]
