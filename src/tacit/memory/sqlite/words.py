"""Full-text indexes: terms in → numbers of matching rows and their scores out.

Terms are made by `tacit.text.words`; a term outside plain ASCII is written as its bytes in hex, so that the index splits
exactly where we do, whatever the script. Candidates come from the index, scores from the one measure of `lexical`.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence

from tacit.memory.lexical import distinct, rarity, score
from tacit.memory.sqlite.connection import Connection
from tacit.memory.sqlite.rows import Rows

_SPARE = 50  # candidates beyond the limit, since the index ranks a little differently from `lexical`
_COMMON = math.log(2.0)  # the rarity of a word that half of all rows have; the index itself gives it no weight


class WordIndex:
    """One full-text index (`version` or `episode`) over the sealed words of one table's rows."""

    def __init__(self, connection: Connection, name: str, *, fields: Sequence[str], weights: Sequence[float]) -> None:
        self.words = Rows(connection, f"{name}_words", fields)
        self._connection = connection
        self._fields = tuple(fields)
        self._weights = tuple(weights)
        self._index = f"{name}_index"
        self._terms = f"{name}_terms"

    def add(self, seq: int, words: Sequence[Sequence[str]]) -> None:
        """Index the words of a new row."""
        texts = self.texts(words)
        self.words.add(texts, seq=seq)
        listed = ", ".join(self._fields)
        marks = ", ".join("?" * len(self._fields))
        values = [texts[field] for field in self._fields]
        self._connection.run(f"INSERT INTO {self._index} (rowid, {listed}) VALUES (?, {marks})", seq, *values)

    def texts(self, words: Sequence[Sequence[str]]) -> dict[str, str]:
        """The words by field, as they are stored."""
        return {field: " ".join(map(_stored_form, found)) for field, found in zip(self._fields, words, strict=True)}

    def frequencies(self, terms: Sequence[str]) -> tuple[dict[str, int], int]:
        """In how many rows each term occurs, and how many rows there are."""
        found = {
            term: self._connection.single(f"SELECT doc FROM {self._terms} WHERE term = ?", _stored_form(term)) or 0
            for term in distinct(terms)
        }
        return found, int(self._connection.single(f"SELECT count(*) FROM {self._index}_docsize"))

    def search(
        self, terms: Sequence[str], *, limit: int, condition: str = "TRUE", values: Sequence[str] = ()
    ) -> list[tuple[int, float]]:
        """Numbers and scores of matching rows, best first, newer first among equals.

        `condition` speaks of the row's number as ``+rowid``; without the plus SQLite would ask the index row by row.
        """
        frequencies, total = self.frequencies(terms)
        present = {_stored_form(term): rarity(count, total) for term, count in frequencies.items() if count}
        if not present or limit <= 0:
            return []
        telling = [form for form, worth in present.items() if worth > _COMMON]
        wanted = limit + _SPARE
        candidates = self._candidates(telling, limit=wanted, condition=condition, values=values)
        if len(candidates) < wanted and len(telling) < len(present):  # too few: let words that most rows have decide
            candidates = self._candidates(list(present), limit=wanted, condition=condition, values=values)
        scored = [(seq, self._score(seq, present)) for seq in candidates]
        return sorted(scored, key=lambda found: (-found[1], -found[0]))[:limit]

    def strange_terms(self) -> list[str]:
        """Terms that the index counts otherwise than the words it was made from."""
        rows, times = Counter[str](), Counter[str]()
        for seq in self.words.numbers():
            row = self.words.at(seq)
            found = [term for field in self._fields for term in row[field].split()]
            rows.update(set(found))
            times.update(found)
        listed = self._connection.run(f"SELECT term, doc, cnt FROM {self._terms}")
        counted = {term: (documents, count) for term, documents, count in listed}
        return sorted(term for term in counted.keys() | rows.keys() if counted.get(term) != (rows[term], times[term]))

    def check(self) -> None:
        """Let the index compare itself with the words; raises `Damaged` if they differ."""
        self._connection.run(f"INSERT INTO {self._index} ({self._index}, rank) VALUES ('integrity-check', 1)")

    def _candidates(self, forms: Sequence[str], *, limit: int, condition: str, values: Sequence[str]) -> list[int]:
        if not forms:
            return []
        match = " OR ".join(f'"{form}"' for form in forms)
        weights = ", ".join(map(str, self._weights))
        rows = self._connection.run(
            f"SELECT rowid FROM {self._index} WHERE {self._index} MATCH ? AND ({condition}) "
            f"ORDER BY bm25({self._index}, {weights}), rowid DESC LIMIT {limit}",
            match,
            *values,
        )
        return [row[0] for row in rows]

    def _score(self, seq: int, query: Mapping[str, float]) -> float:
        row = self.words.at(seq)
        return score(query, [row[field].split() for field in self._fields], weights=self._weights)


def _stored_form(term: str) -> str:
    if term.isascii() and term.isalnum():
        return term
    return "_" + term.encode("utf-8", "surrogatepass").hex()
