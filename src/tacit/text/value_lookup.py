"""A tool's answer or a person's words, and a key → the values at that place; a parameter → its value.

Keys are paths of names: `customer_id`, `address.zip`, `line_ids[]`, `items[].item_id`. `*` is a name that is itself a value
(`variants.*.price`) and `@` that name (`variants.@`); `.` is an answer that is one value, `~AB-0000` what has this shape in
an answer of prose. Which of several records is meant follows after `where`, conditions joined by `and`:

    line_id where phone_number in task                  the task mentions the field's value
    items[].item_id where order_id = {order_id}         the value of another parameter
    order_id where status = "pending"                   this value

A field is looked up in the record around the value, then in outer ones. For the task the key is a shape.
Answers may be JSON, lines of "Name: value", or prose.

In a shape `0` is a digit and `0+` several, `<word>` a word, `<Word>` a capitalised one, `<WORD>` one in capitals, `<Word>+` a
few in a row; also `<email>`, `<phone>`, `<date>` and `<number>`. Text in quotes is literal, ` | ` separates alternatives.
`<text>` is free text, which no shape can find. A sign before the first letter or digit, as in `#W0000000`, may be missing in
the text and is added.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import Any

from tacit.domain.skill import Parameter
from tacit.text.words import term_set, terms

TASK = "task"
"""The reading for values from the task's own words."""
WHOLE = "."
_MAX_DEPTH = 24
_MAX_LEAVES = 20_000
_MAX_ANSWER = 2_000_000
"""Levels, values and characters of one answer that are read; they bound the time on hostile answers."""
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
            found.setdefault(value_text(value), value)
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
    text = answer.strip()
    if text[:1] in ("{", "["):
        with suppress(ValueError, RecursionError):
            return tuple(islice(_walk(json.loads(answer)), most))
    lines = [(match[1].strip(), match[2].strip()) for match in islice(_LINE.finditer(answer), most)]
    record = dict(reversed(lines))
    leaves = [Leaf(name, value, (record,)) for name, value in lines]
    if text and "\n" not in text and len(text) <= _MAX_PROSE:
        leaves.append(Leaf(WHOLE, text))
    return tuple(leaves)


def value_text(value: Any) -> str:
    """Return a value as text for comparing, without case and surrounding blanks; a number is equal to its text."""
    if isinstance(value, bool) or value is None:
        return str(value).lower()
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    text = str(value).strip().casefold()
    return text[:-2] if re.fullmatch(r"-?\d+\.0", text) else text


def typed(value: Any, kind: str) -> Any:
    """Convert a value to the type of its parameter, if possible."""
    if not isinstance(value, str) or kind not in ("integer", "number", "boolean"):
        return value
    if kind == "boolean":
        return {"true": True, "false": False}.get(value.casefold(), value)
    if not re.fullmatch(r"-?\d{1,15}(?:\.\d{1,15})?", value):
        return value
    return int(value) if kind == "integer" and "." not in value else float(value)


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
    wanted = known.get(condition.name) if condition.name else condition.value
    several = wanted if isinstance(wanted, list | tuple) else () if wanted is None else (wanted,)
    return value_text(found) in map(value_text, several)


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


FREE = "<text>"
_MAX_TEXT = 40_000  # longer text is pasted, not written
_MAX_VALUE = 120
_MAX_FOUND = 500
_ALTERNATIVES = 3
_ENOUGH = 0.8
"""Share of the values that the alternatives of a shape must cover."""
_LETTER = r"[^\W\d_]"
_CLASSES = {
    "<email>": r"[\w.+-]{1,64}+@[\w-]{1,63}(?:\.[\w-]{1,63}){1,5}",
    "<phone>": r"(?!\d{4}-\d\d-\d\d(?!\d))(?=(?:\D{0,2}\d){7})\+?\(?\d{1,4}\)?(?:[ .-]{1,2}\(?\d{2,5}\)?){1,4}|\+\d{7,15}",
    "<date>": r"\d{4}-\d\d-\d\d|\d{1,2}/\d{1,2}/\d{2,4}",
    "<number>": r"-?\d{1,3}(?:,\d{3})++(?:\.\d+)?|-?\d{1,15}(?:\.\d{1,9})?",
}
_WORD = rf"(?=[^\W\d_a-z]){_LETTER}{{1,40}}"
_PATTERNS = _CLASSES | {
    "0": r"\d",
    "0+": r"\d{1,30}",
    " ": r"\s{1,3}",
    "<word>": rf"{_LETTER}{{1,40}}",
    "<Word>": _WORD,
    "<Word>+": rf"{_WORD}(?: {_WORD}){{0,4}}",
    "<WORD>": r"[A-Z]{2,40}",
}
_TOKEN = re.compile(r"<(?:email|phone|date|number|text)>|<Word>\+|<(?:word|Word|WORD)>|0\+|0|[^<]|<")
_RUN = re.compile(rf"(?P<digits>\d+)|(?P<letters>{_LETTER}+)|(?P<blank>\s+)|(?P<sign>.)", re.DOTALL)
_NAME = re.compile(rf"{_LETTER}+(?:[ -]{_LETTER}+){{0,5}}")
_QUOTED = re.compile(r'"([^"]*)"')


