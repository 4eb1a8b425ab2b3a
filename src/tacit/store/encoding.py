"""Domain value ↔ the bytes that are stored: canonical JSON; and vectors as a signed byte per number.

A value that does not read back unchanged is refused before it is stored, so that nothing acknowledged turns out unreadable.
Only the direction of a vector counts: its numbers are scaled so that the largest becomes 127, and rounded. That changes a
cosine by about 0.0003 (decision 0025).
"""

from __future__ import annotations

import dataclasses
import json
import math
import sys
from array import array
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from functools import cache
from operator import mul
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


Range = tuple[int, int]
"""First and last number of some rows, both included."""
LAST_ROW = 2**63 - 1
FINENESS = 6
"""Decimals of a similarity: enough to rank, too few to depend on the order of additions."""
_PEAK = 127


def codes_of(vector: bytes) -> bytes:
    """A vector as it is stored."""
    numbers = numbers_of(vector)
    scale = _PEAK / max(map(abs, numbers))
    return array("b", [round(number * scale) for number in numbers]).tobytes()


def direction_of(vector: bytes) -> list[float]:
    """A query's vector as numbers, of length 1."""
    numbers = numbers_of(vector)
    length = math.hypot(*numbers)
    return [number / length for number in numbers]


def numbers_of(vector: bytes) -> array[float]:
    """Read little-endian 32-bit floats; raises `Mistake` for bytes that are not a vector with a direction."""
    if not vector or len(vector) % 4:
        raise _bad_vector(f"{len(vector)} bytes are not a vector", hint="vectors are 32-bit floats, four bytes each")
    numbers = array("f", vector)
    if sys.byteorder == "big":
        numbers.byteswap()
    if not all(map(math.isfinite, numbers)):
        raise _bad_vector("the vector has a number that is not finite")
    if not any(numbers):
        raise _bad_vector("the vector is zero, so it has no direction")
    return numbers


def _bad_vector(message: str, *, hint: str = "the embedder is at fault") -> Mistake:
    return Mistake(message, code="bad_vector", hint=hint)


def encode_vectors(vectors: Sequence[bytes], *, space: str, dimensions: int | None) -> list[bytes]:
    """The vectors of one version as they are stored; raises `Mistake` unless all have the length of the space."""
    if not space or not vectors:
        raise _bad_vector("a version needs a space and at least one vector", hint="embed at least its description")
    kept = [codes_of(vector) for vector in vectors]
    for codes in kept:
        check_length(len(codes), space=space, dimensions=dimensions or len(kept[0]))
    return kept


def check_length(found: int, *, space: str, dimensions: int) -> None:
    """Raise unless a vector has as many numbers as the others of its space."""
    if found != dimensions:
        raise Mistake(
            f"a vector of {found} numbers does not belong to {space}, whose vectors have {dimensions}",
            code="wrong_dimensions",
            hint="each embedder has a space of its own; `tacit store index` embeds the skills again",
        )


def gaps(covered: Sequence[Range]) -> Iterator[Range]:
    """The ranges before, between and after the given ones; the last one has no end. Overlaps mean damage."""
    start = 1
    for first, last in covered:
        if start < first:
            yield start, first - 1
        start = max(start, last + 1)
    yield start, LAST_ROW


def similarity(codes: bytes, direction: Sequence[float]) -> float:
    """The cosine of a stored vector and a query's direction."""
    kept = array("b", codes)
    length = math.sqrt(sum(map(mul, kept, kept)))
    return round(math.fsum(map(mul, kept, direction)) / length, FINENESS)
