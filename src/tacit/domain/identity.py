"""Content addresses: one value → one canonical text → one digest → one id.

A value that equals its field's default is left out of the canonical form, so a field added later with a default
leaves every older hash as it was. Storage and encoding of whole records are not decided here.
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


def plain(value: Any) -> Any:
    """Reduce dataclasses, enums, times and tuples to JSON's own types, leaving out fields at their default."""
    kind: Any = type(value)
    return value if kind in _AS_IS else _reducer(kind)(value)


def canonical(value: Any) -> bytes:
    """Write a value as the one JSON text that stands for it: sorted keys, no blanks, UTF-8."""
    return _written(value).encode("utf-8", "surrogatepass")


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


def _written(value: Any) -> str:
    """The canonical text; dataclasses are written as they come, without a copy in plain types."""
    kind: Any = type(value)
    return _writer(kind)(value)


@cache
def _writer(kind: Any) -> Callable[[Any], str]:
    """How values of one type are written; found out once, for a long trajectory asks a hundred thousand times."""
    if kind is str:
        return encode_basestring
    if kind is int:
        return int.__repr__
    if kind is tuple or kind is list:
        return _write_items
    if hasattr(kind, _DATACLASS):
        return partial(_write_fields, _fields(kind))
    if issubclass(kind, StrEnum):
        return _write_name
    return _write_plain


def _write_fields(fields: tuple[tuple[str, Any, str], ...], value: Any) -> str:
    written = []
    for name, default, opening in fields:
        item = getattr(value, name)
        if item is not default and item != default:
            written.append(opening + _written(item))
    return f"{{{','.join(written)}}}"


def _write_items(value: Iterable[Any]) -> str:
    return f"[{','.join(map(_written, value))}]"


def _write_name(value: StrEnum) -> str:
    return encode_basestring(value._value_)


def _write_plain(value: Any) -> str:
    return _encode(plain(value))


@cache
def _reducer(kind: Any) -> Callable[[Any], Any]:
    """How values of one type are reduced."""
    if hasattr(kind, _DATACLASS):
        return partial(_plain_fields, _fields(kind))
    if issubclass(kind, Enum):
        return attrgetter("_value_")
    if issubclass(kind, str | int | float):
        return _same
    if issubclass(kind, datetime):
        return _plain_moment
    if issubclass(kind, Mapping):
        return _plain_mapping
    if issubclass(kind, list | tuple):
        return _plain_items
    if issubclass(kind, set | frozenset):
        return _plain_set
    raise TypeError(f"no canonical form for {kind.__name__}")


def _plain_fields(fields: tuple[tuple[str, Any, str], ...], value: Any) -> dict[str, Any]:
    reduced = {}
    for name, default, _ in fields:
        item = getattr(value, name)
        if item is not default and item != default:
            reduced[name] = item if type(item) in _AS_IS else plain(item)
    return reduced


def _plain_mapping(value: Mapping[Any, Any]) -> dict[str, Any]:
    return {str(key): item if type(item) in _AS_IS else plain(item) for key, item in value.items()}


def _plain_items(value: Iterable[Any]) -> list[Any]:
    return [plain(item) for item in value]


def _plain_set(value: Iterable[Any]) -> list[Any]:
    return sorted((plain(item) for item in value), key=canonical)


def _plain_moment(value: datetime) -> str:
    if value.tzinfo is UTC:
        return value.isoformat()
    return (value if value.tzinfo else value.replace(tzinfo=UTC)).astimezone(UTC).isoformat()


def _same(value: Any) -> Any:
    return value


@cache
def _fields(kind: Any) -> tuple[tuple[str, Any, str], ...]:
    """A dataclass's fields in the order they are written: name, default, and the text of the key."""
    found = []
    for field in sorted(dataclasses.fields(kind), key=attrgetter("name")):
        default: Any = _NO_DEFAULT
        if field.default is not dataclasses.MISSING:
            default = field.default
        elif field.default_factory is not dataclasses.MISSING:
            default = field.default_factory()
        found.append((field.name, default, f"{encode_basestring(field.name)}:"))
    return tuple(found)
