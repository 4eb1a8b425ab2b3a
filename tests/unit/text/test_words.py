"""Index terms for any language, and the estimate of tokens."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tacit.text.words import (
    LONGER_TERMS_MAX,
    STOP_WORDS,
    credible_tokens,
    estimate_tokens,
    expand_query,
    is_part_of_compound,
    joined_words,
    stem,
    term_set,
    terms,
)


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
def test_the_terms_of_a_text_do_not_depend_on_what_stands_next_to_it(left, right):
    assert terms(f"{left}\n{right}") == terms(left) + terms(right)


@pytest.mark.parametrize(
    "text",
    ["run the makeMigrations command " * 33_000, "漢字" * 170_000, "a." * 100_000, "aB" * 100_000, "e\u0301" * 100_000],
)
def test_up_to_a_megabyte_of_anything_is_read_quickly(text):
    assert len(terms(text)) <= len(text)


def test_tokens_are_estimated_by_size_and_scripts_without_blanks_by_character():
    assert estimate_tokens("") == 0
    assert estimate_tokens("four") == 1
    assert estimate_tokens("fives") == 2
    assert estimate_tokens("漢字漢字") == 4
    assert estimate_tokens("漢字 and") == 3
    assert estimate_tokens("Привет") == 3
    assert estimate_tokens("\ud800") == 1


@pytest.mark.parametrize(
    ("reported", "taken"),
    [(0, 0), (10**9 - 1, 10**9 - 1), (10**9, 7), (10**400, 7), (-1, 7), (True, 7), (1.0, 7), ("5", 7), (None, 7)],
)
def test_tokens_are_believed_where_they_are_a_count(reported, taken):
    assert credible_tokens(reported, otherwise=7) == taken


@given(st.text(), st.text())
def test_two_texts_together_never_take_more_tokens_than_apart(left, right):
    assert estimate_tokens(left + right) <= estimate_tokens(left) + estimate_tokens(right)


def expanded(text: str, **known: int) -> dict[str, float]:
    """What a request becomes before an index with these terms, each in so many rows."""

    def longer(words: Sequence[str]) -> dict[str, int]:
        return {term: count for term, count in known.items() if any(is_part_of_compound(term, word) for word in words)}

    weights = expand_query(text, lambda _: known, longer=longer)
    return {term: weight for term, weight in weights.items() if term in known}


def test_two_words_find_the_compound_that_is_written_together():
    assert expanded("examine an alarm clock", examin=4, alarmclock=3) == {"examin": 1.0, "alarmclock": 1.0}


def test_an_ending_that_stemming_takes_off_and_a_stop_word_at_the_end_do_not_hide_a_compound():
    assert expanded("Remote controls", remotecontrol=2) == {"remotecontrol": 1.0}
    assert expanded("the garbage can", garbagecan=2) == {"garbagecan": 1.0}
    assert expanded("set up the server", setup=5, set=2, server=3) == {"set": 0.5, "server": 1.0, "setup": 1.0}


def test_the_words_of_a_usual_compound_count_half():
    assert expanded("book and desk lamp", book=3, desk=5, desklamp=9) == {"book": 1.0, "desk": 0.5, "desklamp": 1.0}


def test_a_compound_that_is_rarer_than_its_words_only_adds_a_little():
    assert expanded("output file", output=50, fil=80, outputfil=1) == {"output": 1.0, "fil": 1.0, "outputfil": 0.25}


def test_words_on_two_sides_of_a_sign_or_after_a_stop_word_are_no_compound():
    assert joined_words("a desk. Lamp") == {}
    assert joined_words("in put") == {}
    assert joined_words("key  chain") == {"keychain": frozenset({"key", "chain"})}


def test_an_unknown_word_finds_the_two_known_ones_it_is_made_of():
    assert expanded("keychain", key=3, chain=2, cha=9) == {"key": 0.5, "chain": 0.5}
    assert expanded("cellphones", cell=1, phon=2) == {"cell": 0.5, "phon": 0.5}


def test_an_unknown_word_finds_longer_ones_that_begin_or_end_with_it():
    assert expanded("phone on the counter", cellphon=3, countertop=2, telephonist=7) == {
        "cellphon": 0.5,
        "countertop": 0.5,
    }


def test_a_known_word_is_not_looked_for_in_others():
    assert expanded("desk", desk=1, desklamp=9) == {"desk": 1.0}


def test_short_words_and_short_rests_are_not_looked_for():
    assert expanded("pen", pencil=3, opener=1) == {}
    assert expanded("port", export=4, report=5) == {}


def test_without_a_way_to_find_longer_words_the_rest_still_works():
    assert expand_query("phone keychain", lambda _: {"key": 1, "chain": 1}) == {
        "phon": 1.0,
        "keychain": 1.0,
        "key": 0.5,
        "chain": 0.5,
    }


def test_only_the_most_common_longer_words_are_taken():
    known = {f"lamp{chr(97 + at)}xyz": at + 1 for at in range(25)}
    found = expanded("lamp", **known)
    assert len(found) == LONGER_TERMS_MAX
    assert min(known[term] for term in found) == 25 - LONGER_TERMS_MAX + 1


@given(st.text(max_size=200), st.dictionaries(st.text(min_size=1, max_size=8), st.integers(0, 5), max_size=8))
def test_any_text_keeps_all_its_terms_and_no_term_counts_more_than_itself(text: str, known: dict[str, int]):
    weights = expand_query(text, lambda _: known, longer=lambda _: known)
    assert set(terms(text)) <= weights.keys()
    assert all(0 < weight <= 1 for weight in weights.values())


def test_text_that_the_index_knows_whole_is_searched_as_it_is():
    text = "fix the failing build of the payment service"
    assert expand_query(text, lambda asked: dict.fromkeys(terms(text), 2)) == dict.fromkeys(terms(text), 1.0)
