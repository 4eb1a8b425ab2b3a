"""Lexical search: scores, and hits, scores and order as when every version is scored; damage is reported."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import apsw
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.domain.errors import StoreOutage
from tacit.domain.lifecycle import RECALLABLE, Status
from tacit.domain.skill import SkillStep
from tacit.store import Store
from tacit.store.lexical_search import EXTRA_CANDIDATES, VERSION_WEIGHTS, distinct, rarity, score, version_words
from tacit.store.seals import seal_of
from tests.raising import raises
from tests.unit.store.samples import put_version

WORDS = [f"word{number}" for number in range(60)]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = Store(tmp_path / "tacit.db")
    yield opened
    opened.close()


def fill(store: Store, count: int, *, seed: int = 3) -> None:
    """Skills of uneven length whose words are unevenly frequent; of every third skill a later version waits."""
    chooser = random.Random(seed)
    weights = [1 / (rank + 1) for rank in range(len(WORDS))]
    with store.transaction():
        for number in range(count):
            body = " ".join(chooser.choices(WORDS, weights, k=chooser.randint(5, 120)))
            first = put_version(store, f"skill-{number}", body=body, minutes=number)
            if number % 3 == 0:
                later = Status.TRIAL if number % 2 else Status.CANDIDATE
                put_version(store, f"skill-{number}", skill=first.skill, body=f"{body} later", status=later)


@pytest.mark.parametrize("limit", [5, 20, 100])
def test_the_index_finds_what_weighing_every_version_finds(store: Store, limit: int) -> None:
    fill(store, 120)
    held = store.catalogue(statuses=RECALLABLE)
    words = {stored.version.id: version_words(stored.version.content) for stored in held}
    newest = {stored.skill.id: stored for stored in sorted(held, key=lambda stored: stored.sequence)}
    for query in (["word40", "word41"], ["word7", "word30", "word59"], ["word50", "absent", "word50"]):
        counts = {term: sum(any(term in field for field in own) for own in words.values()) for term in set(query)}
        worth = {term: rarity(count, len(held), term=term) for term, count in counts.items() if count}
        weighed = [
            (stored, score(worth, words[stored.version.id], weights=VERSION_WEIGHTS)) for stored in newest.values()
        ]
        ranked = sorted(weighed, key=lambda each: (-each[1], -each[0].sequence))
        expected = [(stored.version.id, lexical) for stored, lexical in ranked if lexical > 0][:limit]
        found = store.search(query, statuses=RECALLABLE, limit=limit)
        assert expected
        assert [(hit.stored.version.id, hit.lexical) for hit in found] == expected
        assert [hit.words for hit in found] == [words[identity] for identity, _ in expected]


def test_versions_that_do_not_count_never_crowd_out_those_that_do(store: Store) -> None:
    limit = 10
    with store.transaction():
        for number in range(
            (limit + EXTRA_CANDIDATES) * 3
        ):  # all better than the ones that count, and more than are asked at once
            put_version(store, f"shelved-{number}", status=Status.CANDIDATE, body="kiwi")
        for number in range(4):
            put_version(store, f"standing-{number}", body=f"kiwi {'other ' * 80}")
        for number in range(40):
            put_version(store, f"unrelated-{number}", body="plum")
    found = store.search(["kiwi"], statuses=RECALLABLE, limit=limit)
    assert [hit.stored.version.name for hit in found] == [f"standing-{number}" for number in (3, 2, 1, 0)]


@pytest.mark.parametrize("table", ["version_words", "versions", "skills"])
def test_a_damaged_row_among_the_hits_is_named(store: Store, table: str) -> None:
    for number in range(3):
        put_version(store, f"skill-{number}", body=f"kiwi {number}")
    raw = apsw.Connection(store.path)
    for (trigger,) in raw.execute("SELECT name FROM sqlite_schema WHERE type = 'trigger' AND tbl_name = ?", (table,)):
        raw.execute(f"DROP TRIGGER {trigger}")
    raw.execute(f"UPDATE {table} SET seal = 'other' WHERE seq = 2")
    with raises(StoreOutage, "wrong_seal"):
        store.search(["kiwi"], statuses=RECALLABLE)


def test_a_row_that_is_gone_from_the_words_is_named(store: Store) -> None:
    put_version(store, "skill", body="kiwi")
    raw = apsw.Connection(store.path)
    raw.execute("DROP TRIGGER version_words_loses_no_row")
    raw.execute("DELETE FROM version_words")
    with raises(StoreOutage, "missing"):
        store.search(["kiwi"], statuses=RECALLABLE)


def test_a_content_that_speaks_of_records_reads_back(store: Store) -> None:
    arguments = {"created_at": "today", "content": {"body": ',"created_at":'}, "sign": "\ud800"}
    stored = put_version(store, "skill", steps=(SkillStep(text="kiwi", arguments=arguments),))
    assert stored.version.content.steps[0].arguments == arguments
    (hit,) = store.search(["kiwi"], statuses=RECALLABLE)
    assert hit.stored == stored


def test_another_content_under_the_same_hash_is_damage(store: Store) -> None:
    stored = put_version(store, "skill", body="kiwi")
    raw = apsw.Connection(store.path)
    raw.execute("DROP TRIGGER versions_keep_content")
    row: tuple[Any, ...] = raw.execute(
        "SELECT seq, id, skill_id, hash, kind, name, status, life, record FROM versions"
    ).fetchall()[0]
    changed = row[8].replace(b'"body":"kiwi"', b'"body":"plum"')
    assert changed != row[8]
    raw.execute("UPDATE versions SET record = ?, seal = ?", (changed, seal_of("versions", (*row[:8], changed))))
    with raises(StoreOutage, "wrong_content"):
        store.version(stored.version.id)


words = st.lists(st.sampled_from(["a", "b", "c", "d"]), max_size=8)
EMPTY: list[str] = []


def of(name: list[str], body: list[str], **query: float) -> float:
    return score(query, (name, EMPTY, body, EMPTY), weights=VERSION_WEIGHTS)


@given(words, words, words, words)
def test_a_score_is_above_zero_exactly_when_a_word_matches(
    name: list[str], description: list[str], body: list[str], extra: list[str]
) -> None:
    document = (name, description, body, extra)
    found = score({"a": 1.0, "z": 1.0}, document, weights=VERSION_WEIGHTS)
    assert (found > 0) == any("a" in field for field in document)


def test_a_name_counts_more_than_a_body() -> None:
    assert of(["a"], ["b"], a=1.0) > of(["b"], ["a"], a=1.0)


def test_a_rarer_word_counts_more() -> None:
    assert rarity(1, 100) > rarity(50, 100) > rarity(100, 100) > 0
    assert rarity(1, 1) > 0


def test_repeats_count_less_and_less() -> None:
    once, twice, thrice = (of([], ["a"] * times + ["b"] * (9 - times), a=1.0) for times in (1, 2, 3))
    assert thrice > twice > once
    assert thrice - twice < twice - once


def test_a_long_text_needs_more_matches() -> None:
    assert of([], ["a"], a=1.0) > of([], ["a"] + ["b"] * 500, a=1.0)


def test_a_query_counts_each_word_once() -> None:
    assert distinct(["b", "a", "b", "", "a"]) == ["b", "a"]
