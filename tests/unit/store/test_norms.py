"""Norms that stand whatever the task: those that may be seen from here, the best served first."""

from __future__ import annotations

import pytest

from tacit.domain.ports import Store
from tacit.domain.scope import Level, Scope
from tacit.domain.skill import Kind, Skill
from tacit.store.sqlite_store import SqliteStore
from tacit.text.words import terms
from tests.unit.store.samples import at, content, put_version, rendering

HERE = Scope(Level.PROJECT, "here")


@pytest.fixture
def store() -> Store:
    return SqliteStore(":memory:")


def put_norm(store: Store, name: str, scope: Scope, *, rank: float, kind: Kind = Kind.NORM) -> None:
    skill = Skill.found(content(name, kind=kind), scope, at=at())
    stored = put_version(store, name, skill=skill, kind=kind)
    store.renderings.put(rendering(stored.version.id, rank=rank))


def names(store: Store, *, limit: int) -> list[str]:
    return [hit.stored.version.name for hit in store.renderings.norms(HERE, limit=limit)]


def test_the_best_served_norms_come_first_and_nothing_else(store: Store) -> None:
    for number in range(6):
        put_norm(store, f"norm-{number}", HERE, rank=number / 10)
    put_norm(store, "taste", HERE, rank=0.9, kind=Kind.PREFERENCE)
    assert names(store, limit=3) == ["norm-5", "norm-4", "norm-3"]
    assert names(store, limit=0) == []


def test_better_norms_of_other_projects_never_crowd_out_those_of_this_one(store: Store) -> None:
    for number in range(30):
        put_norm(store, f"theirs-{number}", Scope(Level.PROJECT, "elsewhere"), rank=0.9)
    for number in range(3):
        put_norm(store, f"ours-{number}", HERE, rank=number / 10)
    assert names(store, limit=2) == ["ours-2", "ours-1"]


def test_norms_come_with_their_words(store: Store) -> None:
    put_norm(store, "dates-in-utc", HERE, rank=0.5)
    (norm,) = store.renderings.norms(HERE)
    assert norm.words[0] == terms("dates-in-utc")
    assert (norm.lexical, norm.semantic) == (0.0, None)
