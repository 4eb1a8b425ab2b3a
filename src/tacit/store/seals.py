"""Seals: a hash over the values of a row, their types and the table's name, so that any change of the row is detected."""

from __future__ import annotations

import hashlib

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any


_LARGE = 65_536
"""Larger values, in bytes, are hashed directly and not copied first."""


def seal_of(table: str, values: Sequence[Any]) -> str:
    """Hash typed values; two different rows never have the same bytes to hash."""
    sealed = hashlib.sha256()
    parts: list[bytes | memoryview] = [table.encode()]
    for value in values:
        data: bytes | memoryview
        if isinstance(value, str):
            tag, data = b"s", value.encode("utf-8", "surrogatepass")
        elif isinstance(value, bytes | memoryview):
            tag, data = b"b", value
        else:
            tag, data = type(value).__name__.encode(), repr(value).encode()
        parts.append(b"\0%b%d:" % (tag, len(data)))
        if len(data) > _LARGE:
            sealed.update(b"".join(parts))
            sealed.update(data)
            parts.clear()
        else:
            parts.append(data)
    sealed.update(b"".join(parts))
    return sealed.hexdigest()
