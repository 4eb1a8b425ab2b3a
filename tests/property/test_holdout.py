"""Lots: stable within a session, as frequent as their chance, independent between skills, and never drawn at no chance."""

from __future__ import annotations

import random
from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.domain.holdout import holdout_number, is_held_back

NAMES = st.text(min_size=1, max_size=40)
CHANCES = st.floats(0, 0.5)


@given(NAMES, NAMES, CHANCES)
def test_a_lot_is_the_same_all_session_long(session: str, skill: str, chance: float) -> None:
    assert len({is_held_back(session, skill, chance) for _ in range(5)}) == 1


@given(NAMES, NAMES, st.lists(CHANCES, min_size=2).map(sorted))
def test_a_larger_chance_never_takes_back_a_lot(session: str, skill: str, chances: list[float]) -> None:
    answers = [is_held_back(session, skill, chance) for chance in chances]
    assert all(before <= after for before, after in pairwise(answers))


@given(st.text(max_size=40), NAMES)
def test_nothing_is_held_back_at_no_chance(session: str, skill: str) -> None:
    assert not is_held_back(session, skill, 0.0, random_number=lambda: 0.0)


@settings(max_examples=20, deadline=None)
@given(NAMES, st.floats(0.05, 0.5), st.integers(0, 2**32))
def test_the_share_of_sessions_without_a_skill_is_its_chance(skill: str, chance: float, seed: int) -> None:
    sessions = [f"{seed}-{number}" for number in range(3000)]
    share = sum(is_held_back(session, skill, chance) for session in sessions) / len(sessions)
    assert abs(share - chance) < 5 * (chance * (1 - chance) / len(sessions)) ** 0.5


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 2**32))
def test_the_lots_of_two_skills_have_nothing_to_do_with_each_other(seed: int) -> None:
    sessions = [f"{seed}-{number}" for number in range(4000)]
    both = sum(is_held_back(session, "s_one", 0.5) and is_held_back(session, "s_two", 0.5) for session in sessions)
    assert abs(both / len(sessions) - 0.25) < 0.035


@given(NAMES, NAMES)
def test_a_draw_lies_between_nought_and_one(session: str, skill: str) -> None:
    assert 0 <= holdout_number(session, skill) < 1


def test_a_draw_stays_the_same_from_version_to_version() -> None:
    assert holdout_number("session", "s_one") == 0.6459503338015912


def test_without_a_session_every_use_is_a_draw_of_its_own() -> None:
    dice = random.Random(7).random
    answers = [is_held_back("", "s_one", 0.3, random_number=dice) for _ in range(5000)]
    assert abs(sum(answers) / len(answers) - 0.3) < 0.03


def test_without_dice_chance_itself_decides() -> None:
    assert {is_held_back("", "s_one", 0.5) for _ in range(200)} == {True, False}


def test_names_that_run_into_each_other_are_told_apart() -> None:
    assert holdout_number("ab", "c") != holdout_number("a", "bc")
