"""The same learning told again is recognised; anything that differs in substance is not."""

from __future__ import annotations

from typing import Any

import pytest

from tacit.features.cards.card import Card, Recommendation
from tacit.features.cards.card_matching import CardIndex, nearly_same, same_recommendation
from tests.unit.making import NOW

WORDS: dict[str, Any] = {
    "title": "Retry the search with a cursor",
    "when_to_use": "The search endpoint answers with too many requests while paging",
    "solution_steps": ("Read the cursor of the last good answer", "Wait and send the request again with it"),
    "primary_skill": "api-client",
}


def card(key: str = "aha_1", **fields: Any) -> Card:
    return Card(key=key, at=NOW, ts="", **(WORDS | fields))


def same(newcomer: Card, *known: Card) -> str:
    found = CardIndex(known).same(newcomer)
    return found.key if found else ""


def test_the_same_words_are_the_same_card_whatever_their_case_and_spacing() -> None:
    told = card("aha_2", title="  RETRY the   search with a cursor. ", solution_steps=("Something else",))
    assert same(told, card()) == "aha_1"


def test_one_key_makes_two_tellings_one_card() -> None:
    assert (
        same(card("aha_2", title="Quite different", equivalence="Cursor-First"), card(equivalence="cursor-first"))
        == "aha_1"
    )


def test_two_keys_keep_two_cards_apart() -> None:
    assert same(card("aha_2", equivalence="b"), card(equivalence="a")) == ""


def test_untitled_cards_never_collapse() -> None:
    bare: dict[str, Any] = {"title": "", "when_to_use": "", "solution_steps": ()}
    assert same(card("aha_2", **bare), card(**bare)) == ""


def test_another_skill_is_another_card_and_no_skill_may_be_any() -> None:
    assert same(card("aha_2", primary_skill="billing"), card()) == ""
    assert same(card("aha_2", primary_skill="unknown"), card()) == "aha_1"


def test_nearly_the_same_words_are_the_same_card() -> None:
    told = card("aha_2", title="Retrying the search with the cursor")
    assert same(told, card()) == "aha_1"


@pytest.mark.parametrize(
    "fields",
    [
        {"title": "Do not retry the search with a cursor"},
        {"title": "Retry the search with a cursor 3 times"},
        {"title": "Retry the search with a `page_cursor`"},
        {"title": "Retry the upload with a checksum"},
        {"title": "Retry the search with the cursor", "solution_steps": ("Delete the index and build it anew",)},
        {"title": "Retrying the search with the cursor", "primary_skill": "billing"},
    ],
    ids=["negation", "number", "name", "subject", "solution", "skill"],
)
def test_near_wording_is_not_enough_where_something_of_substance_differs(fields: dict[str, Any]) -> None:
    assert same(card("aha_2", **fields), card()) == ""
    assert not nearly_same(card("aha_2", **fields), card())


def test_the_newest_version_of_a_known_card_is_given() -> None:
    known = CardIndex([card(problem="first")])
    known.add(card(problem="second"))
    found = known.same(card("aha_2"))
    assert found is not None
    assert found.problem == "second"


def recommendation(title: str, skill: str = "s") -> Recommendation:
    return Recommendation(key="rec_1", at=NOW, ts="", title=title, primary_skill=skill)


def test_recommendations_are_one_by_title_and_skill() -> None:
    assert same_recommendation(recommendation("Add a loop"), recommendation(" add a LOOP."))
    assert not same_recommendation(recommendation("Add a loop"), recommendation("Add a loop", "t"))
    assert not same_recommendation(recommendation(""), recommendation(""))
