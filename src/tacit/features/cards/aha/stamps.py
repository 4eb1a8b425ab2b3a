"""Times as the card files write them: UTC, to the second, with a `Z`; read back leniently.

A time → its text; a text → a time, or nothing where it tells none.
"""

from __future__ import annotations

from datetime import UTC, datetime


def stamp(at: datetime) -> str:
    """Write a time: `2026-01-31T09:05:00Z`."""
    return at.astimezone(UTC).replace(microsecond=0, tzinfo=None).isoformat() + "Z"


def moment(text: object) -> datetime | None:
    """Read a time; a blank may stand for the `T`, and a time without a zone is UTC."""
    if not isinstance(text, str):
        return None
    try:
        read = datetime.fromisoformat(text.strip().replace(" ", "T", 1))
        return read.replace(tzinfo=UTC) if read.tzinfo is None else read.astimezone(UTC)
    except (ValueError, OverflowError):
        return None
