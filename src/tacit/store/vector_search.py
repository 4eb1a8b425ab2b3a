"""Exact search by vector, with numpy: the versions nearest to a query's vector, with their similarity.

Every vector of a space is compared on a copy in memory that is updated before each query: only new blocks and rows are read.
Both are identified by their seals, so that no rollback and no other process can leave the copy wrong. Vectors are compared as
32-bit floats, a few at a time; the best of them are compared again in full precision.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from itertools import accumulate, islice
from typing import TYPE_CHECKING

import numpy
from numpy.typing import NDArray

from tacit.domain.lifecycle import RECALLABLE
from tacit.domain.skill import Kind
from tacit.domain.stored import Hit
from tacit.store.connection import Connection
from tacit.store.encoding import FINENESS, check_length, direction_of
from tacit.store.rows import Values
from tacit.store.skills import Skills

if TYPE_CHECKING:
    from tacit.store.vectors import Vectors

Numbers = NDArray[numpy.int64]
Floats = NDArray[numpy.float32]
Codes = NDArray[numpy.int8]

_MARGIN = 1e-5
"""More than the rounding error of the scan."""
_NEVER = numpy.float32(-2.0)
"""Below any cosine."""
_CANDIDATES_PER_HIT, _EXTRA_CANDIDATES = 4, 50
"""Candidates per wanted hit, and extra ones, before filtering by status and kind."""
_GROWTH = 8
_IN_FLOATS = 256
"""How many vectors are converted together; the fastest number measured (decision 0025)."""
_AT_ONCE = 4096
"""How many vectors are compared in full precision together."""
_STATUSES = ", ".join(f"'{status}'" for status in sorted(RECALLABLE))


class Segment:
    """Vectors in one array: the versions they belong to, their codes, and the inverse of their lengths."""

    __slots__ = ("codes", "shrink", "versions")

    def __init__(self, versions: Numbers, codes: bytes, dimensions: int) -> None:
        self.versions = versions
        self.codes = _codes(codes, dimensions)
        lengths = numpy.einsum("ij,ij->i", self.codes, self.codes, dtype=numpy.float32)
        self.shrink = numpy.reciprocal(numpy.sqrt(lengths))

    def compare(self, query: Floats, *, into: Floats, room: Floats) -> None:
        """Write the cosine of every vector. `room` holds a few of them as floats, so few that they stay in the cache."""
        for start in range(0, len(self.codes), len(room)):
            codes = self.codes[start : start + len(room)]
            floats = room[: len(codes)]
            numpy.copyto(floats, codes)
            numpy.dot(floats, query, out=into[start : start + len(codes)])
        into *= self.shrink


class SpaceCopy:
    """All vectors of one space in memory, as of one state of the store."""

    def __init__(self, dimensions: int) -> None:
        self.dimensions = dimensions
        self.stamp = (-1, -1, -1)
        self._blocks: dict[str, Segment] = {}
        self._loose: dict[str, Values] = {}
        """Blocks, and rows outside of blocks, by their seals."""
        self._segments: list[Segment] = []
        self._starts: list[int] = []
        self._versions: Numbers = numpy.empty(0, numpy.int64)

    def update(self, vectors: Vectors, space: int, *, stamp: tuple[int, int, int]) -> None:
        """Bring the copy up to date; blocks and rows with known seals are not read again."""
        ranges = vectors.blocks.ranges(space)
        loose = vectors.blocks.unpacked(space, [(first, last) for _, first, last, _ in ranges])
        self.stamp = stamp
        known = [*self._blocks, *self._loose]
        if known and known == [seal for *_, seal in (*ranges, *loose)]:
            return
        blocks = dict(self._blocks)
        for row in vectors.blocks.rows.among([seq for seq, _, _, seal in ranges if seal not in blocks]):
            versions = numpy.frombuffer(row["versions"], "<i8").astype(numpy.int64)
            blocks[row["seal"]] = Segment(versions, row["codes"], self.dimensions)
        rows = vectors.rows.among([seq for seq, seal in loose if seal not in self._loose])
        singles = self._loose | {row["seal"]: row for row in rows}
        self._blocks = {seal: blocks[seal] for *_, seal in ranges}
        self._loose = {seal: singles[seal] for _, seal in loose}
        left = self._loose.values()
        owners = [row["version"] for row in left for _ in range(len(row["codes"]) // self.dimensions)]
        single = Segment(numpy.array(owners, numpy.int64), b"".join(row["codes"] for row in left), self.dimensions)
        self._segments = [*self._blocks.values(), single]
        self._starts = [0, *accumulate(len(segment.versions) for segment in self._segments)][:-1]
        self._versions = numpy.concatenate([segment.versions for segment in self._segments])

    def scan(self, direction: Sequence[float]) -> Floats:
        """The similarity of every vector, with the precision of 32-bit floats."""
        query = numpy.array(direction, numpy.float32)
        scores = numpy.empty(len(self._versions), numpy.float32)
        room = numpy.empty((_IN_FLOATS, self.dimensions), numpy.float32)
        for start, segment in zip(self._starts, self._segments, strict=True):
            segment.compare(query, into=scores[start : start + len(segment.codes)], room=room)
        return scores

    def best(self, scores: Floats, direction: Sequence[float], *, count: int) -> list[tuple[int, float]]:
        """The versions of the `count` best vectors with their exact similarity, best first, newer first among equals."""
        edge = numpy.partition(scores, len(scores) - count)[len(scores) - count] - _MARGIN
        chosen = numpy.flatnonzero(scores >= edge)
        near = [
            each
            for at in range(0, len(chosen), _AT_ONCE)
            for each in self._exact(chosen[at : at + _AT_ONCE], direction)
        ]
        found: dict[int, float] = {}
        for version, similarity in zip(self._versions[chosen].tolist(), near, strict=True):
            found[version] = max(similarity, found.get(version, -1.0))
        return sorted(found.items(), key=lambda each: (-each[1], -each[0]))

    def _exact(self, chosen: NDArray[numpy.intp], direction: Sequence[float]) -> list[float]:
        within = numpy.searchsorted(self._starts, chosen, side="right") - 1
        places = zip(within.tolist(), chosen.tolist(), strict=True)
        return exact(numpy.stack([self._segments[s].codes[at - self._starts[s]] for s, at in places]), direction)

    def narrow(self, scores: Floats, versions: Sequence[int]) -> Floats:
        """The scores of these versions' vectors; all others get the lowest score."""
        return numpy.where(numpy.isin(self._versions, versions), scores, _NEVER)


