"""Passages of documents: one sealed row each, added together and once for a version, searchable by their words.

The audit chain has one link for all passages of a version, with a digest over their seals. Only passages of recallable versions
are found, and only they count for the rarity of a word.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence

from tacit.domain.errors import Mistake
from tacit.domain.identity import digest
from tacit.domain.lifecycle import RECALLABLE
from tacit.domain.stored import TEXT_DIGEST, FoundPassage, Passage, StoredVersion
from tacit.store import invariants
from tacit.store.audit import Audit, AuditNote, is_gone, record_path
from tacit.store.connection import Connection, StoreDamaged, reads, writes
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
"""Recallable versions that have passages, of each skill the newest."""
_AMONG = "(SELECT version FROM passages WHERE seq = {row}) IN (SELECT value FROM json_each(?))"


class Passages:
    """The table `passages` and its full-text index."""

    def __init__(self, connection: Connection, audit: Audit, skills: Skills) -> None:
        self._connection = connection
        self._audit = audit
        self._skills = skills
        self._named_at: dict[int, tuple[int, int, int]] = {}
        """Versions whose passages were compared with the digest that they name, in this state of the file."""
        columns = {"id": None, "version": None, "place": "index"}
        self.rows = Records(connection, TABLE, kind=Passage, columns=columns)
        self.index = WordIndex(
            connection, "passage", rows=self.rows, fields=PASSAGE_FIELDS, weights=PASSAGE_WEIGHTS,
            words_of=lambda row: passage_words(self.rows.value(row)),
        )  # fmt: skip

    @writes
    def put(self, version_id: str, passages: Sequence[Passage]) -> None:
        """Keep the passages of a version, once; they are purged with it."""
        invariants.check_passages(passages)
        stored = self._skills.version(version_id)
        if known := self.of(version_id):
            if known != list(passages):
                raise Mistake(
                    f"version {version_id} has other passages already",
                    code="has_passages",
                    hint="passages are stored once; add the document again",
                )
            return
        for passage in passages:
            owner = {"id": _passage_id(stored.version.id, passage.index), "version": stored.sequence}
            row = self.rows.add({**self.rows.columns_of(passage), **owner})
            self.index.add(row)
        if passages:
            note = AuditNote(action="passages", subject=version_id, at=stored.version.created_at)
            seals = _digest(self.rows_of(stored.sequence))
            self._audit.append(note, record=passages_path(version_id), digest=seals)

    @reads
    def of(self, version_id: str) -> list[Passage]:
        """The passages of a version, in order; empty where it has none."""
        rows = self.rows_of(self._skills.version(version_id).sequence)
        last = "SELECT action, digest FROM audit WHERE record = ? ORDER BY seq DESC LIMIT 1"
        noted = self._connection.run(last, passages_path(version_id))
        expected = "" if not noted or is_gone(noted[0][0]) else noted[0][1]
        if expected != (_digest(rows) if rows else ""):
            raise StoreDamaged(self._connection.path, f"{TABLE} {version_id}", "changed_since_audit")
        return [self.rows.value(row) for row in rows]

    def _are_named(self, stored: StoredVersion) -> bool:
        """Whether the passages are those whose digest the content names: an approval covers that, and not the rows."""
        named, stamp = stored.version.content.metadata.get(TEXT_DIGEST), self._connection.stamp()
        if self._named_at.get(stored.sequence) != stamp:
            if named and digest(tuple(self.of(stored.version.id))) != named:
                return False
            self._named_at[stored.sequence] = stamp
        return True

    @reads
    def search(self, terms: Sequence[str], *, limit: int = 20) -> list[FoundPassage]:
        """Find passages of recallable versions by their words, best first."""
        if not self._connection.run("SELECT 1 FROM passages LIMIT 1"):
            return []  # most stores have no documents, and every recall asks
        current = json.dumps([row[0] for row in self._connection.run(_CURRENT)])
        total = "SELECT count(*) FROM passages WHERE version IN (SELECT value FROM json_each(?))"
        counts = self.index.frequencies_within(terms, condition=_AMONG, values=[current])
        counted = counts, int(self._connection.single(total, current))
        matches = self.index.search(counted, limit=limit, condition=_AMONG, values=[current])
        found = []
        for match, row in zip(matches, self.rows.among([match.seq for match in matches]), strict=True):
            stored = self._skills.stored(self._skills.versions.at(row["version"]))
            if stored.status not in RECALLABLE or not self._are_named(stored):
                continue
            found.append(FoundPassage(stored=stored, passage=self.rows.value(row), lexical=match.score))
        return found

    def rows_of(self, version: int) -> list[Values]:
        """The rows of the version with this number, in order."""
        return self.rows.among(self.rows.numbers("version = ?", version, order="place"))

    def check(self, row: Values) -> None:
        """Raise unless a row has the id that its version and place give, and its words are indexed."""
        version = self._skills.versions.at(row["version"])
        if row["id"] != _passage_id(version["id"], row["place"]):
            raise self.rows.damage(row["id"], "wrong_owner")
        self.index.check_words(row)

    def digests(self) -> dict[str, str]:
        """The chain's name for the passages of each version → their digest."""
        sql = "SELECT id, passages.version, passages.place, passages.seal FROM passages ORDER BY version, place"
        grouped: dict[str, list[Values]] = {}
        for identity, _, _, seal in self._connection.run(sql):
            grouped.setdefault(str(identity).rsplit("#", 1)[0], []).append({"seal": seal})
        return {passages_path(version_id): _digest(rows) for version_id, rows in grouped.items()}


def passages_path(version_id: str) -> str:
    """The chain's name for all passages of a version."""
    return record_path(TABLE, version_id)


def _passage_id(version_id: str, place: int) -> str:
    return f"{version_id}#{place}"


def _digest(rows: Sequence[Values]) -> str:
    return hashlib.sha256("\n".join(str(row["seal"]) for row in rows).encode()).hexdigest()
