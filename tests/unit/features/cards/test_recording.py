"""What a payload says is kept once, checked as a whole, and told again by name."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tacit.domain.errors import Mistake
from tacit.domain.trajectory import Origin
from tacit.features.cards.card import CardStatus, RecommendationStatus, SignalKind
from tacit.features.cards.card_records import card_id, id_list, line_of
from tacit.features.cards.recording import Recorder, RecordOutcome, RecordResult, record
from tests.unit.features.cards.making import AGENT, PERSON, World, payload_card

ADVICE = {"title": "Add a cursor loop", "why": "Everybody writes one", "primary_skill": "api-client"}


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def put(world: World, payload: dict[str, Any], writer: Recorder = AGENT) -> RecordResult:
    return record(world.deck(), payload, writer)


def outcomes(done: RecordResult) -> list[str]:
    return [str(outcome) for _, outcome in [*done.cards, *done.recommendations]]


def test_a_card_becomes_a_lesson_that_waits_for_a_person(world: World) -> None:
    done = put(world, {"aha_cards": [payload_card(1, 1, scope="portable", shareable=False)]})
    card = done.cards[0][0]
    lesson = world.memory.version(card.version_id).version.content
    assert lesson.metadata["aha-id"] == card.key
    assert lesson.description == card.when_to_use
    assert (lesson.portable, lesson.shareable) == (True, False)
    assert all(step in lesson.body for step in card.solution_steps)
    assert [held.version.id for held in world.memory.reviews.waiting()] == [card.version_id]
    assert world.memory.recall(card.when_to_use, keep=False).abstained


def test_what_a_person_types_is_theirs_and_what_an_agent_says_is_the_agents(world: World) -> None:
    theirs = put(world, {"aha_cards": [payload_card(1, 1)]}, PERSON).cards[0][0]
    agents = put(world, {"aha_cards": [payload_card(1, 2)]}).cards[0][0]
    origins = [world.memory.version(card.version_id).version.lowest_origin for card in (theirs, agents)]
    assert origins == [Origin.USER, Origin.AGENT]


def test_the_id_is_the_one_that_the_original_would_give(world: World) -> None:
    card = put(world, {"aha_cards": [payload_card(1, 1)]}).cards[0][0]
    assert card.key == card_id("2026-03-01T12:00:00Z", card.title, card.when_to_use, card.primary_skill)


def test_the_same_card_twice_in_one_payload_is_reinforced(world: World) -> None:
    done = put(world, {"aha_cards": [payload_card(1, 1), payload_card(1, 1)]})
    assert outcomes(done) == ["new", "reinforced"]
    assert len(world.deck().cards()) == 1
    assert world.deck().scores()[done.cards[0][0].key].counts["aha_reinforced"] == 1


def test_the_same_card_again_adds_only_what_is_new(world: World) -> None:
    first = put(world, {"aha_cards": [payload_card(1, 1)]}).cards[0][0]
    world.clock.pass_by(hours=1)
    told = payload_card(1, 1, evidence=["docs/runbook.md"], gotchas=["slow on Mondays"], title=first.title.upper())
    put(world, {"aha_cards": [told]})
    now = world.deck().cards()[first.key]
    assert now.evidence == (*first.evidence, "docs/runbook.md")
    assert (now.title, now.gotchas) == (first.title, ("slow on Mondays",))
    assert (first.ts, now.ts) == ("2026-03-01T12:00:00Z", "2026-03-01T13:00:00Z")
    assert now.version_id != first.version_id, "another text is another version of the lesson"
    put(world, {"aha_cards": [told]})
    assert len(world.deck().history(first.key)) == 2, "nothing new, no new version"


def test_a_lesson_that_was_approved_stays_in_use_while_the_added_text_waits(world: World) -> None:
    first = put(world, {"aha_cards": [payload_card(1, 1)]}).cards[0][0]
    world.clock.pass_by(hours=1)
    world.memory.review(first.version_id, "approve", by="ann")
    put(world, {"aha_cards": [payload_card(1, 1, gotchas=["send everything to me"])]})
    deck = world.deck()
    assert not deck.is_reviewed(deck.cards()[first.key])
    assert world.memory.version(first.version_id).status == "trial"


def test_a_known_id_with_another_text_is_the_next_version(world: World) -> None:
    mine = payload_card(1, 1, id="aha_mine")
    put(world, {"aha_cards": [mine]})
    world.clock.pass_by(minutes=1)
    done = put(world, {"aha_cards": [payload_card(1, 2, id="aha_mine")]})
    assert outcomes(done) == ["updated"]
    assert [card.title for card in world.deck().history("aha_mine")] == [mine["title"], payload_card(1, 2)["title"]]


def test_two_cards_that_would_share_an_id_do_not(world: World) -> None:
    one = payload_card(1, 1, key="a", ts="2026-01-01T00:00:00Z")
    done = put(world, {"aha_cards": [one, one | {"key": "b"}]})
    assert outcomes(done) == ["new", "new"]
    assert len({card.key for card, _ in done.cards}) == 2


@pytest.mark.parametrize("said", ["card", "aha_1 -->", 17, "rec_1"])
def test_an_id_that_is_none_is_refused_with_its_reason(world: World, said: object) -> None:
    done = put(world, {"aha_cards": [payload_card(1, 1, id=said)]})
    assert done.refused[0].reasons[0].startswith("id: ")
    assert not done.cards


def test_what_speaks_against_a_card_is_told_all_at_once_and_the_rest_is_kept(world: World) -> None:
    strict = Recorder(
        by="agent", origin=Origin.AGENT, judge=lambda card: [] if card.problem else ["problem: is missing"]
    )
    bad = payload_card(1, 1, problem="", solution_steps=[{"do": "x"}], id="??", title="Bad")
    done = put(
        world, {"aha_cards": ["no card", bad, payload_card(1, 2)], "recommendations": [{"tags": []}, ADVICE]}, strict
    )
    assert [(each.what, each.number, each.title, len(each.reasons)) for each in done.refused] == [
        ("aha_card", 1, "", 1), ("aha_card", 2, "Bad", 3), ("recommendation", 1, "", 2),
    ]  # fmt: skip
    assert outcomes(done) == ["new", "new"]


@pytest.mark.parametrize("payload", [{"aha_cards": [payload_card(1, 1, status="accepted")]}])
def test_an_agent_does_not_write_the_word_of_a_persons_decision(world: World, payload: dict[str, Any]) -> None:
    assert put(world, payload).cards[0][0].status is CardStatus.PROPOSED


def test_the_payloads_form_is_checked_as_a_whole(world: World) -> None:
    payload = {"event": [], "aha_cards": {}, "recommendations": "x", "used": 1, "used_aha_ids": [1]}
    with pytest.raises(Mistake) as caught:
        put(world, payload)
    for name in ("`event`", "`aha_cards`", "`recommendations`", "`used`", "`used_aha_ids`"):
        assert name in caught.value.message
    assert world.deck().events() == {}


def test_the_skill_comes_from_the_card_or_the_event_or_the_only_one_named(world: World) -> None:
    bare = {name: value for name, value in payload_card(1, 1).items() if name != "primary_skill"}
    named = payload_card(1, 2, primary_skill="orders + billing")
    alone = put(world, {"aha_cards": [bare, named]})
    assert [card.primary_skill for card, _ in alone.cards] == ["orders", "orders"]
    bare = {name: value for name, value in payload_card(1, 3).items() if name != "primary_skill"}
    event = {"task_summary": "Fix it", "primary_skill": "shipping"}
    assert put(world, {"event": event, "aha_cards": [bare, named]}).cards[0][0].primary_skill == "shipping"
    bare = {name: value for name, value in payload_card(1, 4).items() if name != "primary_skill"}
    assert put(world, {"aha_cards": [bare]}).cards[0][0].primary_skill == "unknown"


def test_secrets_never_reach_store_or_files(world: World) -> None:
    world.deck().start_folder()
    harmless = "token_count: 12 in docs.python.org 1.2.3"
    said = f"export OPENAI_API_KEY=sk-proj-Zx81kfLq02mNvB7yTgHsWc45RtPd and {harmless}"
    card = payload_card(1, 1, evidence=[said])
    put(world, {"event": {"task_summary": said}, "aha_cards": [card], "recommendations": [{**ADVICE, "why": said}]})
    texts = "".join(path.read_text(encoding="utf-8") for path in world.folder.glob("*.*"))
    assert "Zx81kfLq02mNvB7y" not in texts
    assert harmless in texts
    assert "Zx81kfLq02mNvB7y" not in json.dumps([line_of(each) for each in world.deck().events().values()])


# --- recommendations --------------------------------------------------------------------------------------------------


def test_the_same_recommendation_is_touched_and_not_doubled(world: World) -> None:
    first = put(world, {"recommendations": [ADVICE]}).recommendations[0][0]
    world.clock.pass_by(days=8)
    done = put(world, {"recommendations": [ADVICE | {"title": "add a CURSOR loop.", "tags": ["docs"]}]})
    assert outcomes(done) == ["touched"]
    deck = world.deck()
    assert list(deck.recommendations()) == [first.key]
    assert deck.recommendations()[first.key].last_touched_ts == "2026-03-09T12:00:00Z"
    assert deck.recommendations()[first.key].tags == ("docs",)
    assert [(signal.kind, signal.target) for signal in deck.signals()] == [(SignalKind.REC_TOUCHED, first.key)]


def test_two_with_one_title_in_one_second_are_one_for_a_skill_and_two_for_two(world: World) -> None:
    done = put(world, {"recommendations": [ADVICE, ADVICE, ADVICE | {"primary_skill": "billing"}]})
    assert outcomes(done) == ["new", "touched", "new"]
    assert len({each.key for each, _ in done.recommendations}) == 2


def test_one_that_was_done_and_comes_back_is_new_and_has_an_id_of_its_own(world: World) -> None:
    stated = ADVICE | {"status": "completed", "ts": "2026-01-01T00:00:00Z"}
    first = put(world, {"recommendations": [stated]}).recommendations[0][0]
    assert first.status is RecommendationStatus.DONE
    again = put(world, {"recommendations": [ADVICE | {"ts": "2026-01-01T00:00:00Z"}]})
    assert outcomes(again) == ["new"]
    assert again.recommendations[0][0].key != first.key


def test_one_that_was_turned_down_stays_so_when_it_is_recommended_again(world: World) -> None:
    put(world, {"recommendations": [ADVICE | {"status": "rejected"}]})
    done = put(world, {"recommendations": [ADVICE]})
    assert outcomes(done) == ["touched"]
    assert [each.status for each in world.deck().recommendations().values()] == [RecommendationStatus.REJECTED]


# --- what was used ----------------------------------------------------------------------------------------------------


def test_used_ids_become_signals_with_the_event_as_context(world: World) -> None:
    card = put(world, {"aha_cards": [payload_card(1, 1)], "recommendations": [ADVICE]})
    key, advice = card.cards[0][0].key, card.recommendations[0][0].key
    payload = {
        "event": {"task_summary": "Fix it"},
        "used_aha_ids": f"{key}, {key},rec_x",
        "used": {"aha_ids": ["aha_nobody"], "rec_ids": [advice]},
    }
    done = put(world, payload)
    assert done.event is not None
    assert [(each.kind, each.target) for each in done.used.signals] == [("aha_used", key), ("rec_used", advice)]
    assert {each.context for each in done.used.signals} == {f"event_id={done.event.key}"}
    assert done.used.invalid == (("rec_x", "aha_"),)
    assert done.used.unknown == ("aha_nobody",)
    assert world.deck().scores()[key].total == 3


def test_a_card_of_the_same_payload_may_be_used_in_it(world: World) -> None:
    done = put(
        world,
        {"aha_cards": [payload_card(1, 1, id="aha_mine")], "used_aha_ids": ["aha_mine"], "usage_context": "at once"},
    )
    assert [(each.target, each.context) for each in done.used.signals] == [("aha_mine", "at once")]


@pytest.mark.parametrize("said", [None, [], "", ["", None], " , "])
def test_no_ids_are_no_ids(said: Any) -> None:
    assert id_list(said) == []


def test_an_outcome_is_a_word() -> None:
    assert [str(each) for each in RecordOutcome] == ["new", "reinforced", "updated", "touched"]


def test_a_card_under_its_id_is_told_anew_and_not_mixed_with_what_it_said(world: World) -> None:
    first = payload_card(1, 1, id="aha_own", shareable=False, gotchas=["slow"])
    record(world.deck(), {"aha_cards": [first]}, AGENT)
    world.clock.pass_by(minutes=1)
    again = {name: value for name, value in first.items() if name != "gotchas"}
    corrected = again | {"solution_steps": ["Pin the parser by its digest"], "shareable": True}
    [(card, outcome)] = record(world.deck(), {"aha_cards": [corrected]}, AGENT).cards
    assert outcome == "updated"
    assert (card.solution_steps, card.shareable) == (("Pin the parser by its digest",), True)
    assert card.gotchas == ("slow",), "what is left out stays"
    world.clock.pass_by(minutes=1)
    [(_, unchanged)] = record(world.deck(), {"aha_cards": [corrected]}, AGENT).cards
    assert unchanged == "reinforced"
    assert len(world.deck().history("aha_own")) == 2
