"""How vectors are stored (a signed byte per number; sketches of two bits per number), and how hooks search without numpy.

Only the direction of a vector counts: its numbers are scaled so that the largest becomes 127, and rounded. That changes a
cosine by about 0.0003 (decision 0025). A sketch keeps the quarter of each number in two bits, laid out by number, so that all
vectors are compared with a query at once by adding long integers bit by bit, as an adder in hardware does: twenty thousand
vectors in a few milliseconds. The best of a sketch are only likely the nearest, so they are compared exactly: each similarity
equals the store's, but of the twenty nearest of ten thousand skills about one in ten may be missed, seldom one of the first
three (docs/lab.md). Rows that do not fit their seals are skipped.
"""

from __future__ import annotations

import json
import math
import sys
from array import array
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import accumulate
from math import isqrt, sqrt
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


PLANES = 2
"""Bits for each number: its sign, and whether it is large (if positive) or small (if negative)."""
FINEST = 15
"""The largest weight of a number of the query; the others are rounded to integers below it."""
_EXACT_SQUARES = [(code - 256 if code > 127 else code) ** 2 for code in range(256)]
_SQUARES = bytes(min(255, (square + 32) >> 6) for square in _EXACT_SQUARES)
"""The square of a signed byte, in 64ths: bytes are added up far more quickly than products."""
_PLANE_DIGITS = (b"0011" + bytes(252), b"0101" + bytes(252))
"""For each plane: level → its bit, as a digit."""


