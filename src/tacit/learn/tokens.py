"""Text → the pieces in it that name something: quoted strings, paths, addresses, ids; and what type a value has.

Only looks at shape. Whether a piece becomes a parameter, or where it came from, is decided elsewhere.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_QUOTED = re.compile(
    r"`([^`\n]{1,80})`|(?<![\w'])'([^'\n]{1,80})'(?!\w)|(?<![\w\"])\"([^\"\n]{1,80})\"|“([^”\n]{1,80})”|«([^»\n]{1,80})»|‘([^’\n]{1,80})’"
)
URL = re.compile(r"\b[a-z][a-z0-9+.-]{1,15}://[^\s'\"`<>)\]},;]+")
EMAIL = re.compile(r"\b[\w.+-]{1,64}@[\w-]+(?:\.[\w-]+)+\b")
HOST = re.compile(
    r"\b(?:[a-z0-9][a-z0-9-]{0,62}\.){1,10}(?:com|org|net|io|dev|ai|app|co|de|uk|eu|cloud|sh|xyz|info|local|internal)\b|\b\d{1,3}(?:\.\d{1,3}){3}\b"
)
PATH = re.compile(
    r"(?<![\w/.:])(?:~|\.{1,2}|[\w.@+-]{1,120}+)?(?:/[\w.@+{}-]++)++/?|(?<![\w/.-])[\w-]++(?:\.[\w-]++)*\.[a-z]{1,4}(?![\w./])"
)
VARIABLE = re.compile(r"\$\{?[A-Za-z_]\w*\}?|\b[A-Z][A-Z0-9]*_[A-Z0-9_]+\b")
_IDENTIFIER = re.compile(
    r"#?\b(?=[\w-]{0,80}?\d)[A-Za-z0-9][\w-]{2,}\b|\b[A-Za-z][a-z0-9]*(?:_[A-Za-z0-9]+)+\b|\b[a-z][a-z0-9]*+(?:[A-Z][a-z0-9]++)+\b|"
    r"\b(?:[A-Z][a-z0-9]++){2,}\b|\b\d[\d.,:-]*\d\b"
)
_MAX_SAID = 8_000  # what somebody names stands near the start; the rest is pasted text
_ABBREVIATION = re.compile(r"(?:e\.g|i\.e|etc|vs|a\.m|p\.m)\.?$", re.IGNORECASE)


def quoted(text: str) -> tuple[str, ...]:
    """What stands in quotes or back-ticks, in order."""
    return tuple(next(group for group in match.groups() if group) for match in _QUOTED.finditer(text))


def named(text: str) -> tuple[str, ...]:
    """Everything in a person's text that names one particular thing, in order, without repeats."""
    text = text[:_MAX_SAID]
    found: dict[str, None] = dict.fromkeys(piece.strip() for piece in quoted(text) if piece.strip())
    found.update(dict.fromkeys(particular(text)))
    return tuple(found)


def particular(text: str) -> tuple[str, ...]:
    """Addresses, paths and identifiers, quoted or not, in order, without repeats."""
    found: dict[str, None] = {}
    for pattern in (URL, EMAIL, PATH, _IDENTIFIER):
        for match in pattern.finditer(text):
            piece = match.group().rstrip(".,:;")
            if len(piece) >= 2 and not _ABBREVIATION.fullmatch(piece):
                found.setdefault(piece)
    return tuple(found)


def run_specific(value: str) -> bool:
    """Whether a value looks as if another run would have another one: an id, a hash, a number, a date."""
    digits = sum(character.isdigit() for character in value)
    return digits >= 2 and not re.fullmatch(r"[a-z]+\d{1,3}", value) and not PATH.fullmatch(value)


def type_of(value: str) -> str:
    """The type of a value by its shape: integer, number, boolean, url, path, id or string."""
    if value.casefold() in ("true", "false"):
        return "boolean"
    if re.fullmatch(r"[+-]?\d+", value):
        return "integer" if len(value) < 6 and not (len(value) > 1 and value.startswith("0")) else "id"
    if re.fullmatch(r"[+-]?\d+\.\d+", value):
        return "number"
    if URL.fullmatch(value):
        return "url"
    if EMAIL.fullmatch(value):
        return "string"
    if PATH.fullmatch(value):
        return "path"
    if re.fullmatch(r"#?(?=\S*\d)[\w-]*\d[\w-]*", value) and not re.fullmatch(r"\d{4}-\d\d-\d\d", value):
        return "id"
    return "string"


def literals(text: str) -> Iterator[str]:
    """The pieces that matter when they were copied from outside: every name, and every longer line or odd word."""
    for pattern in (URL, EMAIL, HOST, VARIABLE):
        yield from (match.group() for match in pattern.finditer(text))
    for line in text.splitlines():
        stripped = line.strip()
        if len(stripped) >= 8 and not stripped.isalpha():
            yield stripped
        for word in re.split(r"[\s'\"`(){}\[\],;=]+", stripped):
            if len(word) >= 8 and not word.strip("-.:").isalpha():
                yield word
