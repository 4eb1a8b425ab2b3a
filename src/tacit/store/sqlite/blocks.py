"""Blocks: sealed copies of many rows of vectors, so that a hundred thousand of them load at once.

A block repeats all rows of one space in a range of numbers. A trigger drops it as soon as one of its rows goes. What no block
covers is packed as soon as it would fill one; until then it is read row by row.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from itertools import accumulate, chain, pairwise, repeat

import apsw

from tacit.store.sqlite.connection import Connection
from tacit.store.sqlite.outages import Damaged, translated
from tacit.store.sqlite.rows import Rows, Values

BLOCK_ROWS = 512
"""Rows that make a block: enough to load quickly, few enough to write again when one of them goes."""
_END = 2**63 - 1
_REBUILD_HINT = "run `tacit verify` to see what is damaged; `tacit index --rebuild` makes it anew"

Range = tuple[int, int]
"""First and last number, both included."""


class DerivedRows(Rows):
    """Sealed rows that can be made again."""

    def damage(self, label: object, problem: str) -> Damaged:
        """The error for one of this table's rows."""
        error = super().damage(label, problem)
        error.hint = _REBUILD_HINT
        return error


class Blocks:
    """The table `vector_blocks`, made from the rows of `vectors` in the spaces of `vector_spaces`."""

    def __init__(self, connection: Connection, spaces: Rows, vectors: Rows, *, block_rows: int = BLOCK_ROWS) -> None:
        self._connection = connection
        self._spaces = spaces
        self._vectors = vectors
        self._block_rows = block_rows
        self.rows = DerivedRows(connection, "vector_blocks", ("space", "first", "last", "versions", "codes"))

    def ranges(self, space: int) -> list[tuple[int, int, int, str]]:
        """Blocks of a space in order: number, first and last row that it covers, seal."""
        found = self._connection.run(
            "SELECT seq, first, last, seal FROM vector_blocks WHERE space = ? ORDER BY last", space
        )
        return [(seq, first, last, seal) for seq, first, last, seal in found]

    def read(self, numbers: Sequence[int], *, room: Callable[[int], memoryview]) -> list[Values]:
        """Blocks by their numbers, in that order; their codes are views of one piece of memory, of `room` for so many bytes."""
        try:
            return self._read_together(numbers, room)
        except Damaged:
            return [self.rows.at(seq) for seq in numbers]  # tells which

    def _read_together(self, numbers: Sequence[int], room: Callable[[int], memoryview]) -> list[Values]:
        size = "CASE typeof(codes) WHEN 'blob' THEN length(codes) END"
        listed = f"SELECT seq, space, first, last, versions, {size}, seal FROM vector_blocks"
        within = "seq IN (SELECT value FROM json_each(?))"
        found = {row[0]: row for row in self._connection.run(f"{listed} WHERE {within}", json.dumps(list(numbers)))}
        for seq in (seq for seq in numbers if seq not in found or found[seq][5] is None):
            raise self.rows.damage(seq, "cannot be read")
        ends = list(accumulate((found[seq][5] for seq in numbers), initial=0))
        memory = room(ends[-1])
        rooms = {seq: memory[begin:end] for seq, (begin, end) in zip(numbers, pairwise(ends), strict=True)}
        self._fill(rooms)
        return [self.rows.checked((*found[seq][:5], rooms[seq], found[seq][6])) for seq in numbers]

    def _fill(self, rooms: Mapping[int, memoryview]) -> None:
        """Read the codes of blocks where they are to stay: half the time of fetching them, since nothing copies them."""
        with translated(self._connection.path), ExitStack() as closing:
            codes: apsw.Blob | None = None
            for seq, room in rooms.items():
                if codes is None:
                    codes = self._connection.raw.blob_open("main", "vector_blocks", "codes", seq, False)
                    closing.callback(codes.close)
                else:
                    codes.reopen(seq)
                codes.read_into(room)

    def unpacked(self, space: int, covered: Sequence[Range]) -> list[tuple[int, str]]:
        """Number and seal of the rows that none of the blocks covers, in order."""
        sql = "SELECT seq, seal FROM vectors WHERE space = ? AND seq BETWEEN ? AND ? ORDER BY seq"
        return [(seq, seal) for gap in _gaps(covered) for seq, seal in self._connection.run(sql, space, *gap)]

    def pack_tail(self, space: int) -> None:
        """Pack what stands behind the last block, once it fills one."""
        sql = (
            "SELECT count(*) FROM vectors WHERE space = ? AND seq > "
            "(SELECT coalesce(max(last), 0) FROM vector_blocks WHERE space = ?)"
        )
        if self._connection.single(sql, space, space) >= self._block_rows:
            self.pack(space)

    def pack(self, space: int) -> None:
        """Bring what no block covers into blocks, once it would fill one."""
        gaps = [(gap, self._numbers(space, gap)) for gap in self._open_gaps(space)]
        if sum(len(numbers) for _, numbers in gaps) < self._block_rows:
            return
        for gap, numbers in gaps:
            is_tail = gap[1] == _END
            taken = len(numbers) // self._block_rows * self._block_rows if is_tail else len(numbers)
            self._pack_range(space, gap, numbers[:taken])

    def pack_all(self) -> None:
        """Make all blocks anew from the rows."""
        self._connection.run("DELETE FROM vector_blocks")
        for (space,) in self._connection.run("SELECT seq FROM vector_spaces ORDER BY seq"):
            everything = (1, _END)
            self._pack_range(space, everything, self._numbers(space, everything))

    def check(self, row: Values) -> None:
        """Raise unless the block holds exactly the rows that it covers, and covers none that another does."""
        numbers = self._numbers(row["space"], (row["first"], row["last"]))
        if not numbers or (row["versions"], row["codes"]) != self._joined(row["space"], numbers):
            raise self.rows.damage(row["seq"], "does not hold the vectors that it covers")
        sql = "SELECT count(*) FROM vector_blocks WHERE space = ? AND first <= ? AND last >= ?"
        if self._connection.single(sql, row["space"], row["last"], row["first"]) != 1:
            raise self.rows.damage(row["seq"], "covers what another block covers")

    def _open_gaps(self, space: int) -> list[Range]:
        return list(_gaps([(first, last) for _, first, last, _ in self.ranges(space)]))

    def _numbers(self, space: int, within: Range) -> list[int]:
        return self._vectors.numbers("space = ? AND seq BETWEEN ? AND ?", space, *within)

    def _pack_range(self, space: int, within: Range, numbers: Sequence[int]) -> None:
        """Blocks over these rows, the first of a range. None reaches behind its last row, where a new one may come."""
        start = within[0]
        for place in range(0, len(numbers), self._block_rows):
            chosen = numbers[place : place + self._block_rows]
            try:
                versions, codes = self._joined(space, chosen)
            except Damaged:
                return  # left open, so that what is written now does not suffer; whoever reads it is told
            self.rows.add({"space": space, "first": start, "last": chosen[-1], "versions": versions, "codes": codes})
            start = chosen[-1] + 1

    def _joined(self, space: int, numbers: Sequence[int]) -> tuple[bytes, bytes]:
        """The rows as a block holds them: for each vector its version's number, and all codes."""
        dimensions = self._spaces.at(space)["dimensions"]
        rows = self._vectors.among(numbers)
        owners = chain.from_iterable(repeat(row["version"], len(row["codes"]) // dimensions) for row in rows)
        return _packed(owners), b"".join(row["codes"] for row in rows)


def _packed(numbers: Iterable[int]) -> bytes:
    """Whole numbers as little-endian 64-bit ones."""
    return b"".join(number.to_bytes(8, "little", signed=True) for number in numbers)


def _gaps(covered: Sequence[Range]) -> Iterator[Range]:
    """What lies before, between and behind ranges in order; behind the last there is always something."""
    start = 1
    for first, last in covered:
        if start < first:
            yield start, first - 1
        start = last + 1
    yield start, _END
