"""Facts in a tool's answer (key → values), and whether a condition holds on them. Pure.

Reads JSON by its paths, lines of `Key: value` and `key=value`, lists after a colon, between bars or as bullets, and the rest
as sentences under the key `says`. Every key has a tuple of values. Values are compared ignoring case. Work is bounded:
`MAX_CHARS` characters are read and `MAX_FACTS` values kept.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tacit.domain.skill import Condition
from tacit.text.words import term_set

Facts = Mapping[str, tuple[str, ...]]
"""Key → values, in the order in which the answer shows them."""

SAYS = "says"
"""The key of sentences that name no field."""
TASK = "task"
"""The reading for the words of the task itself."""

MAX_CHARS = 20_000
MAX_JSON_CHARS = 1_000_000
MAX_FACTS = 400
MAX_DEPTH = 6
MAX_VALUE = 160
"""Bounds of one answer: characters of prose and JSON, values, levels, characters of a value. Longer values are texts, of
which no two attempts show the same."""

_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|\n")
_FIELD = re.compile(r"^\W*([^\W\d_][^:=|{}]{0,78}?)\s*(?::|=)(?:\s+|$|(?<=[=])(?=\S))(.*)$")
_PLAIN = re.compile(r"[^\w\s.,:;'\"()/%+\-@#$€£&=<>*?!\[\]{}\\|]+|[²³¹⁰-₎]+")
"""Decorative symbols without meaning."""
_SHORTEST_NAME = 4
"""Characters of an identifier; a shorter word with a digit is a count or a version."""
_ASIDE = re.compile(r"\(([^()]{1,60})\)")
_NUMBER = re.compile(r"^[$€£]?\s?(-?\d{1,15}(?:,\d{3})*(?:\.\d{1,9})?)(?:\s?[%A-Za-z/]{1,8})?(?=$|\s|\()")
_DATE = re.compile(r"^\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2})?)?")
_ONE_THING = re.compile(r"[A-Za-z#]{0,4}[-_]?\d{3,}")
_NAMED = re.compile(r"[\w@+.#-]+")


def facts(text: str) -> dict[str, tuple[str, ...]]:
    """Return the facts of one answer."""
    stripped = text.strip()
    if stripped[:1] in ("{", "[") and len(stripped) <= MAX_JSON_CHARS:
        try:
            return _of_json(json.loads(stripped))
        except (ValueError, RecursionError):
            pass
    return _of_prose(stripped[:MAX_CHARS])


def gathered(answers: Iterable[tuple[str, str, str]], task: str = "") -> dict[str, dict[str, tuple[str, ...]]]:
    """Return tool → facts after the last of these answers, given as (tool, arguments, text).

    A repeated call replaces its earlier answer; answers to different calls of one tool are `merged`.
    """
    latest: dict[str, dict[str, dict[str, tuple[str, ...]]]] = {}
    for tool, arguments, text in answers:
        calls = latest.setdefault(tool, {})
        calls.pop(arguments, None)
        calls[arguments] = facts(text)
    named = identifiers(task)
    return {tool: merged(list(calls.values()), named) for tool, calls in latest.items()}


def merged(answers: Sequence[Facts], named: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Merge several answers of one tool: only those with an identifier from the task, if any has one.

    So of three accounts the one counts that the task names. Later answers win.
    """
    telling = [
        shown
        for shown in answers
        if any(name in value for values in shown.values() for value in values for name in named)
    ]
    together: dict[str, tuple[str, ...]] = {}
    for shown in telling or answers:
        together.update(shown)
    return together


def identifiers(task: str) -> list[str]:
    """Return the words of a task with at least four characters and a digit: identifiers."""
    words = (word.strip(".-") for word in _NAMED.findall(task[:MAX_CHARS]))
    return [word for word in words if len(word) >= _SHORTEST_NAME and any(sign.isdigit() for sign in word)]


