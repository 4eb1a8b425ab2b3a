"""Repair fills gaps by what happened around them, shows before it writes, and finds nothing the second time."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tacit.features.cards.statuses import plan_repair, repair
from tests.unit.features.cards.workflow_desk import Desk


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    made = Desk(tmp_path)
    yield made
    made.close()


def test_nothing_is_written_until_asked_for(desk: Desk) -> None:
    card = desk.card(primary_skill="")
    assert plan_repair(desk.deck).document() == {
        "planned": {"aha_updates": [{"id": card.key, "primary_skill": "unknown"}], "rec_updates": []},
        "counts": {"aha_updates": 1, "rec_updates": 0},
    }
    assert len(desk.deck.history(card.key)) == 1


def test_skill_is_that_of_the_last_event_before(desk: Desk) -> None:
    desk.event(primary_skill="older")
    desk.wait(hours=1)
    desk.event(primary_skill="orders + billing")
    desk.wait(hours=1)
    card, each = desk.card(primary_skill=" "), desk.recommendation(primary_skill="")
    desk.wait(hours=1)
    desk.event(primary_skill="later")
    repair(desk.deck)
    assert desk.deck.cards()[card.key].primary_skill == "orders"
    assert desk.deck.recommendations()[each.key].primary_skill == "orders"


def test_event_of_the_same_second_is_the_cards_own(desk: Desk) -> None:
    desk.event(primary_skill="older", ts="2026-02-28T12:00:00Z")
    desk.event(primary_skill="own")
    card = desk.card(primary_skill="")
    assert plan_repair(desk.deck).cards == {card.key: {"primary_skill": "own"}}


def test_else_that_of_the_first_event_after(desk: Desk) -> None:
    card = desk.card(primary_skill="")
    for skill in ("unknown", "next", "last"):
        desk.wait(hours=1)
        desk.event(primary_skill=skill)
    assert plan_repair(desk.deck).cards == {card.key: {"primary_skill": "next"}}


def test_else_that_of_a_tag_and_else_unknown(desk: Desk) -> None:
    tagged = desk.card(primary_skill="", tags=["csv", "skill: ", "skill:export tool"])
    bare = desk.card(primary_skill="", title="Another", when_to_use="Elsewhere")
    assert plan_repair(desk.deck).cards == {
        tagged.key: {"primary_skill": "export"},
        bare.key: {"primary_skill": "unknown"},
    }


def test_time_of_the_first_version_counts_and_not_that_of_a_later_touch(desk: Desk) -> None:
    from tacit.features.cards.statuses import move_card

    card = desk.card(primary_skill="", ts="2026-03-01T11:00:00Z")
    desk.event(primary_skill="before", ts="2026-03-01T10:00:00Z")
    desk.event(primary_skill="after", ts="2026-03-01T11:30:00Z")
    desk.wait(hours=1)
    move_card(desk.deck, card.key, "deprecated")
    assert plan_repair(desk.deck).cards == {card.key: {"primary_skill": "before"}}


def test_skill_of_a_wrong_shape_is_a_gap(desk: Desk) -> None:
    card = desk.card(primary_skill=["orders"])
    repair(desk.deck)
    after = desk.deck.cards()[card.key]
    assert (after.primary_skill, "primary_skill" in after.extra) == ("unknown", False)


def test_unknown_is_an_answer_and_stays(desk: Desk) -> None:
    desk.event(primary_skill="orders")
    desk.card(primary_skill="unknown")
    assert not plan_repair(desk.deck)


def test_repair_is_no_touch_and_a_second_one_finds_nothing(desk: Desk) -> None:
    each = desk.recommendation(primary_skill="")
    card = desk.card(primary_skill="")
    desk.wait(days=9)
    assert repair(desk.deck)
    recovered = desk.deck.recommendations()[each.key]
    assert recovered.last_touched_ts == each.ts != recovered.ts
    assert desk.deck.cards()[card.key].last_touched_ts == card.ts
    assert not repair(desk.deck)
    assert len(desk.deck.recommendation_history(each.key)) == 2


def test_older_words_in_the_file_are_written_anew_and_strange_ones_left_alone(tmp_path: Path) -> None:
    desk = Desk(tmp_path, with_folder=True)
    file = desk.deck.folder / "recommendations.jsonl"
    lines = [
        {"id": f"rec_{word}", "ts": "2026-02-01T10:00:00Z", "title": word, "primary_skill": "orders", "status": word}
        for word in ("implemented", "in-progress", "someday", "done")
    ]
    file.write_text("not json\n" + "".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    deck = desk.opened()
    found = repair(deck)
    assert found.recommendations == {
        "rec_implemented": {"status": "done"},
        "rec_in-progress": {"status": "in_progress"},
    }
    written = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()[1:]]
    latest = {line["id"]: line["status"] for line in written}
    assert latest == {
        "rec_implemented": "done",
        "rec_in-progress": "in_progress",
        "rec_someday": "someday",
        "rec_done": "done",
    }
    assert not repair(desk.opened())
    desk.close()
