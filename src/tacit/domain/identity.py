"""Content addresses: one value → one canonical text → one digest → one id.

A value that equals its field's default is left out of the canonical form, so a field added later with a default
leaves every older hash as it was. Storage and encoding of whole records are not decided here.
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


def plain(value: Any) -> Any:
    """Reduce dataclasses, enums, times and tuples to JSON's own types, leaving out fields at their default."""
    kind = type(value)
    if kind in _AS_IS:
        return value
    if kind is tuple or kind is list:
        return [plain(item) for item in value]
    if kind is dict:
        return {str(key): plain(item) for key, item in value.items()}
    if dataclasses.is_dataclass(kind):
        held = ((name, getattr(value, name), default) for name, default in _fields(kind))
        return {name: plain(item) for name, item, default in held if item is not default and item != default}
    return _plain_other(value)


def _plain_other(value: Any) -> Any:
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, str | int | float):
        return value
    if isinstance(value, datetime):
        return (value if value.tzinfo else value.replace(tzinfo=UTC)).astimezone(UTC).isoformat()
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, set | frozenset):
        return sorted((plain(item) for item in value), key=canonical)
    raise TypeError(f"no canonical form for {type(value).__name__}")


def canonical(value: Any) -> bytes:
    """Write a value as the one JSON text that stands for it: sorted keys, no blanks, UTF-8."""
    text = json.dumps(plain(value), sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return text.encode("utf-8", "surrogatepass")


def digest(value: Any) -> str:
    """Hash a value's canonical form; the algorithm is part of the result."""
    return "sha256:" + hashlib.sha256(canonical(value)).hexdigest()


def content_id(prefix: str, value: Any) -> str:
    """Name a value by its content, e.g. ``t_3f…`` for a trajectory."""
    return f"{prefix}_{hashlib.sha256(canonical(value)).hexdigest()[:ID_LENGTH]}"


_AS_IS = frozenset({str, int, float, bool, type(None)})
_NO_DEFAULT = object()


@cache
def _fields(kind: type[Any]) -> tuple[tuple[str, Any], ...]:
    """Names of a dataclass's fields, each with its default."""
    found = []
    for field in dataclasses.fields(kind):
        default: Any = _NO_DEFAULT
        if field.default is not dataclasses.MISSING:
            default = field.default
        elif field.default_factory is not dataclasses.MISSING:
            default = field.default_factory()
        found.append((field.name, default))
    return tuple(found)
