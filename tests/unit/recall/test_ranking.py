"""The signals: how words meet, how age fades, what is near."""

from __future__ import annotations

import pytest

from tacit.recall.signals import (
    CLEAR_MATCH_NATS,
    MAX_QUERY_TERMS,
    RECENCY_FLOOR,
    SIMILAR_ERROR_MIN,
    WEIGHTS,
    QueryTerms,
    Rarity,
    error_similarity,
    is_relevant,
    prominence,
    recency,
    scope_proximity,
    signature_terms,
    sort_key,
    term_overlap,
)
from tacit.text.words import term_set
from tests.unit.making import content, said

EVEN = Rarity(frequency={}, corpus_size=10)
NOW_S, DAY_S = 1_800_000_000.0, 86_400


def fit(query, made=None, rarity=EVEN):
    return term_overlap(QueryTerms(term_set(query), rarity), said(made or content()))[0]


def test_rare_words_tell_more():
    rarity = Rarity(frequency={"databa": 9, "migrat": 1}, corpus_size=10)
    assert rarity.idf("migrat") > rarity.idf("databa") > 0
    assert fit("migration of penguins", rarity=rarity) > fit("database of penguins", rarity=rarity)


def test_a_word_in_every_document_still_tells_a_little():
    assert Rarity(frequency={"x": 10}, corpus_size=10).idf("x") > 0
    assert Rarity(frequency={}, corpus_size=0).idf("x") > 0


def test_a_word_that_no_skill_contains_is_a_smaller_doubt_and_a_value_hardly_one():
    rarity = Rarity.for_query("rename `Zebra` to penguin-7 in the database", {"databa": 1}, 10)
    assert {"zebra", "penguin"} <= rarity.values
    assert "databa" not in rarity.values
    assert rarity.idf("databa") > rarity.idf("unheard") > rarity.idf("zebra") > 0


@pytest.mark.parametrize(
    "value", ["'some words'", '"some words"', "`some words`", "“some words”", "some/words", "some_words"]
)
def test_what_is_quoted_or_holds_a_sign_is_a_value(value):
    assert "word" in Rarity.for_query(f"change {value} now", {}, 1).values
    assert "chang" not in Rarity.for_query(f"change {value} now", {}, 1).values


def test_relevance_grows_with_what_is_shared():
    made = content()
    is_relevant = [
        fit(query, made)
        for query in ("penguins", "run penguins", "add a database migration", "Add a database migration and run it")
    ]
    assert is_relevant[0] == 0
    assert is_relevant == sorted(is_relevant)
    assert is_relevant[-1] > 0.8


def test_a_word_of_the_subject_tells_more_than_one_of_the_body():
    assert fit("currency", content(description="currency")) > fit("currency", content(body="currency")) > 0


def test_an_example_query_that_says_the_same_makes_it_fit():
    query = "make the schema know about money"
    assert fit(query, content(example_queries=(query,))) > 2 * fit(query, content())


def test_a_long_request_is_judged_by_its_rarest_words():
    chatter = {f"word{i}": 10 for i in range(100)}
    rarity = Rarity(frequency={**chatter, "migrat": 1, "databa": 1}, corpus_size=10)
    long = " ".join(["add a database migration", *chatter])
    assert len(term_set(long)) > MAX_QUERY_TERMS
    assert fit(long, rarity=rarity) > fit(" ".join(["paint penguins", *chatter]), rarity=rarity)


def test_the_shared_words_are_given_the_rarest_first():
    rarity = Rarity(frequency={"databa": 9, "migrat": 1}, corpus_size=10)
    words = term_overlap(QueryTerms(term_set("database migration penguins"), rarity), said(content()))[1]
    assert words == ["migrat", "databa"]


def test_no_words_no_relevance():
    assert term_overlap(QueryTerms((), EVEN), said(content())) == (0.0, [])
    assert fit("x", content(name="the", description="of", steps=())) == 0


def test_age_fades_by_half_in_ninety_days_and_never_below_a_tenth():
    assert recency(NOW_S, NOW_S) == 1
    assert recency(NOW_S - 90 * DAY_S, NOW_S) == pytest.approx(0.5)
    assert recency(NOW_S - 3650 * DAY_S, NOW_S) == RECENCY_FLOOR == 0.1
    assert recency(NOW_S + 5 * DAY_S, NOW_S) == 1


