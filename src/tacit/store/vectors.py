"""Vectors as every store keeps them: 32-bit floats in → one signed byte per number out, and how near a query is. Pure.

Only the direction of a vector counts. Its numbers are scaled so that the largest becomes 127 and rounded; what is kept is
then exact, and every store compares the same. Rounding costs a cosine about 0.0003 (decision 0025).
"""

from __future__ import annotations

import math
import sys
from array import array
from collections.abc import Sequence
from operator import mul

from tacit.domain.errors import Mistake

FINENESS = 6
"""Decimals of a similarity: enough to rank, too few for the order of additions to show."""
_PEAK = 127


def codes_of(vector: bytes) -> bytes:
    """A vector as it is kept."""
    numbers = numbers_of(vector)
    scale = _PEAK / max(map(abs, numbers))
    return array("b", [round(number * scale) for number in numbers]).tobytes()


def direction_of(vector: bytes) -> list[float]:
    """A query's vector as numbers, of length 1."""
    numbers = numbers_of(vector)
    length = math.hypot(*numbers)
    return [number / length for number in numbers]


def numbers_of(vector: bytes) -> array[float]:
    """Read little-endian 32-bit floats; raises `Mistake` for bytes that are no vector, or one without a direction."""
    if not vector or len(vector) % 4:
        raise Mistake(f"{len(vector)} bytes are no vector", hint="vectors are 32-bit floats, four bytes each")
    numbers = array("f", vector)
    if sys.byteorder == "big":
        numbers.byteswap()
    if not all(map(math.isfinite, numbers)):
        raise Mistake("the vector holds what is no finite number", hint="the embedder is at fault")
    if not any(numbers):
        raise Mistake("the vector is zero, so it means nothing", hint="the embedder is at fault")
    return numbers


def checked(vectors: Sequence[bytes], *, space: str, dimensions: int | None) -> list[bytes]:
    """The vectors of one version as they are kept; raises `Mistake` unless all have the length that the space has."""
    if not space or not vectors:
        raise Mistake("a version's vectors have a space and are not none", hint="embed at least its description")
    kept = [codes_of(vector) for vector in vectors]
    for codes in kept:
        check_length(len(codes), space=space, dimensions=dimensions or len(kept[0]))
    return kept


def check_length(found: int, *, space: str, dimensions: int) -> None:
    """Raise unless a vector has as many numbers as all others of its space."""
    if found != dimensions:
        raise Mistake(
            f"a vector of {found} numbers does not belong to {space}, whose vectors have {dimensions}",
            hint="each embedder has a space of its own; `tacit index` embeds anew",
        )


def similarity(codes: bytes, direction: Sequence[float]) -> float:
    """The cosine of a kept vector and a query's direction."""
    kept = array("b", codes)
    length = math.sqrt(sum(map(mul, kept, kept)))
    return round(math.fsum(map(mul, kept, direction)) / length, FINENESS)
