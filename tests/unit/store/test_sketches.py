"""Sketches and scans of vectors: they find what comparing each vector finds, and hooks need no numpy."""

from __future__ import annotations

import random
import subprocess
import sys
from array import array
from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest

from tacit.domain.errors import Mistake
from tacit.domain.lifecycle import Status
from tacit.recall import publishing
from tacit.store import Store, open_store
from tacit.store import vector_codes as nearby
from tacit.store.hook_index import HookIndex
from tacit.store.vector_codes import codes_of, direction_of, likely, similarity, sketch_of
from tests.unit.store.samples import (
    put_version,
    step_to,
    vector,
)

SPACE = "tiny/16@00"
SIZE = 16


def some_vector(chooser: random.Random) -> bytes:
    return array("f", [chooser.gauss(0, 1) for _ in range(SIZE)]).tobytes()


def some_codes(count: int, seed: int = 1) -> list[bytes]:
    chooser = random.Random(seed)
    return [codes_of(some_vector(chooser)) for _ in range(count)]


def test_a_sketch_has_two_bits_for_each_number_and_does_not_depend_on_the_length_of_a_vector() -> None:
    codes = some_codes(1)[0]
    halved = bytes(array("b", [code // 2 for code in array("b", codes)]))
    assert len(sketch_of(codes * 9, SIZE)) == SIZE * 2 * 2  # nine vectors need two bytes in each plane
    assert sketch_of(bytes(array("b", [100, -100, 1, -1])), 4) == bytes([1, 1, 0, 0, 1, 0, 0, 1])
    differing = sum(a != b for a, b in zip(sketch_of(codes, SIZE), sketch_of(halved, SIZE), strict=True))
    assert differing <= 2  # what is rounded otherwise


def test_the_likely_are_as_many_as_asked_for_and_none_twice() -> None:
    chooser = random.Random(2)
    for count in (1, 7, 8, 9, 40):
        parts = [(many, sketch_of(b"".join(some_codes(many, seed=many)), SIZE)) for many in (3, 8, 21)]
        found = likely(parts, direction_of(some_vector(chooser)), count=count)
        assert len(set(found)) == len(found) == min(count, 32)
        assert all(place < parts[sketch][0] for sketch, place in found)
    assert likely([], direction_of(some_vector(chooser)), count=5) == []


def test_the_likely_hold_nearly_all_of_the_nearest() -> None:
    codes = some_codes(2000)
    parts = [(500, sketch_of(b"".join(codes[at : at + 500]), SIZE)) for at in range(0, 2000, 500)]
    chooser, caught = random.Random(3), 0
    for _ in range(20):
        direction = direction_of(some_vector(chooser))
        order = sorted(range(2000), key=lambda at: -similarity(codes[at], direction))
        found = {sketch * 500 + place for sketch, place in likely(parts, direction, count=200)}
        caught += len(found & set(order[:10]))
    assert caught >= 180


def test_equal_vectors_are_cut_to_number_and_the_newer_stay() -> None:
    same = some_codes(1)[0] * 30
    assert likely([(30, sketch_of(same, SIZE))], direction_of(some_vector(random.Random(4))), count=4) == [
        (0, 26),
        (0, 27),
        (0, 28),
        (0, 29),
    ]


# --- in a store -----------------------------------------------------------------------------------------------------


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Store]:
    monkeypatch.setattr(nearby, "LIKELY", 12)
    opened = open_store(tmp_path / "tacit.db")
    assert isinstance(opened, Store)
    opened.vectors.blocks._block_rows = 16
    chooser = random.Random(5)
    for number in range(50):
        stored = put_version(opened, f"skill-{number}", description=f"Thing {number}")
        vectors = [some_vector(chooser) for _ in range(1 + number % 3)]
        opened.vectors.put(stored.version.id, vectors, space=SPACE)
    publishing.publish(opened)
    yield opened
    opened.close()


def seen(store: Store, vector: bytes, *, limit: int = 5) -> dict[str, float | None]:
    hook_index = HookIndex.open(store.path)
    assert hook_index is not None
    hook_index.set_query_vector(vector, space=SPACE)
    found = {match.row.version_id: match.semantic for match in hook_index.by_meaning([], limit=limit)}
    hook_index.close()
    return found


def nearest(store: Store, vector: bytes, *, limit: int = 5) -> dict[str, float | None]:
    return {hit.stored.version.id: hit.semantic for hit in store.vectors.nearest(vector, space=SPACE, limit=limit)}


def test_the_hook_index_finds_what_the_store_finds(store: Store) -> None:
    chooser, caught = random.Random(6), 0
    for _ in range(20):
        vector = some_vector(chooser)
        found, expected = seen(store, vector), nearest(store, vector)
        assert list(found.values()) == sorted(found.values(), key=lambda near: -(near or 0))
        same = store.vectors.similarities(vector, found, space=SPACE)
        assert found == pytest.approx(same)
        caught += len(found.keys() & expected.keys())
    assert caught >= 90


def test_what_stops_being_recallable_is_not_seen_any_more_and_its_sketch_goes(store: Store) -> None:
    vector = some_vector(random.Random(7))
    (first, *_) = nearest(store, vector)
    assert len(store.vectors.blocks.sketches.numbers()) == 3
    store.add_transition(step_to(store.version(first), Status.RETIRED))
    assert first not in seen(store, vector)
    assert list(store.verify()) == []
    store.vectors.drop(SPACE)
    assert store.vectors.blocks.sketches.numbers() == []
    assert seen(store, vector) == {}


def test_a_damaged_sketch_is_passed_over_and_its_vectors_are_read_one_by_one(store: Store) -> None:
    vector = some_vector(random.Random(8))
    raw = apsw.Connection(store.path)
    raw.execute("UPDATE vector_sketches SET planes = zeroblob(length(planes)) WHERE seq = 2")
    hook_index = HookIndex.open(store.path)
    assert hook_index is not None
    hook_index.set_query_vector(vector, space=SPACE)
    assert {match.row.version_id for match in hook_index.by_meaning([], limit=3)} >= {*list(nearest(store, vector))[:1]}
    assert hook_index.damaged == ["vector_sketches 2 does not fit its seal"]
    assert [damage.subject for damage in store.verify()] == ["vector_sketches 2"]
    store.reindex()
    assert list(store.verify()) == []


def test_a_sketch_of_something_else_is_reported(store: Store) -> None:
    sketches = store.vectors.blocks.sketches
    with store.transaction():
        kept = sketches.at(1)
        sketches.change(kept, planes=bytes(len(kept["planes"])))
    assert [damage.code for damage in store.verify()] == ["wrong_sketch"]


def test_a_hook_index_finds_nothing_in_a_space_without_vectors_and_refuses_a_wrong_length(store: Store) -> None:
    hook_index = HookIndex.open(store.path)
    assert hook_index is not None
    hook_index.set_query_vector(some_vector(random.Random(9)), space="other/16@00")
    assert hook_index.by_meaning([]) == []
    with pytest.raises(Mistake):
        hook_index.set_query_vector(array("f", [1.0, 2.0]).tobytes(), space=SPACE)


def test_finding_by_vector_in_a_hook_loads_nothing_heavy(store: Store) -> None:
    code = (
        "import sys\nfrom tacit.store.hook_index import HookIndex\n"
        f"hook_index = HookIndex.open({store.path!r})\n"
        f"hook_index.set_query_vector({some_vector(random.Random(10))!r}, space={SPACE!r})\n"
        "assert hook_index.by_meaning([])\n"
        "assert not {'numpy', 'pathlib', 'dataclasses', 'inspect', 'logging'} & set(sys.modules), sorted(sys.modules)"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stderr) == (0, "")


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