class VectorSearch:
    """Searches the vectors of one store."""

    def __init__(self, connection: Connection, skills: Skills, vectors: Vectors) -> None:
        self._connection = connection
        self._skills = skills
        self._vectors = vectors
        self._copies: dict[str, SpaceCopy] = {}

    def nearest(self, vector: bytes, *, space: str, kinds: Collection[Kind] | None, limit: int) -> list[Hit]:
        """The newest recallable version of each skill by similarity, best first."""
        direction = direction_of(vector)
        copy = self._current_copy(space)
        if copy is None or limit <= 0:
            return []
        check_length(len(direction), space=space, dimensions=copy.dimensions)
        self._skills.count_recallable()  # raises if the index that filters by status is damaged
        found = self._current(copy, direction, kinds=kinds, limit=limit)
        hits = self._skills.hits([seq for seq, _ in found])
        scored = [replace(hit, semantic=near) for hit, (_, near) in zip(hits, found, strict=True)]
        return [hit for hit in scored if hit.stored.status in RECALLABLE]

    def similarities(self, vector: bytes, version_ids: Iterable[str], *, space: str) -> dict[str, float]:
        """How similar these versions are; only their own rows are read."""
        direction = direction_of(vector)
        known = self._vectors.space_rows.find(space)
        if known is None:
            return {}
        check_length(len(direction), space=space, dimensions=known["dimensions"])
        sql = "SELECT seq, id FROM versions WHERE id IN (SELECT value FROM json_each(?))"
        ids: dict[int, str] = dict(self._connection.run(sql, json.dumps(list(version_ids))))
        rows = self._vectors.rows.among(self._vectors.numbers_of(known["seq"], list(ids)))
        for wrong in (row for row in rows if row["version"] not in ids):
            raise self._vectors.rows.damage(wrong["seq"], "wrong_index")
        if not rows:
            return {}
        near = iter(exact(_codes(b"".join(row["codes"] for row in rows), len(direction)), direction))
        parts = (len(row["codes"]) // len(direction) for row in rows)
        return {ids[row["version"]]: max(islice(near, count)) for row, count in zip(rows, parts, strict=True)}

    def _current_copy(self, space: str) -> SpaceCopy | None:
        known = self._vectors.space_rows.find(space)
        if known is None:
            self._copies.pop(space, None)
            return None
        copy = self._copies.get(space)
        if copy is None or copy.dimensions != known["dimensions"]:
            copy = self._copies[space] = SpaceCopy(known["dimensions"])
        others, _, undone = self._connection.stamp()
        stamp = (others, self._vectors.changes, undone)  # other writes, such as uses, change no vector
        if copy.stamp != stamp:
            copy.update(self._vectors, known["seq"], stamp=stamp)
        return copy

    def _current(
        self, copy: SpaceCopy, direction: Sequence[float], *, kinds: Collection[Kind] | None, limit: int
    ) -> list[tuple[int, float]]:
        """The best current versions of these kinds. A few candidates are filtered first, more only if too few remain."""
        scores = copy.scan(direction)
        if kinds is not None:
            scores = copy.narrow(scores, self._of_kinds(kinds))
        count = limit * _CANDIDATES_PER_HIT + _EXTRA_CANDIDATES
        newest = (
            "SELECT seq FROM json_each(?) AS few CROSS JOIN versions AS v ON v.seq = few.value WHERE seq = "
            f"(SELECT max(seq) FROM versions WHERE skill_id = v.skill_id AND status IN ({_STATUSES}))"
        )
        while available := int(numpy.count_nonzero(scores > _NEVER)):
            found = copy.best(scores, direction, count=min(count, available))
            current = {row[0] for row in self._connection.run(newest, json.dumps([seq for seq, _ in found]))}
            kept = [each for each in found if each[0] in current]
            if len(kept) >= limit or count >= available:
                return kept[:limit]
            count *= _GROWTH
        return []

    def _of_kinds(self, kinds: Collection[Kind]) -> list[int]:
        sql = (
            f"SELECT seq FROM versions INDEXED BY versions_by_status WHERE status IN ({_STATUSES}) "
            "AND kind IN (SELECT value FROM json_each(?))"
        )
        return [row[0] for row in self._connection.run(sql, json.dumps([str(kind) for kind in kinds]))]


def exact(codes: Codes, direction: Sequence[float]) -> list[float]:
    """Cosines of stored vectors and a query's direction in full precision, equal to `encoding.similarity`."""
    wide = codes.astype(numpy.float64)
    near = (wide * numpy.array(direction)).sum(axis=1) / numpy.sqrt((wide * wide).sum(axis=1))
    return [round(each, FINENESS) for each in near.tolist()]


def _codes(codes: bytes, dimensions: int) -> Codes:
    return numpy.frombuffer(codes, numpy.int8).reshape(-1, dimensions)
