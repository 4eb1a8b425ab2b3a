"""How vectors are packed into blocks, kept in memory, checked and carried over from older stores."""

from __future__ import annotations

import math
import random
import struct
import subprocess
import sys
from array import array
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import apsw
import pytest

from tacit.domain.errors import StoreOutage
from tacit.domain.lifecycle import Status
from tacit.store import Store, open_store
from tacit.store.connection import Connection, StoreDamaged
from tacit.store.encoding import codes_of, direction_of, similarity
from tacit.store.schema import MIGRATIONS, migrate
from tacit.store.tables import Tables
from tacit.store.vector_search import VectorSearch
from tacit.store.vectors import Vectors
from tests.raising import raises
from tests.unit.store.samples import SPACE, SUCCESS, at, fill, put_version, step_to, trajectory, vector

EAST, NORTH, UP = vector(1, 0, 0), vector(0, 1, 0), vector(0, 0, 1)
BLOCK = 4


class Parts:
    """The parts of a store that keep vectors, with blocks of four rows."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.connection = Connection(store.path)
        self.skills = Tables(self.connection).skills
        self.vectors = Vectors(self.connection, self.skills, block_rows=BLOCK)
        self.search = VectorSearch(self.connection, self.skills, self.vectors)

    def put(self, name: str, *vectors: bytes, space: str = SPACE) -> str:
        version_id = put_version(self.store, name).version.id
        self.put_again(version_id, *vectors, space=space)
        return version_id

    def put_again(self, version_id: str, *vectors: bytes, space: str = SPACE) -> None:
        with self.connection.writing():
            self.vectors.put(version_id, vectors or (EAST,), space=space)

    def retire(self, version_id: str) -> None:
        stored = self.store.version(version_id)
        with self.connection.writing():
            self.skills.change(step_to(stored, Status.RETIRED))
            self.vectors.pack_after_removal()

    def blocks(self) -> list[tuple[Any, ...]]:
        """Of each block: first and last row covered, and how many vectors it holds."""
        sql = "SELECT first, last, length(versions) / 8 FROM vector_blocks ORDER BY space, last"
        return self.connection.run(sql)

    def nearest(self, query: bytes = EAST, **more: Any) -> list[str]:
        with self.connection.reading():
            found = self.search.nearest(query, space=SPACE, kinds=None, limit=more.get("limit", 50))
            return [hit.stored.version.name for hit in found]


@pytest.fixture
def parts(tmp_path: Path) -> Iterator[Parts]:
    store = Store(tmp_path / "tacit.db")
    made = Parts(store)
    yield made
    assert list(store.verify()) == []
    made.connection.close()
    store.close()


def test_rows_are_packed_as_soon_as_they_fill_a_block(parts: Parts) -> None:
    for number in range(3):
        parts.put(f"n{number}")
    assert parts.blocks() == []
    parts.put("n3", EAST, NORTH)
    assert parts.blocks() == [(1, 4, 5)]
    for number in range(4, 9):
        parts.put(f"n{number}")
    assert parts.blocks() == [(1, 4, 5), (5, 8, 4)]
    assert sorted(parts.nearest()) == [f"n{number}" for number in range(9)]


def test_a_block_ends_with_any_of_its_rows_and_is_made_again_when_enough_is_open(parts: Parts) -> None:
    ids = [parts.put(f"n{number}") for number in range(12)]
    assert parts.nearest(limit=1) == ["n11"]
    parts.retire(ids[5])
    assert parts.blocks() == [(1, 4, 4), (9, 12, 4)]  # three rows are open
    assert len(parts.nearest()) == 11
    parts.retire(ids[1])
    assert parts.blocks() == [(1, 5, 4), (6, 8, 2), (9, 12, 4)]
    assert sorted(parts.nearest()) == sorted(f"n{number}" for number in range(12) if number not in (1, 5))


def test_a_new_row_is_found_even_after_the_last_ones_went(parts: Parts) -> None:
    ids = [parts.put(f"n{number}") for number in range(8)]
    for number in (3, 7, 6, 5, 4):
        parts.retire(ids[number])
    parts.put("new")
    parts.put("newer")
    assert sorted(parts.nearest()) == ["n0", "n1", "n2", "new", "newer"]


def test_a_replaced_vector_is_found_in_its_new_place_only(parts: Parts) -> None:
    ids = [parts.put(f"n{number}") for number in range(4)]
    assert parts.nearest(NORTH, limit=1) == ["n3"]
    parts.put_again(ids[0], NORTH)
    assert parts.nearest(NORTH, limit=1) == ["n0"]
    before = parts.blocks()
    parts.put_again(ids[0], NORTH)
    assert parts.blocks() == before
    assert len(parts.nearest()) == 4


def test_spaces_are_packed_apart(parts: Parts) -> None:
    for number in range(4):
        version_id = parts.put(f"n{number}")
        parts.put_again(version_id, vector(1, 0), space="flat")
    assert parts.blocks() == [(1, 7, 4), (1, 8, 4)]
    assert len(parts.nearest()) == 4
    parts.store.vectors.drop("flat")
    assert len(parts.nearest()) == 4


def test_what_other_processes_write_is_seen_at_the_next_query(parts: Parts) -> None:
    assert parts.nearest() == []
    for number in range(3):
        version_id = put_version(parts.store, f"n{number}").version.id
        parts.store.vectors.put(version_id, [EAST], space=SPACE)
        assert len(parts.nearest()) == number + 1
    parts.store.reindex()
    assert parts.nearest() == ["n2", "n1", "n0"]
    parts.store.add_transition(step_to(parts.store.catalogue(name="n1")[0], Status.RETIRED))
    assert parts.nearest() == ["n2", "n0"]
    parts.store.vectors.drop(SPACE)
    assert parts.nearest() == []


def test_what_is_known_is_not_read_again(parts: Parts) -> None:
    for number in range(5):
        parts.put(f"n{number}")
    assert len(parts.nearest()) == 5
    raw = apsw.Connection(parts.store.path)
    harm = raw.execute("SELECT codes FROM vector_blocks").fetchall()
    raw.execute("UPDATE vector_blocks SET codes = x'00'")  # nobody who has read the block looks at it again
    parts.put("n5")
    assert len(parts.nearest()) == 6
    other = Parts(parts.store)
    with raises(StoreOutage, "wrong_seal") as caught:
        other.nearest()
    assert "--rebuild" in caught.value.hint
    other.connection.close()
    raw.execute("UPDATE vector_blocks SET codes = ?", harm[0])
    raw.close()


def random_vector(chooser: random.Random, dimensions: int) -> bytes:
    return struct.pack(f"<{dimensions}f", *(chooser.gauss(0, 1) for _ in range(dimensions)))


@pytest.mark.parametrize("packed", [False, True])
def test_the_nearest_are_those_that_comparing_every_vector_finds(packed: bool) -> None:
    chooser, store = random.Random(5), open_store(":memory:")
    given = [[random_vector(chooser, 48) for _ in range(chooser.choice((1, 1, 3)))] for _ in range(150)]
    given += given[:10]  # ties
    for number, vectors in enumerate(given):
        store.vectors.put(put_version(store, f"n{number}").version.id, vectors, space=SPACE)
    if packed:
        store.reindex()
    versions = sorted(store.catalogue(), key=lambda stored: stored.sequence)
    for _ in range(20):
        query = random_vector(chooser, 48)
        true = {
            stored.version.id: max(similarity(codes_of(each), direction_of(query)) for each in vectors)
            for stored, vectors in zip(versions, given, strict=True)
        }
        ranked = sorted(
            ((stored.sequence, true[stored.version.id]) for stored in versions), key=lambda e: (-e[1], -e[0])
        )
        found = store.vectors.nearest(query, space=SPACE, limit=30)
        assert [(hit.stored.sequence, hit.semantic) for hit in found] == ranked[:30]
        assert store.vectors.similarities(query, list(true), space=SPACE) == true
    store.close()


def test_what_is_kept_of_a_vector_is_as_near_as_the_vector_itself() -> None:
    chooser = random.Random(6)
    for _ in range(50):
        one, other = random_vector(chooser, 384), random_vector(chooser, 384)
        true = math.fsum(a * b for a, b in zip(direction_of(one), direction_of(other), strict=True))
        assert similarity(codes_of(one), direction_of(other)) == pytest.approx(true, abs=0.003)
        assert similarity(codes_of(one), direction_of(one)) > 0.9999


def test_a_store_of_schema_4_gets_vectors_and_keeps_everything(tmp_path: Path) -> None:
    path = tmp_path / "tacit.db"
    old = Store(path, migrations=MIGRATIONS[:4])
    old.add_trajectory(trajectory(), SUCCESS, at=at())
    stored = put_version(old)
    old.close()
    store = open_store(path)
    assert (tmp_path / "tacit.db.before-5.bak").exists()
    assert store.version(stored.version.id) == stored
    assert store.vectors.spaces() == {}
    assert store.vectors.missing(SPACE) == [stored.version.id]
    store.vectors.put(stored.version.id, [EAST], space=SPACE)
    assert [hit.stored for hit in store.vectors.nearest(EAST, space=SPACE)] == [stored]
    assert list(store.verify()) == []
    store.close()


def test_the_copy_before_the_step_is_the_old_store(tmp_path: Path) -> None:
    path = tmp_path / "tacit.db"
    Store(path, migrations=MIGRATIONS[:4]).close()
    open_store(path).close()
    copy = Connection(tmp_path / "tacit.db.before-5.bak")
    with pytest.raises(StoreOutage):
        copy.run("SELECT * FROM vectors")
    migrate(copy, MIGRATIONS[:4])
    copy.close()


def raw(path: Path, *statements: str) -> None:
    database = apsw.Connection(str(path))
    for sql in statements:
        database.execute(sql).fetchall()
    database.close()


def filled(path: Path, count: int = 3) -> Store:
    store = open_store(path)
    for number in range(count):
        store.vectors.put(put_version(store, f"n{number}").version.id, [EAST], space=SPACE)
    store.reindex()
    return store


@pytest.mark.parametrize(
    ("harm", "code"),
    [
        ("UPDATE vectors SET codes = x'7f0001' WHERE seq = 2", "wrong_seal"),
        ("UPDATE vector_spaces SET dimensions = 2", "wrong_seal"),
        ("UPDATE vector_blocks SET codes = zeroblob(length(codes))", "wrong_seal"),
        ("UPDATE vector_blocks SET last = 99", "wrong_seal"),
        ("DELETE FROM vector_spaces", "missing"),
    ],
)
def test_damaged_vectors_are_reported_and_repaired_by_a_rebuild(tmp_path: Path, harm: str, code: str) -> None:
    path = tmp_path / "tacit.db"
    filled(path).close()
    raw(path, harm)
    store = open_store(path)
    assert code in {damage.code for damage in store.verify()}
    store.reindex()
    assert list(store.verify()) == []
    for version_id in store.vectors.missing(SPACE):
        store.vectors.put(version_id, [EAST], space=SPACE)
    assert len(store.vectors.nearest(EAST, space=SPACE)) == 3
    assert list(store.verify()) == []
    store.close()


def test_vectors_of_what_is_not_recallable_or_not_there_are_damage(tmp_path: Path) -> None:
    path = tmp_path / "tacit.db"
    store = filled(path)
    trigger = [sql for sql in schema(path) if "vectors_end_with_status" in sql]
    raw(path, "DROP TRIGGER vectors_end_with_status")
    store.add_transition(step_to(store.catalogue(name="n1")[0], Status.RETIRED))
    raw(path, *trigger)
    found = [(damage.subject, damage.code) for damage in store.verify()]
    assert found == [("vectors 2", "not_recallable")]
    assert len(store.vectors.nearest(EAST, space=SPACE)) == 2  # never handed out, all the same
    store.reindex()
    assert list(store.verify()) == []
    store.close()


def test_a_block_that_lacks_a_row_is_damage(tmp_path: Path) -> None:
    path = tmp_path / "tacit.db"
    store = filled(path)
    trigger = [sql for sql in schema(path) if "vector_blocks_end_with_vectors" in sql]
    raw(path, "DROP TRIGGER vector_blocks_end_with_vectors", "DELETE FROM vectors WHERE seq = 2", *trigger)
    found = [(damage.subject, damage.code) for damage in store.verify()]
    assert found == [("vector_blocks 1", "wrong_block")]
    store.reindex()
    assert list(store.verify()) == []
    store.close()


def test_a_damaged_vector_does_not_stop_others_from_being_kept(parts: Parts) -> None:
    for number in range(3):
        parts.put(f"n{number}")
    raw(Path(parts.store.path), "UPDATE vectors SET codes = x'010101' WHERE seq = 2")
    for number in range(3, 6):
        parts.put(f"n{number}")
    assert parts.blocks() == []
    with raises(StoreOutage, "wrong_seal"):
        parts.nearest()
    parts.store.reindex()
    assert sorted(parts.nearest()) == ["n0", "n2", "n3", "n4", "n5"]
    assert len(parts.store.vectors.missing(SPACE)) == 1


@pytest.mark.parametrize(
    ("harm", "subject"),
    [
        ("UPDATE vector_blocks SET codes = zeroblob(length(codes)) WHERE seq = 2", "vector_blocks 2"),
        ("UPDATE vector_blocks SET codes = zeroblob(0) WHERE seq = 1", "vector_blocks 1"),
    ],
)
def test_a_damaged_block_is_named_when_it_is_read(parts: Parts, harm: str, subject: str) -> None:
    for number in range(2 * BLOCK):
        parts.put(f"n{number}")
    assert len(parts.blocks()) == 2
    raw(Path(parts.store.path), harm)
    with raises(StoreDamaged, "wrong_seal") as caught:
        parts.nearest()
    assert caught.value.subject == subject
    parts.store.reindex()
    assert len(parts.nearest()) == 2 * BLOCK


@pytest.mark.parametrize("codes", ["NULL", "7", "2.5", "'text'"])
def test_a_block_whose_codes_became_something_else_is_damage_and_no_crash(parts: Parts, codes: str) -> None:
    path = Path(parts.store.path)
    for number in range(2 * BLOCK):
        parts.put(f"n{number}")
    rule = "PRAGMA writable_schema = ON"
    table = "UPDATE sqlite_schema SET sql = replace(sql, '{}', '{}') WHERE name = 'vector_blocks'"
    strict, loose = "codes BLOB NOT NULL) STRICT", "codes)"
    raw(path, rule, table.format(strict, loose))
    raw(path, f"UPDATE vector_blocks SET codes = {codes} WHERE seq = 2")
    with raises(StoreOutage, "wrong_seal"):
        parts.nearest()
    parts.store.reindex()
    raw(path, rule, table.format(loose, strict))
    assert len(parts.nearest()) == 2 * BLOCK


def schema(path: Path) -> list[str]:
    database = apsw.Connection(str(path))
    found: Any = database.execute("SELECT sql FROM sqlite_schema WHERE type = 'trigger'").fetchall()
    database.close()
    return sorted(str(row[0]) for row in found)


@pytest.mark.parametrize(
    "harm",
    [
        "DELETE FROM version_index_data WHERE id > 10",
        "UPDATE version_counts SET documents = documents + 1",
        "DELETE FROM episode_counts",
        "INSERT INTO version_index (version_index) VALUES ('delete-all')",
    ],
)
def test_a_damaged_index_of_words_is_rebuilt(tmp_path: Path, harm: str) -> None:
    path = tmp_path / "tacit.db"
    store = open_store(path)
    fill(store)
    store.close()
    before = schema(path)
    raw(path, harm)
    store = open_store(path)
    assert list(store.verify())
    assert store.reindex() == 4
    assert list(store.verify()) == []
    assert schema(path) == before
    store.close()


def test_words_of_an_older_making_are_rebuilt(tmp_path: Path) -> None:
    path = tmp_path / "tacit.db"
    store = open_store(path)
    stored = put_version(store, "deploy-service")
    put_version(store, "other")
    connection = Connection(path)
    skills = Tables(connection).skills
    triggers = [sql for sql in schema(path) if " ON version_words " in sql]
    for sql in triggers:
        connection.run(f"DROP TRIGGER {sql.split()[2]}")
    connection.run("DELETE FROM version_words WHERE seq = 1")
    connection.run("INSERT INTO version_index (version_index) VALUES ('rebuild')")
    with connection.writing():
        words = {"name": "outdated", "description": "", "body": "", "extra": ""}
        skills.index.words.add(words, seq=stored.sequence)
        skills.index.rebuild_from_words()
    for sql in triggers:
        connection.run(sql)
    connection.close()
    assert "wrong_words" in [damage.code for damage in store.verify()]
    store.reindex()
    assert list(store.verify()) == []
    assert [hit.stored.version.name for hit in store.search(["deploy"], statuses=[Status.TRIAL], limit=1)] != []
    store.close()


def test_a_purged_version_takes_its_vectors_along(tmp_path: Path) -> None:
    path = tmp_path / "tacit.db"
    store = filled(path)
    connection = Connection(path)
    with connection.writing():
        for trigger in ("versions_lose_no_row", "transitions_loses_no_row"):
            connection.run(f"DROP TRIGGER {trigger}")
        connection.run("DELETE FROM transitions WHERE seq = 3")
        connection.run("DELETE FROM versions WHERE seq = 3")
    assert connection.run("SELECT version FROM vectors") == [(1,), (2,)]
    assert connection.run("SELECT count(*) FROM vector_blocks") == [(0,)]
    connection.close()
    store.close()


def test_without_numpy_everything_else_works_and_nearness_names_the_extra(tmp_path: Path) -> None:
    script = f"""
