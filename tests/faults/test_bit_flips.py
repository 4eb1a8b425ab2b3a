"""One flipped bit anywhere in the store: the row's next read refuses it and `verify` names it; nothing changes silently.

Eight flips of every column and 300 of the file with TACIT_TEST_KILLS, a third of them otherwise.
"""

from __future__ import annotations

import os
import random
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import apsw
import pytest

from tacit.domain.errors import StoreOutage
from tacit.domain.lifecycle import Status
from tacit.features.cards.card import Card
from tacit.store import Store, open_store
from tacit.store.connection import StoreDamaged
from tacit.text.words import terms
from tests.raising import raises
from tests.unit.store.samples import (
    SPACE,
    SUCCESS,
    at,
    bookmark,
    evidence,
    fill,
    outline,
    put_version,
    session_note,
    trajectory,
    use,
    vector,
    verdict,
)

FULL_LENGTH = bool(os.environ.get("TACIT_TEST_KILLS"))
ROW_FLIPS_PER_COLUMN = 8 if FULL_LENGTH else 3
FILE_FLIPS = 300 if FULL_LENGTH else 100
ALL = frozenset(Status)
SECOND = [vector(0, 1, 1)]
QUERY = vector(1, 1, 1)


def version_ids() -> list[str]:
    return built()[0]


def build(path: Path) -> list[str]:
    """Put a store with some of everything there; returns the ids of its two versions."""
    ids, data = built()
    path.write_bytes(data)
    return ids


@cache
def built() -> tuple[list[str], bytes]:
    """Make that store once; the ids of its two versions, and its file."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "tacit.db"
        return fill_store(path), path.read_bytes()


def fill_store(path: Path) -> list[str]:
    store = open_store(path)
    first = fill(store).version.id
    second = put_version(store, "second", body="words " * 50).version.id
    store.add(evidence(second, note="n", adherence=0.5))
    store.add(verdict(minutes=3, trajectory_ids=(trajectory().id,), version_id=first))
    store.reindex()  # the first version's vectors stand in a block now
    store.vectors.put(second, SECOND, space=SPACE)
    store.close()
    return [first, second]


Reading = Callable[[Store], object]
READS: dict[str, Reading] = {
    "skills": lambda store: store.catalogue(),
    "versions": lambda store: store.catalogue(statuses=ALL),
    "transitions": lambda store: [store.transitions(i) for i in version_ids()],
    "verdicts": lambda store: store.verdicts(),
    "approvals": lambda store: [store.approvals(i) for i in version_ids()],
    "uses": lambda store: store.use(use(version_ids()[0]).id),
    "evidence": lambda store: store.evidence(version_ids()),
    "remarks": lambda store: [store.remarks(i) for i in version_ids()],
    "entries": lambda store: store.entries(Card, key="aha_1"),
    "passages": lambda store: [store.passages.of(i) for i in version_ids()],
    "audit": lambda store: store.history(),
    "trajectories": lambda store: (store.episodes(), store.trajectory(trajectory().id)),
    "blobs": lambda store: store.trajectory(trajectory().id),
    "version_words": lambda store: store.search(terms("deploy service"), statuses=ALL),
    "episode_words": lambda store: store.search_episodes(terms("fix the build")),
    "passage_words": lambda store: store.passages.search(terms("results")),
}
"""How each table's rows are read by anybody who uses the store."""


def read_everything(store: Store) -> list[Any]:
    catalogue = store.catalogue()
    ids = [stored.version.id for stored in catalogue]
    return [
        catalogue,
        [store.versions(stored.skill.id) for stored in catalogue],
        [store.transitions(version_id) for version_id in ids],
        store.evidence(ids),
        store.verdicts(),
        [store.approvals(version_id) for version_id in ids],
        store.use(use(ids[0]).id),
        store.uses(),
        [store.uses(version_id=version_id) for version_id in ids],
        [store.remarks(version_id) for version_id in ids],
        store.entries(Card),
        [store.passages.of(version_id) for version_id in ids],
        store.episodes(),
        [store.trajectory(episode.id) for episode in store.episodes()],
        store.history(),
    ]


