"""Domain value ↔ the bytes that are stored: canonical JSON.

A value that does not read back unchanged is refused before it is stored, so that nothing acknowledged turns out unreadable.
"""

from __future__ import annotations

import dataclasses
import json
from contextlib import suppress
from datetime import UTC, datetime
from functools import cache
from typing import Any, TypeVar

import msgspec

from tacit.domain.errors import Mistake
from tacit.domain.identity import canonical, stored_name

T = TypeVar("T")


class UnreadableRecord(ValueError):
    """Bytes that are not a record of the expected type."""


def pack(value: Any) -> bytes:
    """Write a value so that reading it gives an equal one; raises `Mistake` where that is not possible."""
    try:
        data = canonical(value)
        again = canonical(unpack(data, type(value)))
        if again != data:  # a whole number where a fraction is declared becomes that fraction
            data, again = again, canonical(unpack(again, type(value)))
    except (TypeError, ValueError, RecursionError, OverflowError) as error:
        raise _cannot_store(value, error) from error
    if again != data:
        raise _cannot_store(value, "it does not read back as it was written")
    return data


def unpack(data: bytes, kind: type[T]) -> T:
    """Read a value of a known type; raises `Unreadable`."""
    wanted: Any = kind
    renamed = _renamed_fields(wanted)
    if not renamed:
        with suppress(msgspec.MsgspecError, ValueError, RecursionError):  # such as lone surrogates, read below
            return msgspec.json.decode(data, type=kind)
    try:
        document = json.loads(data.decode("utf-8", "surrogatepass"))
        if renamed and isinstance(document, dict):
            document = {renamed.get(name, name): value for name, value in document.items()}
        return msgspec.convert(document, type=kind)
    except (ValueError, TypeError, RecursionError) as error:
        raise UnreadableRecord(f"is not a readable {kind.__name__}: {error}") from error


@cache
def _renamed_fields(kind: Any) -> dict[str, str]:
    """Stored name → field, of the fields of a dataclass that are stored under another name than their own."""
    fields = dataclasses.fields(kind) if dataclasses.is_dataclass(kind) else ()
    return {stored_name(field): field.name for field in fields if stored_name(field) != field.name}


def _cannot_store(value: Any, reason: object) -> Mistake:
    return Mistake(f"this {type(value).__name__.lower()} cannot be stored: {reason}", code="not_storable")


def clean(text: str) -> str:
    """Replace characters that UTF-8 cannot encode; only look-up columns use this, records keep every character."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def stamp(at: datetime) -> str:
    """Write a time so that text order is time order; raises `Mistake` for one without a time zone."""
    return aware(at).astimezone(UTC).isoformat(timespec="microseconds")


def aware(at: datetime) -> datetime:
    """Return the time if it has a time zone; raises `Mistake` otherwise."""
    if at.tzinfo is None or at.utcoffset() is None:
        raise Mistake(
            f"the time {at.isoformat()} has no time zone",
            code="no_time_zone",
            hint="pass aware times, best datetime.now(UTC)",
        )
    return at
