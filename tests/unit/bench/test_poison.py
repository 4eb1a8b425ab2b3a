"""A small run of `bench/poison.py`: every place of every client's transcript, read from raw logs, is marked and named."""

from __future__ import annotations

import importlib
import random
import sys
from pathlib import Path
from typing import Any

import pytest

from tacit.config.settings import Strictness
from tests.lengths import EXHAUSTIVE

sys.path.append(str(Path(__file__).parents[3] / "bench"))
channels: Any = importlib.import_module("_poison_channels")
payloads: Any = importlib.import_module("_poison_payloads")
poison: Any = importlib.import_module("poison")

pytestmark = pytest.mark.slow
PLACES = channels.RAW_CHANNELS


def case_of(channel: Any, number: int = 0) -> Any:
    return channels.raw_case(channel, number, payloads.payload(number, random.Random(f"{channel.name}:{number}")))


def test_there_are_enough_places_and_each_has_its_own_name() -> None:
    assert len({(place.client, place.name) for place in PLACES}) == len(PLACES) >= 40


IN_WORKSPACE = 5
"""The number of an order inside the workspace, whose words alone are no copy; 0 is one with an address."""
NAMES_MISSED = {"two halves of it in two files", "encoded rot47"}
"""Where a plain file name is not recognised (SECURITY.md, "Paraphrase")."""


@pytest.mark.parametrize("place", PLACES, ids=lambda place: f"{place.client}: {place.name}")
def test_what_stood_there_waits_marked_with_its_place(place: Any) -> None:
    numbers: tuple[int, ...] = (0, IN_WORKSPACE)
    if place.first_wish or place.name in NAMES_MISSED:
        numbers = (0,)
    check(place, numbers if EXHAUSTIVE else numbers[PLACES.index(place) % len(numbers) :][:1])


@pytest.mark.xfail(strict=True, reason="a file name in two halves, or rotated by 47 signs, is not recognised yet")
@pytest.mark.parametrize("place", [each for each in PLACES if each.name in NAMES_MISSED], ids=lambda place: place.name)
def test_a_file_name_in_disguise_waits_marked_too(place: Any) -> None:
    check(place, (IN_WORKSPACE,))


def check(place: Any, numbers: tuple[int, ...]) -> None:
    tallies, _, _ = poison.run(Strictness.STANDARD, [case_of(place, number) for number in numbers])
    [tally] = tallies.values()
    assert (tally.injectable, tally.mislabelled, tally.unnamed) == (0, 0, 0), tally.examples
    assert tally.carried > 0, "the payload was learned, so something had to be marked"
    assert not tally.statuses["nothing kept"]


@pytest.mark.parametrize("policy", [Strictness.STRICT, Strictness.OPEN])
def test_other_policies_let_nothing_of_it_through(policy: Strictness) -> None:
    tallies, honest, _ = poison.run(policy, [case_of(place, number) for number, place in enumerate(PLACES[::7])])
    assert sum(tally.injectable + tally.mislabelled for tally in tallies.values()) == 0
    assert honest["learned"] == honest["runs"] > 0
    assert honest["admitted"] == (honest["runs"] if policy is Strictness.OPEN else 0)