def search_everything(store: Store) -> list[Any]:
    ids = [stored.version.id for stored in store.catalogue()]
    return [
        store.search(terms("deploy words"), statuses=ALL),
        store.passages.search(terms("measured hour")),
        store.vectors.nearest(QUERY, space=SPACE),
        store.vectors.similarities(QUERY, ids, space=SPACE),
        store.vectors.spaces(),
    ]


class Vandal:
    """A raw connection that changes cells behind the store's back, triggers or not."""

    def __init__(self, path: Path) -> None:
        self.database = apsw.Connection(str(path))
        self.database.execute("PRAGMA synchronous = OFF").fetchall()
        self.triggers = [sql for (sql,) in self.rows("SELECT sql FROM sqlite_schema WHERE type = 'trigger'")]

    def rows(self, sql: str) -> list[Any]:
        return self.database.execute(sql).fetchall()

    def cells(self, table: str) -> Iterator[tuple[int, str, Any]]:
        columns = [row[1] for row in self.rows(f"PRAGMA table_info({table})")]
        for row in self.rows(f"SELECT rowid, * FROM {table} ORDER BY rowid"):
            yield from ((row[0], column, value) for column, value in zip(columns, row[1:], strict=True))

    def put(self, table: str, rowid: int, column: str, value: Any) -> None:
        with self.database:
            for sql in self.triggers:
                self.database.execute(f"DROP TRIGGER {sql.split()[2]}")
            slot = "CAST(? AS TEXT)" if isinstance(value, tuple) else "?"
            bound = value[0] if isinstance(value, tuple) else value
            self.database.execute(f"UPDATE {table} SET {column} = {slot} WHERE rowid = ?", (bound, rowid))
            for sql in self.triggers:
                self.database.execute(sql)


def flipped(value: Any, chooser: random.Random) -> Any:
    """The value with one bit changed; a text comes as bytes in a tuple, for it may no longer be one."""
    if isinstance(value, int):
        return value ^ (1 << chooser.randrange(5, 20))
    data = bytearray(value.encode() if isinstance(value, str) else value)
    data[chooser.randrange(len(data))] ^= 1 << chooser.randrange(8)
    return (bytes(data),) if isinstance(value, str) else bytes(data)


@pytest.mark.parametrize("table", READS)
def test_a_flipped_bit_in_any_column_is_refused_at_the_next_read_and_reported(table: str, tmp_path: Path) -> None:
    path = tmp_path / "tacit.db"
    build(path)
    chooser = random.Random(table)
    vandal, store = Vandal(path), open_store(path)
    cells = list(vandal.cells(table))
    trials = [cell for column in dict.fromkeys(c[1] for c in cells) for cell in some(cells, column, chooser)]
    assert trials
    for rowid, column, value in trials:
        harmed = flipped(value, chooser)
        vandal.put(table, rowid, column, harmed)
        with pytest.raises(StoreOutage) as caught:
            READS[table](store)
        assert caught.value.hint, (column, harmed)
        assert list(store.verify()), (column, harmed)
        moved = harmed if column == "seq" else rowid
        vandal.put(table, moved, column, (value.encode(),) if isinstance(value, str) else value)
        READS[table](store)
    assert list(store.verify()) == []
    store.close()
    vandal.database.close()


def test_a_damaged_bookmark_counts_as_none_is_reported_and_gives_way_to_the_next(tmp_path: Path) -> None:
    path = tmp_path / "tacit.db"
    build(path)
    chooser = random.Random("bookmarks")
    vandal, store = Vandal(path), open_store(path)
    for rowid, column, value in list(vandal.cells("bookmarks")):
        vandal.put("bookmarks", rowid, column, flipped(value, chooser))
        assert store.bookmarks.get(bookmark().path) is None, column
        assert list(store.verify()), column
        vandal.database.execute("UPDATE bookmarks SET id = ?", (bookmark().path,))
        store.bookmarks.put(bookmark(size=8))
        assert store.bookmarks.get(bookmark().path) == bookmark(size=8)
        assert list(store.verify()) == []
        store.bookmarks.put(bookmark())
    store.close()
    vandal.database.close()


def some(cells: list[tuple[int, str, Any]], column: str, chooser: random.Random) -> list[tuple[int, str, Any]]:
    """A few cells of a column that hold a bit to flip, and belong to a row that the table's read reaches."""
    usable = [cell for cell in cells if cell[1] == column and cell[2] not in ("", b"", None)]
    return [chooser.choice(usable) for _ in range(ROW_FLIPS_PER_COLUMN)] if usable else []


