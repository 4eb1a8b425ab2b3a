"""What a purge leaves behind: stones of its own, and stones of what went."""

from __future__ import annotations

import pytest

from tacit.domain.archive import Descent, is_purge_tombstone


@pytest.mark.parametrize(
    ("identity", "told"), [("purge:2026", True), ("session:a", False), ("t_1", False), ("", False), ("xpurge:", False)]
)
def test_the_stone_of_a_purge_is_told_from_the_stones_of_what_went(identity, told):
    assert is_purge_tombstone(identity) is told


def test_nothing_descends_from_nothing():
    assert Descent().is_empty
    assert not Descent(uses=("u_1",)).is_empty
