"""Sketches: for each block of vectors a sealed, much smaller likeness, by which hooks find what is near without numpy.

Follows the blocks: a block's sketch has its number, and a trigger drops it with the block. A block without one is read row by
row. What a sketch is, and how it is compared, is told in `tacit.store.sketches`.
"""

from __future__ import annotations

from tacit.store.sketches import sketch_of
from tacit.store.sqlite.blocks import DerivedRows
from tacit.store.sqlite.connection import Connection
from tacit.store.sqlite.outages import Damaged
from tacit.store.sqlite.rows import Rows, Values

COLUMNS = ("space", "first", "last", "versions", "planes")
"""Of the table `vector_sketches`, beside `seq` and `seal`, in the order that the seal covers them."""


class Sketches:
    """The table `vector_sketches`, made from the blocks in the spaces of `vector_spaces`."""

    def __init__(self, connection: Connection, spaces: Rows, blocks: Rows) -> None:
        self._connection = connection
        self._spaces = spaces
        self._blocks = blocks
        self.rows = DerivedRows(connection, "vector_sketches", COLUMNS)

    def follow(self) -> None:
        """Sketch the blocks that are new."""
        sql = "SELECT seq FROM vector_blocks WHERE seq NOT IN (SELECT seq FROM vector_sketches) ORDER BY seq"
        for (seq,) in self._connection.run(sql):
            try:
                self.rows.add(self._likeness(seq), seq=seq)
            except Damaged:
                continue  # so that what is written now does not suffer; whoever reads the block is told

    def make_all(self) -> None:
        """Make all sketches anew."""
        self._connection.run("DELETE FROM vector_sketches")
        self.follow()

    def check(self, row: Values) -> None:
        """Raise unless the sketch is that of its block."""
        if any(row[column] != value for column, value in self._likeness(row["seq"]).items()):
            raise self.rows.damage(row["seq"], "is not that of its block")

    def _likeness(self, seq: int) -> Values:
        block = self._blocks.at(seq)
        kept = {column: block[column] for column in ("space", "first", "last", "versions")}
        return {**kept, "planes": sketch_of(block["codes"], self._spaces.at(block["space"])["dimensions"])}
