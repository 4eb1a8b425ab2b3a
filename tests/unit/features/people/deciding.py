"""Plain builders: decisions of a person, one interaction after the other."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from tacit.features.people.ledger_entries import Choice, ChoiceSort
from tacit.features.people.questions import Question
from tests.unit.making import NOW


def choice(number: int, response: str, traits: Mapping[str, str] | None = None, **fields: Any) -> Choice:
    """A review of ann's; `number` orders it."""
    values: dict[str, Any] = {
        "key": f"review {number}",
        "at": NOW + timedelta(minutes=number),
        "person": "ann",
        "sort": ChoiceSort.REVIEW,
        "response": response,
        "traits": traits or {},
    }
    return Choice(**{**values, **fields})


def decisions(*description: tuple[str, Mapping[str, str]]) -> list[Choice]:
    """Reviews in order: what was decided, on what."""
    return [choice(number, response, traits) for number, (response, traits) in enumerate(description)]


def question(traits: Mapping[str, str] | None = None, **fields: Any) -> Question:
    """What ann is about to review."""
    values: dict[str, Any] = {
        "person": "ann",
        "sort": ChoiceSort.REVIEW,
        "traits": traits or {},
        "options": ("approve", "reject"),
    }
    return Question(**{**values, **fields})
