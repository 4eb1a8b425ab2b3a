"""How vectors are stored: a signed byte per number.

Only the direction of a vector counts: its numbers are scaled so that the largest becomes 127, and rounded. That changes a
cosine by about 0.0003 (decision 0025).
"""

from __future__ import annotations

import math
import sys
from array import array
from collections.abc import Iterator, Sequence
from operator import mul

from tacit.domain.errors import Mistake

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
