"""A skill's content → the texts it says, each under the path of its field; the place of a piece within such a text.

A step's text holds its arguments and its tool's name too, each on lines of its own behind the text, as an agent would get
them. Files that are not text are left out. Nothing here judges what is said.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from tacit.domain.skill import Condition, SkillContent
from tacit.text.bundled import text_of

_MAX_DEPTH = 24
_NAME = re.compile(r"[\w-]*")


def field_texts(content: SkillContent) -> Iterator[tuple[str, str]]:
    """Every text of a content with its field path, in a fixed order; empty ones are left out."""
    for path, text in _all(content):
        if text:
            yield path, text


def _all(content: SkillContent) -> Iterator[tuple[str, str]]:
    yield "name", content.name
    yield "description", content.description
    yield "body", content.body
    for number, step in enumerate(content.steps):
        tool = f"tool: {step.tool}" if step.tool else ""
        yield f"steps.{number}", "\n".join(filter(None, (step.text, *_strings(step.arguments), tool)))
    for name, conditions in (("preconditions", content.preconditions), ("postconditions", content.postconditions)):
        for number, condition in enumerate(conditions):
            yield f"{name}.{number}", _of(condition)
    for number, case in enumerate(content.cases):
        yield f"cases.{number}", "\n".join(map(_of, case.conditions))
    for number, pitfall in enumerate(content.pitfalls):
        yield f"pitfalls.{number}", pitfall.text
    for number, parameter in enumerate(content.parameters):
        yield (
            f"parameters.{number}",
            "\n".join(filter(None, (parameter.name, parameter.description, parameter.example))),
        )
    for name in ("signature", "compatibility", "license", "category"):
        yield name, getattr(content, name)
    for name in ("example_queries", "tags", "after", "sub_skills", "surroundings", "allowed_tools"):
        for number, said in enumerate(getattr(content, name)):
            yield f"{name}.{number}", said
    yield "metadata", "\n".join(f"{key}: {value}" for key, value in sorted(content.metadata.items()))
    for number, file in enumerate(content.files):
        yield f"files.{number}", text_of(file) or ""


def _of(condition: Condition) -> str:
    return "\n".join(filter(None, (condition.text, condition.check, condition.value)))


def _strings(value: Any, depth: int = 0) -> Iterator[str]:
    """The strings of a JSON-like value: its leaves, and keys that say more than a name does."""
    if isinstance(value, str):
        yield value
    elif depth < _MAX_DEPTH and isinstance(value, Mapping):
        for key, item in value.items():
            if not _NAME.fullmatch(str(key)):
                yield str(key)
            yield from _strings(item, depth + 1)
    elif depth < _MAX_DEPTH and isinstance(value, list | tuple):
        for item in value:
            yield from _strings(item, depth + 1)


def line_of(text: str, at: int) -> int:
    """The line of a character, from 1."""
    return text.count("\n", 0, at) + 1
