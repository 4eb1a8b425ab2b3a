"""What Tacit keeps under `metadata`, as strings with the prefix ``tacit-`` ↔ the fields of a content.

Only what differs from its default is written, so that a skill nobody learned carries none of it. Lists and maps are
compact JSON. Reading takes known keys out of the map; a damaged value is reported and stays where it was, as foreign
metadata. The meaning of the sections in the body is not decided here.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields
from typing import Any, TypeVar

from tacit.domain.identity import plain
from tacit.domain.skill import Capabilities, Case, Condition, Cue, Kind, Parameter, Pitfall, SkillStep
from tacit.render.problems import Problem

PREFIX = "tacit-"
T = TypeVar("T")


def compact(value: object) -> str:
    """Write a value as compact JSON, defaults left out."""
    return json.dumps(plain(value), ensure_ascii=False, separators=(",", ":"))


class OwnMetadata:
    """Takes Tacit's values out of a metadata map; what stays is foreign."""

    def __init__(self, metadata: Mapping[str, str], *, line: int) -> None:
        self.foreign = dict(metadata)
        self.problems: list[Problem] = []
        self._line = line

    def take(self, key: str, read: Callable[[str], T]) -> T | None:
        """Take one value out; a damaged one counts as absent, is reported, and stays."""
        name = PREFIX + key.replace("_", "-")
        if name not in self.foreign:
            return None
        try:
            value = read(self.foreign[name])
        except (ValueError, RecursionError) as error:
            message = f"the metadata value of {name!r} cannot be read: {error}"
            hint = "correct it, or delete the line"
            problem = Problem(
                rule="own-metadata", message=message, field="metadata", severity="warning", line=self._line, hint=hint
            )
            self.problems.append(problem)
            return None
        del self.foreign[name]
        return value


def read_kind(text: str) -> Kind:
    """Read a skill's kind."""
    try:
        return Kind(text)
    except ValueError:
        raise ValueError(f"{text!r} is none of {', '.join(Kind)}") from None


def read_flag(text: str) -> bool:
    """Read yes or no."""
    if text.casefold() not in ("true", "false"):
        raise ValueError(f"{text!r} is neither true nor false")
    return text.casefold() == "true"


def read_strings(text: str) -> tuple[str, ...]:
    """Read a JSON list of texts."""
    return _strings(_json(text))


def read_string_map(text: str) -> dict[str, str]:
    """Read a JSON map of texts."""
    found = _json(text)
    if not isinstance(found, dict) or not all(isinstance(value, str) for value in found.values()):
        raise ValueError("not a map of texts")
    return found


def read_margins(text: str) -> tuple[str, str]:
    """Read the blanks before and after a text."""
    found = read_strings(text)
    if len(found) != 2 or "".join(found).strip():
        raise ValueError("not two texts of blanks")
    return found[0], found[1]


def read_capabilities(text: str) -> Capabilities:
    """Read what a skill may touch."""
    found = _json(text)
    known = {f.name for f in fields(Capabilities)}
    if not isinstance(found, dict) or not found.keys() <= known:
        raise ValueError(f"not a map with keys of {', '.join(sorted(known))}")
    return Capabilities(**{key: _strings(value) for key, value in found.items()})


def write_cues(cues: Iterable[Cue]) -> str:
    """Write cues as a JSON list of term and weight."""
    return compact([[cue.term, cue.weight] for cue in cues])


def read_cues(text: str) -> tuple[Cue, ...]:
    """Read a JSON list of term and weight."""
    found = _json(text)
    if not isinstance(found, list) or not all(isinstance(pair, list) and len(pair) == 2 for pair in found):
        raise ValueError("not a list of term and weight")
    return tuple(_cue(*pair) for pair in found)


def _cue(term: object, weight: object) -> Cue:
    if not isinstance(term, str) or isinstance(weight, bool) or not isinstance(weight, int | float):
        raise ValueError("not a term and a number")
    try:
        number = float(weight)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise ValueError("a weight is not a finite number")
    return Cue(term=term, weight=number)


def read_exact(name: str) -> Callable[[str], tuple[Any, ...]]:
    """Give the reader for one structured field that Markdown alone could not carry."""
    build = _BUILD[name]

    def read(text: str) -> tuple[Any, ...]:
        found = _json(text)
        if not isinstance(found, list):
            raise ValueError("not a list")
        return tuple(build(item) for item in found)

    return read


def _json(text: str) -> Any:
    return json.loads(text)


def _strings(value: object) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise ValueError("not a list of texts")
    return tuple(value)


def _query(value: object) -> str:
    if not isinstance(value, str):
        raise ValueError("not a text")
    return value


def _record(record: Callable[..., Any], **types: type) -> Callable[[object], Any]:
    def build(value: object) -> Any:
        if not isinstance(value, dict) or not value.keys() <= types.keys():
            raise ValueError(f"not a map with keys of {', '.join(types)}")
        for key, item in value.items():
            if not isinstance(item, types[key]) or (isinstance(item, bool) and types[key] is int):
                raise ValueError(f"{key} is not of type {types[key].__name__}")
        first = next(iter(types))
        return record(**({first: ""} | value))

    return build


_condition = _record(Condition, text=str, check=str, reading=str, key=str, relation=str, value=str, when=str)


def _case(value: object) -> Case:
    conditions = value.get("conditions", []) if isinstance(value, dict) else None
    if not isinstance(value, dict) or not isinstance(conditions, list):
        raise ValueError("not a map with a list of conditions")
    counted = _record(dict, conditions=list, support=int, against=int)(value)
    return Case(**(counted | {"conditions": tuple(_condition(item) for item in conditions)}))


_BUILD: dict[str, Callable[[object], Any]] = {
    "example_queries": _query,
    "cases": _case,
    "sub_skills": _query,
    "after": _query,
    "parameters": _record(Parameter, name=str, description=str, type=str, example=str, reading=str, key=str),
    "preconditions": _condition,
    "steps": _record(SkillStep, text=str, tool=str, arguments=dict, optional=bool),
    "postconditions": _condition,
    "pitfalls": _record(Pitfall, text=str, kind=str, step=int, count=int),
}
