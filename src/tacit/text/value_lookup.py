"""A tool's answer or a person's words, and a key → the values at that place; a parameter → its value.

Keys are paths of names: `customer_id`, `address.zip`, `line_ids[]`, `items[].item_id`. `*` is a name that is itself a value
(`variants.*.price`) and `@` that name (`variants.@`); `.` is an answer that is one value, `~AB-0000` what has this shape in
an answer of prose. Which of several records is meant follows after `where`, conditions joined by `and`:

    line_id where phone_number in task                  the task mentions the field's value
    items[].item_id where order_id = {order_id}         the value of another parameter
    order_id where status = "pending"                   this value

A field is looked up in the record around the value, then in outer ones. For the task the key is a shape (`value_shapes`).
Answers may be JSON, lines of "Name: value", or prose.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import Any

from tacit.domain.skill import Parameter
from tacit.text.value_shapes import is_mentioned, shape_of, stands_in, values_of_shape

__all__ = [
    "TASK",
    "Leaf",
    "candidates",
    "field_of",
    "leaves_of",
    "resolve",
    "same",
    "shape_of",
    "stands_in",
    "value_at",
    "values_of_shape",
]

TASK = "task"
"""The reading for values from the task's own words."""
WHOLE = "."
_MAX_DEPTH = 24
_MAX_LEAVES = 20_000
_MAX_ANSWER = 2_000_000
_MAX_KEPT = 20_000  # only a few longer answers are cached
_MAX_PROSE = 400
_MANY_KEYS = 16  # more keys than this make a table, not a record
_LINE = re.compile(r"^[ \t]*(?:[-*•][ \t]*)?([^\W\d][^:\n]{0,59}):[ \t]+(\S[^\n]{0,400})$", re.MULTILINE)
_CONDITION = re.compile(r'(?P<field>.+?)(?: = \{(?P<name>\w+)\}| = "(?P<value>[^"]*)"| (?P<task>in task))')
_NOTHING: Mapping[str, Any] = {}


@dataclass(frozen=True, slots=True)
class Leaf:
    """One value of an answer, its path, and the records around it, innermost first."""

    path: str
    value: Any
    records: tuple[Mapping[str, Any], ...] = ()


@dataclass(frozen=True, slots=True)
class _Condition:
    field: str
    name: str = ""
    value: str = ""
    in_task: bool = False


@dataclass(frozen=True, slots=True)
class _Key:
    path: str
    conditions: tuple[_Condition, ...] = ()


def resolve(
    parameter: Parameter,
    task: str,
    *,
    answers: Mapping[str, Sequence[str]],
    known: Mapping[str, Any] = _NOTHING,
) -> Any | None:
    """Return the value of a parameter; None if there is none, or several without a way to choose.

    `answers` are all answers of each tool so far, `known` the parameters resolved before. Of several values the one that
    the task mentions is chosen.
    """
    found = candidates(parameter, task, answers=answers, known=known)
    if len(found) > 1 and parameter.reading != TASK:
        found = [value for value in found if stands_in(value, task)] or found
    if parameter.type == "array":
        return found or None
    return typed(found[0], parameter.type) if len(found) == 1 else None


def candidates(
    parameter: Parameter,
    task: str,
    *,
    answers: Mapping[str, Sequence[str]],
    known: Mapping[str, Any] = _NOTHING,
) -> list[Any]:
    """Return every possible value of a parameter, in order, without repeats."""
    if not parameter.reading or not parameter.key:
        return []
    if parameter.reading == TASK:
        return [typed(value, parameter.type) for value in values_of_shape(task, parameter.key)]
    found: dict[str, Any] = {}
    for answer in answers.get(parameter.reading, ()):
        for value in value_at(answer, parameter.key, task=task, known=known):
            found.setdefault(plain(value), value)
    return list(found.values())


def value_at(answer: str, key: str, *, task: str = "", known: Mapping[str, Any] = _NOTHING) -> list[Any]:
    """Return all values at a key in one answer."""
    parsed = _parsed(key)
    if parsed.path.startswith("~"):
        return list(values_of_shape(answer, parsed.path[1:]))
    return [
        leaf.value
        for leaf in leaves_of(answer)
        if leaf.path == parsed.path and all(_holds(rule, leaf, task, known=known) for rule in parsed.conditions)
    ]


def field_of(leaf: Leaf, name: str) -> Any | None:
    """Return the value of a field in the record around a leaf, or in an outer one."""
    for record in leaf.records:
        if name in record:
            value = record[name]
            return None if isinstance(value, dict | list) else value
    return None


