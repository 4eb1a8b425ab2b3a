"""A card as a lesson: what it says → a content for the gate. Knows nothing of stores or statuses."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from tacit.domain.card import Card
from tacit.domain.skill import Kind, SkillContent
from tacit.render.names import skill_name

AHA_ID = "aha-id"
"""The entry of a lesson's metadata that names its card."""


def lesson_of(card: Card) -> SkillContent:
    """The lesson that says what a card says."""
    return SkillContent(
        kind=Kind.LESSON,
        name=skill_name(card.title or card.key),
        description=card.when_to_use or card.title or card.problem,
        tags=card.tags,
        body=_body(card),
        metadata={AHA_ID: card.key} | ({"primary-skill": card.primary_skill} if card.primary_skill else {}),
        portable=card.scope == "portable",
        shareable=card.shareable,
    )


def _body(card: Card) -> str:
    parts = (
        ("", [card.title] if card.title and card.title != card.when_to_use else []),
        ("Problem", [card.problem] if card.problem else []),
        ("Solution", [f"{number}. {step}" for number, step in enumerate(card.solution_steps, start=1)]),
        ("Gotchas", [f"- {each}" for each in card.gotchas]),
        ("Evidence", [f"- {each}" for each in card.evidence]),
        ("Input", _shape(card.input_shape)),
        ("Output", _shape(card.output_shape)),
        ("Links", [f"- {each}" for each in card.links]),
    )
    said = [(f"**{head}**\n\n" if head else "") + "\n".join(lines) for head, lines in parts if lines]
    return "\n\n".join(said)


def _shape(said: Mapping[str, Any]) -> list[str]:
    return [json.dumps(dict(said), ensure_ascii=False, sort_keys=True)] if said else []
