"""Words written apart or together, on the side of the query."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from tacit.text.compounds import MAX_LONGER, expand, holds, joined
from tacit.text.words import terms


def expanded(text: str, **known: int) -> dict[str, float]:
    """What a request becomes before an index with these terms, each in so many rows."""

    def longer(words: Sequence[str]) -> dict[str, int]:
        return {term: count for term, count in known.items() if any(holds(term, word) for word in words)}

    weights = expand(text, lambda _: known, longer=longer)
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
    assert joined("a desk. Lamp") == {}
    assert joined("in put") == {}
    assert joined("key  chain") == {"keychain": frozenset({"key", "chain"})}


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
    assert expand("phone keychain", lambda _: {"key": 1, "chain": 1}) == {
        "phon": 1.0,
        "keychain": 1.0,
        "key": 0.5,
        "chain": 0.5,
    }


def test_only_the_most_common_longer_words_are_taken():
    known = {f"lamp{chr(97 + at)}xyz": at + 1 for at in range(25)}
    found = expanded("lamp", **known)
    assert len(found) == MAX_LONGER
    assert min(known[term] for term in found) == 25 - MAX_LONGER + 1


@given(st.text(max_size=200), st.dictionaries(st.text(min_size=1, max_size=8), st.integers(0, 5), max_size=8))
def test_any_text_keeps_all_its_terms_and_no_term_counts_more_than_itself(text: str, known: dict[str, int]):
    weights = expand(text, lambda _: known, longer=lambda _: known)
    assert set(terms(text)) <= weights.keys()
    assert all(0 < weight <= 1 for weight in weights.values())


def test_text_that_the_index_knows_whole_is_searched_as_it_is():
    text = "fix the failing build of the payment service"
    assert expand(text, lambda asked: dict.fromkeys(terms(text), 2)) == dict.fromkeys(terms(text), 1.0)
