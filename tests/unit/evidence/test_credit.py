"""Which versions are credited for a run."""

from __future__ import annotations

import pytest

from tacit.domain.errors import Mistake
from tacit.domain.evidence import Following, Grade, Outcome, Use
from tacit.evidence.credit import BY_AGENT, evidence_for, parse_outcome
from tacit.evidence.reliability import votes
from tests.raising import raises
from tests.unit.making import NOW, later

USE = Use(version_ids=("v_1", "v_2"), task="x", at=NOW, model="m")


def test_one_shown_skill_gets_all_the_credit():
    use = Use(version_ids=("v_1",), task="x", at=NOW)
    (made,) = evidence_for(use, Outcome.SUCCESS, grade=Grade.MACHINE, at=later(1), details={"verifier": "pytest"})
    assert (made.version_id, made.weight, made.adherence, made.use_id) == ("v_1", 1.0, None, use.id)
    assert (made.verifier, made.at, made.grade) == ("pytest", later(1), Grade.MACHINE)


def test_several_share_the_credit_when_it_is_not_known_which_was_followed():
    made = evidence_for(USE, Outcome.FAILURE, grade=Grade.SELF, at=NOW)
    assert [(item.version_id, item.weight, item.model) for item in made] == [("v_1", 0.5, "m"), ("v_2", 0.5, "m")]
    assert sum(item.weight for item in made) == 1


def test_those_that_were_followed_get_it_whole_and_the_others_nothing():
    (made,) = evidence_for(USE, Outcome.SUCCESS, grade=Grade.SELF, at=NOW, followed=["v_2"])
    assert (made.version_id, made.weight, made.adherence) == ("v_2", 1.0, 1.0)


def test_nothing_followed_is_no_evidence():
    assert evidence_for(USE, Outcome.SUCCESS, grade=Grade.SELF, at=NOW, followed=[]) == []


def test_who_and_why_travel_with_the_evidence():
    details = {"by": "ann", "note": "it broke", "trajectory_id": "t_1"}
    made = evidence_for(USE, Outcome.FAILURE, grade=Grade.HUMAN, at=NOW, details=details)
    assert {(item.by, item.note, item.trajectory_id) for item in made} == {("ann", "it broke", "t_1")}


def test_what_was_not_given_stays_empty():
    for made in evidence_for(USE, Outcome.FAILURE, grade=Grade.SELF, at=NOW):
        assert (made.verifier, made.trajectory_id, made.by, made.note) == ("", "", "", "")


def test_every_followed_skill_gets_the_credit_whole():
    made = evidence_for(USE, Outcome.SUCCESS, grade=Grade.SELF, at=NOW, followed=["v_1", "v_2"])
    assert [(item.weight, item.outcome) for item in made] == [(1.0, Outcome.SUCCESS)] * 2


def test_the_parts_of_a_run_may_have_outcomes_of_their_own():
    followed = {"v_2": "failure", "v_1": Outcome.PARTIAL}
    made = evidence_for(USE, Outcome.SUCCESS, grade=Grade.MACHINE, at=NOW, followed=followed)
    assert [(item.version_id, item.outcome) for item in made] == [("v_1", Outcome.PARTIAL), ("v_2", Outcome.FAILURE)]


def test_credit_for_what_was_not_shown_is_refused_and_what_was_shown_is_named():
    with raises(Mistake, "version_not_shown") as refused:
        evidence_for(USE, Outcome.SUCCESS, grade=Grade.SELF, at=NOW, followed=["v_9"])
    assert refused.value.message.startswith("v_9 ")
    assert refused.value.hint == "shown: v_1, v_2"


def test_an_unknown_outcome_is_refused_and_the_known_ones_are_named():
    assert parse_outcome("partial") is Outcome.PARTIAL
    with pytest.raises(Mistake) as refused:
        parse_outcome("great")
    assert str(refused.value) == "unknown outcome 'great'"
    assert refused.value.hint == f"use one of: {', '.join(outcome.value for outcome in Outcome)}"


@pytest.mark.parametrize("grade", [Grade.MACHINE, Grade.HUMAN])
def test_an_agents_own_say_that_it_followed_is_no_credit_and_a_harness_is_believed(grade):
    shown = Use(version_ids=("v_1",), task="x", at=NOW)
    (own,) = evidence_for(shown, Outcome.SUCCESS, grade=grade, at=NOW, details={"by": BY_AGENT})
    (reported,) = evidence_for(shown, Outcome.SUCCESS, grade=grade, at=NOW, details={"by": "harness"})
    assert (own.following, reported.following) == (Following.PARTLY, None)
    assert votes([own]) == []
    assert votes([reported]) == [reported]


def test_an_agents_own_doubt_still_lowers():
    shown = Use(version_ids=("v_1",), task="x", at=NOW)
    (doubt,) = evidence_for(shown, Outcome.FAILURE, grade=Grade.SELF, at=NOW, details={"by": BY_AGENT})
    assert doubt.following is None
