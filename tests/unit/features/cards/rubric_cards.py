"""Hand-written cards with the answer that a careful person would give: 91 worth keeping, 78 not.

Rules were written while looking at one half (`look`) only; the other (`held`) was asked once, afterwards. Harder ones (`later`)
were written after that, asked once, and then used to widen the rules. A middle dot stands in every sample of a secret, so that
no file holds one; it goes when the sample is read.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tacit.features.cards.card import Card

HERE = Path(__file__).parent
HALVES = ("look", "held", "later")


@dataclass(frozen=True, slots=True, kw_only=True)
class Written(Card):
    """A card as somebody wrote it, with the sort that it stands for and its half of the data."""

    sort: str
    half: str
    key: str = "aha_written"
    at: datetime = datetime(2026, 1, 31, tzinfo=UTC)
    ts: str = ""
    when_to_use: str = "Exporting orders"


def cards(side: str, *, half: str = "") -> list[Written]:
    """The cards of one side, `good` or `bad`; of one part, or of all."""
    lines = (HERE / f"rubric_{side}.jsonl").read_text(encoding="utf-8").replace("·", "").splitlines()
    read = [_card(json.loads(line)) for line in lines]
    return [card for card in read if half in ("", card.half)]


def _card(line: dict[str, Any]) -> Written:
    said: dict[str, Any] = {name: tuple(value) if isinstance(value, list) else value for name, value in line.items()}
    return Written(**said)
