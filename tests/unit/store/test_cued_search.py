"""Search beyond the first few: only skills that know which tasks call for them follow, the others are passed over."""

from __future__ import annotations

import pytest

from tacit.domain.lifecycle import RECALLABLE
from tacit.domain.ports import Store
from tacit.domain.skill import Cue
from tacit.store.sqlite_store import SqliteStore
from tests.unit.store.samples import put_version

CUES = (Cue(term="cancel", weight=2.0),)


@pytest.fixture
def store() -> Store:
    return SqliteStore(":memory:")


def names(store: Store, *, limit: int, cued_within: int) -> list[str]:
    found = store.search(["zebra"], statuses=RECALLABLE, limit=limit, cued_within=cued_within)
    return [hit.stored.version.name for hit in found]


def fill(store: Store) -> None:
    """Ten skills, the more zebras the better; every third has cues."""
    for place in range(10):
        cues = CUES if place % 3 == 0 else ()
        put_version(store, f"skill-{place}", description="zebra " * (10 - place), cues=cues)


def test_those_with_cues_follow_the_first_few_in_order(store: Store) -> None:
    fill(store)
    assert names(store, limit=2, cued_within=0) == ["skill-0", "skill-1"]
    assert names(store, limit=2, cued_within=10) == ["skill-0", "skill-1", "skill-3", "skill-6", "skill-9"]


def test_no_further_than_they_are_looked_for(store: Store) -> None:
    fill(store)
    assert names(store, limit=2, cued_within=7) == ["skill-0", "skill-1", "skill-3", "skill-6"]
    assert names(store, limit=5, cued_within=3) == [f"skill-{place}" for place in range(5)]
    assert names(store, limit=0, cued_within=4) == names(store, limit=-1, cued_within=4) == ["skill-0", "skill-3"]


def test_a_text_that_looks_like_cues_is_none(store: Store) -> None:
    put_version(store, "best", description="zebra zebra")
    put_version(store, "quoting", description='zebra "cues":[{"term":"cancel"}]')
    assert names(store, limit=1, cued_within=10) == ["best"]


def test_what_follows_has_its_words_and_score_too(store: Store) -> None:
    fill(store)
    found = store.search(["zebra"], statuses=RECALLABLE, limit=1, cued_within=10)
    assert [hit.words[1].count("zebra") for hit in found] == [10, 7, 4, 1]
    assert [hit.lexical for hit in found] == sorted((hit.lexical for hit in found), reverse=True)
