"""Passages of documents: one sealed row each, appended together and once for a version, gone with it; found by their words.

The chain holds one link for all passages of a version, with a digest over their seals. What is not recallable is not found,
nor does it decide how rare a word is.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence

from tacit.domain.document import Passage
from tacit.domain.ports import FoundPassage
from tacit.store import invariants
from tacit.store.audit import Audit, Note, is_gone, record_path
from tacit.store.connection import Connection, damaged
from tacit.store.lexical_search import PASSAGE_FIELDS, PASSAGE_WEIGHTS, passage_words
from tacit.store.rows import Records, Values
from tacit.store.skills import Skills
from tacit.store.word_index import WordIndex

TABLE = "passages"
_CURRENT = (
    "SELECT seq FROM versions AS held WHERE status IN ('trial', 'trusted') AND seq = (SELECT max(seq) FROM versions "
    "WHERE status IN ('trial', 'trusted') AND skill_id = held.skill_id) "
    "AND EXISTS (SELECT 1 FROM passages WHERE version = held.seq)"
)
"""Versions that have passages and may be recalled, of each skill the newest."""
_AMONG = "(SELECT version FROM passages WHERE seq = {row}) IN (SELECT value FROM json_each(?))"


class Passages:
    """The table `passages` and its full-text index."""

    def __init__(self, connection: Connection, audit: Audit, skills: Skills) -> None:
        self._connection = connection
        self._audit = audit
        self._skills = skills
        self.rows = Records(connection, TABLE, kind=Passage, derive=_of_passage, columns=("id", "version", "place"))
        self.index = WordIndex(connection, "passage", fields=PASSAGE_FIELDS, weights=PASSAGE_WEIGHTS)

    def put(self, version_id: str, passages: Sequence[Passage]) -> None:
        """Keep all passages of a version, once and for good; the very same again change nothing."""
        invariants.check_passages(passages)
        stored = self._skills.version(version_id)
        if known := self.of(version_id):
            if known != list(passages):
                raise invariants.has_passages(version_id)
            return
        for passage in passages:
            row = self.rows.add(
                {
                    **self.rows.columns_of(passage),
                    "id": _name(stored.version.id, passage.index),
                    "version": stored.sequence,
                }
            )
            self.index.add(row["seq"], passage_words(passage))
        if passages:
            path = passages_path(version_id)
            note = Note(action="passages", subject=version_id, record=path, at=stored.version.created_at)
            self._audit.append(note, digest=_digest(self.rows_of(stored.sequence)))

    def of(self, version_id: str) -> list[Passage]:
        """The passages of a known version, in order; raises if they are not those that the chain knows."""
        rows = self.rows_of(self._skills.version(version_id).sequence)
        last = "SELECT action, digest FROM audit WHERE record = ? ORDER BY seq DESC LIMIT 1"
        noted = self._connection.run(last, passages_path(version_id))
        expected = "" if not noted or is_gone(noted[0][0]) else noted[0][1]
        if expected != (_digest(rows) if rows else ""):
            raise damaged(self._connection.path, f"{TABLE} {version_id}", "are not what the audit chain last saw")
        return [self.rows.value(row) for row in rows]

    def search(self, terms: Sequence[str], *, limit: int) -> list[FoundPassage]:
        """Passages that share words with a query, best first, newer first among equals."""
        if not self._connection.run("SELECT 1 FROM passages LIMIT 1"):
            return []  # most stores have no documents, and every recall asks
        current = json.dumps([row[0] for row in self._connection.run(_CURRENT)])
        total = "SELECT count(*) FROM passages WHERE version IN (SELECT value FROM json_each(?))"
        matches = self.index.search_within(
            terms, limit=limit, condition=_AMONG, values=[current],
            total=int(self._connection.single(total, current)),
        )  # fmt: skip
        found = []
        for match, row in zip(matches, self.rows.among([match.seq for match in matches]), strict=True):
            stored = self._skills.stored(self._skills.versions.at(row["version"]))
            found.append(FoundPassage(stored=stored, passage=self.rows.value(row), lexical=match.score))
        return found

    def rows_of(self, version: int) -> list[Values]:
        """The rows of the version with this number, in order."""
        return self.rows.among(self.rows.numbers("version = ?", version, order="place"))

    def check(self, row: Values) -> None:
        """Raise unless a row has the name of its version and place."""
        version = self._skills.versions.at(row["version"])
        if row["id"] != _name(version["id"], row["place"]):
            raise self.rows.damage(row["id"], "belongs to another version or place")

    def digests(self) -> dict[str, str]:
        """The chain's name for the passages of each version → the digest of those that are there."""
        sql = "SELECT id, passages.version, passages.place, passages.seal FROM passages ORDER BY version, place"
        grouped: dict[str, list[Values]] = {}
        for identity, _, _, seal in self._connection.run(sql):
            grouped.setdefault(str(identity).rsplit("#", 1)[0], []).append({"seal": seal})
        return {passages_path(version_id): _digest(rows) for version_id, rows in grouped.items()}


def passages_path(version_id: str) -> str:
    """The chain's name for all passages of a version."""
    return record_path(TABLE, version_id)


def _name(version_id: str, place: int) -> str:
    return f"{version_id}#{place}"


def _digest(rows: Sequence[Values]) -> str:
    return hashlib.sha256("\n".join(str(row["seal"]) for row in rows).encode()).hexdigest()


def _of_passage(passage: Passage) -> Values:
    return {"place": passage.index}
