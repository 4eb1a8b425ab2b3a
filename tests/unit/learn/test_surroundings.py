"""The tools that are at hand wherever a unit is."""

from __future__ import annotations

import dataclasses

from tacit.learn.mining.candidates import MAX_SURROUNDINGS, surroundings_of
from tacit.learn.mining.miner import mine
from tests.unit.learn.calls import Shelf, season

GARDEN, OFFICE = frozenset({"dig", "water", "prune"}), frozenset({"print", "file"})


def test_what_is_there_wherever_the_tool_is_surrounds_it_used_or_not() -> None:
    assert surroundings_of(["dig"], {GARDEN, GARDEN | OFFICE, OFFICE}) == ("prune", "water")
    assert surroundings_of(["dig", "print"], {GARDEN, GARDEN | OFFICE}) == ("file", "prune", "water")


def test_attempts_that_do_not_say_what_they_had_tell_nothing() -> None:
    assert surroundings_of(["dig"], set()) == ()
    assert surroundings_of(["dig"], {OFFICE}) == ()


def test_a_tool_that_is_seldom_gone_still_belongs() -> None:
    places = {GARDEN | {f"extra_{number}"} for number in range(10)} | {GARDEN - {"prune"}}
    assert surroundings_of(["dig"], places) == ("prune", "water")


def test_of_many_the_ones_with_names_most_like_its_own_are_kept() -> None:
    many = frozenset(f"{server}__tool_{number}" for server in ("aa", "mm", "zz") for number in range(50))
    found = surroundings_of(["zz__tool_7"], {many})
    assert len(found) == MAX_SURROUNDINGS
    assert sum(tool.startswith("zz__") for tool in found) == 49


def test_mined_skills_know_their_surroundings_where_attempts_name_their_tools() -> None:
    at_hand = ("find_house", "check_heating", "switch_heater", "prime_pump", "ring_bell")
    shelf = Shelf()
    outlines = [
        shelf.add(dataclasses.replace(each, environment=dataclasses.replace(each.environment, tools=at_hand)))
        for each in season()
    ]
    mined = mine(outlines, {outline.trajectory_id for outline in outlines}, shelf)
    contents = [candidate.content for each in mined for candidate in each.candidates]
    found = {content.name: content.surroundings for content in contents}
    assert found["switch-heater"] == ("check_heating", "find_house", "prime_pump", "ring_bell")
    assert found["grease-vents-and-move-vents"] == ()  # never said to be at hand, though used
