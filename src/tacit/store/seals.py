"""Seals: the values of a row → a hash over them, its table's name and their types. Says nothing about where rows are kept.

A seal covers every other column, so that no change of a bit, a column, a row's number or its table goes unseen.
"""

from __future__ import annotations

import hashlib

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any


_LARGE = 65_536
"""Bytes of a value from which on it is hashed where it is, and not copied beside the others first."""


def seal_of(table: str, values: Sequence[Any]) -> str:
    """Hash typed values so that no two different rows share a text to hash."""
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
