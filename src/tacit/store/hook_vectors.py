"""Search by vector for hooks, without numpy: the versions that are likely nearest to a query's vector, with their similarity.

All sketches of a space are compared, and rows without a sketch are sketched on the fly; the likely nearest are then compared
exactly. So each similarity equals the store's, but of the twenty nearest of ten thousand skills about one in ten may be missed,
seldom one of the first three (docs/lab.md). Rows that do not fit their seals are skipped.
"""

from __future__ import annotations

import json
import sys
from array import array
from math import sqrt
from operator import mul

from tacit.store.vector_codes import likely, similarity, sketch_of

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
_SQUARES = [(code - 256 if code > 127 else code) ** 2 for code in range(256)]
_HIGH, _LOW = bytes(square >> 8 for square in _SQUARES), bytes(square & 255 for square in _SQUARES)
_END = 2**63 - 1
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
        rows = [row for gap in _gaps(covered) for row in self._rows(_ROWS + "seq BETWEEN ? AND ?", self._space, *gap)]
        near = {}
        if sum(map(len, owners)) + sum(len(row[3]) for row in rows) // self._dimensions <= LIKELY:
            near = {row[2]: self._similarity(row[3], direction) for row in rows}
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
            rows = sorted(rows, key=lambda row: -self._roughly(row[3], whole))[:most]
        return {row[2]: self._similarity(row[3], direction) for row in rows}

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

    def _roughly(self, codes: bytes, whole: Sequence[int]) -> float:
        size = self._dimensions
        return max(_rough(codes[at : at + size], whole) for at in range(0, len(codes), size))

    def _similarity(self, codes: bytes, direction: Sequence[float]) -> float:
        size = self._dimensions
        return max(similarity(codes[at : at + size], direction) for at in range(0, len(codes), size))


def _rough(codes: bytes, whole: Sequence[int]) -> float:
    """A number proportional to the cosine, from integers alone; squares are summed as bytes, which is fastest."""
    length = sum(codes.translate(_HIGH)) * 256 + sum(codes.translate(_LOW))
    product: int = sum(map(mul, array("b", codes), whole))
    return product / sqrt(length)


def _gaps(covered: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """The ranges before, between and after the given ones; the last one has no end. Overlaps mean damage."""
    start = 1
    for first, last in covered:
        if start < first:
            yield start, first - 1
        start = max(start, last + 1)
    yield start, _END
