"""The audit chain: event → link hash, each covering the one before.

Events hold times, names, ids and digests, never content, so that the chain still checks after content was purged. Where
links are kept is not decided here.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from tacit.domain.identity import canonical

GENESIS = ""
"""What the first link covers."""

GONE = ("purge", "restore")
"""Actions that leave no record behind: what was purged, and that the store as a whole was put back."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One change: when, by whom, what, about which id, and the digest of which record it left behind."""

    sequence: int
    at: str
    actor: str
    action: str
    subject: str
    record: str
    """Path of the record, such as ``versions/s_1/v_1``: table, owner if any, id."""
    digest: str


def link(previous: str, event: Event) -> str:
    """Hash an event together with the link before it."""
    return hashlib.sha256(previous.encode("ascii", "replace") + canonical(event)).hexdigest()
