"""What is said aloud: prior and posterior, surprise between them, and "not known" where it is not known."""

from __future__ import annotations

from tacit.features.people.forecast import Settled, conflict_in, foresee, mind_of, stirred, surprised
from tests.unit.features.people.forecast.deciding import choice, decisions, question

LESSON, NORM = {"kind": "lesson"}, {"kind": "norm"}
GOOD = [Settled(score=0.98, confidence=0.9, hit=True)] * 60


def test_with_too_few_decisions_nothing_is_said_and_the_reason_is() -> None:
    known = foresee(mind_of(decisions(("approve", LESSON))), question(LESSON))
    assert not known.known
    assert known.posterior == ""
    assert known.guess == "approve", "the record may still learn from it"
    assert "too little" in known.why_not


def test_what_was_decided_again_and_again_is_said_with_its_reasons() -> None:
    known = foresee(mind_of(decisions(*[("approve", LESSON)] * 20)), question(LESSON), record=GOOD)
    assert known.posterior == "approve"
    assert known.posterior_confidence >= 0.8
    assert known.reasons
    assert known.why_not == ""


def test_without_a_record_it_is_said_but_not_called_sure() -> None:
    known = foresee(mind_of(decisions(*[("approve", LESSON)] * 20)), question(LESSON))
    assert known.posterior == "approve"
    assert known.posterior_confidence < 0.8


def test_a_person_of_two_minds_is_not_forecast() -> None:
    seen = decisions(*[("approve", LESSON), ("reject", LESSON)] * 4)
    asked = question(LESSON)
    known = foresee(mind_of(seen), asked, record=GOOD, conflict=conflict_in(seen, asked))
    assert not known.known
    assert known.posterior_confidence <= 0.5
    assert "two minds" in known.why_not


def test_looking_at_the_artifact_can_change_what_is_expected() -> None:
    seen = decisions(*[("approve", LESSON), ("approve", LESSON), ("reject", NORM)] * 8)
    known = foresee(mind_of(seen), question(NORM))
    assert (known.prior, known.posterior) == ("approve", "reject")
    assert known.stirred


def test_what_is_known_before_looking_needs_no_look() -> None:
    seen = [choice(n, "approve", features={"scope": "project"}) for n in range(12)]
    known = foresee(mind_of(seen), question(features={"scope": "project"}))
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
