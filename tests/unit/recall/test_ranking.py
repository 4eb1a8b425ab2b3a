"""The signals: how words meet, how age fades, how all is weighed."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tacit.recall.ranking import MAX_QUERY_TERMS, RECENCY_FLOOR, WEIGHTS, Rarity, fuse, recency, relevance
from tacit.text.words import term_set
from tests.unit.making import NOW, content

EVEN = Rarity(frequency={}, documents=10)


def fit(query, made=None, rarity=EVEN):
    return relevance(term_set(query), made or content(), rarity)[0]


def test_rare_words_tell_more():
    rarity = Rarity(frequency={"databa": 9, "migrat": 1}, documents=10)
    assert rarity.of("migrat") > rarity.of("databa") > 0
    assert fit("migration of penguins", rarity=rarity) > fit("database of penguins", rarity=rarity)


def test_a_word_in_every_document_still_tells_a_little():
    assert Rarity(frequency={"x": 10}, documents=10).of("x") > 0
    assert Rarity(frequency={}, documents=0).of("x") > 0


def test_a_word_that_no_skill_contains_is_a_smaller_doubt_and_a_value_hardly_one():
    rarity = Rarity.for_query("rename `Zebra` to penguin-7 in the database", {"databa": 1}, 10)
    assert {"zebra", "penguin"} <= rarity.values
    assert "databa" not in rarity.values
    assert rarity.of("databa") > rarity.of("unheard") > rarity.of("zebra") > 0


@pytest.mark.parametrize(
    "value", ["'some words'", '"some words"', "`some words`", "“some words”", "some/words", "some_words"]
)
def test_what_is_quoted_or_holds_a_sign_is_a_value(value):
    assert "word" in Rarity.for_query(f"change {value} now", {}, 1).values
    assert "chang" not in Rarity.for_query(f"change {value} now", {}, 1).values


def test_relevance_grows_with_what_is_shared():
    made = content()
    fits = [
        fit(query, made)
        for query in ("penguins", "run penguins", "add a database migration", "Add a database migration and run it")
    ]
    assert fits[0] == 0
    assert fits == sorted(fits)
    assert fits[-1] > 0.8


def test_a_word_of_the_subject_tells_more_than_one_of_the_body():
    assert fit("currency", content(description="currency")) > fit("currency", content(body="currency")) > 0


def test_an_example_query_that_says_the_same_makes_it_fit():
    query = "make the schema know about money"
    assert fit(query, content(example_queries=(query,))) > 2 * fit(query, content())


def test_a_long_request_is_judged_by_its_rarest_words():
    chatter = {f"word{i}": 10 for i in range(100)}
    rarity = Rarity(frequency={**chatter, "migrat": 1, "databa": 1}, documents=10)
    long = " ".join(["add a database migration", *chatter])
    assert len(term_set(long)) > MAX_QUERY_TERMS
    assert fit(long, rarity=rarity) > fit(" ".join(["paint penguins", *chatter]), rarity=rarity)


def test_the_shared_words_are_given_the_rarest_first():
    rarity = Rarity(frequency={"databa": 9, "migrat": 1}, documents=10)
    shared = relevance(term_set("database migration penguins"), content(), rarity)[1]
    assert shared == ["migrat", "databa"]


def test_no_words_no_relevance():
    assert relevance(frozenset(), content(), EVEN) == (0.0, [])
    assert fit("x", content(name="the", description="of", steps=())) == 0


def test_age_fades_by_half_in_ninety_days_and_never_below_a_tenth():
    assert recency(NOW, NOW) == 1
    assert recency(NOW - timedelta(days=90), NOW) == pytest.approx(0.5)
    assert recency(NOW - timedelta(days=3650), NOW) == RECENCY_FLOOR == 0.1
    assert recency(NOW + timedelta(days=5), NOW) == 1


def test_relevance_weighs_most_and_all_weights_make_one():
    assert sum(WEIGHTS.values()) == pytest.approx(1)
    assert WEIGHTS["relevance"] + WEIGHTS["match"] > WEIGHTS["reliability"] + WEIGHTS["recency"]
    assert fuse(dict.fromkeys(WEIGHTS, 1.0)) == pytest.approx(1)
    assert fuse(dict.fromkeys(WEIGHTS, 0.0)) == 0
