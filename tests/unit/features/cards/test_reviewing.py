"""A review tells what is open, what is stale and what has earned a place in a skill, and hides none of it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from tacit.domain.errors import Mistake
from tacit.features.cards.agenda import (
    HALF_LIFE_DAYS,
    Agenda,
    ReviewFilters,
    ReviewInput,
    decayed,
    interleaved,
    parse_statuses,
    review,
    review_window,
)
from tacit.features.cards.card import Card, CardStatus, Recommendation, RecommendationStatus, Signal, SignalKind
from tacit.features.cards.card_records import format_time
from tacit.features.cards.card_signals import signal
from tacit.features.cards.statuses import move_card, move_recommendation
from tests.raising import raises
from tests.unit.features.cards.workflow_desk import Desk
from tests.unit.making import NOW

KEYS = {"filters", "summary", "next_actions", "recommendations", "aha"}


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    made = Desk(tmp_path)
    yield made
    made.close()


def recommendation(number: int, **fields: Any) -> Recommendation:
    said: dict[str, Any] = {"at": NOW, "ts": format_time(NOW), "title": f"Improve {number}", "primary_skill": "orders"}
    return Recommendation(key=f"rec_{number:03d}", **(said | fields))


def card(number: int, **fields: Any) -> Card:
    said: dict[str, Any] = {"at": NOW, "ts": format_time(NOW), "title": f"Card {number}", "primary_skill": "orders"}
    return Card(key=f"aha_{number:03d}", **(said | fields))


def given(target: str, kind: SignalKind = SignalKind.AHA_USED, *, days_ago: float = 0, number: int = 0) -> Signal:
    at = NOW - timedelta(days=days_ago)
    return Signal(key=f"sig_{target}_{kind}_{days_ago}_{number}", at=at, ts=format_time(at), kind=kind, target=target)


def told(
    cards: list[Card] | None = None,
    recommendations: list[Recommendation] | None = None,
    *,
    signals: list[Signal] | None = None,
    withheld: set[str] | None = None,
    reviewed: set[str] | None = None,
    **wanted: Any,
) -> dict[str, Any]:
    versions: dict[str, list[Recommendation]] = {}
    for each in recommendations or []:
        versions.setdefault(each.key, []).append(each)
    records = ReviewInput(
        cards={each.key: each for each in cards or []},
        recommendations=versions,
        signals=signals or [],
        withheld=withheld or set(),
        reviewed=reviewed or set(),
    )
    return Agenda(records, ReviewFilters(**wanted), NOW).document()


def ids(listed: list[dict[str, Any]]) -> list[str]:
    return [each["id"] for each in listed]


def types(document: dict[str, Any]) -> list[str]:
    return [action["type"] for action in document["next_actions"]]


# --- next actions ---------------------------------------------------------------------------------------------------


def test_defect_8_ten_open_recommendations_do_not_hide_backport_candidates() -> None:
    open_ = [recommendation(number) for number in range(10)]
    document = told([card(1)], open_, signals=[given("aha_001")])
    assert len(document["next_actions"]) == 10
    assert types(document)[1] == "backport_candidate"
    assert document["next_actions"][1]["id"] == "aha_001"


def test_two_places_are_enough_to_see_one_of_each() -> None:
    many = [recommendation(number) for number in range(5)]
    proven = [card(number) for number in range(5)]
    used = [given(each.key) for each in proven]
    assert types(told(proven, many, signals=used, next_actions_limit=2)) == ["recommendation", "backport_candidate"]


def test_what_one_list_leaves_free_the_other_takes() -> None:
    left, right = [{"id": f"r{n}"} for n in range(2)], [{"id": f"c{n}"} for n in range(6)]
    assert ids(interleaved(left, right, 7)) == ["r0", "c0", "r1", "c1", "c2", "c3", "c4"]
    assert ids(interleaved([], right, 2)) == ["c0", "c1"]
    assert interleaved(left, right, 0) == []


def test_next_actions_say_what_to_do() -> None:
    document = told([card(1)], [recommendation(1, why="it is slow")], signals=[given("aha_001")])
    first, second = document["next_actions"]
    assert first.keys() == {"type", "id", "title", "status", "scope", "why", "origin", "suggested_next"}
    assert second.keys() == {"type", "id", "title", "target_skill", "score", "suggested_next"}
    assert "--ids aha_001 --make-diff" in second["suggested_next"]
    assert "aha-status --id aha_001 --status accepted" in second["suggested_next"], "nobody approved it yet"
    seen = told([card(1)], signals=[given("aha_001")], reviewed={"aha_001"})["next_actions"][0]
    assert "aha-status" not in seen["suggested_next"]


# --- recommendations ------------------------------------------------------------------------------------------------


def test_most_pressing_first_and_of_those_the_longest_idle() -> None:
    impact = {"speed": "high", "quality": "low"}
    old = format_time(NOW - timedelta(days=3))
    listed = [
        recommendation(1, expected_impact={"quality": "high"}),
        recommendation(2, expected_impact=impact),
        recommendation(3, expected_impact=impact, last_touched_ts=old),
    ]
    views = told(recommendations=listed)["recommendations"]["open"]
    assert [(view["id"], view["priority"]) for view in views] == [("rec_003", 31), ("rec_002", 31), ("rec_001", 3)]


@pytest.mark.parametrize(("days", "stale"), [(6.9, False), (7.0, True), (30.0, True)])
def test_open_and_untouched_for_a_week_is_stale(days: float, stale: bool) -> None:
    touched = format_time(NOW - timedelta(days=days))
    assert bool(told(recommendations=[recommendation(1, last_touched_ts=touched)])["recommendations"]["stale"]) is stale


def test_done_is_never_stale() -> None:
    touched = format_time(NOW - timedelta(days=60))
    done = recommendation(1, last_touched_ts=touched, status=RecommendationStatus.DONE)
    document = told(recommendations=[done])
    assert document["recommendations"]["open"] == document["recommendations"]["stale"] == []
    assert ids(document["recommendations"]["by_status"]["done"]) == ["rec_001"]


def test_untouched_is_what_nobody_came_back_to_and_a_repair_is_no_touch() -> None:
    first = recommendation(1, last_touched_ts=format_time(NOW))
    repaired = recommendation(1, last_touched_ts=format_time(NOW), primary_skill="mended", at=NOW + timedelta(hours=1))
    moved = recommendation(1, last_touched_ts=format_time(NOW + timedelta(hours=2)), at=NOW + timedelta(hours=2))

    def untouched(*versions: Recommendation, signals: list[Signal] | None = None) -> list[str]:
        return ids(told(recommendations=list(versions), signals=signals)["recommendations"]["untouched"])

    assert untouched(first) == untouched(first, repaired) == ["rec_001"]
    assert untouched(first, moved) == []
    assert untouched(first, signals=[given("rec_001", SignalKind.REC_USED)]) == []


def test_created_is_when_the_first_version_was_written() -> None:
    first = recommendation(1, ts="2026-01-01T00:00:00Z")
    [view] = told(recommendations=[first, recommendation(1)])["recommendations"]["open"]
    assert view["created_ts"] == "2026-01-01T00:00:00Z"


# --- filters --------------------------------------------------------------------------------------------------------


def test_defect_8_status_filters_every_list_and_not_one_only() -> None:
    listed = [recommendation(1), recommendation(2, status=RecommendationStatus.IN_PROGRESS)]
    cards = [card(1), card(2, status=CardStatus.ACCEPTED)]
    signals = [given("aha_001"), given("aha_002")]
    document = told(cards, listed, signals=signals, statuses=("in_progress", "accepted"))
    lists = document["recommendations"]
    assert ids(lists["open"]) == ids(lists["untouched"]) == ["rec_002"]
    assert set(lists["by_status"]) == {"accepted", "in_progress"}
    assert ids(document["next_actions"]) == ["rec_002", "aha_002"]
    assert ids(document["aha"]["top_by_score"]) == ids(document["aha"]["backport_candidates"]) == ["aha_002"]
    assert document["summary"]["open_recommendations"] == 1


def test_statuses_are_understood_in_their_older_spellings() -> None:
    assert parse_statuses("implemented, in-progress,backported,done") == ("done", "in_progress", "backported")


def test_all_unknown_statuses_are_told_at_once() -> None:
    with raises(Mistake, "unknown_status"):
        parse_statuses("wat,done,huh")


def test_skill_scope_and_words_filter_cards_and_recommendations_alike() -> None:
    cards = [card(1, primary_skill="billing"), card(2, scope="portable"), card(3, title="Löschen")]
    listed = [recommendation(1, primary_skill="billing"), recommendation(2, scope="portable"), recommendation(3)]

    def shown(**wanted: Any) -> tuple[list[str], list[str]]:
        document = told(cards, listed, **wanted)
        return ids(document["recommendations"]["open"]), ids(document["aha"]["top_by_score"])

    assert shown(skill="billing") == (["rec_001"], ["aha_001"])
    assert shown(scope="portable") == (["rec_002"], ["aha_002"])
    assert shown(query="LÖSCH") == ([], ["aha_003"])


def test_window_goes_by_the_last_touch() -> None:
    week = NOW - timedelta(days=7)
    listed = [
        recommendation(1, ts="2020-01-01T00:00:00Z", last_touched_ts=format_time(NOW)),
        recommendation(2, ts="2020-01-01T00:00:00Z"),
        recommendation(3, ts="some day"),
    ]
    assert ids(told(recommendations=listed, since=week)["recommendations"]["open"]) == ["rec_001"]
    assert len(told(recommendations=listed)["recommendations"]["open"]) == 3


def test_since_goes_before_days_and_must_be_a_time() -> None:
    assert review_window("2026-02-01", 3, NOW) == NOW.replace(month=2, day=1, hour=0)
    assert review_window("", 3, NOW) == NOW - timedelta(days=3)
    assert review_window("", -3, NOW) == NOW
    assert review_window("", None, NOW) is None
    with raises(Mistake, "invalid_time"):
        review_window("yesterday", None, NOW)


def test_every_list_has_its_limit_and_counts_go_on_beyond_it() -> None:
    listed = [recommendation(number) for number in range(6)]
    cards = [card(number) for number in range(6)]
    document = told(
        cards,
        listed,
        signals=[given(each.key) for each in cards],
        recs_limit=2,
        top_aha_limit=3,
        backport_limit=1,
        next_actions_limit=4,
    )
    assert [len(document["recommendations"][name]) for name in ("open", "untouched")] == [2, 2]
    assert [len(document["aha"][name]) for name in ("top_by_score", "backport_candidates")] == [3, 1]
    assert len(document["next_actions"]) == 4
    assert document["summary"]["open_recommendations"] == document["summary"]["backport_candidates"] == 6


# --- cards ----------------------------------------------------------------------------------------------------------


def test_defect_8_rejected_cards_are_not_among_the_top_unless_asked_for() -> None:
    cards = [card(1), card(2, status=CardStatus.REJECTED), card(3, status=CardStatus.DEPRECATED)]
    signals = [given("aha_002"), given("aha_003")]
    assert ids(told(cards, signals=signals)["aha"]["top_by_score"]) == ["aha_001"]
    assert ids(told(cards, signals=signals, statuses=("rejected",))["aha"]["top_by_score"]) == ["aha_002"]


def test_defect_8_old_signals_weigh_less_in_the_order_and_the_score_stays() -> None:
    signals = [given("aha_001", days_ago=365, number=n) for n in range(3)] + [
        given("aha_002", number=n) for n in range(2)
    ]
    [first, second] = told([card(1), card(2)], signals=signals)["aha"]["top_by_score"]
    assert (first["id"], first["score"]) == ("aha_002", 5)
    assert (second["id"], second["score"]) == ("aha_001", 7)
    assert second["decayed_score"] < first["decayed_score"]


def test_signal_loses_half_its_weight_in_one_half_life() -> None:
    assert decayed([given("aha_001", days_ago=HALF_LIFE_DAYS)], NOW) == pytest.approx(2.0)
    assert decayed([given("aha_001", days_ago=-5)], NOW) == pytest.approx(3.0)
    assert decayed([], NOW) == 1.0


def test_defect_5_backported_card_is_no_candidate_again() -> None:
    cards = [card(1, status=CardStatus.BACKPORTED), card(2), card(3, shareable=False)]
    signals = [given(each.key) for each in cards]
    assert ids(told(cards, signals=signals)["aha"]["backport_candidates"]) == ["aha_002"]


def test_candidate_is_proven_by_use_by_score_or_by_a_person() -> None:
    cards = [card(1), card(2), card(3, status=CardStatus.ACCEPTED), card(4)]
    signals = [given("aha_001", SignalKind.AHA_REINFORCED)]
    signals += [given("aha_002", SignalKind.AHA_RECALLED, number=n) for n in range(3)]
    by_person = {"aha_003"}
    assert ids(told(cards, signals=signals, reviewed=by_person)["aha"]["backport_candidates"]) == [
        "aha_002",
        "aha_001",
        "aha_003",
    ]
    strict = told(cards, signals=signals, reviewed=by_person, min_aha_score=9)
    assert ids(strict["aha"]["backport_candidates"]) == ["aha_001", "aha_003"]
    by_word = told(cards, signals=signals)
    assert ids(by_word["aha"]["backport_candidates"]) == ["aha_002", "aha_001"], "the word alone is nobody's approval"


def test_withheld_cards_are_counted_and_not_shown() -> None:
    document = told([card(1), card(2)], signals=[given("aha_001")], withheld={"aha_001"})
    assert document["summary"]["withheld_aha_cards"] == 1
    assert ids(document["aha"]["top_by_score"]) == ["aha_002"]
    assert document["next_actions"] == []


# --- a whole deck ---------------------------------------------------------------------------------------------------


def test_review_of_a_deck_has_the_keys_of_the_original(desk: Desk) -> None:
    proven = desk.card()
    desk.used(proven)
    desk.recommendation()
    document = review(desk.deck, ReviewFilters())
    assert document.keys() == KEYS
    assert document["filters"].keys() == {"skill", "scope", "since", "stale_days", "query", "status"}
    assert document["recommendations"].keys() == {"open", "stale", "untouched", "by_status"}
    assert document["aha"].keys() == {"top_by_score", "backport_candidates"}
    assert set(document["recommendations"]["by_status"]) == set(RecommendationStatus)
    assert types(document) == ["recommendation", "backport_candidate"]
    assert document["aha"]["top_by_score"][0]["reviewed"] is False


def test_review_follows_what_happened_since(desk: Desk) -> None:
    one, other = desk.card(), desk.card(title="Dates are in UTC", solution_steps=["Convert with `astimezone`"])
    open_ = desk.recommendation()
    desk.used(other)
    desk.wait(days=8)
    assert ids(review(desk.deck, ReviewFilters())["recommendations"]["stale"]) == [open_.key]
    move_recommendation(desk.deck, open_.key, "in_progress")
    move_card(desk.deck, one.key, "rejected")
    document = review(desk.opened(), ReviewFilters())
    assert document["recommendations"]["stale"] == document["recommendations"]["untouched"] == []
    assert ids(document["aha"]["top_by_score"]) == [other.key]
    assert document["summary"]["aha_cards"] == 2
    desk.approve(other)
    assert review(desk.opened(), ReviewFilters())["aha"]["top_by_score"][0]["reviewed"] is True


def test_review_of_nothing_is_empty_and_not_an_error(desk: Desk) -> None:
    document = review(desk.deck, ReviewFilters(), include_global=True)
    assert document["next_actions"] == []
    assert not any(document["summary"].values())


def test_shared_cards_are_told_once_and_where_they_stand(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    own = desk.card()
    with desk.deck.shared_cards(create=True) as shared:
        assert shared is not None
        from dataclasses import replace

        from tacit.domain.trajectory import Origin

        copies = [own, replace(own, key="aha_elsewhere", title="Another project's", id="")]
        for each in copies:
            copy = shared.admit(replace(each, version_id="", shelf="global", id=""), origin=Origin.USER, by="ann")
            shared.add(copy)
        signal(shared, SignalKind.AHA_USED, "aha_elsewhere", source="agent")
    unseen = review(desk.opened(), ReviewFilters(), include_global=True)
    assert unseen["summary"]["global_aha_cards"] == 0, "nobody reviewed them, and no person asks"
    person = desk.opened()
    person.by_person = True
    document = review(person, ReviewFilters(), include_global=True)
    assert document["summary"]["global_aha_cards"] == 2
    top = document["aha"]["top_by_score"]
    assert [(view["id"], view["shelf"]) for view in top] == [("aha_elsewhere", "global"), (own.key, "project")]
    assert review(desk.opened(), ReviewFilters())["summary"]["global_aha_cards"] == 0
    desk.close()
