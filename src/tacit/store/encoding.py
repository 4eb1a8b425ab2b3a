"""Domain value ↔ the bytes that are kept of it.

Input is a frozen domain value, output its canonical JSON, and back. What cannot be read back unchanged is refused before
it is kept, so that nothing acknowledged turns out unreadable later. Says nothing about tables, seals or hashes of rows.
"""

from __future__ import annotations

import json
import zlib
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any, TypeVar

import msgspec

from tacit.domain.errors import Mistake
from tacit.domain.identity import canonical

T = TypeVar("T")
_COMPRESSION = 6


class Unreadable(ValueError):
    """Bytes that are not a record of the wanted type; the caller knows which row they came from."""


def pack(value: Any) -> bytes:
    """Write a value so that reading it gives an equal one; raises `Mistake` for what has no such form."""
    try:
        data = canonical(value)
        again = canonical(unpack(data, type(value)))
        if again != data:  # a whole number where a fraction is declared becomes that fraction
            data, again = again, canonical(unpack(again, type(value)))
    except (TypeError, ValueError, RecursionError, OverflowError) as error:
        raise Mistake(f"this {type(value).__name__.lower()} cannot be kept: {error}") from error
    if again != data:
        raise Mistake(f"this {type(value).__name__.lower()} cannot be kept: it does not read back as it was written")
    return data


def unpack(data: bytes, kind: type[T]) -> T:
    """Read a value of a known type; raises `Unreadable`."""
    with suppress(msgspec.MsgspecError, ValueError, RecursionError):  # as for characters that UTF-8 does not have
        return msgspec.json.decode(data, type=kind)
    try:
        return msgspec.convert(json.loads(data.decode("utf-8", "surrogatepass")), type=kind)
    except (ValueError, TypeError, RecursionError) as error:
        raise Unreadable(f"is no readable {kind.__name__}: {error}") from error


def compress(content: bytes) -> bytes:
    """Shrink a whole trajectory; every store does it alike, so that retention by size chooses alike."""
    return zlib.compress(content, _COMPRESSION)


def clean(text: str) -> str:
    """Give a text a form that any database accepts; only look-up columns use it, records keep every character."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def stamp(at: datetime) -> str:
    """Write a time so that text order is time order; raises `Mistake` for one without a zone."""
    return aware(at).astimezone(UTC).isoformat(timespec="microseconds")


def aware(at: datetime) -> datetime:
    """Pass on a time that knows its zone; raises `Mistake` otherwise."""
    if at.tzinfo is None or at.utcoffset() is None:
        raise Mistake(f"the time {at.isoformat()} has no zone", hint="pass aware times, best datetime.now(UTC)")
    return at
