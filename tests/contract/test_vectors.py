"""What every store promises of vectors and of indexes rebuilt, on every store."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import pytest

from tacit.domain.errors import Mistake, NotFound
from tacit.domain.lifecycle import Status
from tacit.domain.skill import Kind
from tacit.store import Store, open_store
from tacit.store.lexical_search import version_words
from tacit.text.words import terms
from tests.contract.test_store import Boom, abandon, names
from tests.raising import raises
from tests.unit.store.samples import SPACE, fill, put_version, step_to, vector

EAST, NORTH, UP = vector(1, 0, 0), vector(0, 1, 0), vector(0, 0, 1)


def put_vectors(store: Store, name: str, *vectors: bytes, space: str = SPACE, **more: Any) -> str:
    version_id = put_version(store, name, **more).version.id
    store.vectors.put(version_id, vectors, space=space)
    return version_id


def nearest(store: Store, query: bytes = EAST, space: str = SPACE, **more: Any) -> list[str]:
    return [hit.stored.version.name for hit in store.vectors.nearest(query, space=space, **more)]


def test_versions_are_found_by_nearness_best_first(store: Store) -> None:
    put_vectors(store, "across", NORTH)
    put_vectors(store, "opposite", vector(-1, 0, 0))
    put_vectors(store, "same", EAST)
    put_vectors(store, "between", vector(1, 1, 0))
    found = store.vectors.nearest(EAST, space=SPACE)
    assert [hit.stored.version.name for hit in found] == ["same", "between", "across", "opposite"]
    assert [hit.semantic for hit in found] == [1.0, pytest.approx(0.5**0.5, abs=1e-6), 0.0, -1.0]
    assert [hit.lexical for hit in found] == [0.0] * 4
    assert nearest(store, limit=2) == ["same", "between"]
    assert nearest(store, limit=0) == []
    assert list(store.verify()) == []


def test_a_version_is_as_near_as_the_nearest_of_its_parts(store: Store) -> None:
    many = put_vectors(store, "many", UP, vector(-1, 0, 0), vector(1, 1, 0))
    put_vectors(store, "one", vector(1, 1, 1))
    assert nearest(store) == ["many", "one"]
    assert store.vectors.similarities(EAST, [many], space=SPACE) == {many: pytest.approx(0.5**0.5, abs=1e-6)}


def test_of_equally_near_versions_the_newer_stands_first(store: Store) -> None:
    for name in ("first", "second", "third"):
        put_vectors(store, name, vector(1, 1, 0))
    assert nearest(store) == ["third", "second", "first"]


def test_only_the_direction_of_a_vector_counts(store: Store) -> None:
    long, short = (struct.pack("<3f", *(each * scale for each in (1, 1, 0))) for scale in (1e6, 1e-6))
    put_vectors(store, "long", long)
    put_vectors(store, "short", short)
    assert [hit.semantic for hit in store.vectors.nearest(long, space=SPACE)] == [1.0, 1.0]
    assert nearest(store, short) == ["short", "long"]


def test_new_vectors_take_the_place_of_those_before(store: Store) -> None:
    version_id = put_vectors(store, "moved", EAST, NORTH)
    put_vectors(store, "still", vector(1, 1, 0))
    assert nearest(store) == ["moved", "still"]
    store.vectors.put(version_id, [UP], space=SPACE)
    assert nearest(store) == ["still", "moved"]
    store.vectors.put(version_id, [UP], space=SPACE)  # the same again
    assert store.vectors.spaces() == {SPACE: 2}
    assert list(store.verify()) == []


def test_vectors_are_found_in_their_own_space_only(store: Store) -> None:
    both = put_vectors(store, "both", EAST)
    store.vectors.put(both, [vector(1, 0)], space="flat:77aa")
    put_vectors(store, "one", NORTH)
    assert nearest(store, space=SPACE) == ["both", "one"]
    assert nearest(store, vector(0, 1), space="flat:77aa") == ["both"]
    assert nearest(store, space="unknown") == []
    assert store.vectors.similarities(EAST, [both], space="unknown") == {}
    assert store.vectors.spaces() == {SPACE: 2, "flat:77aa": 1}
    store.vectors.drop(SPACE)
    store.vectors.drop("unknown")
    assert store.vectors.spaces() == {"flat:77aa": 1}
    assert nearest(store, space=SPACE) == []
    assert nearest(store, vector(0, 1), space="flat:77aa") == ["both"]
    store.vectors.put(both, [vector(1, 0, 0, 0)], space=SPACE)  # a space that was dropped may be another one
    assert list(store.verify()) == []


def test_what_is_recallable_waits_to_be_embedded_oldest_first(store: Store) -> None:
    first, second = put_version(store, "b"), put_version(store, "a")
    put_version(store, "c", status=Status.CANDIDATE)
    assert store.vectors.missing(SPACE) == [first.version.id, second.version.id]
    assert store.vectors.missing(SPACE, limit=1) == [first.version.id]
    assert store.vectors.missing(SPACE, limit=0) == []
    store.vectors.put(first.version.id, [EAST], space=SPACE)
    assert store.vectors.missing(SPACE) == [second.version.id]
    assert store.vectors.missing("another") == [first.version.id, second.version.id]


def test_vectors_end_when_their_version_is_no_longer_recallable(store: Store) -> None:
    stored = put_version(store, "kept")
    store.vectors.put(stored.version.id, [EAST], space=SPACE)
    store.add_transition(step_to(stored, Status.TRUSTED))
    assert nearest(store) == ["kept"]
    store.add_transition(step_to(store.version(stored.version.id), Status.RETIRED, minutes=2))
    assert nearest(store) == []
    assert store.vectors.spaces() == {}
    assert store.vectors.missing(SPACE) == []
    assert store.vectors.similarities(EAST, [stored.version.id], space=SPACE) == {}
    assert list(store.verify()) == []


def test_only_the_newest_recallable_version_of_a_skill_is_near(store: Store) -> None:
    old = put_version(store, "skill")
    store.vectors.put(old.version.id, [EAST], space=SPACE)
    new = put_version(store, "skill", body="two", skill=old.skill)
    assert nearest(store) == []  # the newest has no vectors yet
    store.vectors.put(new.version.id, [NORTH], space=SPACE)
    assert [hit.stored for hit in store.vectors.nearest(EAST, space=SPACE)] == [new]
    put_version(store, "skill", body="three", skill=old.skill, status=Status.CANDIDATE)
    assert [hit.stored for hit in store.vectors.nearest(EAST, space=SPACE)] == [new]
    store.add_transition(step_to(new, Status.RETIRED))
    assert [hit.stored for hit in store.vectors.nearest(EAST, space=SPACE)] == [old]


def test_nearness_can_be_asked_of_some_kinds_only(store: Store) -> None:
    put_vectors(store, "far-norm", NORTH, kind=Kind.NORM)
    for number in range(120):  # more than are looked at first
        put_vectors(store, f"procedure-{number}", EAST)
    assert nearest(store, kinds={Kind.NORM}, limit=5) == ["far-norm"]
    assert nearest(store, kinds={Kind.NORM, Kind.PROCEDURE}, limit=1) == ["procedure-119"]
    assert nearest(store, kinds={Kind.LESSON}) == []
    assert nearest(store, kinds=()) == []
    assert len(nearest(store, limit=500)) == 121


def test_older_versions_in_great_number_hide_nothing(store: Store) -> None:
    put_vectors(store, "far", NORTH)
    old = put_version(store, "near", body="0")
    store.vectors.put(old.version.id, [EAST], space=SPACE)
    for number in range(1, 80):
        newer = put_version(store, "near", body=str(number), skill=old.skill)
        store.vectors.put(newer.version.id, [EAST], space=SPACE)
    assert nearest(store, limit=2) == ["near", "far"]


def test_a_hit_by_meaning_brings_its_words(store: Store) -> None:
    put_vectors(store, "deploy-service", EAST, body="Größe 漢字 deploy deploy")
    (hit,) = store.vectors.nearest(EAST, space=SPACE)
    assert [list(field) for field in hit.words] == [list(field) for field in version_words(hit.stored.version.content)]


@pytest.mark.parametrize(
    ("vectors", "code"),
    [
        ([], "bad_vector"),
        ([b""], "bad_vector"),
        ([b"abc"], "bad_vector"),
        ([struct.pack("<3f", 0, 0, 0)], "bad_vector"),
        ([struct.pack("<3f", 1, float("nan"), 0)], "bad_vector"),
        ([struct.pack("<3f", 1, float("inf"), 0)], "bad_vector"),
        ([EAST, vector(1, 0)], "wrong_dimensions"),
        ([vector(1, 0, 0, 0)], "wrong_dimensions"),
    ],
)
def test_what_is_no_vector_of_the_space_is_refused(store: Store, vectors: list[bytes], code: str) -> None:
    kept = put_vectors(store, "kept", EAST)
    with raises(Mistake, code):
        store.vectors.put(kept, vectors, space=SPACE)
    assert store.vectors.similarities(EAST, [kept], space=SPACE) == {kept: 1.0}
    for query in vectors[-1:]:
        with raises(Mistake, code):
            store.vectors.nearest(query, space=SPACE)
        with raises(Mistake, code):
            store.vectors.similarities(query, [kept], space=SPACE)


def test_a_space_keeps_its_length_when_its_last_vector_ends(store: Store) -> None:
    stored = put_version(store, "only")
    store.vectors.put(stored.version.id, [EAST], space=SPACE)
    store.add_transition(step_to(stored, Status.RETIRED))
    other = put_version(store, "other").version.id
    with raises(Mistake, "wrong_dimensions"):
        store.vectors.put(other, [vector(1, 0)], space=SPACE)


def test_only_what_is_recallable_has_vectors(store: Store) -> None:
    held = put_version(store, status=Status.CANDIDATE).version.id
    with raises(Mistake, "not_recallable"):
        store.vectors.put(held, [EAST], space=SPACE)
    with pytest.raises(NotFound):
        store.vectors.put("v_unknown", [EAST], space=SPACE)
    assert store.vectors.spaces() == {}


def test_similarities_are_given_for_those_that_have_vectors(store: Store) -> None:
    east, north = put_vectors(store, "east", EAST), put_vectors(store, "north", NORTH)
    bare = put_version(store, "bare").version.id
    assert store.vectors.similarities(NORTH, [north, bare, "v_unknown", east], space=SPACE) == {north: 1.0, east: 0.0}
    assert store.vectors.similarities(NORTH, [], space=SPACE) == {}


def test_vectors_stand_or_fall_with_their_transaction(store: Store) -> None:
    kept, moved = put_vectors(store, "kept", EAST), put_vectors(store, "moved", NORTH)
    waiting = put_version(store, "waiting").version.id

    def look() -> None:
        assert nearest(store) == ["waiting", "moved"]

    with pytest.raises(Boom):
        abandon(
            store,
            lambda: store.vectors.put(waiting, [EAST], space=SPACE),
            lambda: store.add_transition(step_to(store.version(kept), Status.RETIRED)),
            look,
        )
    assert nearest(store) == ["kept", "moved"]
    with store.transaction():
        with pytest.raises(Boom):
            abandon(store, lambda: store.vectors.put(moved, [EAST], space=SPACE), lambda: nearest(store))
        assert store.vectors.similarities(EAST, [moved], space=SPACE) == {moved: 0.0}
        assert nearest(store) == ["kept", "moved"]
    with pytest.raises(Boom):
        abandon(store, lambda: store.vectors.drop(SPACE))
    assert nearest(store) == ["kept", "moved"]


def test_a_backup_holds_the_vectors(store: Store, tmp_path: Path) -> None:
    put_vectors(store, "kept", EAST, NORTH)
    ended = put_version(store, "ended")
    store.vectors.put(ended.version.id, [EAST], space=SPACE)
    store.add_transition(step_to(ended, Status.RETIRED))
    put_vectors(store, "dropped", vector(1, 0), space="flat:77aa")
    store.vectors.drop("flat:77aa")
    store.backup(tmp_path / "copy.db")
    copy = open_store(tmp_path / "copy.db")
    assert nearest(copy) == ["kept"]
    assert copy.vectors.spaces() == {SPACE: 1}
    copy.close()


def test_indexes_rebuilt_find_the_same(store: Store) -> None:
    fill(store)
    put_vectors(store, "other", NORTH, body="Größe 漢字")
    before = [nearest(store), names(store, "deploy"), names(store, "größe"), store.search_episodes(terms("build"))]
    history = store.history()
    frequencies = store.document_frequency(["deploy", "other"])
    assert store.reindex() == 5
    assert [
        nearest(store),
        names(store, "deploy"),
        names(store, "größe"),
        store.search_episodes(terms("build")),
    ] == before
    assert store.document_frequency(["deploy", "other"]) == frequencies
    assert store.history() == history
    assert list(store.verify()) == []
    put_vectors(store, "third", EAST)
    assert "third" in nearest(store)
    assert names(store, "third") == ["third"]
    assert list(store.verify()) == []
