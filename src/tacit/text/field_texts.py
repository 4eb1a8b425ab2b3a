"""The texts of a skill's content, field by field: what the checks, the review page and the origins read.

`field_texts` gives each field or entry of a list as one text, so that a line number or an offset means the same everywhere.
`leaf_texts` gives every single string of a JSON-like value with its path.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from tacit.domain.identity import plain
from tacit.domain.skill import Case, Condition, Cue, FieldRole, Parameter, Pitfall, SkillContent, SkillStep, fields_with
from tacit.text.bundled_files import text_of
from tacit.text.redaction.patterns import secret_name

_NAME = re.compile(r"[\w-]*")


def leaf_texts(value: Any, path: str = "", *, keys: bool = True) -> Iterator[tuple[str, str]]:
    """Yield every string of a JSON-like value with its path (``steps.0.arguments.env``); with `keys` those of mappings too."""
    if isinstance(value, str):
        yield path, value
        return
    named = isinstance(value, Mapping)
    for key, item in value.items() if named else enumerate(value) if isinstance(value, list | tuple) else ():
        below = f"{path}.{key}".lstrip(".")
        if named and keys:
            yield below, str(key)
        yield from leaf_texts(item, below, keys=keys)


def field_texts(content: SkillContent, *, files: bool = True, labels: bool = True) -> Iterator[tuple[str, str]]:
    """Yield every text of a content with its field path, in the order of the fields, files last, without empty ones.

    An entry's text has its parts on lines of their own, first those that an agent reads. With `labels` there follow the parts
    that only programs read, such as the key of an answer, each with its name: they are no prose and no code.
    """
    for name in fields_with(FieldRole.SCANNED):
        value = getattr(content, name)
        if isinstance(value, Mapping):
            value = "\n".join(f"{key}: {item}" for key, item in sorted(value.items()))
        entries = {name: value} if isinstance(value, str) else {f"{name}.{at}": item for at, item in enumerate(value)}
        for path, entry in entries.items():
            read, computed = _parts(entry)
            if text := "\n".join(filter(None, [*read, *(computed if labels else ())])):
                yield path, text
    for number, file in enumerate(content.files if files else ()):
        if file_text := text_of(file):
            yield f"files.{number}", file_text


def _parts(entry: object) -> tuple[list[str], list[str]]:
    """Return the parts of an entry that an agent reads, and those that only programs read."""
    match entry:
        case SkillStep():
            return [entry.text, *_arguments(entry.arguments), f"tool: {entry.tool}" if entry.tool else ""], []
        case Condition():
            return [entry.text, entry.check, entry.value], _labelled(entry, "reading", "key", "relation", "when")
        case Parameter():
            return [entry.name, entry.description, entry.example], _labelled(entry, "type", "reading", "key")
        case Pitfall():
            return [entry.text], _labelled(entry, "kind")
        case Cue():
            return [], [entry.term]
        case Case():
            parts = [_parts(condition) for condition in entry.conditions]
            return [part for read, _ in parts for part in read], [part for _, labels in parts for part in labels]
        case _:
            return [str(entry)], []


def _labelled(entry: object, *names: str) -> list[str]:
    given = plain(entry)  # without defaults
    return [f"{name}: {given[name]}" for name in names if name in given]


def _arguments(value: object, name: str = "") -> Iterator[str]:
    """Yield the strings of a step's arguments, secrets with their name, and keys that are more than a name."""
    if isinstance(value, str):
        yield f"{name}: {value}" if secret_name(name) else value
    elif isinstance(value, Mapping):
        for key, item in value.items():
            if not _NAME.fullmatch(str(key)):
                yield str(key)
            yield from _arguments(item, str(key))
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _arguments(item, name)
