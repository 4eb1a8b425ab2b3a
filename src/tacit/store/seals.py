"""Seals: a hash over the values of a row, their types and the table's name, so that any change of the row is detected."""

from __future__ import annotations

import hashlib

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any


def seal_of(table: str, values: Sequence[Any]) -> str:
    """Hash typed values; two different rows never have the same bytes to hash."""
    parts = [table.encode()]
    for value in values:
        if isinstance(value, str):
            tag, data = b"s", value.encode("utf-8", "surrogatepass")
        elif isinstance(value, bytes):
            tag, data = b"b", value
        else:
            tag, data = type(value).__name__.encode(), repr(value).encode()
        parts += (b"\0%b%d:" % (tag, len(data)), data)
    return hashlib.sha256(b"".join(parts)).hexdigest()
