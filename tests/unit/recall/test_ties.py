"""Ties: what one more skill could do to an order, and that it is said beforehand."""

from __future__ import annotations

from typing import Any

import pytest

from tacit.domain.selection import Query, Selection
from tacit.domain.skill import Kind
from tacit.recall.retrieval import choose
from tacit.recall.selection import MatchBounds, max_shift, rarity_shifts
from tacit.recall.signals import QueryTerms, Rarity, example_similarity, match_score, word_signals
from tacit.store import Store, open_store
from tacit.store.lexical_search import VERSION_WEIGHTS, rarity, score
from tacit.text.words import terms
from tests.unit.making import content, said
from tests.unit.store.samples import at, put_version


def ask(store: Store, text: str, **more: Any) -> Selection:
    query = Query(text=text, **{"budget_tokens": 50_000, **more})
    return choose(store, query, now=at(600), min_relevance=0.1)


def put(store: Store, name: str, description: str, **more: Any) -> None:
    put_version(store, name, description=description, steps=(), **more)


def names(selection: Selection) -> list[str]:
    return [item.name for item in selection.items]


def test_the_spread_covers_one_more_skill_with_and_without_the_word():
    shifts = rarity_shifts(["zebra", "run", "unheard"], {"zebra": 3, "run": 9}, 40)
    for term, count in (("zebra", 3), ("run", 9), ("unheard", 0)):
        now = rarity(count, 40, term=term)
        changed = [abs(now - rarity(count + more, 41, term=term)) for more in (0, 1)]
        assert shifts[term] == max(changed) > 0


def test_a_rare_word_is_moved_more_than_a_common_one():
    shifts = rarity_shifts(["rare", "common"], {"rare": 1, "common": 300}, 900)
    assert shifts["rare"] > 50 * shifts["common"]


@pytest.mark.parametrize("words", ["rotate", "rotate keys", "rotate keys rotate zebra", "zebra penguin", ""])
@pytest.mark.parametrize("example", ["", "rotate the zebra keys", "a penguin"])
@pytest.mark.parametrize("names", [frozenset(), frozenset({"zebra"})])
def test_one_more_skill_moves_two_others_against_each_other_by_no_more_than_was_said(words, example, names):
    frequency, documents = {"rotat": 2, "key": 1, "zebra": 1, "penguin": 4}, 12
    one = content(
        name="rotate", description=words, body="keys " * 3, steps=(), example_queries=(example,) * bool(example)
    )
    two = content(name="keys", description="rotate zebra", body=words, steps=(), example_queries=("rotate keys",))
    known_query_terms = frozenset(terms("rotate the keys of a zebra"))

    def weighed(counts: dict[str, int], total: int) -> float:
        asked = QueryTerms(known_query_terms, Rarity(frequency=counts, corpus_size=total), names=names)
        found = []
        for made in (one, two):
            fields = [
                terms(made.name),
                terms(made.description),
                terms(made.body),
                terms("\n".join(made.example_queries)),
            ]
            nats = score(asked.worth, fields, weights=VERSION_WEIGHTS)
            found.append(
                match_score({**word_signals(asked, nats, fields), "example": example_similarity(asked, said(made))})
            )
        return found[0] - found[1]

    asked = QueryTerms(known_query_terms, Rarity(frequency=frequency, corpus_size=documents), names=names)
    shifts = rarity_shifts(known_query_terms, frequency, documents)
    feet = [
        MatchBounds(
            [terms(made.name), terms(made.description), terms(made.body), terms("\n".join(made.example_queries))],
            [terms(each) for each in made.example_queries],
            asked=asked,
            shifts=shifts,
        )
        for made in (one, two)
    ]
    before, bound = weighed(frequency, documents), max_shift(feet[0], feet[1], shifts)
    assert bound == max_shift(feet[1], feet[0], shifts)
    for added in range(2 ** len(frequency)):
        held = {term for at, term in enumerate(frequency) if added >> at & 1}
        after = weighed({term: count + (term in held) for term, count in frequency.items()}, documents + 1)
        assert abs(after - before) <= bound


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


def test_an_order_that_one_more_skill_turns_was_a_tie_before():
    first, second = ("zebra-care", "Groom the zebra"), ("penguin-care", "Groom the penguin")
    turned = set()
    for more in ("zebra " * 3, "penguin " * 3):
        store = open_store(":memory:")
        put(store, *first)
        put(store, *second)
        before = ask(store, "zebra or penguin")
        put(store, "unrelated", f"Paint a wall {more}")
        turned.add(names(ask(store, "zebra or penguin"))[0])
        assert all(item.tied_with for item in before.items)
    assert len(turned) == 2  # the further skill decided
