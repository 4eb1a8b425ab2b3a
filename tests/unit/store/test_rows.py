"""Seals: any change of a value, its type, its column or its table gives another one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.store.seals import seal_of

values = st.one_of(st.none(), st.integers(), st.text(), st.binary(), st.floats(allow_nan=False))


@given(st.lists(values, max_size=4), st.lists(values, max_size=4))
def test_different_rows_have_different_seals(one: list[object], other: list[object]) -> None:
    same = [(type(value), value) for value in one] == [(type(value), value) for value in other]
    assert (seal_of("t", one) == seal_of("t", other)) is (same and repr(one) == repr(other))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (["ab", "c"], ["a", "bc"]),
        (["1"], [1]),
        ([b"a"], ["a"]),
        ([None], ["None"]),
        ([0], [False]),
        ([1], [1.0]),
        (["a"], ["a", ""]),
    ],
)
def test_look_alikes_are_distinguished(one: list[object], other: list[object]) -> None:
    assert seal_of("t", one) != seal_of("t", other)


def test_the_table_is_part_of_the_seal() -> None:
    assert seal_of("uses", [1]) != seal_of("evidence", [1])


def test_a_known_row_keeps_the_seal_under_which_it_is_stored() -> None:
    """If this changes, every row of every store is damaged: write a migration, do not change the literal."""
    row = ["\u00e4\ud800", b"\x00b", 7, None, 0.5]
    assert seal_of("uses", row) == "cc23c754ac2f0a60a0c2c650b9be3cdb1ce02f6ec2a325ac9774a82f2d5def16"


def test_a_text_that_no_file_can_hold_still_has_a_seal_of_its_own() -> None:
    assert len({seal_of("t", [text]) for text in ("\ud800", "\ud801", "?", "\ufffd")}) == 4