def leaves_of(answer: str, *, most: int = _MAX_LEAVES) -> tuple[Leaf, ...]:
    """Return the values of an answer with their paths, up to a limit; of long or deep answers only the beginning."""
    if len(answer) > _MAX_ANSWER:
        return ()
    return _kept_leaves(answer)[:most] if len(answer) <= _MAX_KEPT else _leaves(answer, most)


@lru_cache(maxsize=256)
def _kept_leaves(answer: str) -> tuple[Leaf, ...]:
    return _leaves(answer, _MAX_LEAVES)


@lru_cache(maxsize=8)
def _leaves(answer: str, most: int) -> tuple[Leaf, ...]:
    document = _document(answer)
    if document is not None:
        return tuple(islice(_walk(document), most))
    text = answer.strip()
    lines = [(match[1].strip(), match[2].strip()) for match in islice(_LINE.finditer(answer), most)]
    record = dict(reversed(lines))
    leaves = [Leaf(name, value, (record,)) for name, value in lines]
    if text and "\n" not in text and len(text) <= _MAX_PROSE:
        leaves.append(Leaf(WHOLE, text))
    return tuple(leaves)


def plain(value: Any) -> str:
    """Return a value as text for comparing, without case and surrounding blanks."""
    if isinstance(value, bool) or value is None:
        return str(value).lower()
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    text = str(value).strip().casefold()
    return text[:-2] if re.fullmatch(r"-?\d+\.0", text) else text


def same(left: Any, right: Any) -> bool:
    """Whether two values are equal, even if one is a number and the other its text."""
    return plain(left) == plain(right)


def typed(value: Any, kind: str) -> Any:
    """Convert a value to the type of its parameter, if possible."""
    if not isinstance(value, str) or kind not in ("integer", "number", "boolean"):
        return value
    if kind == "boolean":
        return {"true": True, "false": False}.get(value.casefold(), value)
    if not re.fullmatch(r"-?\d{1,15}(?:\.\d{1,15})?", value):
        return value
    return int(value) if kind == "integer" and "." not in value else float(value)


def _document(answer: str) -> Any | None:
    if answer.lstrip()[:1] not in ("{", "["):
        return None
    try:
        return json.loads(answer)
    except (ValueError, RecursionError):
        return None


def _walk(document: Any) -> Iterator[Leaf]:
    """Yield every scalar in order; records are shared, not copied, so that deep answers stay cheap."""
    waiting: list[tuple[str, Any, tuple[Mapping[str, Any], ...], int]] = [("", document, (), 0)]
    count = 0
    while waiting and count < _MAX_LEAVES:
        path, value, records, depth = waiting.pop()
        if isinstance(value, dict | list):
            if depth < _MAX_DEPTH:
                waiting.extend(reversed([(*part, depth + 1) for part in _parts(path, value, records)]))
        elif value is not None:
            count += 1
            yield Leaf(path or WHOLE, value, records)


def _parts(
    path: str, value: dict[str, Any] | list[Any], records: tuple[Mapping[str, Any], ...]
) -> Iterator[tuple[str, Any, tuple[Mapping[str, Any], ...]]]:
    if isinstance(value, list):
        for item in value[:_MAX_LEAVES]:
            yield f"{path}[]", item, records
        return
    dot = f"{path}." if path else ""
    if not _is_table(value):
        around = (value, *records)
        yield from ((f"{dot}{name}", item, around) for name, item in value.items())
        return
    for name, item in value.items():
        around = ({"@": name}, *records)
        yield f"{dot}@", name, (item, *around) if isinstance(item, dict) else around
        yield f"{dot}*", item, around


def _is_table(record: Mapping[str, Any]) -> bool:
    """Whether the keys of a record are values: ids, or more keys than a record has."""
    if not record:
        return False
    if all(re.search(r"\d{3}", name) for name in record):
        return True
    return len(record) > _MANY_KEYS and len({type(item) for item in record.values()}) == 1


def _holds(condition: _Condition, leaf: Leaf, task: str, *, known: Mapping[str, Any]) -> bool:
    found = field_of(leaf, condition.field)
    if found is None:
        return False
    if condition.in_task:
        return is_mentioned(found, task)
    if not condition.name:
        return same(found, condition.value)
    wanted = known.get(condition.name)
    if wanted is None:
        return False
    return any(same(found, one) for one in wanted) if isinstance(wanted, list | tuple) else same(found, wanted)


@lru_cache(maxsize=1024)
def _parsed(key: str) -> _Key:
    path, _, rest = key.partition(" where ")
    found = []
    for part in rest.split(" and ") if rest else ():
        match = _CONDITION.fullmatch(part.strip())
        if match is None:
            # A rule that cannot be parsed must not match everything.
            return _Key("\x00")
        found.append(
            _Condition(match["field"], match["name"] or "", match["value"] or "", in_task=match["task"] is not None)
        )
    return _Key(path.strip(), tuple(found))
