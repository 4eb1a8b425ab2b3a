"""Index terms for any language, and the estimate of tokens."""

from __future__ import annotations

import time
import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tacit.text.words import STOP_WORDS, credible_tokens, estimate_tokens, stem, term_set, terms


def test_words_are_split_lowered_and_stemmed():
    assert terms("Adding two Migrations, quickly!") == ["add", "two", "migrat", "quickly"]


def test_stop_words_go_unless_they_are_kept():
    assert terms("how do I run the tests") == ["run", "test"]
    assert terms("how do I run the tests", keep_stop_words=True) == ["how", "do", "i", "run", "the", "test"]


def test_a_text_without_words_has_no_terms():
    assert terms("") == terms(" \n\t") == terms("--- *** !!! () __") == []


@pytest.mark.parametrize(
    "spelling", ["makeMigrations", "make_migrations", "make-migrations", "make.migrations", "MakeMigrations"]
)
def test_identifiers_are_found_whole_and_in_pieces(spelling):
    assert {"mak", "migrat", *terms("makemigrations")} == set(terms(spelling))


def test_abbreviations_inside_identifiers_stay_together():
    assert term_set("parse http body") <= term_set("parseHTTPBody")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("running tests", "run test"),
        ("releases", "release"),
        ("released", "release"),
        ("databases", "database"),
        ("deployments", "deployment"),
        ("policies", "policy"),
        ("classes", "class"),
        ("settings", "set"),
        ("migration", "migrate"),
        ("naïve café", "naive cafe"),
        ("naïve-café", "naive-cafe"),
        ("ﬁle", "file"),
        ("ＡＢＣ", "abc"),
        ("STRASSE", "straße"),
        ("re\u0301sume\u0301", "résumé"),
        ("İstanbul", "istanbul"),
        ("كِتَاب", "كتاب"),
        ("שָׁלוֹם", "שלום"),
    ],
)
def test_spellings_of_one_word_meet(one, other):
    assert terms(one) == terms(other)


@pytest.mark.parametrize(("one", "other"), [("कुल", "कल"), ("が", "か"), ("हिन्दी", "हनद")])
def test_signs_that_carry_the_meaning_are_kept(one, other):
    assert terms(one) != terms(other)


@pytest.mark.parametrize(
    "text", ["Привет мир", "Καλημέρα κόσμε", "नमस्ते दुनिया", "مرحبا بالعالم", "안녕 세계", "வணக்கம் உலகம்"]
)
def test_a_language_with_blanks_gives_its_words(text):
    for word in text.split():
        assert terms(word)
        assert set(terms(word)) <= term_set(text)


def test_a_hindi_word_is_one_term():
    assert len(terms("हिन्दी")) == 1


def test_scripts_without_blanks_become_pairs_that_overlap():
    assert terms("数据库迁移") == ["数据", "据库", "库迁", "迁移"]
    assert term_set("迁移") <= term_set("运行数据库迁移")
    assert terms("字") == ["字"]


def test_words_next_to_such_a_script_are_treated_like_any_other():
    assert terms("tests数据") == ["test", "数据"]
    assert term_set("数据tests") == {"数据", "test"}


def test_a_very_long_word_is_cut():
    assert terms("x" * 500) == ["x" * 64]


@pytest.mark.parametrize("word", ["class", "status", "run", "add", "ss", "é", "v2", "123"])
def test_stemming_leaves_these_alone(word):
    assert stem(word) == word


@given(st.text(alphabet="abcdefgilmnorstuy", max_size=20))
def test_stemming_twice_is_stemming_once(word):
    assert stem(stem(word)) == stem(word)


@given(st.text())
@example("makeMigrations of ourS")
@example("releases İ ŉ ǰ ΐ ẞ ᾳ")
@example("a_b.c-d'e")
@example('"AND" OR NOT NEAR(x*) ^y: {z} - "')
def test_every_term_is_found_again_and_none_can_be_mistaken_for_query_syntax(text):
    found = terms(text)
    again = term_set(" ".join(found))
    assert set(found) <= again
    for term in found:
        assert term
        assert len(term) <= 64
        assert term not in STOP_WORDS
        assert all(c.isalnum() or unicodedata.category(c)[0] in "LMN" for c in term), term
        assert term == term.casefold()


@given(st.text(), st.text())
def test_the_terms_of_a_text_do_not_depend_on_what_stands_beside_it(left, right):
    assert terms(f"{left}\n{right}") == terms(left) + terms(right)


@pytest.mark.parametrize(
    "text",
    ["run the makeMigrations command " * 33_000, "漢字" * 170_000, "a." * 100_000, "aB" * 100_000, "e\u0301" * 100_000],
)
def test_up_to_a_megabyte_of_anything_is_read_quickly(text):
    begun = time.perf_counter()
    terms(text)
    assert time.perf_counter() - begun < 30


def test_tokens_are_estimated_by_size_and_scripts_without_blanks_by_character():
    assert estimate_tokens("") == 0
    assert estimate_tokens("four") == 1
    assert estimate_tokens("fives") == 2
    assert estimate_tokens("漢字漢字") == 4
    assert estimate_tokens("漢字 and") == 3
    assert estimate_tokens("Привет") == 3
    assert estimate_tokens("\ud800") == 1


@pytest.mark.parametrize(
    ("told", "taken"),
    [(0, 0), (10**9 - 1, 10**9 - 1), (10**9, 7), (10**400, 7), (-1, 7), (True, 7), (1.0, 7), ("5", 7), (None, 7)],
)
def test_tokens_are_believed_where_they_are_a_count(told, taken):
    assert credible_tokens(told, otherwise=7) == taken


@given(st.text(), st.text())
def test_two_texts_together_never_take_more_tokens_than_apart(left, right):
    assert estimate_tokens(left + right) <= estimate_tokens(left) + estimate_tokens(right)
