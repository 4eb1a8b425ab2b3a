"""What a service knows of a paper. Parsed at the edge: whatever it sends becomes this, or an outage that says why not."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

LONGEST_TITLE = 300
LONGEST_ABSTRACT = 10_000
MOST_AUTHORS = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Paper:
    """A paper as a service describes it."""

    title: str
    authors: tuple[str, ...] = ()
    year: int = 0
    abstract: str = ""
    venue: str = ""
    evidence_type: str = "preprint"
    citations: int = 0
    pdf_url: str = ""
    """Where it may be read by everybody; empty where it may not."""
    identifiers: Mapping[str, str] = field(default_factory=dict)


def line(text: object, most: int) -> str:
    """A text of a service as one line, no longer than that; anything else is nothing."""
    return re.sub(r"\s+", " ", text).strip()[:most] if isinstance(text, str) else ""


def whole_number(text: str) -> int:
    """A count that is written in plain digits; anything else, and what no count comes near, is 0."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 12 else 0


def number(value: object, most: int) -> int:
    """A count or year of a service; anything else is 0."""
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= most else 0
