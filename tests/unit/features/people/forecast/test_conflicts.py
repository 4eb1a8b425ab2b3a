"""Where a person's decisions disagree, the kind of disagreement follows from what they show."""

from __future__ import annotations

from tacit.domain.choice import ChoiceSort
from tacit.features.people.forecast.conflicts import Conflict, ConflictKind, conflict_in, telling_apart
from tests.unit.features.people.forecast.deciding import choice, decisions, question

SAME = {"kind": "lesson"}


def kind(*responses: str) -> ConflictKind | None:
    found = conflict_in(decisions(*((response, SAME) for response in responses)), question(SAME))
    return found.kind if found else None


def test_decisions_that_agree_are_no_conflict() -> None:
    assert kind("approve", "approve", "approve") is None
    assert kind() is None


def test_an_answer_that_has_taken_the_place_of_another_is_drift() -> None:
    found = conflict_in(decisions(*[("approve", SAME)] * 6, *[("reject", SAME)] * 8), question(SAME))
    assert found is not None
    assert (found.kind, found.newer, found.older) == (ConflictKind.DRIFT, "reject", "approve")
    assert "taken the place" in found.told


def test_one_newer_answer_after_a_long_while_is_no_drift_yet() -> None:
    others = [choice(100 + n, "allow", sort=ChoiceSort.PERMISSION) for n in range(9)]
    history = [*decisions(*[("approve", SAME)] * 6), *others, choice(200, "reject", SAME)]
    found = conflict_in(history, question(SAME))
    assert found is not None
    assert found.kind is ConflictKind.NOISE


def test_the_distance_is_counted_in_all_interactions_of_the_person() -> None:
    others = [choice(100 + n, "allow", sort=ChoiceSort.PERMISSION) for n in range(9)]
    history = [*decisions(*[("approve", SAME)] * 3), *others, choice(200, "reject", SAME), choice(201, "reject", SAME)]
    found = conflict_in(history, question(SAME))
    assert found is not None
    assert found.kind is ConflictKind.DRIFT


def test_taking_turns_lately_is_a_tension() -> None:
    assert kind("approve", "reject", "approve", "reject", "approve", "reject") is ConflictKind.TENSION


def test_a_single_exception_is_noise_and_the_usual_answer_stands() -> None:
    found = conflict_in(decisions(*[("approve", SAME)] * 5, ("reject", SAME), *[("approve", SAME)] * 5), question(SAME))
    assert found is not None
    assert (found.kind, found.newer) == (ConflictKind.NOISE, "approve")


def test_a_circumstance_that_tells_answers_apart_is_named() -> None:
    agent, external = SAME | {"origin": "agent"}, SAME | {"origin": "external"}
    found = conflict_in(decisions(*[("approve", agent), ("reject", external)] * 4), question(agent))
    assert found is not None
    assert (found.kind, found.feature) == (ConflictKind.CONTEXT, "origin")
    assert "origin" in found.told


def test_what_is_seen_once_tells_nothing_apart() -> None:
    assert telling_apart(decisions(("approve", {"day": "mon"}), ("reject", {"day": "tue"}))) == ""


def test_every_kind_is_told_in_words_that_name_both_answers() -> None:
    for each in ConflictKind:
        told = Conflict(kind=each, newer="approve", older="reject", feature="origin").told
        assert "approve" in told
        assert "reject" in told


def test_decisions_on_something_else_are_no_conflict() -> None:
    here, there = {"kind": "lesson", "origin": "agent"}, {"kind": "norm", "origin": "external"}
    assert conflict_in(decisions(*[("approve", here)] * 3, *[("reject", there)] * 3), question(here)) is None
