"""Embeddings of recallable versions: one sealed row per version and embedder (space), with the codes of its vectors joined.

Not part of the audit chain: a trigger deletes a version's vectors when it stops being recallable. Blocks repeat many rows so
that a hundred thousand vectors load quickly, and can be rebuilt from the rows. `vector_search` compares.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Sequence
from itertools import chain, repeat
from typing import TYPE_CHECKING

from tacit.domain.errors import Mistake
from tacit.domain.lifecycle import RECALLABLE
from tacit.domain.skill import Kind
from tacit.domain.stored import Hit
from tacit.store import invariants
from tacit.store.connection import Connection, StoreDamaged, reads, writes
from tacit.store.encoding import LAST_ROW, Range, encode_vectors, gaps
from tacit.store.rows import Rows, Values
from tacit.store.skills import Skills

if TYPE_CHECKING:
    from tacit.store.vector_search import VectorSearch

_RECALLABLE = ", ".join(f"'{status}'" for status in sorted(RECALLABLE))
BLOCK_ROWS = 512
"""Rows in a block: enough to load quickly, few enough to write again when one of them is deleted."""
_REBUILD_HINT = "run `tacit store verify` to see what is damaged; `tacit store index --rebuild` rebuilds it"


class Blocks:
    """The table `vector_blocks`, made from `vectors`."""

    def __init__(self, connection: Connection, spaces: Rows, vectors: Rows, *, block_rows: int = BLOCK_ROWS) -> None:
        self._connection = connection
        self._spaces = spaces
        self._vectors = vectors
        self._block_rows = block_rows
        self.rows = Rows(
            connection, "vector_blocks", ("space", "first", "last", "versions", "codes"), hint=_REBUILD_HINT
        )

    def ranges(self, space: int) -> list[tuple[int, int, int, str]]:
        """Blocks of a space in order: number, first and last row that it covers, seal."""
        found = self._connection.run(
            "SELECT seq, first, last, seal FROM vector_blocks WHERE space = ? ORDER BY last", space
        )
        return [(seq, first, last, seal) for seq, first, last, seal in found]

    def unpacked(self, space: int, covered: Sequence[Range]) -> list[tuple[int, str]]:
        """Number and seal of the rows that none of the blocks covers, in order."""
        sql = "SELECT seq, seal FROM vectors WHERE space = ? AND seq BETWEEN ? AND ? ORDER BY seq"
        return [(seq, seal) for gap in gaps(covered) for seq, seal in self._connection.run(sql, space, *gap)]

    def pack(self, space: int) -> None:
        """Pack rows that no block covers, once they would fill one."""
        covered = [(first, last) for _, first, last, _ in self.ranges(space)]
        open_rows = [(gap, self._numbers(space, gap)) for gap in gaps(covered)]
        if sum(len(numbers) for _, numbers in open_rows) < self._block_rows:
            return
        for gap, numbers in open_rows:
            is_tail = gap[1] == LAST_ROW
            taken = len(numbers) // self._block_rows * self._block_rows if is_tail else len(numbers)
            self._pack_range(space, gap, numbers[:taken])

    def pack_all(self) -> None:
        """Rebuild all blocks from the rows."""
        self._connection.run("DELETE FROM vector_blocks")
        for (space,) in self._connection.run("SELECT seq FROM vector_spaces ORDER BY seq"):
            everything = (1, LAST_ROW)
            self._pack_range(space, everything, self._numbers(space, everything))

    def check(self, row: Values) -> None:
        """Raise unless the block holds exactly the rows it covers, and no other block covers them."""
        numbers = self._numbers(row["space"], (row["first"], row["last"]))
        if not numbers or (row["versions"], row["codes"]) != self._joined(row["space"], numbers):
            raise self.rows.damage(row["seq"], "wrong_block")
        sql = "SELECT count(*) FROM vector_blocks WHERE space = ? AND first <= ? AND last >= ?"
        if self._connection.single(sql, row["space"], row["last"], row["first"]) != 1:
            raise self.rows.damage(row["seq"], "overlapping_blocks")

    def _numbers(self, space: int, within: Range) -> list[int]:
        return self._vectors.numbers("space = ? AND seq BETWEEN ? AND ?", space, *within)

    def _pack_range(self, space: int, within: Range, numbers: Sequence[int]) -> None:
        """Write blocks over these rows. None covers numbers after its last row, where a new row may come."""
        start = within[0]
        for place in range(0, len(numbers), self._block_rows):
            chosen = numbers[place : place + self._block_rows]
            try:
                versions, codes = self._joined(space, chosen)
            except StoreDamaged:
                return  # not packed, so that the present write succeeds; reading the damaged row raises
            self.rows.add({"space": space, "first": start, "last": chosen[-1], "versions": versions, "codes": codes})
            start = chosen[-1] + 1

    def _joined(self, space: int, numbers: Sequence[int]) -> tuple[bytes, bytes]:
        """The rows as a block stores them: for each vector its version's number, and all codes."""
        dimensions = self._spaces.at(space)["dimensions"]
        rows = self._vectors.among(numbers)
        owners = chain.from_iterable(repeat(row["version"], len(row["codes"]) // dimensions) for row in rows)
        versions = b"".join(owner.to_bytes(8, "little", signed=True) for owner in owners)
        return versions, b"".join(row["codes"] for row in rows)


class Vectors:
    """The tables `vector_spaces`, `vectors` and `vector_blocks`."""

    def __init__(self, connection: Connection, skills: Skills, *, block_rows: int = BLOCK_ROWS) -> None:
        self._connection = connection
        self._skills = skills
        self._search: VectorSearch | None = None
        self.changes = 0
        """How often this object may have changed the stored vectors."""
        self.space_rows = Rows(connection, "vector_spaces", ("id", "dimensions"), hint=_REBUILD_HINT)
        self.rows = Rows(connection, "vectors", ("space", "version", "codes"), hint=_REBUILD_HINT)
        self.blocks = Blocks(connection, self.space_rows, self.rows, block_rows=block_rows)

    @writes
    def put(self, version_id: str, vectors: Sequence[bytes], *, space: str) -> None:
        """Keep the vectors of a version in one embedder's space, in place of its previous ones."""
        stored = self._skills.version(version_id)
        invariants.check_recallable(stored)
        known = self.space_rows.find(space)
        parts = encode_vectors(vectors, space=space, dimensions=known["dimensions"] if known else None)
        owner = known or self.space_rows.add({"id": space, "dimensions": len(parts[0])})
        codes = b"".join(parts)
        self.changes += 1
        before = self.numbers_of(owner["seq"], [stored.sequence])
        if before and self._holds(before[0], codes):
            return
        for seq in before:
            self._connection.run("DELETE FROM vectors WHERE seq = ?", seq)
        self.rows.add({"space": owner["seq"], "version": stored.sequence, "codes": codes})
        self.blocks.pack(owner["seq"])

    @reads
    def missing(self, space: str, *, limit: int | None = None) -> list[str]:
        """Ids of recallable versions without vectors in this space, oldest first."""
        known = self.space_rows.find(space)
        sql = (
            "SELECT id FROM versions WHERE seq IN (SELECT seq FROM versions AS v INDEXED BY versions_by_status "
            f"WHERE status IN ({_RECALLABLE}) AND NOT EXISTS (SELECT 1 FROM vectors WHERE version = v.seq AND space = ?)) "
            "ORDER BY seq LIMIT ?"
        )
        most = -1 if limit is None else max(0, limit)
        return [row[0] for row in self._connection.run(sql, known["seq"] if known else 0, most)]

    @reads
    def nearest(
        self, vector: bytes, *, space: str, kinds: Collection[Kind] | None = None, limit: int = 50
    ) -> list[Hit]:
        """The recallable versions nearest in meaning, exactly, best first: of each skill its newest one."""
        return self._searcher().nearest(vector, space=space, kinds=kinds, limit=limit)

    @reads
    def similarities(self, vector: bytes, version_ids: Iterable[str], *, space: str) -> dict[str, float]:
        """How similar these versions are; those without vectors in this space are left out."""
        return self._searcher().similarities(vector, version_ids, space=space)

    @reads
    def spaces(self) -> dict[str, int]:
        """Embedders' spaces → how many versions have vectors in each."""
        counted = self._connection.run("SELECT space, count(*) FROM vectors GROUP BY space ORDER BY space")
        return {self.space_rows.at(space)["id"]: count for space, count in counted}

    @writes
    def drop(self, space: str) -> None:
        """Delete all vectors of one space."""
        self.changes += 1
        for (seq,) in self._connection.run("SELECT seq FROM vector_spaces WHERE id = ?", space):
            self._delete_space(seq)

    def numbers_of(self, space: int, versions: Sequence[int]) -> list[int]:
        """The numbers of these versions' rows in a space."""
        sql = "SELECT seq FROM json_each(?) AS few CROSS JOIN vectors ON version = few.value AND space = ? ORDER BY few.key"
        return [row[0] for row in self._connection.run(sql, json.dumps(versions), space)]

    def pack_after_removal(self) -> None:
        """Pack the rows of blocks that ended when a version stopped being recallable."""
        self.changes += 1
        for (space,) in self._connection.run("SELECT seq FROM vector_spaces ORDER BY seq"):
            self.blocks.pack(space)

    def rebuild(self) -> None:
        """Delete vectors that do not pass `check`, so that they are embedded again, and rebuild all blocks."""
        self.changes += 1
        for seq in self.space_rows.numbers():
            try:
                self.check_space(self.space_rows.at(seq))
            except StoreDamaged:
                self._delete_space(seq)
        for seq in self.rows.numbers():
            try:
                self.check(self.rows.at(seq))
            except StoreDamaged:
                self._connection.run("DELETE FROM vectors WHERE seq = ?", seq)
        self.blocks.pack_all()

    def check_space(self, row: Values) -> None:
        """Raise unless vectors can belong to it."""
        if not row["id"] or row["dimensions"] < 1:
            raise self.space_rows.damage(row["id"], "not_a_space")

    def check(self, row: Values) -> None:
        """Raise unless the row holds vectors of a recallable version in a known space."""
        version = self._connection.run("SELECT status FROM versions WHERE seq = ?", row["version"])
        if not version:
            raise self.rows.damage(row["seq"], "version_missing")
        if version[0][0] not in RECALLABLE:
            raise self.rows.damage(row["seq"], "not_recallable")
        space = self.space_rows.at(row["space"])
        if not row["codes"] or len(row["codes"]) % space["dimensions"]:
            raise self.rows.damage(row["seq"], "wrong_dimensions")

    def _searcher(self) -> VectorSearch:
        """What compares vectors; imported when first needed, since numpy loads slowly and comes with an extra."""
        if self._search is None:
            try:
                from tacit.store.vector_search import VectorSearch
            except ModuleNotFoundError as error:
                raise Mistake(
                    "recall by meaning needs numpy", code="numpy_missing", hint="pip install 'tacit[semantic]'"
                ) from error
            self._search = VectorSearch(self._connection, self._skills, self)
        return self._search

    def _holds(self, seq: int, codes: bytes) -> bool:
        try:
            return bool(self.rows.at(seq)["codes"] == codes)
        except StoreDamaged:
            return False  # the new row replaces it

    def _delete_space(self, space: int) -> None:
        for table, column in (("vector_blocks", "space"), ("vectors", "space"), ("vector_spaces", "seq")):
            self._connection.run(f"DELETE FROM {table} WHERE {column} = ?", space)
