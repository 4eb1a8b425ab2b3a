"""Plain builders: decisions of a person, one interaction after the other."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from typing import Any

from tacit.features.people.ledger_entries import Choice, ChoiceSort
from tacit.features.people.prediction import DecisionModel
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


def model_of(choices: Iterable[Choice], retrieved: Mapping[str, Sequence[str]] | None = None) -> DecisionModel:
    """Return a model that has seen these decisions in this order.

    `retrieved` maps the id of a decision to the decisions that were used as reasons before it.
    """
    model = DecisionModel()
    for choice in choices:
        model.see(choice)
        model.retrieve((retrieved or {}).get(choice.id, ()))
    return model
