"""The way back from a change is exact, for any two texts."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tacit.features.cards.backport.bundle import lines_of, put_back, rollback_decisions
from tacit.features.cards.backport.targets import TextFile, fingerprint, joined, read_text

TEXT = st.text(alphabet=st.sampled_from(list("ab\n\r\u2028é\ufeff")), max_size=60)


@given(TEXT, TEXT)
def test_every_text_leads_back_to_every_other(before: str, after: str) -> None:
    old, new = before.encode(), after.encode()
    way = rollback_decisions(old, new)
    assert put_back(way, new) == old
    assert (way["was"], way["is"]) == (fingerprint(old), fingerprint(new))


@given(TEXT)
def test_a_way_back_keeps_only_what_is_gone(text: str) -> None:
    """So a long file costs the ledger no more than what was replaced in it."""
    longer = ("x\n" * 500 + text + "\nadded\n").encode()
    kept = "".join(edit[2] for edit in rollback_decisions(("x\n" * 500 + text).encode(), longer)["edits"])
    assert len(kept) <= len(text)


@given(TEXT)
def test_lines_are_the_text_and_only_line_feeds_end_them(text: str) -> None:
    lines = lines_of(text.encode())
    assert "".join(lines) == text
    assert all(line.count("\n") <= 1 and "\n" not in line[:-1] for line in lines)


@given(TEXT)
def test_a_file_that_is_read_is_written_as_it_was(text: str) -> None:
    assert read_text(text.encode(), path="x").data() == text.encode()


@given(TEXT)
def test_an_addition_stands_behind_one_blank_line(text: str) -> None:
    file = TextFile(text)
    whole = joined(file, "added\n").text
    assert whole.startswith(text)
    between = whole[len(text) :].removesuffix("\n").removesuffix("\r").removesuffix("added")
    assert set(between) <= {"\n", "\r"}
    assert file.lacks_end is not whole.endswith("\n") or not text


def test_line_ends_follow_the_most() -> None:
    assert TextFile("a\r\nb\r\nc\n").newline == "\r\n"
    assert TextFile("a\nb\nc\r\n").newline == "\n"
    assert TextFile("").newline == "\n"
