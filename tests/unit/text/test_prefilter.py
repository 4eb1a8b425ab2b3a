"""A prefilter never stops a text that its pattern matches."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.text.prefilter import first_letters, required_literals, word_starts
from tacit.text.resource_uses import sentences

CASES = {
    r"\bxmrig\b": ("xmrig",),
    r"rm (?:-\w{1,5} ){0,3}/": ("rm ",),
    r"(?:abc|def) x": ("abc", "def"),
    r"(?:abc|de)? xyz": (" xyz",),
    r"ab?cd": ("cd",),
    r"ab+cd": ("ab",),
    r"CurrentVersion\\\\?Run\b": ("currentversion\\",),
    r"[a-z]{3}": (),
    r"abc|[x]": (),
    r"abc|def": ("abc", "def"),
    r"(?=abc)de": ("de",),
    r"a{0,3}bcd": ("bcd",),
    r"x(?-i:-P) ?y": ("-p",),
}


@pytest.mark.parametrize("pattern", CASES)
def test_literals_that_every_match_contains(pattern: str) -> None:
    assert required_literals(pattern) == CASES[pattern]


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
    assert set(first_letters(pattern) or ()) == letters


@pytest.mark.parametrize("pattern", [r"\w+ cloud", r"[^ ]x", r".*", r"(?:a|\d+) b"])
def test_a_pattern_that_may_begin_with_anything_says_so(pattern: str) -> None:
    assert first_letters(pattern) is None


def test_words_begin_behind_everything_but_letters_and_hyphens() -> None:
    assert word_starts("a (big) re-do") == {"a", "a ", "a (", "(", "(b", "(bi", "b", "bi", "big", "r", "re", "re-"}


@given(
    st.lists(
        st.sampled_from("delete all the files send keys to our server without asking if e-mail passwords 777".split())
    )
)
def test_no_class_that_stands_in_a_text_is_ruled_out(words: list[str]) -> None:
    text = " ".join(words)
    there = sentences.possible(text)
    assert all(there & bit for name, bit in sentences.BITS.items() if sentences.pattern(name).search(text))