def sketch_of(codes: bytes, dimensions: int) -> bytes:
    """Sketch joined vectors: for each number its two planes, each a bit for every vector."""
    levels = b"".join(
        _levelled(codes[start : start + dimensions], dimensions) for start in range(0, len(codes), dimensions)
    )
    width = -(-(len(codes) // dimensions) // 8)
    planes = []
    for number in range(dimensions):
        column = levels[number::dimensions][::-1]  # the first vector is the lowest bit
        planes += [int(column.translate(table), 2).to_bytes(width, "little") for table in _PLANE_DIGITS]
    return b"".join(planes)


def likely(sketches: Sequence[tuple[int, bytes]], direction: Sequence[float], *, count: int) -> list[tuple[int, int]]:
    """The vectors of sketches (number of vectors, planes) that are likely the `count` nearest: sketch and place in it."""
    widths = [-(-many // 8) for many, _ in sketches]
    starts = [8 * each for each in accumulate(widths, initial=0)][:-1]
    everything = sum(((1 << many) - 1) << start for (many, _), start in zip(sketches, starts, strict=True))
    columns = _weighed(sketches, widths, direction, everything)
    found = []
    for place in _highest(_added(columns), everything, count=count):
        sketch = bisect_right(starts, place) - 1
        found.append((sketch, place - starts[sketch]))
    return found


def _levelled(codes: bytes, dimensions: int) -> bytes:
    """Each number as 0, 1, 2 or 3 in relation to the length of its vector, so that long vectors are not preferred."""
    far = isqrt(sum(codes.translate(_SQUARES)) * 64 * 16 // (25 * dimensions))  # 0.8 of what is usual in it
    return codes.translate(_level_table(max(1, far)))


@cache
def _level_table(far: int) -> bytes:
    signed = [*range(128), *range(-128, 0)]
    return bytes((code >= -far) + (code >= 0) + (code >= far) for code in signed)


def _weighed(
    sketches: Sequence[tuple[int, bytes]], widths: Sequence[int], direction: Sequence[float], everything: int
) -> dict[int, list[int]]:
    """The planes that count for a vector, by the power of two they weigh."""
    unit = max(map(abs, direction)) / FINEST
    columns: dict[int, list[int]] = {}
    for number, value in enumerate(direction):
        weight = round(abs(value) / unit)
        for plane in range(PLANES) if weight else ():
            at = number * PLANES + plane
            parts = [planes[at * width : (at + 1) * width] for (_, planes), width in zip(sketches, widths, strict=True)]
            bits = int.from_bytes(b"".join(parts), "little")
            if value < 0:  # the less the better
                bits ^= everything
            for power in range(weight.bit_length()):
                if weight >> power & 1:
                    columns.setdefault(power + PLANES - 1 - plane, []).append(bits)
    return columns


def _added(columns: dict[int, list[int]]) -> list[int]:
    """Add up bits of many vectors at once, three to two as full adders do; the sums by power of two, lowest first."""
    sums: list[int] = []
    power = 0
    while power <= max(columns, default=-1):
        waiting = columns.get(power, [])
        while len(waiting) > 1:
            one, two = waiting.pop(), waiting.pop()
            three = waiting.pop() if waiting else 0
            either = one ^ two
            waiting.insert(0, either ^ three)
            columns.setdefault(power + 1, []).append(one & two | either & three)
        sums.append(waiting[0] if waiting else 0)
        power += 1
    return sums


def _highest(sums: Sequence[int], everything: int, *, count: int) -> list[int]:
    """The places of the `count` highest sums in order; among equals the later ones."""
    surely, perhaps = 0, everything
    for plane in reversed(sums):
        above = surely | (perhaps & plane)
        if above.bit_count() > count:
            perhaps &= plane
        else:
            surely, perhaps = above, perhaps & ~plane
    sure, spare = list(_places(surely)), list(_places(perhaps))
    return sorted(sure + spare[max(0, len(spare) - (count - len(sure))) :])


def _places(bits: int) -> Iterator[int]:
    digits = bin(bits)[:1:-1]
    at = digits.find("1")
    while at >= 0:
        yield at
        at = digits.find("1", at + 1)


TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any

    Run = Callable[..., list[tuple[Any, ...]]]
    Intact = Callable[..., bool]
    """Whether a row fits its seal, which is its last value; records a damaged one."""

LIKELY = 200
"""How many vectors are compared by more than their sketches."""
EXACT = 40
"""How many versions are compared exactly: the nearest by integer arithmetic, which takes half the time."""
_FINE = 1 << 12
_SQUARES_HIGH = bytes(square >> 8 for square in _EXACT_SQUARES)
_SQUARES_LOW = bytes(square & 255 for square in _EXACT_SQUARES)
_ROWS = "SELECT seq, space, version, codes, seal FROM vectors WHERE space = ? AND "
_BY_VERSION = (
    "SELECT v.seq, v.space, v.version, v.codes, v.seal FROM json_each(?) AS few "
    "CROSS JOIN vectors AS v ON v.version = few.value AND v.space = ?"
)


class HookVectors:
    """Compares with the vectors of one space."""

    def __init__(self, run: Run, intact: Intact, *, space: int, dimensions: int) -> None:
        self._run = run
        self._intact = intact
        self._space = space
        self._dimensions = dimensions

    def nearest(self, direction: Sequence[float]) -> list[tuple[int, float]]:
        """The likely nearest versions with their similarity, best first, newer first among equals."""
        owners, sketches, covered = self._sketches()
        rows = [row for gap in gaps(covered) for row in self._rows(_ROWS + "seq BETWEEN ? AND ?", self._space, *gap)]
        near = {}
        if sum(map(len, owners)) + sum(len(row[3]) for row in rows) // self._dimensions <= LIKELY:
            near = {row[2]: self._best_of(similarity, row[3], direction) for row in rows}
        elif rows:
            codes = b"".join(row[3] for row in rows)
            owners.append([row[2] for row in rows for _ in range(len(row[3]) // self._dimensions)])
            sketches.append((len(owners[-1]), sketch_of(codes, self._dimensions)))
        chosen = likely(sketches, direction, count=LIKELY)
        versions = {owners[sketch][place] for sketch, place in chosen}
        near |= self.similarities(direction, versions, most=EXACT)
        return sorted(near.items(), key=lambda each: (-each[1], -each[0]))

    def similarities(
        self, direction: Sequence[float], versions: set[int], *, most: int | None = None
    ) -> dict[int, float]:
        """How similar these versions are, if they have vectors here; optionally only the `most` nearest of them."""
        rows = list(self._rows(_BY_VERSION, json.dumps(sorted(versions)), self._space))
        if most is not None and len(rows) > most:
            whole = [round(value * _FINE) for value in direction]
            rows = sorted(rows, key=lambda row: -self._best_of(_rough, row[3], whole))[:most]
        return {row[2]: self._best_of(similarity, row[3], direction) for row in rows}

    def _sketches(self) -> tuple[list[Sequence[int]], list[tuple[int, bytes]], list[tuple[int, int]]]:
        """Of each sketch: the versions of its vectors, their number with its planes, and the rows it covers."""
        owners: list[Sequence[int]] = []
        sketches, covered = [], []
        sql = (
            "SELECT seq, space, first, last, versions, planes, seal FROM vector_sketches WHERE space = ? ORDER BY last"
        )
        for row in self._run(sql, self._space):
            _, _, first, last, versions, planes, _ = row
            if not self._intact("vector_sketches", row, label=row[0]):
                continue
            numbers = array("q", versions)
            if sys.byteorder == "big":
                numbers.byteswap()
            owners.append(numbers)
            sketches.append((len(numbers), planes))
            covered.append((first, last))
        return owners, sketches, covered

    def _rows(self, sql: str, *values: Any) -> Iterator[tuple[Any, ...]]:
        """Rows of this space: number, space, version, codes, seal."""
        for row in self._run(sql, *values):
            if self._intact("vectors", row, label=row[0]) and row[1] == self._space:
                yield row

    def _best_of(self, measure: Callable[[bytes, Any], float], codes: bytes, query: Sequence[float]) -> float:
        """The similarity of a version's nearest vector."""
        size = self._dimensions
        return max(measure(codes[at : at + size], query) for at in range(0, len(codes), size))


def _rough(codes: bytes, whole: Sequence[int]) -> float:
    """A number proportional to the cosine, from integers alone; squares are summed as bytes, which is fastest."""
    length = sum(codes.translate(_SQUARES_HIGH)) * 256 + sum(codes.translate(_SQUARES_LOW))
    product: int = sum(map(mul, array("b", codes), whole))
    return product / sqrt(length)
