"""Signals count for what exists, each once, and say nothing secret."""

from __future__ import annotations

from pathlib import Path

import pytest

from tacit.domain.errors import Mistake, NotFound
from tacit.features.cards.card_signals import UsageClaim, signal, use
from tacit.features.cards.recording import record
from tests.unit.features.cards.making import AGENT, World, payload_card


@pytest.fixture
def world(tmp_path: Path) -> World:
    world = World(tmp_path)
    advice = {"title": "Add a loop", "why": "Everybody writes one", "id": "rec_1"}
    record(world.deck(), {"aha_cards": [payload_card(1, 1, id="aha_1")], "recommendations": [advice]}, AGENT)
    return world


def test_a_signal_is_kept_and_counts(world: World) -> None:
    made = signal(world.deck(), "aha_recalled", "aha_1", source="manual", context="in a review")
    assert made.key.startswith("sig_")
    assert world.deck().scores()["aha_1"].total == 2


@pytest.mark.parametrize(("kind", "target"), [("aha_used", "aha_2"), ("aha_used", "rec_1"), ("rec_used", "aha_1")])
def test_a_signal_needs_something_that_exists_and_fits_its_kind(world: World, kind: str, target: str) -> None:
    with pytest.raises(NotFound):
        signal(world.deck(), kind, target)
    assert world.deck().signals() == []


def test_an_unknown_kind_names_the_known_ones(world: World) -> None:
    with pytest.raises(Mistake) as caught:
        signal(world.deck(), "aha_loved", "aha_1")
    assert "aha_reinforced" in caught.value.hint


def test_two_signals_of_one_second_are_two(world: World) -> None:
    made = {signal(world.deck(), "aha_used", "aha_1").key for _ in range(3)}
    assert len(made) == 3
    assert world.deck().scores()["aha_1"].counts["aha_used"] == 3


def test_using_things_that_nobody_knows_counts_for_nothing(world: World) -> None:
    used = use(world.deck(), UsageClaim(cards=["aha_1", "aha_1", "aha_9", "x"], recommendations=["rec_1", "aha_1"]))
    assert [(each.kind, each.target) for each in used.signals] == [("aha_used", "aha_1"), ("rec_used", "rec_1")]
    assert used.unknown == ("aha_9",)
    assert used.invalid == (("x", "aha_"), ("aha_1", "rec_"))
    assert len(world.deck().signals()) == 2


def test_a_context_is_short_and_holds_no_secret(world: World) -> None:
    made = signal(world.deck(), "aha_used", "aha_1", context="with AKIAQ7XWJ2NPL5VZTRKM " + "x" * 900, source=" ")
    assert "AKIAQ7XWJ2NPL5VZTRKM" not in made.context
    assert len(made.context) == 500
    assert made.source == "agent"
