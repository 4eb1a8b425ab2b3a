"""Finding skills: norms of a scope, skills with cues beyond the limit, versions by name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import apsw
import pytest

from tacit.domain.errors import StoreOutage
from tacit.domain.lifecycle import RECALLABLE, Status
from tacit.domain.scope import Level, Scope
from tacit.domain.skill import Cue, Kind, Skill
from tacit.store import Store
from tacit.text.words import terms
from tests.raising import raises
from tests.unit.store.samples import at, content, put_version, rendering

HERE = Scope(Level.PROJECT, "here")


@pytest.fixture
def store() -> Store:
    return Store(":memory:")


def put_norm(store: Store, name: str, scope: Scope, *, rank: float, kind: Kind = Kind.NORM) -> None:
    skill = Skill.create(content(name, kind=kind), scope, at=at())
    stored = put_version(store, name, skill=skill, kind=kind)
    store.renderings.put(rendering(stored.version.id, reliability=rank))


def norm_names(store: Store, *, limit: int) -> list[str]:
    return [hit.stored.version.name for hit in store.renderings.norms(HERE, limit=limit)]


def test_the_best_served_norms_come_first_and_nothing_else(store: Store) -> None:
    for number in range(6):
        put_norm(store, f"norm-{number}", HERE, rank=number / 10)
    put_norm(store, "taste", HERE, rank=0.9, kind=Kind.PREFERENCE)
    assert norm_names(store, limit=3) == ["norm-5", "norm-4", "norm-3"]
    assert norm_names(store, limit=0) == []


def test_better_norms_of_other_projects_never_crowd_out_those_of_this_one(store: Store) -> None:
    for number in range(30):
        put_norm(store, f"theirs-{number}", Scope(Level.PROJECT, "elsewhere"), rank=0.9)
    for number in range(3):
        put_norm(store, f"ours-{number}", HERE, rank=number / 10)
    assert norm_names(store, limit=2) == ["ours-2", "ours-1"]


def test_norms_come_with_their_words(store: Store) -> None:
    put_norm(store, "dates-in-utc", HERE, rank=0.5)
    (norm,) = store.renderings.norms(HERE)
    assert norm.words[0] == terms("dates-in-utc")
    assert (norm.lexical, norm.semantic) == (0.0, None)


CUES = (Cue(term="cancel", weight=2.0),)


def cued_names(store: Store, *, limit: int, cued_within: int) -> list[str]:
    found = store.search(["zebra"], statuses=RECALLABLE, limit=limit, cued_within=cued_within)
    return [hit.stored.version.name for hit in found]


def fill_with_cues(store: Store) -> None:
    """Ten skills, the more zebras the better; every third has cues."""
    for place in range(10):
        cues = CUES if place % 3 == 0 else ()
        put_version(store, f"skill-{place}", description="zebra " * (10 - place), cues=cues)


def test_those_with_cues_follow_the_first_few_in_order(store: Store) -> None:
    fill_with_cues(store)
    assert cued_names(store, limit=2, cued_within=0) == ["skill-0", "skill-1"]
    assert cued_names(store, limit=2, cued_within=10) == ["skill-0", "skill-1", "skill-3", "skill-6", "skill-9"]


def test_no_further_than_they_are_looked_for(store: Store) -> None:
    fill_with_cues(store)
    assert cued_names(store, limit=2, cued_within=7) == ["skill-0", "skill-1", "skill-3", "skill-6"]
    assert cued_names(store, limit=5, cued_within=3) == [f"skill-{place}" for place in range(5)]
    assert (
        cued_names(store, limit=0, cued_within=4)
        == cued_names(store, limit=-1, cued_within=4)
        == ["skill-0", "skill-3"]
    )


def test_a_text_that_looks_like_cues_is_none(store: Store) -> None:
    put_version(store, "best", description="zebra zebra")
    put_version(store, "quoting", description='zebra "cues":[{"term":"cancel"}]')
    assert cued_names(store, limit=1, cued_within=10) == ["best"]


def test_what_follows_has_its_words_and_score_too(store: Store) -> None:
    fill_with_cues(store)
    found = store.search(["zebra"], statuses=RECALLABLE, limit=1, cued_within=10)
    assert [hit.words[1].count("zebra") for hit in found] == [10, 7, 4, 1]
    assert [hit.lexical for hit in found] == sorted((hit.lexical for hit in found), reverse=True)


def test_a_name_is_found_in_its_statuses_whatever_else_there_is(tmp_path: Path) -> None:
    store = Store(tmp_path / "tacit.db")
    for number, status in enumerate((Status.TRIAL, Status.CANDIDATE, Status.TRIAL)):
        put_version(store, "deploy", status=status, body=f"way {number}")
        put_version(store, f"deploy-{number}", status=status)
    found = store.catalogue(statuses=RECALLABLE, name="deploy")
    assert [stored.version.content.body for stored in found] == ["way 0", "way 2"]
    assert len(store.catalogue(name="deploy")) == 3
    assert store.catalogue(name="deplo") == []
    store.close()


def test_an_index_of_names_that_has_lost_an_entry_is_not_believed(tmp_path: Path) -> None:
    path = tmp_path / "tacit.db"
    store = Store(path)
    for name in ("one", "rollback-release"):
        put_version(store, name)
    store.close()
    raw = apsw.Connection(str(path))
    raw.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    found: Any = raw.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'versions_by_name'").fetchall()
    page_size: Any = raw.pragma("page_size")
    raw.close()
    data = bytearray(path.read_bytes())
    entry = data.index(b"rollback-release", (found[0][0] - 1) * page_size)
    data[entry - 1] ^= 8  # the type of the row's number: from "one byte" to "the number one"
    path.write_bytes(data)
    damaged = Store(path)
    with raises(StoreOutage, "row_count"):
        damaged.catalogue(name="rollback-release")
    damaged.close()
