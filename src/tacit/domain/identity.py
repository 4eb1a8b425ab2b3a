"""Content addresses: one value → one canonical text → one digest → one id.

A field that has its default is left out of the canonical form, so a field added later with a default changes no older hash.
A field may be renamed if its metadata names the old one (`STORED_AS`).
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from enum import Enum, StrEnum
from functools import cache, partial
from json.encoder import encode_basestring
from operator import attrgetter
from typing import Any

ID_LENGTH = 32  # hex digits: 128 bits, beyond accidental collision
STORED_AS = "stored_as"
"""In a field's metadata: the name that the field is stored and hashed under, where that is not its own."""


def plain(value: Any) -> Any:
    """Reduce dataclasses, enums, times and tuples to JSON's own types, without fields that have their default."""
    kind: Any = type(value)
    return value if kind in _AS_IS else _reducer(kind)(value)


def canonical(value: Any) -> bytes:
    """Write a value as its canonical JSON text: sorted keys, no blanks, UTF-8."""
    return _canonical_text(value).encode("utf-8", "surrogatepass")


def digest(value: Any) -> str:
    """Hash a value's canonical form; the algorithm is part of the result."""
    return "sha256:" + hashlib.sha256(canonical(value)).hexdigest()


def content_id(prefix: str, value: Any) -> str:
    """Name a value by its content, e.g. ``t_3f…`` for a trajectory."""
    return f"{prefix}_{hashlib.sha256(canonical(value)).hexdigest()[:ID_LENGTH]}"


_AS_IS = frozenset({str, int, float, bool, type(None)})
_NO_DEFAULT = object()
_DATACLASS = "__dataclass_fields__"


_encode = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode


def _canonical_text(value: Any) -> str:
    """The canonical text; dataclasses are written directly, without a copy in plain types."""
    kind: Any = type(value)
    return _writer(kind)(value)


@cache
def _writer(kind: Any) -> Callable[[Any], str]:
    """The function that writes values of one type; cached, since a long trajectory needs it a hundred thousand times."""
    if kind is str:
        return encode_basestring
    if kind is int:
        return int.__repr__
    if kind is tuple or kind is list:
        return _write_items
    if hasattr(kind, _DATACLASS):
        return partial(_write_fields, _fields(kind))
    if issubclass(kind, StrEnum):
        return _write_enum
    return _write_plain


def _write_fields(fields: tuple[tuple[str, Any, str, str], ...], value: Any) -> str:
    written = []
    for name, default, opening, _ in fields:
        item = getattr(value, name)
        if item is not default and item != default:
            written.append(opening + _canonical_text(item))
    return f"{{{','.join(written)}}}"


def _write_items(value: Iterable[Any]) -> str:
    return f"[{','.join(map(_canonical_text, value))}]"


def _write_enum(value: StrEnum) -> str:
    return encode_basestring(value._value_)


def _write_plain(value: Any) -> str:
    return _encode(plain(value))


@cache
def _reducer(kind: Any) -> Callable[[Any], Any]:
    """The function that reduces values of one type."""
    if hasattr(kind, _DATACLASS):
        return partial(_plain_fields, _fields(kind))
    if issubclass(kind, Enum):
        return attrgetter("_value_")
    if issubclass(kind, str | int | float):
        return _unchanged
    if issubclass(kind, datetime):
        return _plain_time
    if issubclass(kind, Mapping):
        return _plain_mapping
    if issubclass(kind, list | tuple):
        return _plain_items
    if issubclass(kind, set | frozenset):
        return _plain_set
    raise TypeError(f"no canonical form for {kind.__name__}")


def _plain_fields(fields: tuple[tuple[str, Any, str, str], ...], value: Any) -> dict[str, Any]:
    reduced = {}
    for name, default, _, stored in fields:
        item = getattr(value, name)
        if item is not default and item != default:
            reduced[stored] = item if type(item) in _AS_IS else plain(item)
    return reduced


def _plain_mapping(value: Mapping[Any, Any]) -> dict[str, Any]:
    return {str(key): item if type(item) in _AS_IS else plain(item) for key, item in value.items()}


def _plain_items(value: Iterable[Any]) -> list[Any]:
    return [plain(item) for item in value]


def _plain_set(value: Iterable[Any]) -> list[Any]:
    return sorted((plain(item) for item in value), key=canonical)


def _plain_time(value: datetime) -> str:
    if value.tzinfo is UTC:
        return value.isoformat()
    return (value if value.tzinfo else value.replace(tzinfo=UTC)).astimezone(UTC).isoformat()


def _unchanged(value: Any) -> Any:
    return value


@cache
def _fields(kind: Any) -> tuple[tuple[str, Any, str, str], ...]:
    """A dataclass's fields in the order they are written: name, default, text of the key, stored name."""
    found = []
    for field in sorted(dataclasses.fields(kind), key=stored_name):
        default: Any = _NO_DEFAULT
        if field.default is not dataclasses.MISSING:
            default = field.default
        elif field.default_factory is not dataclasses.MISSING:
            default = field.default_factory()
        stored = stored_name(field)
        found.append((field.name, default, f"{encode_basestring(stored)}:", stored))
    return tuple(found)


def stored_name(field: dataclasses.Field[Any]) -> str:
    """The name that a dataclass field is stored and hashed under."""
    return str(field.metadata.get(STORED_AS, field.name))