def holds(condition: Condition, known: Mapping[str, Facts], *, task: str = "") -> bool | None:
    """Whether a condition holds; None if its tool was not called or it cannot be evaluated."""
    if not condition.relation:
        return None
    if condition.reading == TASK:
        present = term_set(condition.value) <= term_set(task)
        return present if condition.relation == "has" else not present
    shown = known.get(condition.reading)
    return None if shown is None else satisfied(condition.relation, shown, condition.key, condition.value)


def satisfied(relation: str, shown: Facts, key: str, value: str) -> bool:
    """Whether the values of a key have this relation to a value or, for `over` and `under`, to another key's value."""
    values = shown.get(key, ())
    if relation in ("over", "under"):
        mine, other = comparable(values), comparable(shown[value]) if value in shown else comparable((value,))
        if mine is None or other is None or mine[0] != other[0]:
            return False
        return mine > other if relation == "over" else mine < other
    folded, wanted = [each.casefold() for each in values], value.casefold()
    known = {"is": folded == [wanted], "has": wanted in folded, "lacks": wanted not in folded}
    known["is not"] = bool(folded) and not known["is"]
    return known.get(relation, False)


def comparable(values: Sequence[str]) -> tuple[str, float | str] | None:
    """Return a single number or date in a comparable form; None for anything else."""
    if not values:
        return None
    if _DATE.match(values[0]):
        return ("date", values[0])
    number = _NUMBER.match(values[0])
    return ("number", float(number.group(1).replace(",", ""))) if number else None


def _of_json(document: Any) -> dict[str, tuple[str, ...]]:
    found: dict[str, list[str]] = {}
    waiting: list[tuple[str, Any, int]] = [("", document, 0)]
    kept = 0
    while waiting and kept < MAX_FACTS:
        path, node, depth = waiting.pop()
        if isinstance(node, dict) and depth < MAX_DEPTH:
            # An identifier (`variants.1001`) becomes `*`.
            names = ("*" if _ONE_THING.fullmatch(str(key)) else str(key) for key in node)
            inner = [
                (f"{path}.{name}" if path else name, value) for name, value in zip(names, node.values(), strict=True)
            ]
            waiting.extend((*each, depth + 1) for each in reversed(inner[:MAX_FACTS]))
        elif isinstance(node, list) and depth < MAX_DEPTH:
            found.setdefault(f"{path}[]", [])
            waiting.extend((f"{path}[]", value, depth + 1) for value in reversed(node[:MAX_FACTS]))
        elif not isinstance(node, dict | list):
            value = node if isinstance(node, str) else json.dumps(node)
            found.setdefault(path or SAYS, []).append(value[:MAX_VALUE])
            kept += 1
    return {key: tuple(dict.fromkeys(values)) for key, values in found.items()}


def _of_prose(text: str) -> dict[str, tuple[str, ...]]:
    found: dict[str, list[str]] = {}
    heading = ""
    for count, part in enumerate(_SENTENCE_END.split(text)):
        line = _PLAIN.sub(" ", part).strip()
        if not line:
            heading = ""
            continue
        bullet = part.lstrip()[:1] in ("-", "*", "•")
        field = _FIELD.match(line)
        if field:
            key, value = " ".join(field.group(1).split()), field.group(2)
            heading = key if not value.strip() else ""
            found.setdefault(key, []).extend(_values(value))
        elif bullet and heading:
            found[heading].extend(_values(line.lstrip("-*• ")))
        else:
            found.setdefault(SAYS, []).append(_clean(line))
        if count >= MAX_FACTS:
            break
    return {key: tuple(dict.fromkeys(values)) for key, values in found.items()}


def _values(text: str) -> list[str]:
    """Return the values of a field: parts between bars or commas, and text in brackets after a number."""
    parts = text.split("|") if "|" in text else re.split(r",\s+", text)
    values: list[str] = []
    for part in parts[:MAX_FACTS]:
        value = _clean(part)
        aside = _ASIDE.search(value) if _NUMBER.match(value) else None
        values += [value, aside.group(1)] if aside else [value]
    return [value for value in values if value]


def _clean(text: str) -> str:
    return " ".join(text.split()).strip(" .;,!?")[:MAX_VALUE]
