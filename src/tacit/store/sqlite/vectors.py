"""What recallable versions mean, by embedder: one sealed row per version and space, with the codes of its parts joined.

A projection, not in the audit chain: a trigger drops a version's vectors as soon as it stops being recallable. Rows are the
truth; `blocks` repeats them for loading and `sketches` for a glance. Comparing is not done here (see `nearness`).
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from tacit.domain.lifecycle import RECALLABLE
from tacit.store import laws
from tacit.store.sqlite.blocks import BLOCK_ROWS, Blocks, DerivedRows
from tacit.store.sqlite.connection import Connection
from tacit.store.sqlite.outages import Damaged
from tacit.store.sqlite.rows import Values
from tacit.store.sqlite.sketches import Sketches
from tacit.store.sqlite.skills import Skills
from tacit.store.vectors import checked

_RECALLABLE = ", ".join(f"'{status}'" for status in sorted(RECALLABLE))

Range = tuple[int, int]
"""First and last number, both included."""


class Vectors:
    """The tables `vector_spaces`, `vectors`, `vector_blocks` and `vector_sketches`."""

    def __init__(self, connection: Connection, skills: Skills, *, block_rows: int = BLOCK_ROWS) -> None:
        self._connection = connection
        self._skills = skills
        self.writes = 0
        """How often this object may have changed what is kept."""
        self.spaces = DerivedRows(connection, "vector_spaces", ("id", "dimensions"))
        self.rows = DerivedRows(connection, "vectors", ("space", "version", "codes"))
        self.blocks = Blocks(connection, self.spaces, self.rows, block_rows=block_rows)
        self.sketches = Sketches(connection, self.spaces, self.blocks.rows)

    def put(self, version_id: str, vectors: Sequence[bytes], *, space: str) -> None:
        """Keep a version's vectors, in place of those before."""
        stored = self._skills.version(version_id)
        laws.check_embedded(stored)
        known = self.spaces.find(space)
        parts = checked(vectors, space=space, dimensions=known["dimensions"] if known else None)
        owner = known or self.spaces.add({"id": space, "dimensions": len(parts[0])})
        codes = b"".join(parts)
        self.writes += 1
        before = self.numbers_of(owner["seq"], [stored.sequence])
        if before and self._holds(before[0], codes):
            return
        for seq in before:
            self._connection.run("DELETE FROM vectors WHERE seq = ?", seq)
        self.rows.add({"space": owner["seq"], "version": stored.sequence, "codes": codes})
        if before:
            self.blocks.pack(owner["seq"])
        else:
            self.blocks.pack_tail(owner["seq"])
        self.sketches.follow()

    def missing(self, space: str, *, limit: int | None) -> list[str]:
        """Ids of recallable versions without vectors in this space, oldest first."""
        known = self.spaces.find(space)
        sql = (
            "SELECT id FROM versions WHERE seq IN (SELECT seq FROM versions AS v INDEXED BY versions_by_status "
            f"WHERE status IN ({_RECALLABLE}) AND NOT EXISTS (SELECT 1 FROM vectors WHERE version = v.seq AND space = ?)) "
            "ORDER BY seq LIMIT ?"
        )
        most = -1 if limit is None else max(0, limit)
        return [row[0] for row in self._connection.run(sql, known["seq"] if known else 0, most)]

    def counts(self) -> dict[str, int]:
        """Spaces with vectors → how many versions have some in each."""
        counted = self._connection.run("SELECT space, count(*) FROM vectors GROUP BY space ORDER BY space")
        return {self.spaces.at(space)["id"]: count for space, count in counted}

    def drop(self, space: str) -> None:
        """Forget all vectors of one space."""
        self.writes += 1
        for (seq,) in self._connection.run("SELECT seq FROM vector_spaces WHERE id = ?", space):
            self._forget(seq)

    def numbers_of(self, space: int, versions: Sequence[int]) -> list[int]:
        """The numbers of these versions' rows in a space."""
        sql = "SELECT seq FROM json_each(?) AS few CROSS JOIN vectors ON version = few.value AND space = ? ORDER BY few.key"
        return [row[0] for row in self._connection.run(sql, json.dumps(versions), space)]

    def tidy(self) -> None:
        """Pack what a version that is no longer recallable left open; to be called whenever one ceased to be."""
        self.writes += 1
        for (space,) in self._connection.run("SELECT seq FROM vector_spaces ORDER BY seq"):
            self.blocks.pack(space)
        self.sketches.follow()

    def rebuild(self) -> None:
        """Drop what does not pass `check`, which then waits to be embedded again, and make all blocks anew."""
        self.writes += 1
        for seq in self.spaces.numbers():
            try:
                self.check_space(self.spaces.at(seq))
            except Damaged:
                self._forget(seq)
        for seq in self.rows.numbers():
            try:
                self.check(self.rows.at(seq))
            except Damaged:
                self._connection.run("DELETE FROM vectors WHERE seq = ?", seq)
        self.blocks.pack_all()
        self.sketches.make_all()

    def check_space(self, row: Values) -> None:
        """Raise unless vectors can belong to it."""
        if not row["id"] or row["dimensions"] < 1:
            raise self.spaces.damage(row["id"], "is no space of vectors")

    def check(self, row: Values) -> None:
        """Raise unless the row holds vectors of a recallable version in a known space."""
        version = self._connection.run("SELECT status FROM versions WHERE seq = ?", row["version"])
        if not version:
            raise self.rows.damage(row["seq"], "are of a version that is not there")
        if version[0][0] not in RECALLABLE:
            raise self.rows.damage(row["seq"], "are of a version that is not recallable")
        space = self.spaces.at(row["space"])
        if not row["codes"] or len(row["codes"]) % space["dimensions"]:
            raise self.rows.damage(row["seq"], "do not have the length of their space")

    def _holds(self, seq: int, codes: bytes) -> bool:
        try:
            return bool(self.rows.at(seq)["codes"] == codes)
        except Damaged:
            return False  # it gives way to the new one

    def _forget(self, space: int) -> None:
        for table, column in (("vector_blocks", "space"), ("vectors", "space"), ("vector_spaces", "seq")):
            self._connection.run(f"DELETE FROM {table} WHERE {column} = ?", space)
