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
from typing import Any

ID_LENGTH = 32  # hex digits: 128 bits, beyond accidental collision


def plain(value: Any) -> Any:
    """Reduce dataclasses, enums, times and tuples to JSON's own types, leaving out fields at their default."""
    if isinstance(value, Enum):
        return value.value
    if value is None or isinstance(value, str | int | float | bool):
        return value
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat()
    if dataclasses.is_dataclass(value):
        return {f.name: plain(getattr(value, f.name)) for f in dataclasses.fields(value) if not _at_default(value, f)}
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(item) for item in value]
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


def _at_default(value: Any, field: dataclasses.Field[Any]) -> bool:
    current = getattr(value, field.name)
    if field.default is not dataclasses.MISSING:
        return bool(current == field.default)
    if field.default_factory is not dataclasses.MISSING:
        return bool(current == field.default_factory())
    return False