import sys
from array import array
sys.modules["numpy"] = None
from tacit.domain.errors import Mistake
from tacit.store import open_store
from tests.unit.store.samples import SPACE, fill, vector
store = open_store({str(tmp_path / "tacit.db")!r})
fill(store)
store.reindex()
assert store.vectors.spaces() == {{SPACE: 1}} and not list(store.verify())
vectors = store.vectors
for ask in (lambda: vectors.nearest(vector(1, 0, 0), space=SPACE), lambda: vectors.similarities(b"", [], space=SPACE)):
    try:
        ask()
    except Mistake as error:
        assert "tacit[semantic]" in error.hint, error.hint
    else:
        raise AssertionError
print("fine")
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.stdout == "fine\n", done.stderr


DIMENSIONS = 24


@pytest.mark.parametrize("count", [1, 255, 256, 257, 700])
def test_the_first_and_every_later_comparison_give_every_cosine(count: int) -> None:
    numpy = pytest.importorskip("numpy")
    from tacit.store.vector_search import Segment

    chooser = random.Random(count)
    kept = [array("b", (chooser.randint(-127, 127) for _ in range(DIMENSIONS))).tobytes() for _ in range(count)]
    segment = Segment(numpy.arange(count), b"".join(kept), DIMENSIONS)
    room = numpy.empty((256, DIMENSIONS), numpy.float32)
    for _ in range(3):
        direction = direction_of(vector(*(chooser.gauss(0, 1) for _ in range(DIMENSIONS))))
        found = numpy.empty(count, numpy.float32)
        segment.compare(numpy.array(direction, numpy.float32), into=found, room=room)
        assert found.tolist() == pytest.approx([similarity(codes, direction) for codes in kept], abs=2e-6)
