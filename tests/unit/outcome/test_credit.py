"""Who gets the credit for a run."""

from __future__ import annotations

import pytest

from tacit.domain.evidence import Grade, Outcome, Use
from tacit.domain.skill import SkillStep
from tacit.domain.trajectory import StepResult
from tacit.outcome import adherence, evidence_for
from tests.unit.making import NOW, attempt, call, content, later, shell, stored

USE = Use(version_ids=("v_1", "v_2"), task="x", at=NOW, model="m")


def test_one_shown_skill_gets_all_the_credit():
    use = Use(version_ids=("v_1",), task="x", at=NOW)
    (made,) = evidence_for(use, Outcome.SUCCESS, grade=Grade.MACHINE, at=later(1), details={"verifier": "pytest"})
    assert (made.version_id, made.weight, made.adherence, made.use_id) == ("v_1", 1.0, None, use.id)
    assert (made.verifier, made.at, made.grade) == ("pytest", later(1), Grade.MACHINE)


def test_several_share_it_when_nobody_says_which_was_followed():
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


def test_adherence_is_the_share_of_required_calls_made_in_order():
    steps = (
        SkillStep(text="read", tool="Read"),
        SkillStep(text="look", tool="Grep", optional=True),
        SkillStep(text="edit", tool="Edit"),
        SkillStep(text="run", tool="Bash"),
        SkillStep(text="think about it"),
    )
    version = stored(content(steps=steps)).version
    done = [call("Read", {}), call("Edit", {}), shell("pytest")]
    assert adherence(version, attempt(*done)) == 1.0
    assert adherence(version, attempt(*reversed(done))) == pytest.approx(1 / 3)
    assert adherence(version, attempt(done[0], done[1], shell("pytest", StepResult.FAILED))) == pytest.approx(2 / 3)
    assert adherence(version, attempt()) == 0.0


def test_adherence_to_a_skill_without_tools_is_not_known():
    assert adherence(stored(content(steps=(SkillStep(text="be kind"),))).version, attempt(shell("ls"))) is None
