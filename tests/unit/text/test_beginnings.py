"""The letters that a pattern's matches can begin with are all listed, so that nothing is overlooked for speed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.text.touches import lexicon
from tacit.text.touches.lexicon.beginnings import beginnings, word_starts


@pytest.mark.parametrize(
    ("pattern", "letters"),
    [
        ("delete|wipe", {"del", "wip"}),
        ("e-?mail", {"e-m", "ema"}),
        ("(?:re)?set", {"res", "set"}),
        ("(?<!not )send", {"sen"}),
        ("go (?:on|in)", {"go "}),
        (r"rm\s+-rf", {"rm"}),
        (r"x{0,2}ab", {"x", "ab"}),
        (r"[ab]cd", {"acd", "bcd"}),
        (r"port \d+|\.env", {"por", ".en"}),
    ],
)
def test_the_first_letters_of_every_match_are_listed(pattern: str, letters: set[str]) -> None:
    assert set(beginnings(pattern) or ()) == letters


@pytest.mark.parametrize("pattern", [r"\w+ cloud", r"[^ ]x", r".*", r"(?:a|\d+) b"])
def test_a_pattern_that_may_begin_with_anything_says_so(pattern: str) -> None:
    assert beginnings(pattern) is None


def test_words_begin_behind_everything_but_letters_and_hyphens() -> None:
    assert word_starts("a (big) re-do") == {"a", "a ", "a (", "(", "(b", "(bi", "b", "bi", "big", "r", "re", "re-"}


@given(
    st.lists(
        st.sampled_from("delete all the files send keys to our server without asking if e-mail passwords 777".split())
    )
)
def test_no_class_that_stands_in_a_text_is_ruled_out(words: list[str]) -> None:
    text = " ".join(words)
    there = lexicon.possible(text)
    assert all(there & bit for name, bit in lexicon.BITS.items() if lexicon.pattern(name).search(text))
