"""Past attempts found by what was asked, on every store."""

from __future__ import annotations

import pytest

from tacit.store import Store
from tests.unit.store.samples import SUCCESS, at, trajectory

TASKS = (
    "put a clean soapbar in cabinet",
    "examine the alarmclock with the desklamp",
    "put two book in desk",
    "look at cellphone under the desklamp",
    "put a key chain in the drawer",
    "größe der straßenlampe messen",
)


@pytest.fixture
def house(store: Store) -> Store:
    for minute, task in enumerate(TASKS):
        store.add_trajectory(trajectory(task), SUCCESS, at=at(minute))
    return store


def found(store: Store, asked: str) -> list[str]:
    return [episode.task for episode in store.search_episodes(asked)]


@pytest.mark.parametrize(
    ("asked", "task"),
    [
        ("Examine an alarm clock", "examine the alarmclock with the desklamp"),
        ("Put the soap bars away", "put a clean soapbar in cabinet"),
        ("drop the keychain", "put a key chain in the drawer"),
        ("a phone", "look at cellphone under the desklamp"),
        ("eine Straßenlampe", "größe der straßenlampe messen"),
    ],
)
def test_a_request_finds_the_attempt_however_its_compounds_are_written(house: Store, asked: str, task: str) -> None:
    assert found(house, asked)[0] == task


def test_the_words_of_a_compound_do_not_outweigh_it(house: Store) -> None:
    assert found(house, "something with a desk lamp")[-1] == "put two book in desk"


def test_terms_are_searched_as_they_are(house: Store) -> None:
    assert house.search_episodes(["alarm", "clock"]) == []
    assert [episode.task for episode in house.search_episodes(["soapbar", "soapbar"])] == [TASKS[0]]


def test_what_is_found_says_how_well_it_matches(house: Store) -> None:
    matches = [episode.lexical for episode in house.search_episodes("put a book in the desk")]
    assert matches == sorted(matches, reverse=True)
    assert matches[0] > matches[-1] > 0


def test_newer_attempts_come_first_among_equals(store: Store) -> None:
    for minute in range(3):
        store.add_trajectory(trajectory("heat the egg", session=f"s{minute}"), SUCCESS, at=at(minute))
    assert [episode.session_id for episode in store.search_episodes("heat an egg", limit=2)] == ["s2", "s1"]


def test_a_weak_guess_does_not_push_a_real_match_out_of_a_short_list(store: Store) -> None:
    for minute in range(120):
        store.add_trajectory(trajectory(f"fill glassbottle {minute}"), SUCCESS, at=at(minute))
    store.add_trajectory(trajectory("empty the bin"), SUCCESS, at=at())
    assert [episode.task for episode in store.search_episodes("empty all bottles", limit=1)] == ["empty the bin"]


@pytest.mark.parametrize(
    "asked", ["", "   ", "()*?\"'", "OR AND NOT", "\x00 \ud800", "中文 请求", "a" * 5000, "ab " * 3000]
)
def test_any_request_gets_an_answer(house: Store, asked: str) -> None:
    assert len(house.search_episodes(asked)) <= len(TASKS)
