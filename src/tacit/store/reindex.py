"""Makes indexes anew from what they were made from: versions, episodes, passages → words, full-text indexes; vectors → blocks.

All in the caller's transaction. Records are read under their seals, and a damaged one stops it: an index is made from what is
true or not at all. Vectors that are not sound are dropped, for they can be made again elsewhere.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from tacit.store.connection import Connection
from tacit.store.lexical_search import episode_words, passage_words, version_words
from tacit.store.passages import Passages
from tacit.store.rows import Rows, Values
from tacit.store.skills import Skills
from tacit.store.trajectories import Trajectories
from tacit.store.vectors import Vectors
from tacit.store.word_index import WordIndex

Words = Sequence[Sequence[str]]


def rebuild(
    connection: Connection, *, skills: Skills, trajectories: Trajectories, passages: Passages, vectors: Vectors
) -> int:
    """Make every index anew; returns how many versions, episodes and passages they cover."""
    versions = _rebuild_words(
        connection, skills.index, skills.versions, lambda row: version_words(skills.stored(row).version.content)
    )
    episodes = _rebuild_words(
        connection, trajectories.index, trajectories.rows, lambda row: episode_words(trajectories.episode(row))
    )
    cited = _rebuild_words(
        connection, passages.index, passages.rows, lambda row: passage_words(passages.rows.value(row))
    )
    vectors.rebuild()
    connection.run("DELETE FROM renderings")  # whoever asked for this renders anew
    return versions + episodes + cited


def _rebuild_words(connection: Connection, index: WordIndex, rows: Rows, words_of: Callable[[Values], Words]) -> int:
    name = index.words.table.removesuffix("_words")
    with unguarded(connection, index.words.table):
        connection.run(f"DELETE FROM {index.words.table}")
    for counts in (f"{name}_counts", *(["recallable_counts"] if name == "version" else [])):
        connection.run(f"DELETE FROM {counts}")
    connection.run(f"INSERT INTO {name}_index ({name}_index) VALUES ('delete-all')")
    numbers = rows.all_numbers()
    for seq in numbers:
        index.add(seq, words_of(rows.at(seq)))
    return len(numbers)


_TRIGGERS = (
    "SELECT name, sql FROM sqlite_schema WHERE type = 'trigger' AND tbl_name IN (SELECT value FROM json_each(?)) "
    "ORDER BY name"
)


@contextmanager
def unguarded(connection: Connection, *tables: str) -> Iterator[None]:
    """Let rows be deleted that are only ever appended otherwise."""
    triggers = connection.run(_TRIGGERS, json.dumps(tables))
    for name, _ in triggers:
        connection.run(f'DROP TRIGGER "{name}"')
    yield
    for _, text in triggers:
        connection.run(text)
