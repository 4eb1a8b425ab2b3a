"""Full-text indexes of a store: the words of new rows in, matching rows out, each index checked against its words.

How a search goes is told in `matching`. In how many rows each term occurs is counted beside the index, by a trigger, since
asking the index itself takes longer the more rows there are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from tacit.store.connection import Connection
from tacit.store.lexical_search import LexicalSearch, WordMatch, stored_form
from tacit.store.rows import Rows


class WordIndex:
    """One full-text index (`version`, `episode` or `passage`) over the sealed words of one table's rows."""

    def __init__(self, connection: Connection, name: str, *, fields: Sequence[str], weights: Sequence[float]) -> None:
        self.words = Rows(connection, f"{name}_words", fields)
        self._matching = LexicalSearch(connection.run, name, weights=weights)
        self._connection = connection
        self._fields = tuple(fields)
        self._name = name

    def add(self, seq: int, words: Sequence[Sequence[str]]) -> None:
        """Index the words of a new row."""
        texts = self.texts(words)
        self.words.add(texts, seq=seq)
        listed = ", ".join(self._fields)
        marks = ", ".join("?" * len(self._fields))
        values = [texts[field] for field in self._fields]
        self._connection.run(f"INSERT INTO {self._name}_index (rowid, {listed}) VALUES (?, {marks})", seq, *values)

    def texts(self, words: Sequence[Sequence[str]]) -> dict[str, str]:
        """The words by field, as they are stored."""
        return {field: " ".join(map(stored_form, found)) for field, found in zip(self._fields, words, strict=True)}

    def frequencies(
        self, terms: Sequence[str], *, recallable: bool = False, total: int | None = None
    ) -> tuple[dict[str, int], int]:
        """In how many rows each term occurs, and how many rows there are; of versions, if so wanted, the recallable ones."""
        return self._matching.frequencies(terms, recallable=recallable, total=total)

    def search(
        self,
        terms: Sequence[str],
        *,
        limit: int,
        condition: str = "TRUE",
        values: Sequence[str] = (),
        counted: tuple[Mapping[str, int], int] | None = None,
    ) -> list[WordMatch]:
        """Matching rows, best first, newer first among equals; `condition` names the row's number ``{row}``.

        What is rare is decided by how often the terms occur in all rows, or by what was `counted` otherwise.
        """
        counted = counted or self._matching.frequencies(terms)
        return self._matching.search(counted, self._texts_of, limit=limit, condition=condition, values=values)

    def search_within(
        self, terms: Sequence[str], *, limit: int, condition: str, values: Sequence[str], total: int
    ) -> list[WordMatch]:
        """The same as if only the `total` rows that meet the condition were there: others do not decide what is rare."""
        known, _ = self._matching.frequencies(terms)
        index = f"{self._name}_index"
        sql = f"SELECT count(*) FROM {index} WHERE {index} MATCH ? AND ({condition.format(row=f'+{index}.rowid')})"
        counted = {
            term: int(self._connection.single(sql, f'"{stored_form(term)}"', *values)) if count else 0
            for term, count in known.items()
        }
        return self._matching.search((counted, total), self._texts_of, limit=limit, condition=condition, values=values)

    def strange_terms(self) -> list[str]:
        """Terms that the index counts otherwise than the words it was made from, or than the counts beside it."""
        rows, times = Counter[str](), Counter[str]()
        for seq in self.words.numbers():
            row = self.words.at(seq)
            found = [term for field in self._fields for term in row[field].split()]
            rows.update(set(found))
            times.update(found)
        if self._name == "version" and (strange := self._miscounted()):
            return strange
        listed = self._connection.run(f"SELECT term, doc, cnt FROM {self._name}_terms")
        indexed = {term: (documents, count) for term, documents, count in listed}
        counted: dict[str, int] = dict(self._connection.run(f"SELECT term, documents FROM {self._name}_counts"))
        return sorted(
            term
            for term in indexed.keys() | rows.keys() | counted.keys()
            if indexed.get(term) != (rows[term], times[term]) or counted.get(term) != rows[term]
        )

    def _miscounted(self) -> list[str]:
        """Terms that are counted otherwise than recallable versions have them."""
        recallable = {
            seq for (seq,) in self._connection.run("SELECT seq FROM versions WHERE status IN ('trial', 'trusted')")
        }
        rows = Counter[str]()
        for seq in recallable & set(self.words.numbers()):
            row = self.words.at(seq)
            rows.update({term for field in self._fields for term in row[field].split()})
        counted: dict[str, int] = dict(self._connection.run("SELECT term, documents FROM recallable_counts"))
        return sorted(term for term in rows.keys() | counted.keys() if counted.get(term, 0) != rows[term])

    def check(self) -> None:
        """Let the index compare itself with the words; raises `Damaged` if they differ."""
        index = f"{self._name}_index"
        self._connection.run(f"INSERT INTO {index} ({index}, rank) VALUES ('integrity-check', 1)")

    def _texts_of(self, numbers: Sequence[int]) -> Iterator[tuple[int, list[str]]]:
        for row in self.words.among(numbers):
            yield row["seq"], [row[field] for field in self._fields]
