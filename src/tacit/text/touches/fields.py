"""A skill's content → the texts it says, each under the path of its field; the place of a piece within such a text.

A step's text holds its arguments too, each string on lines of its own behind the text, as an agent would get both. Files
that are not text are left out. Nothing here judges what is said.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tacit.domain.skill import SkillContent

_MAX_DEPTH = 24


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
        yield f"steps.{number}", "\n".join((step.text, *_strings(step.arguments)))
    for name, conditions in (("preconditions", content.preconditions), ("postconditions", content.postconditions)):
        for number, condition in enumerate(conditions):
            yield f"{name}.{number}", "\n".join(filter(None, (condition.text, condition.check, condition.value)))
    for number, pitfall in enumerate(content.pitfalls):
        yield f"pitfalls.{number}", pitfall.text
    for number, parameter in enumerate(content.parameters):
        yield (
            f"parameters.{number}",
            "\n".join(filter(None, (parameter.name, parameter.description, parameter.example))),
        )
    for number, query in enumerate(content.example_queries):
        yield f"example_queries.{number}", query
    for name in ("signature", "compatibility", "license"):
        yield name, getattr(content, name)
    for number, tool in enumerate(content.allowed_tools):
        yield f"allowed_tools.{number}", tool
    yield "metadata", "\n".join(f"{key}: {value}" for key, value in sorted(content.metadata.items()))
    for number, file in enumerate(content.files):
        if file.encoding == "utf-8":
            yield f"files.{number}", file.content


def _strings(value: Any, depth: int = 0) -> Iterator[str]:
    """The string leaves of a JSON-like value."""
    if isinstance(value, str):
        yield value
    elif depth < _MAX_DEPTH and isinstance(value, Mapping):
        for item in value.values():
            yield from _strings(item, depth + 1)
    elif depth < _MAX_DEPTH and isinstance(value, list | tuple):
        for item in value:
            yield from _strings(item, depth + 1)


def line_of(text: str, at: int) -> int:
    """The line of a character, from 1."""
    return text.count("\n", 0, at) + 1