def shape_of(*values: str) -> str:
    """Return the shape of one value or of several; words that three or more values share are kept."""
    kept = [value.strip() for value in values if value.strip()]
    if not kept or any(len(value) > _MAX_VALUE or re.search(r'[<>"|\n]', value) for value in kept):
        return FREE
    for name, pattern in _CLASSES.items():
        if name != "<number>" and all(re.fullmatch(pattern, value) for value in kept):
            return name
    if all(re.fullmatch(r"-?\d+\.\d+|-?(?:0|[1-9]\d{0,3})", value) for value in kept):
        return "<number>"
    runs = [tuple((str(match.lastgroup), match.group()) for match in _RUN.finditer(value)) for value in kept]
    words = [{text for kind, text in each if kind == "letters"} for each in runs]
    common = frozenset(set.intersection(*words)) if len(set(kept)) > 2 else frozenset()
    counted = Counter(_written(value, common) for value in runs)
    usual = [shape for shape, _ in counted.most_common(_ALTERNATIVES)]
    groups: dict[str, list[str]] = {}  # shapes that differ only in the number of digits or words
    for shape in usual:
        groups.setdefault(re.sub(r"<Word>(?!\+)", "<Word>+", re.sub(r"0+", "0+", shape)), []).append(shape)
    joined = [alike[0] if len(alike) == 1 else opened for opened, alike in groups.items()]
    covered = sum(counted[shape] for shape in usual)
    if covered < _ENOUGH * len(kept) or any(not re.search(r"0|<W|[^\s<>\w]|[A-Z]", shape) for shape in joined):
        return FREE
    return " | ".join(joined)


def one_of(values: Iterable[str]) -> str:
    """Return the shape of a value that is always one of these."""
    return " | ".join(f'"{value}"' for value in values if '"' not in value)


def named_in(shape: str) -> tuple[str, ...]:
    """Return the values of a shape made by `one_of`."""
    return tuple(_QUOTED.findall(shape))


def values_of_shape(text: str, shape: str) -> list[str]:
    """Return the values of this shape in a text, in order, without repeats."""
    pattern, sign = _compiled(shape)
    found: dict[str, None] = {}
    if pattern is None:
        return []
    literal = {" ".join(name.casefold().split()): name for name in reversed(named_in(shape))}
    for match in pattern.finditer(text[:_MAX_TEXT]):
        value = match.group()
        if shape == "<number>":
            value = value.replace(",", "")
        if shape.startswith('"'):  # as written in the shape, not in the text
            value = literal.get(" ".join(value.casefold().split()), value)
        elif sign and not value.startswith(sign):
            value = sign + value
        found.setdefault(value)
        if len(found) >= _MAX_FOUND:
            break
    return list(found)


def stands_in(value: object, text: str) -> bool:
    """Whether a text contains a value as separate words, ignoring case; a leading `#` may be missing."""
    wanted = str(value).strip()
    if not wanted or len(wanted) > 4 * _MAX_VALUE:
        return False
    return _whole(wanted).search(text[:_MAX_TEXT]) is not None


def is_mentioned(value: object, text: str) -> bool:
    """Whether a text mentions a value, or the last word of a name of several words.

    "The keyboard and both lamps" mentions a "Mechanical Keyboard" and a "Desk Lamp".
    """
    if stands_in(value, text):
        return True
    name = str(value).strip()
    if len(name) > _MAX_VALUE or not _NAME.fullmatch(name):
        return False
    last = terms(re.split(r"[ -]", name)[-1])[-1:]
    return bool(last) and len(last[0]) > 2 and last[0] in _words_of(text[:_MAX_TEXT])


def _written(runs: tuple[tuple[str, str], ...], common: frozenset[str]) -> str:
    written: list[str] = []
    for index, (kind, text) in enumerate(runs):
        neighbours = {runs[place][0] for place in (index - 1, index + 1) if 0 <= place < len(runs)}
        if kind == "digits":
            written.append("0" * len(text))
        elif kind == "blank":
            written.append(" ")
        elif kind != "letters" or text in common or (len(text) <= 3 and text.isupper() and "digits" in neighbours):
            written.append(text)
        else:
            written.append(
                "<WORD>" if len(text) > 1 and text.isupper() else "<Word>" if text[0].isupper() else "<word>"
            )
    return re.sub(r"<Word>(?: <Word>)+", "<Word>+", "".join(written))


@lru_cache(maxsize=1024)
def _compiled(shape: str) -> tuple[re.Pattern[str] | None, str]:
    """Return a pattern for a shape, and the sign that the text may omit."""
    parts: list[str] = []
    if shape.startswith('"'):
        names = [_whole(name).pattern for name in named_in(shape) if name]
        return (re.compile("|".join(names), re.IGNORECASE) if named_in(shape) else None), ""
    alternatives = [part for part in shape.split(" | ") if part and FREE not in part]
    sign = ""
    for part in alternatives:
        leading = re.match(r"[^\w\s<]", part)
        if leading:
            sign = leading.group() if len(alternatives) == 1 else ""
        body = "".join(_PATTERNS.get(token) or re.escape(token) for token in _TOKEN.findall(part))
        if sign:
            body = f"(?:{re.escape(sign)})?" + body.removeprefix(re.escape(sign))
        parts.append(f"(?:{body})")
    if not parts:
        return None, ""
    return re.compile(rf"(?<![\w-])(?<!\w\.)(?:{'|'.join(parts)})(?![\w])(?!-\w)(?!\.\d)"), sign


_words_of = lru_cache(maxsize=256)(term_set)


@lru_cache(maxsize=4096)
def _whole(value: str) -> re.Pattern[str]:
    bare = value[1:] if value[0] == "#" and len(value) > 3 else value
    left = r"(?<![^\W_])" if bare[0].isalnum() else ""
    right = r"(?![^\W_])" if bare[-1].isalnum() else ""
    return re.compile(left + r"\s+".join(map(re.escape, bare.split())) + right, re.IGNORECASE)