@pytest.mark.parametrize(
    ("table", "label"),
    [
        ("evidence", "evidence"),
        ("approvals", "approvals"),
        ("remarks", "remarks"),
        ("entries", "entries"),
        ("passages", "passages"),
        ("uses", "uses"),
        ("transitions", "versions"),
        ("versions", "versions"),
    ],
)
def test_a_deleted_row_is_missed(table: str, label: str, tmp_path: Path) -> None:
    path = tmp_path / "tacit.db"
    build(path)
    vandal, store = Vandal(path), open_store(path)
    for sql in vandal.triggers:
        vandal.database.execute(f"DROP TRIGGER {sql.split()[2]}")
    vandal.database.execute(f"DELETE FROM {table} WHERE seq = 1")
    for sql in vandal.triggers:
        vandal.database.execute(sql)
    with pytest.raises(StoreOutage, match=label):
        [store.version(i) for i in version_ids()], READS[table](store)
    assert any(label in damage.subject for damage in store.verify())
    store.close()
    vandal.database.close()


def test_a_row_resealed_by_hand_is_still_reported_by_the_chain(tmp_path: Path) -> None:
    from tacit.store.seals import seal_of

    path = tmp_path / "tacit.db"
    build(path)
    vandal, store = Vandal(path), open_store(path)
    row = vandal.rows("SELECT seq, id, record FROM uses")[0]
    record = row[2].replace(b"deploy it", b"erase all")
    vandal.put("uses", row[0], "record", record)
    vandal.put("uses", row[0], "seal", seal_of("uses", (row[0], row[1], record)))
    assert [damage.code for damage in store.verify()] == ["changed_since_audit"]
    store.close()
    vandal.database.close()


def page_of(path: Path, name: str) -> int:
    """Where in the file the first page of a table or index begins."""
    raw = apsw.Connection(str(path))
    found: Any = raw.execute("SELECT rootpage FROM sqlite_schema WHERE name = ?", (name,)).fetchall()
    size: Any = raw.execute("PRAGMA page_size").fetchall()
    raw.close()
    return int((found[0][0] - 1) * size[0][0])


def flip(path: Path, place: int, bit: int) -> None:
    data = bytearray(path.read_bytes())
    data[place] ^= 1 << bit
    path.write_bytes(data)


@pytest.mark.parametrize("read", [READS["versions"], READS["version_words"]], ids=["catalogue", "search"])
def test_an_index_entry_that_names_another_row_hides_nothing_silently(read: Reading, tmp_path: Path) -> None:
    path = tmp_path / "tacit.db"
    build(path)
    entry = path.read_bytes().index(b"trialprocedure", page_of(path, "versions_by_status"))
    flip(path, entry - 1, 3)  # the type of the row's number: from "one byte" to "the number one"
    store = open_store(path)
    with raises(StoreOutage, "row_count"):
        read(store)
    assert list(store.verify())
    store.close()


@pytest.mark.parametrize("table", ["verdicts", "trajectories", "audit", "versions"])
def test_a_page_that_forgets_its_last_rows_is_noticed_by_the_listing(table: str, tmp_path: Path) -> None:
    path = tmp_path / "tacit.db"
    build(path)
    header = page_of(path, table)
    count = path.read_bytes()[header + 4]
    flip(path, header + 4, (count & -count).bit_length() - 1)
    store = open_store(path)
    with pytest.raises(StoreDamaged):
        READS[table](store)
    assert list(store.verify())
    store.close()


def test_no_flipped_bit_of_the_file_changes_a_value_silently(tmp_path: Path) -> None:
    path, harmed = tmp_path / "tacit.db", tmp_path / "harmed.db"
    build(path)
    original = bytearray(path.read_bytes())
    store = open_store(path)
    expected, hits = read_everything(store), search_everything(store)
    store.close()
    chooser = random.Random(20260101)
    content = [place for place, byte in enumerate(original) if byte]
    seen = {"refused": 0, "reported": 0, "harmless": 0}
    for trial in range(FILE_FLIPS):
        data = bytearray(original)
        place = chooser.choice(content) if trial % 4 else chooser.randrange(len(data))
        data[place] ^= 1 << chooser.randrange(8)
        harmed.write_bytes(data)
        seen[verdict_on(harmed, expected, hits)] += 1
        for leftover in tmp_path.glob("harmed.db*"):
            leftover.unlink()
    assert seen["refused"] + seen["reported"] >= FILE_FLIPS // 3
    assert sum(seen.values()) == FILE_FLIPS


