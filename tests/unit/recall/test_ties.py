"""Ties: skills whose match scores hardly differ name each other."""

from __future__ import annotations

from typing import Any

from tacit.domain.selection import Query, Selection
from tacit.domain.skill import Kind
from tacit.recall.retrieval import choose
from tacit.store import Store, open_store
from tests.unit.store.samples import at, put_version


def ask(store: Store, text: str, **more: Any) -> Selection:
    query = Query(text=text, **{"budget_tokens": 50_000, **more})
    return choose(store, query, now=at(600), min_relevance=0.1)


def put(store: Store, name: str, description: str, **more: Any) -> None:
    put_version(store, name, description=description, steps=(), **more)


def names(selection: Selection) -> list[str]:
    return [item.name for item in selection.items]


def test_look_alikes_are_given_together_and_reported_as_tied():
    store = open_store(":memory:")
    put(store, "rotate-keys-east", "Rotate the signing keys of the eastern region")
    put(store, "rotate-keys-west", "Rotate the signing keys of the western region")
    put(store, "purge-cache", "Purge the cache of thumbnails")
    one, two = ask(store, "rotate the signing keys").items
    assert (one.tied_with, two.tied_with) == ((two.name,), (one.name,))


def test_what_a_word_tells_apart_is_no_tie():
    store = open_store(":memory:")
    put(store, "rotate-keys-east", "Rotate the signing keys of the eastern region")
    put(store, "rotate-keys-west", "Rotate the signing keys of the western region")
    first = ask(store, "rotate the signing keys of the western region").items[0]
    assert first.name == "rotate-keys-west"
    assert first.tied_with == ()


def test_all_look_alikes_name_all_others_however_many_are_asked_for():
    store = open_store(":memory:")
    for region in ("east", "west", "north", "south", "inner", "outer", "upper", "lower"):
        put(store, f"rotate-keys-{region}", f"Rotate the signing keys of the {region} region")
    for k in (1, 3, 8):
        for item in ask(store, "rotate the signing keys", k=k).items:
            assert len(item.tied_with) == 7
            assert item.name not in item.tied_with


def test_who_answers_this_very_error_is_not_tied_with_who_only_shares_words():
    store = open_store(":memory:")
    signature = "ValueError: rotate the signing keys"
    put(store, "rotate-keys", "Rotate the signing keys", kind=Kind.LESSON, signature=signature)
    put(store, "rotate-keys-too", "Rotate the signing keys")
    best, other = ask(store, "rotate the signing keys", state={"error": signature}).items
    assert best.name == "rotate-keys"
    assert best.tied_with == other.tied_with == ()
