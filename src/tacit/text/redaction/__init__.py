"""Secrets become typed placeholders before anything is stored: text or JSON-like value → the same without secrets.

`export OPENAI_API_KEY=sk-…` → `export OPENAI_API_KEY=<redacted:openai-key>`. What surrounds a secret stays, a
placeholder is never touched again, and text without secrets comes back as it was. Finds credentials, not personal
data; does not hide file names, hosts or user names; keeps nothing of what it removed.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tacit.text.redaction.contexts import FINDERS, url_secrets
from tacit.text.redaction.names import SecretName, secret_name
from tacit.text.redaction.prefilter import may_hold_secret
from tacit.text.redaction.shapes import Span, shaped_secrets
from tacit.text.redaction.values import convincing

__all__ = ["Redacted", "RedactedValue", "may_hold_secret", "redact", "redact_value"]

_PLACEHOLDER = re.compile(r"<redacted:[a-z0-9-]{1,40}>")
_FLAG = re.compile(r"--?[A-Za-z][\w-]*")
_NAME = re.compile(r"[A-Za-z][\w.-]*")
_FILE = re.compile(r"[\w./@-]+\.[A-Za-z]{1,5}(?:::?\S*)?")
_NAME_MAX = 200
_HEADERS = frozenset({"credential", "cookie"})
_SHORTEST = 6
_ROUNDS_MAX = 12


@dataclass(frozen=True, slots=True)
class Redacted:
    """A text without its secrets, and the kind of each one removed, in no promised order."""

    text: str
    found: tuple[str, ...] = ()

    @property
    def counts(self) -> Mapping[str, int]:
        return Counter(self.found)


@dataclass(frozen=True, slots=True)
class RedactedValue:
    """A JSON-like value without its secrets, and the kind of each one removed."""

    value: Any
    found: tuple[str, ...] = ()


def redact(text: str) -> Redacted:
    """Replace every secret in the text by a placeholder that names its kind."""
    if len(text) < _SHORTEST or not may_hold_secret(text):
        return Redacted(text)
    found: list[str] = []
    # A placeholder can bring a neighbour to light, so go on until nothing changes: that makes a second call idle.
    for _ in range(_ROUNDS_MAX):
        spans = _free_of_placeholders(text, _disjoint(_secrets(text)))
        if not spans:
            break
        text = _replaced(text, spans)
        found.extend(span.kind for span in spans)
    return Redacted(text, tuple(found))


def redact_value(value: Any) -> RedactedValue:
    """Redact every string of a nested value; a key such as `password` tells that its string is a secret.

    Callers who hold the raw JSON text save time by asking `may_hold_secret` about it first.
    """
    if not may_hold_secret(json.dumps(value, ensure_ascii=False, default=repr, skipkeys=True)):
        return RedactedValue(value)
    found: list[str] = []
    return RedactedValue(_walk(value, None, found=found), tuple(found))


def _secrets(text: str) -> Iterator[Span]:
    yield from shaped_secrets(text)
    yield from url_secrets(text)
    # The capital dotted I is the only character whose lower case is longer, which would shift every position.
    lowered = text.replace("\u0130", "I").lower()
    for find in FINDERS:
        yield from find(text, lowered)


def _disjoint(spans: Iterable[Span]) -> list[Span]:
    """Join what overlaps. The first finder to see a secret names it: a vendor's kind says more than `password`."""
    order = {span: rank for rank, span in reversed(list(enumerate(spans)))}
    joined: list[Span] = []
    for span in sorted(order):
        if joined and span.start < joined[-1].end:
            last = joined.pop()
            kind = min(last, span, key=lambda one: order.get(one, len(order))).kind
            merged = Span(last.start, max(last.end, span.end), kind)
            order[merged] = min(order.get(last, len(order)), order[span])
            joined.append(merged)
        else:
            joined.append(span)
    return joined