def verdict_on(path: Path, expected: list[Any], hits: list[Any]) -> str:
    """What becomes of a harmed file; raises if a changed value gets through."""
    try:
        store = open_store(path)
    except StoreOutage:
        return "refused"
    try:
        damages = list(store.verify())
        try:
            assert read_everything(store) == expected
        except StoreOutage:
            assert damages
            return "refused"
        if damages:
            return "reported"
        assert search_everything(store) == hits
        return "harmless"
    finally:
        store.close()


def test_a_damaged_note_is_reported_never_read_as_another_and_forgotten_with_its_session(tmp_path: Path) -> None:
    path = tmp_path / "tacit.db"
    build(path)
    chooser = random.Random("jottings")
    vandal, store = Vandal(path), open_store(path)
    for rowid, column, value in list(vandal.cells("jottings")):
        if value == "":
            continue
        harmed = flipped(value, chooser)
        vandal.put("jottings", rowid, column, harmed)
        with suppress(StoreOutage):
            assert store.notes.list("s1", at=at()) in ([], [session_note()]), column
        assert list(store.verify()), column
        moved = harmed if column == "seq" else rowid
        vandal.put("jottings", moved, column, (value.encode(),) if isinstance(value, str) else value)
        assert store.notes.list("s1", at=at()) == [session_note()]
    vandal.put("jottings", 1, "record", b"{}")
    assert store.notes.forget(session_id="s1") == 1
    assert list(store.verify()) == []
    store.close()
    vandal.database.close()


def test_a_damaged_outline_counts_as_none_and_is_rebuilt(tmp_path: Path) -> None:
    path = tmp_path / "tacit.db"
    store = open_store(path)
    kept = trajectory(session="outlined")
    store.add_trajectory(kept, SUCCESS, at=at())
    store.mark_learned(kept.id, at=at())
    chooser = random.Random("outlines")
    vandal = Vandal(path)
    for column in ("mined", "record", "version"):
        store.outlines.put(outline(kept.id))
        for rowid, name, value in list(vandal.cells("outlines")):
            if name == column:
                vandal.put("outlines", rowid, column, flipped(value, chooser))
        assert list(store.verify()), column
        store.outlines.mark_mined([kept.id])
        assert store.outlines.missing() == [kept.id], column
        store.outlines.put(outline(kept.id))
        assert store.outlines.all() == [outline(kept.id)]
        assert list(store.verify()) == []
    store.close()
    vandal.database.close()


@pytest.mark.parametrize("table", ["vectors", "vector_spaces", "vector_blocks"])
def test_a_damaged_vector_is_reported_gives_no_wrong_answer_and_is_rebuilt(table: str, tmp_path: Path) -> None:
    path = tmp_path / "tacit.db"
    first, second = build(path)
    vectors = {first: [vector(1, 0, 1), vector(0, -1, 0)], second: SECOND}
    store = open_store(path)
    expected = store.vectors.similarities(QUERY, [first, second], space=SPACE)
    chooser = random.Random(table)
    for column in [row[1] for row in Vandal(path).rows(f"PRAGMA table_info({table})")]:
        vandal = Vandal(path)
        rowid, _, value = chooser.choice([cell for cell in vandal.cells(table) if cell[1] == column])
        vandal.put(table, rowid, column, flipped(value, chooser))
        vandal.database.close()
        assert list(store.verify()), column
        assert found_at_once(path).items() <= expected.items(), column
        store.reindex()
        for version_id in store.vectors.missing(SPACE):
            store.vectors.put(version_id, vectors[version_id], space=SPACE)
        assert found_at_once(path) == expected, column
        assert list(store.verify()) == [], column
    store.close()


def found_at_once(path: Path) -> dict[str, float | None]:
    """What somebody who opens the store finds by meaning; nothing if that is refused."""
    store = open_store(path)
    try:
        return {hit.stored.version.id: hit.semantic for hit in store.vectors.nearest(QUERY, space=SPACE)}
    except StoreOutage:
        return {}
    finally:
        store.close()
