"""Full-text indexes of a store: the words of new rows are added, matching rows are found, an index is checked and rebuilt.

`lexical_search` does the search. A trigger counts in how many rows each term occurs, since counting in the index itself takes
longer the more rows there are.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from tacit.store.connection import Connection
from tacit.store.lexical_search import LexicalSearch, stored_form
from tacit.store.rows import Rows, Values

_RECALLABLE_COUNTS = (
    "INSERT INTO recallable_counts SELECT term, count(*) FROM (SELECT DISTINCT seq, term FROM ({terms}) "
    "WHERE seq IN (SELECT seq FROM versions WHERE status IN ('trial', 'trusted'))) GROUP BY term"
)
_TRIGGERS = (
    "SELECT name, sql FROM sqlite_schema WHERE type = 'trigger' AND tbl_name IN (SELECT value FROM json_each(?)) "
    "ORDER BY name"
)


@contextmanager
def without_triggers(connection: Connection, *tables: str) -> Iterator[None]:
    """Drop the triggers that refuse to delete rows, inside the caller's transaction, and create them again afterwards."""
    triggers = connection.run(_TRIGGERS, json.dumps(tables))
    for name, _ in triggers:
        connection.run(f'DROP TRIGGER "{name}"')
    yield
    for _, text in triggers:
        connection.run(text)


class WordIndex(LexicalSearch):
    """One full-text index (`version`, `episode` or `passage`) over the sealed words of one table's rows."""

    def __init__(
        self, connection: Connection, name: str, *, rows: Rows, words_of: Callable[[Values], Sequence[Sequence[str]]],
        fields: Sequence[str], weights: Sequence[float],
    ) -> None:  # fmt: skip
        """`words_of` gives the words of one of the `rows`, by field."""
        self.words = Rows(connection, f"{name}_words", fields)
        super().__init__(connection.run, name, read=self._texts_of, weights=weights)
        self._connection = connection
        self._rows = rows
        self._words_of = words_of
        self._fields = tuple(fields)
        self._name = name

    def add(self, row: Values) -> None:
        """Index the words of a new row."""
        words = self.words.add(self._texts(row), seq=row["seq"])
        listed = ", ".join(self._fields)
        marks = ", ".join("?" * len(self._fields))
        values = [words[field] for field in self._fields]
        self._connection.run(
            f"INSERT INTO {self._name}_index (rowid, {listed}) VALUES (?, {marks})", row["seq"], *values
        )

    def _texts(self, row: Values) -> dict[str, str]:
        """The words of a row by field, as they are stored."""
        words = zip(self._fields, self._words_of(row), strict=True)
        return {field: " ".join(map(stored_form, found)) for field, found in words}

    def frequencies_within(self, terms: Sequence[str], *, condition: str, values: Sequence[str]) -> dict[str, int]:
        """In how many of the rows that meet a condition each term occurs."""
        known, _ = self.frequencies(terms)
        index = f"{self._name}_index"
        sql = f"SELECT count(*) FROM {index} WHERE {index} MATCH ? AND ({condition.format(row=f'+{index}.rowid')})"
        return {
            term: int(self._connection.single(sql, f'"{stored_form(term)}"', *values)) if count else 0
            for term, count in known.items()
        }

    def miscounted_terms(self) -> list[str]:
        """Terms whose counts differ between the index, the words it was made from, and the tables of counts."""
        run = self._connection.run
        in_recallable = "SELECT seq FROM versions WHERE status IN ('trial', 'trusted')"
        recallable = {seq for (seq,) in run(in_recallable)} if self._name == "version" else set()
        rows, times, recalled = Counter[str](), Counter[str](), Counter[str]()
        for seq in self.words.numbers():
            row = self.words.at(seq)
            found = [term for field in self._fields for term in row[field].split()]
            rows.update(set(found))
            times.update(found)
            if seq in recallable:
                recalled.update(set(found))
        listed = run(f"SELECT term, doc, cnt FROM {self._name}_terms")
        indexed = {term: (documents, count) for term, documents, count in listed}
        counted: dict[str, int] = dict(run(f"SELECT term, documents FROM {self._name}_counts"))
        wrong = {
            term
            for term in indexed.keys() | rows.keys() | counted.keys()
            if indexed.get(term) != (rows[term], times[term]) or counted.get(term) != rows[term]
        }
        if self._name == "version":
            counted = dict(run("SELECT term, documents FROM recallable_counts"))
            wrong |= {term for term in recalled.keys() | counted.keys() if counted.get(term, 0) != recalled[term]}
        return sorted(wrong)

    def rebuild_from_words(self) -> None:
        """Rebuild the index and its counts from the stored words."""
        run, name = self._connection.run, self._name
        run(f"INSERT INTO {name}_index ({name}_index) VALUES ('rebuild')")
        run(f"DELETE FROM {name}_counts")
        run(f"INSERT INTO {name}_counts SELECT term, doc FROM {name}_terms")
        if name == "version":
            words = " || ' ' || ".join(self._fields)
            listed = f"""json_each('["' || replace({words}, ' ', '","') || '"]')"""
            terms = f"SELECT version_words.seq AS seq, value AS term FROM version_words, {listed} WHERE value <> ''"
            run("DELETE FROM recallable_counts")
            run(_RECALLABLE_COUNTS.format(terms=terms))

    def rebuild(self) -> int:
        """Make words, index and counts again from the rows that they index; returns how many rows these are."""
        numbers = self._rows.all_numbers()
        with without_triggers(self._connection, self.words.table):
            self._connection.run(f"DELETE FROM {self.words.table}")
            for seq in numbers:
                self.words.add(self._texts(self._rows.at(seq)), seq=seq)
        self.rebuild_from_words()
        return len(numbers)

    def orphans(self) -> list[int]:
        """The numbers of words without a row."""
        return sorted(set(self.words.numbers()) - set(self._rows.numbers()))

    def check_words(self, row: Values) -> None:
        """Raise unless the words of a row are those stored for it."""
        found = self.words.at(row["seq"])
        if any(found[field] != text for field, text in self._texts(row).items()):
            raise self.words.damage(row["seq"], "wrong_words")

    def check(self) -> None:
        """Let the index compare itself with the words; raises `Damaged` if they differ."""
        index = f"{self._name}_index"
        self._connection.run(f"INSERT INTO {index} ({index}, rank) VALUES ('integrity-check', 1)")

    def _texts_of(self, numbers: Sequence[int]) -> Iterator[tuple[int, list[str]]]:
        for row in self.words.among(numbers):
            yield row["seq"], [row[field] for field in self._fields]
