"""Where a person's decisions disagree, the kind of disagreement follows from what they show."""

from __future__ import annotations

from tacit.features.people.calibration import Settled
from tacit.features.people.forecast import (
    Conflict,
    ConflictKind,
    conflict_in,
    foresee,
    separating_feature,
    stirred,
    surprised,
)
from tacit.features.people.ledger_entries import ChoiceSort
from tests.unit.features.people.deciding import choice, decisions, model_of, question

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
    assert "origin" in found.description


def test_what_is_seen_once_tells_nothing_apart() -> None:
    assert separating_feature(decisions(("approve", {"day": "mon"}), ("reject", {"day": "tue"}))) == ""


def test_every_kind_is_told_in_words_that_name_both_answers() -> None:
    for each in ConflictKind:
        description = Conflict(kind=each, newer="approve", older="reject", feature="origin").description
        assert "approve" in description
        assert "reject" in description


def test_decisions_on_something_else_are_no_conflict() -> None:
    here, there = {"kind": "lesson", "origin": "agent"}, {"kind": "norm", "origin": "external"}
    assert conflict_in(decisions(*[("approve", here)] * 3, *[("reject", there)] * 3), question(here)) is None


LESSON, NORM = {"kind": "lesson"}, {"kind": "norm"}
GOOD = [Settled(score=0.98, confidence=0.9, hit=True)] * 60


def test_with_too_few_decisions_nothing_is_said_and_the_reason_is() -> None:
    known = foresee(model_of(decisions(("approve", LESSON))), question(LESSON))
    assert not known.known
    assert known.posterior == ""
    assert known.guess == "approve", "the record may still learn from it"
    assert known.why_not_code == "too_few_decisions"


def test_what_was_decided_again_and_again_is_said_with_its_reasons() -> None:
    known = foresee(model_of(decisions(*[("approve", LESSON)] * 20)), question(LESSON), record=GOOD)
    assert known.posterior == "approve"
    assert known.posterior_confidence >= 0.8
    assert known.reasons
    assert known.why_not == ""


def test_without_a_record_it_is_said_but_not_called_sure() -> None:
    known = foresee(model_of(decisions(*[("approve", LESSON)] * 20)), question(LESSON))
    assert known.posterior == "approve"
    assert known.posterior_confidence < 0.8


def test_a_person_of_two_minds_is_not_forecast() -> None:
    seen = decisions(*[("approve", LESSON), ("reject", LESSON)] * 4)
    asked = question(LESSON)
    known = foresee(model_of(seen), asked, record=GOOD, conflict=conflict_in(seen, asked))
    assert not known.known
    assert known.posterior_confidence <= 0.5
    assert known.why_not_code == "tension"


def test_looking_at_the_artifact_can_change_what_is_expected() -> None:
    seen = decisions(*[("approve", LESSON), ("approve", LESSON), ("reject", NORM)] * 8)
    known = foresee(model_of(seen), question(NORM))
    assert (known.prior, known.posterior) == ("approve", "reject")
    assert known.stirred


def test_what_is_known_before_looking_needs_no_look() -> None:
    seen = [choice(n, "approve", features={"scope": "project"}) for n in range(12)]
    known = foresee(model_of(seen), question(features={"scope": "project"}))
    assert known.prior == known.posterior == "approve"
    assert not known.stirred


def test_a_large_move_of_confidence_or_another_answer_is_a_surprise() -> None:
    assert stirred(("approve", 0.6), ("approve", 0.95))
    assert stirred(("approve", 0.6), ("reject", 0.6))
    assert not stirred(("approve", 0.6), ("approve", 0.85))
    assert not stirred(("", 0.5), ("approve", 0.7))


def test_reality_surprises_only_where_something_else_was_expected_with_some_confidence() -> None:
    assert surprised("approve", 0.9, "reject")
    assert not surprised("approve", 0.9, "approve")
    assert not surprised("approve", 0.56, "reject")
    assert not surprised("", 0.9, "reject")
