"""Other ways to search the same library, each behind two calls: `build` makes its files, `opened` gives a search.

They answer less than a recall does: no filters, no newest version, no fusion, no budget. They say what the parts cost.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import apsw
import numpy as np

from tacit.store.lexical_search import VERSION_WEIGHTS, LexicalSearch, affordable, distinct, stored_form

TOP = 20
Search = Callable[[Sequence[str], np.ndarray], object]
"""Takes the words of a query and its vector."""


class Data:
    """What a library says, as others take it: words by field, vectors, queries. Made beside the store."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @property
    def vectors(self) -> np.ndarray:
        return np.load(self.folder / "vectors.npy")

    def rows(self) -> list[tuple[Any, ...]]:
        """The words of each skill as the store's own index has them."""
        sql = "SELECT seq, name, description, body, extra FROM version_words ORDER BY seq"
        return apsw.Connection(str(self.folder / ".tacit" / "tacit.db")).execute(sql).fetchall()


class Fts5:
    """A bare full-text query: any of the words, the twenty best by bm25."""

    def build(self, data: Data) -> None:
        database = apsw.Connection(str(data.folder / "fts5.db"))
        tokens = "content = '', tokenize = \"ascii tokenchars '_'\""
        database.execute(f"CREATE VIRTUAL TABLE found USING fts5(name, description, body, extra, {tokens})")
        with database:
            database.executemany(
                "INSERT INTO found (rowid, name, description, body, extra) VALUES (?, ?, ?, ?, ?)", data.rows()
            )

    def opened(self, data: Data) -> Search:
        database = apsw.Connection(str(data.folder / "fts5.db"))
        sql = f"SELECT rowid FROM found WHERE found MATCH ? ORDER BY rank LIMIT {TOP}"

        def search(words: Sequence[str], vector: np.ndarray) -> object:
            match = " OR ".join(f'"{stored_form(word)}"' for word in distinct(words))
            return database.execute(sql, (match,)).fetchall()

        return search


class BoundedFts5:
    """The store's own full-text query: by as many of the rarest words as take a bounded effort, fields weighed."""

    def build(self, data: Data) -> None:
        """The store has the index."""

    def opened(self, data: Data) -> Search:
        database = apsw.Connection(str(data.folder / ".tacit" / "tacit.db"))
        matching = LexicalSearch(
            lambda sql, *values: database.execute(sql, values).fetchall(),
            "version",
            read=lambda numbers: (),
            weights=(),
        )
        ranked = f"bm25(version_index, {', '.join(map(str, VERSION_WEIGHTS))})"
        sql = f"SELECT rowid FROM version_index WHERE version_index MATCH ? ORDER BY {ranked} LIMIT {TOP}"

        def search(words: Sequence[str], vector: np.ndarray) -> object:
            counts, total = matching.frequencies(words)
            telling = affordable({word: count for word, count in counts.items() if 0 < count * 2 < total}, total)
            match = " OR ".join(f'"{stored_form(word)}"' for word in telling)
            return database.execute(sql, (match,)).fetchall() if match else []

        return search


class Bm25s:
    """BM25 over sparse matrices in memory, the fields joined."""

    def build(self, data: Data) -> None:
        import bm25s

        model = bm25s.BM25()
        model.index([" ".join(row[1:]).split() for row in data.rows()], show_progress=False)
        model.save(str(data.folder / "bm25s"))

    def opened(self, data: Data) -> Search:
        import bm25s

        model = bm25s.BM25.load(str(data.folder / "bm25s"))
        known = model.vocab_dict

        def search(words: Sequence[str], vector: np.ndarray) -> object:
            asked = [form for form in map(stored_form, distinct(words)) if form in known]
            return model.retrieve([asked], k=TOP, show_progress=False, n_threads=0) if asked else None

        return search


class NumpyScan:
    """All vectors in memory, one product."""

    def build(self, data: Data) -> None:
        """Nothing to be made."""

    def opened(self, data: Data) -> Search:
        vectors = data.vectors

        def search(words: Sequence[str], vector: np.ndarray) -> object:
            near = vectors @ vector
            best = np.argpartition(near, -TOP)[-TOP:]
            return best[np.argsort(-near[best])]

        return search


class SqliteVec:
    """The extension's exact search over 32-bit floats."""

    def build(self, data: Data) -> None:
        vectors = data.vectors
        database = self._connection(data)
        database.execute(f"CREATE VIRTUAL TABLE found USING vec0(vector float[{vectors.shape[1]}])")
        with database:
            database.executemany(
                "INSERT INTO found (rowid, vector) VALUES (?, ?)",
                ((number, vector.tobytes()) for number, vector in enumerate(vectors)),
            )

    def opened(self, data: Data) -> Search:
        database = self._connection(data)

        def search(words: Sequence[str], vector: np.ndarray) -> object:
            sql = f"SELECT rowid, distance FROM found WHERE vector MATCH ? AND k = {TOP}"
            return database.execute(sql, (vector.tobytes(),)).fetchall()

        return search

    def _connection(self, data: Data) -> apsw.Connection:
        import sqlite_vec

        database = apsw.Connection(str(data.folder / "sqlite_vec.db"))
        database.enable_load_extension(True)
        database.load_extension(sqlite_vec.loadable_path())
        return database


class Lance:
    """A table without a vector index: exact."""

    def build(self, data: Data) -> None:
        import lancedb
        import pyarrow

        vectors = data.vectors
        column = pyarrow.FixedSizeListArray.from_arrays(pyarrow.array(vectors.reshape(-1)), vectors.shape[1])
        lancedb.connect(str(data.folder / "lancedb_flat")).create_table("found", pyarrow.table({"vector": column}))

    def opened(self, data: Data) -> Search:
        import lancedb

        table = lancedb.connect(str(data.folder / "lancedb_flat")).open_table("found")
        return lambda words, vector: table.search(vector).distance_type("dot").limit(TOP).to_arrow()


SEARCHERS: dict[str, Any] = {
    "fts5": Fts5(),
    "fts5_bounded": BoundedFts5(),
    "bm25s": Bm25s(),
    "numpy_scan": NumpyScan(),
    "sqlite_vec": SqliteVec(),
    "lancedb_flat": Lance(),
}
EXACT_VECTOR_SCANS = ("numpy_scan", "sqlite_vec", "lancedb_flat")


def read_queries(folder: Path) -> list[str]:
    """The queries of a library."""
    return list(json.loads((folder / "queries.json").read_text()))