def _free_of_placeholders(text: str, spans: list[Span]) -> list[Span]:
    if not spans or "<redacted:" not in text:
        return spans
    taken = [match.span() for match in _PLACEHOLDER.finditer(text)]
    pieces: list[Span] = []
    for start, end, kind in spans:
        rest = start
        for low, high in taken:
            if rest < high and low < end:
                pieces.append(Span(rest, low, kind))
                rest = high
        pieces.append(Span(rest, end, kind))
    return [piece for piece in pieces if piece.start < piece.end]


def _replaced(text: str, spans: list[Span]) -> str:
    parts: list[str] = []
    rest = 0
    for start, end, kind in spans:
        parts += (text[rest:start], f"<redacted:{kind}>")
        rest = end
    return "".join([*parts, text[rest:]])


@dataclass(frozen=True, slots=True)
class _Promise:
    """What the place of a value says about it: a telling name, and whether it leaves little doubt."""

    name: str
    secret: SecretName
    firm: bool = True


def _walk(value: Any, promise: _Promise | None, *, found: list[str]) -> Any:
    if isinstance(value, str):
        return _string(value, promise, found=found)
    if isinstance(value, dict):
        return _mapping(value, found=found)
    if isinstance(value, list | tuple):
        items = [_walk(item, _told_before(value, index) or promise, found=found) for index, item in enumerate(value)]
        return type(value)(items) if type(value) in (list, tuple) else items
    return value


def _string(text: str, promise: _Promise | None, *, found: list[str]) -> str:
    result = redact(text)
    if promise is not None and not promise.firm and _FILE.fullmatch(text):
        promise = None  # ["auth", "tests/test_auth2.py"] are arguments of a command
    if not result.found and promise is not None and promise.secret.kind in _HEADERS:
        result = _as_header(text, promise.name)
    if result.found:
        found.extend(result.found)
        return result.text
    if promise is None or _PLACEHOLDER.search(text):
        return text
    if not convincing(text, any_word=promise.secret.any_word, firm=promise.firm):
        return text
    found.append(promise.secret.kind)
    return f"<redacted:{promise.secret.kind}>"


def _as_header(text: str, name: str) -> Redacted:
    """Judge a value as what follows its header's name: `Basic …` is a login only behind `Authorization:`."""
    line = redact(f"{name}: {text}")
    kept = line.text.startswith(f"{name}: ")
    return Redacted(line.text[len(name) + 2 :], line.found) if kept else Redacted(text)


def _promise(name: Any, *, firm: bool = True) -> _Promise | None:
    if not isinstance(name, str) or len(name) > _NAME_MAX or "<redacted:" in name:
        return None
    secret = secret_name(name)
    return None if secret is None else _Promise(name, secret, firm)


def _mapping(value: dict[Any, Any], *, found: list[str]) -> dict[Any, Any]:
    # {"name": "DB_PASSWORD", "value": …} keeps the telling name beside the value, not in the key.
    label = next((value[key] for key in ("name", "key", "Name", "Key") if isinstance(value.get(key), str)), "")
    result: dict[Any, Any] = {}
    for key, item in value.items():
        new_key = _fresh(redact(key).text, result) if isinstance(key, str) else key
        result[new_key] = _walk(item, _promise(label if key in ("value", "Value") else key), found=found)
    return result


def _fresh(key: str, taken: dict[Any, Any]) -> str:
    number = 2
    fresh = key
    while fresh in taken:
        fresh, number = f"{key}#{number}", number + 1
    return fresh


def _told_before(items: list[Any] | tuple[Any, ...], index: int) -> _Promise | None:
    """What the item before says: a flag, as in `["--password", …]`, or a name in pairs, as in `["X-Api-Key", …]`."""
    before = items[index - 1] if index else None
    if not isinstance(before, str):
        return None
    if _FLAG.fullmatch(before):
        return _promise(before)
    paired = index % 2 == 1 and len(items) % 2 == 0 and _NAME.fullmatch(before)
    return _promise(before, firm=False) if paired else None
