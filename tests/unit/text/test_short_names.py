"""What people say for the short names of commands."""

from __future__ import annotations

import pytest

from tacit.text.cues import words_of
from tacit.text.short_names import means_any


@pytest.mark.parametrize(
    ("word", "text", "told"),
    [
        ("rm", "please delete these drafts", True),
        ("rm", "removing old drafts", True),
        ("rm", "rm drafts", True),
        ("rm", "keep the drafts", False),
        ("cp", "make a copy of it", True),
        ("mkdir", "create a new folder for it", True),
        ("mkdir", "create a new file", False),
        ("msg", "send a message", True),
        ("rose", "cut the roses", True),
        ("rose", "cut the hedge", False),
    ],
)
def test_a_short_name_is_said_by_what_it_is_short_for(word: str, text: str, told: bool) -> None:
    (stemmed,) = words_of(word)
    assert means_any(stemmed, frozenset(words_of(text))) is told
