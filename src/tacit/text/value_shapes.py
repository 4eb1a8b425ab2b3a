"""Shapes of values, readable by people: the shape that values share, and the values of a shape in a text.

In a shape `0` is a digit and `0+` several, `<word>` a word, `<Word>` a capitalised one, `<WORD>` one in capitals, `<Word>+` a
few in a row; also `<email>`, `<phone>`, `<date>` and `<number>`. Text in quotes is literal, ` | ` separates alternatives.
`<text>` is free text, which no shape can find. A sign before the first letter or digit, as in `#W0000000`, may be missing in
the text and is added.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache

from tacit.text.words import term_set, terms

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
_WORDS = {
    "<word>": rf"{_LETTER}{{1,40}}",
    "<Word>": rf"(?=[^\W\d_a-z]){_LETTER}{{1,40}}",
    "<WORD>": r"[A-Z]{2,40}",
}
_WORDS["<Word>+"] = rf"{_WORDS['<Word>']}(?: {_WORDS['<Word>']}){{0,4}}"
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
    if all(_is_amount(value) for value in kept):
        return "<number>"
    runs = [_runs(value) for value in kept]
    common = _shared(runs) if len(set(kept)) > 2 else frozenset()
    counted = Counter(_written(value, common) for value in runs)
    usual = [shape for shape, _ in counted.most_common(_ALTERNATIVES)]
    joined = _with_lengths_left_open(usual)
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
    for match in pattern.finditer(text[:_MAX_TEXT]):
        value = match.group()
        if shape == "<number>":
            value = value.replace(",", "")
        if match.lastgroup == "said":  # literal: as written in the shape, not in the text
            heard = " ".join(value.casefold().split())
            value = next((name for name in named_in(shape) if " ".join(name.casefold().split()) == heard), value)
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


def _is_amount(value: str) -> bool:
    return bool(re.fullmatch(r"-?\d+\.\d+|-?(?:0|[1-9]\d{0,3})", value))


def _runs(value: str) -> tuple[tuple[str, str], ...]:
    return tuple((str(match.lastgroup), match.group()) for match in _RUN.finditer(value))


def _shared(values: Sequence[tuple[tuple[str, str], ...]]) -> frozenset[str]:
    """Return the words that every value has."""
    words = [{text for kind, text in runs if kind == "letters"} for runs in values]
    return frozenset(set.intersection(*words)) if words else frozenset()


def _written(runs: tuple[tuple[str, str], ...], common: frozenset[str]) -> str:
    written: list[str] = []
    for index, (kind, text) in enumerate(runs):
        neighbours = {runs[place][0] for place in (index - 1, index + 1) if 0 <= place < len(runs)}
        if kind == "digits":
            written.append("0" * len(text))
        elif kind == "blank":
            written.append(" ")
        elif (
            kind == "letters"
            and text not in common
            and not (len(text) <= 3 and text.isupper() and "digits" in neighbours)
        ):
            name = "<WORD>" if len(text) > 1 and text.isupper() else "<Word>" if text[0].isupper() else "<word>"
            written.append(name)
        else:
            written.append(text)
    return re.sub(r"<Word>(?: <Word>)+", "<Word>+", "".join(written))


def _with_lengths_left_open(shapes: Sequence[str]) -> list[str]:
    """Merge shapes that differ only in the number of digits or words."""
    groups: dict[str, list[str]] = {}
    for shape in shapes:
        groups.setdefault(re.sub(r"<Word>(?!\+)", "<Word>+", re.sub(r"0+", "0+", shape)), []).append(shape)
    return [alike[0] if len(alike) == 1 else opened for opened, alike in groups.items()]


@lru_cache(maxsize=1024)
def _compiled(shape: str) -> tuple[re.Pattern[str] | None, str]:
    """Return a pattern for a shape, and the sign that the text may omit."""
    parts: list[str] = []
    if shape.startswith('"'):
        parts = [rf"(?P<said>{'|'.join(_whole(name).pattern for name in named_in(shape) if name)})"]
        return (re.compile(parts[0], re.IGNORECASE) if named_in(shape) else None), ""
    alternatives = [part for part in shape.split(" | ") if part and FREE not in part]
    sign = ""
    for part in alternatives:
        leading = re.match(r"[^\w\s<]", part)
        if leading:
            sign = leading.group() if len(alternatives) == 1 else ""
        body = "".join(_CLASSES.get(token) or _WORDS.get(token) or _plain(token) for token in _TOKEN.findall(part))
        if sign:
            body = f"(?:{re.escape(sign)})?" + body.removeprefix(re.escape(sign))
        parts.append(f"(?:{body})")
    if not parts:
        return None, ""
    return re.compile(rf"(?<![\w-])(?<!\w\.)(?:{'|'.join(parts)})(?![\w])(?!-\w)(?!\.\d)"), sign


def _plain(token: str) -> str:
    return {"0": r"\d", "0+": r"\d{1,30}", " ": r"\s{1,3}"}.get(token, re.escape(token))


@lru_cache(maxsize=256)
def _words_of(text: str) -> frozenset[str]:
    return term_set(text)


@lru_cache(maxsize=4096)
def _whole(value: str) -> re.Pattern[str]:
    bare = value[1:] if value[0] == "#" and len(value) > 3 else value
    left = r"(?<![^\W_])" if bare[0].isalnum() else ""
    right = r"(?![^\W_])" if bare[-1].isalnum() else ""
    return re.compile(left + r"\s+".join(map(re.escape, bare.split())) + right, re.IGNORECASE)