def test_prominence_is_importance_faded_with_age_and_raised_by_every_confirmation():
    assert prominence(0.5, NOW_S, NOW_S) == 0.5
    assert prominence(0.8, NOW_S, NOW_S) == 0.8
    assert prominence(0.5, NOW_S - 90 * DAY_S, NOW_S) == pytest.approx(0.25)
    assert prominence(0.5, NOW_S - 3650 * DAY_S, NOW_S) == pytest.approx(0.05)
    assert prominence(0.5, NOW_S, NOW_S, reinforced=1) == 1.0
    assert prominence(0.5, NOW_S, NOW_S, reinforced=3) == 2.0
    assert prominence(0.5, NOW_S, NOW_S, reinforced=-1) == 0.5


def test_a_skill_of_the_scope_that_is_asked_from_is_nearest():
    here = scope_proximity("project:a", "project:a")
    assert here == 1 > scope_proximity("organisation:o", "project:a") > scope_proximity("global", "project:a") > 0


ERROR = "ModuleNotFoundError: No module named <value>"


def test_one_signature_is_as_near_as_can_be_and_nothing_else_is():
    assert error_similarity(ERROR, ERROR, EVEN) == 1
    assert error_similarity(ERROR, ERROR.replace("<value>", "<path>"), EVEN) < 1
    assert error_similarity(ERROR, ERROR + " now", EVEN) < 1


def test_errors_that_share_most_of_their_words_are_near_and_others_are_not():
    assert SIMILAR_ERROR_MIN <= error_similarity(ERROR, "ImportError: No module named <value> found", EVEN) < 1
    assert error_similarity(ERROR, "Permission denied: <path>", EVEN) == 0
    assert error_similarity(ERROR, "", EVEN) == error_similarity("", "", EVEN) == 0


def test_masks_are_no_words_of_an_error():
    assert signature_terms("cannot open <path> at <n>") == term_set("cannot open at")
    assert error_similarity("<value>", "<value> <path>", EVEN) == 0


def test_what_is_missing_is_answered_by_name_or_for_any_name_and_never_by_another_name() -> None:
    for missing in ("ModuleNotFoundError: No module named {}", "{}: command not found"):
        asked = missing.format("yaml")
        assert error_similarity(asked, asked, EVEN) == 1
        assert error_similarity(asked, missing.format("<value>"), EVEN) == 0.99
        assert error_similarity(asked, missing.format("requests"), EVEN) == 0


def test_what_answers_this_very_error_comes_before_any_score():
    exact = {**dict.fromkeys(WEIGHTS, 0.1), "signature": 1.0}
    near = {**dict.fromkeys(WEIGHTS, 0.9), "signature": 0.9}
    assert sort_key(exact, "v_1") < sort_key(near, "v_0")
    assert sort_key(near, "v_0") < sort_key(dict.fromkeys(WEIGHTS, 0.1), "v_0")


def test_norms_and_preferences_need_half_the_relevance():
    assert not is_relevant("lesson", {"relevance": 0.1}, 0.2)
    assert is_relevant("norm", {"relevance": 0.1}, 0.2)
    assert is_relevant("preference", {"relevance": 0.1}, 0.2)
    assert not is_relevant("norm", {"relevance": 0.09}, 0.2)


def test_a_long_request_is_met_by_much_that_is_shared_though_it_is_a_small_part_of_it():
    assert is_relevant("procedure", {"relevance": 0.1, "words": CLEAR_MATCH_NATS * 0.2}, 0.2)
    assert not is_relevant("procedure", {"relevance": 0.1, "words": CLEAR_MATCH_NATS * 0.19}, 0.2)
    assert not is_relevant("procedure", {"relevance": 0.1, "words": CLEAR_MATCH_NATS * 0.2}, 0.9)


def test_the_sum_of_many_words_does_not_depend_on_their_order():
    rarity = Rarity(frequency={f"w{i}": i for i in range(1, 60)}, corpus_size=61)
    words = [f"w{i}" for i in range(1, 60)]
    assert len({rarity.total(words[turn:] + words[:turn]) for turn in range(59)}) == 1


def test_time_limits_are_never_alike_unless_they_are_the_same():
    rarity = Rarity(frequency={}, corpus_size=10)
    one, other = "make data: Command timed out after <n>m", "apt-get install: Command timed out after <n>m"
    assert error_similarity(one, one, rarity) == 1.0
    assert error_similarity(one, other, rarity) == 0.0
    assert error_similarity("Command timed out after <n>m", other, rarity) == 0.0
