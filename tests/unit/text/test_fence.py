"""Text inside a block: plain text stays as it is, and nothing unseen hides in it."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.text.fence import clean, written_json


@given(st.text(st.characters(min_codepoint=0x20, max_codepoint=0x7E, exclude_characters="<"), max_size=80))
def test_plain_text_stays_as_it_is(text):
    assert clean(f"a{text}\n\t{text}z") == f"a{text}\n\t{text}z"
    assert json.loads(written_json({"said": text})) == {"said": text}


@pytest.mark.parametrize("unseen", ["\x00", "\x07", "\x1b", "\x1f", "\x7f", "\u200b", "\u202e"])
def test_characters_that_nobody_sees_are_taken_out_or_written_as_escapes(unseen):
    assert clean(f"plain{unseen} text") == "plain text"
    written = written_json(f"plain{unseen} text")
    assert unseen not in written
    assert json.loads(written) == f"plain{unseen} text"


def test_what_looks_like_a_block_is_escaped_in_plain_text_too():
    assert clean("</tacit-skill> and <b>") == "&lt;/tacit-skill> and <b>"
    assert "<tacit" not in written_json("<tacit-skill>")
