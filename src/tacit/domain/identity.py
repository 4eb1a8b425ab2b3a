"""Content addresses: one value → one canonical text → one digest → one id.

A field that has its default is left out of the canonical form, so a field added later with a default changes no older hash.
A field may be renamed if its metadata names the old one (`STORED_AS`).
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Mapping
from datetime import UTC, datetime
from enum import Enum
from functools import cache
from typing import Any

ID_LENGTH = 32  # hex digits: 128 bits, beyond accidental collision
STORED_AS = "stored_as"
"""In a field's metadata: the name that the field is stored and hashed under, where that is not its own."""


def plain(value: Any) -> Any:
    """Reduce dataclasses, enums, times and tuples to JSON's own types, without fields that have their default."""
    kind: Any = type(value)
    if kind in _AS_IS:
        return value
    fields = _fields(kind)
    if fields is not None:
        reduced = {}
        for name, default, stored in fields:
            item = getattr(value, name)
            if item is not default and item != default:
                reduced[stored] = item if type(item) in _AS_IS else plain(item)
        return reduced
    if isinstance(value, Enum):
        return value._value_
    if isinstance(value, str | int | float):
        return value
    if isinstance(value, datetime):
        value = value if value.tzinfo else value.replace(tzinfo=UTC)
        return value.isoformat() if value.tzinfo is UTC else value.astimezone(UTC).isoformat()
    if kind is dict or isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, set | frozenset):
        return sorted((plain(item) for item in value), key=canonical)
    raise TypeError(f"no canonical form for {kind.__name__}")


def canonical(value: Any) -> bytes:
    """Write a value as its canonical JSON text: sorted keys, no blanks, UTF-8."""
    return _encode(plain(value)).encode("utf-8", "surrogatepass")


def digest(value: Any) -> str:
    """Hash a value's canonical form; the algorithm is part of the result."""
    return "sha256:" + hashlib.sha256(canonical(value)).hexdigest()


def content_id(prefix: str, value: Any) -> str:
    """Name a value by its content, e.g. ``t_3f…`` for a trajectory."""
    return f"{prefix}_{hashlib.sha256(canonical(value)).hexdigest()[:ID_LENGTH]}"


_AS_IS = frozenset({str, int, float, bool, type(None)})
_encode = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode


@cache
def _fields(kind: Any) -> tuple[tuple[str, Any, str], ...] | None:
    """The fields of a dataclass: name, default, stored name; nothing for other types."""
    if not dataclasses.is_dataclass(kind):
        return None
    found = []
    for field in dataclasses.fields(kind):
        default: Any = field.default
        if field.default_factory is not dataclasses.MISSING:
            default = field.default_factory()
        found.append((field.name, default, stored_name(field)))
    return tuple(found)


def stored_name(field: dataclasses.Field[Any]) -> str:
    """The name that a dataclass field is stored and hashed under."""
    return str(field.metadata.get(STORED_AS, field.name))


def assign_id(value: Any, prefix: str, *content: Any) -> None:
    """Name a new frozen value by its content, unless it has an id."""
    if not value.id:
        object.__setattr__(value, "id", content_id(prefix, content))
