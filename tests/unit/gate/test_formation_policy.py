"""Which candidates are worth storing, and what ties them to one project."""

from __future__ import annotations

import pytest

from tacit.config.settings import Policy, Strictness
from tacit.domain.candidate import Severity
from tacit.domain.evidence import Assessment, Grade, Outcome
from tacit.domain.skill import Case, Condition, Cue, Kind, Pitfall, Provenance, SkillStep
from tacit.gate.findings import finding
from tacit.gate.formation_policy import eligibility, missing_parts
from tacit.maintain.portability import portability
from tests.unit.making import MIGRATE, VERIFIED, candidate, content

POLICY = Policy()
FAILED = Assessment(outcome=Outcome.FAILURE, grade=Grade.MACHINE, reason="`pytest` failed")
CLAIMED = Assessment(outcome=Outcome.SUCCESS, grade=Grade.SELF, reason="the source claims success")


def rules(made=None, *, policy=POLICY, **fields):
    return {finding.rule: finding.severity for finding in eligibility(candidate(made, **fields), policy)}


def test_a_verified_procedure_of_a_recurring_category_is_worth_having():
    assert rules() == {"recurrent_category_setup": Severity.INFO}


def test_a_recurring_word_is_enough_and_is_named():
    made = content(category="", name="deploy-the-site", description="Deployed it")
    (found,) = eligibility(candidate(made), POLICY)
    assert (found.rule, found.severity) == ("recurring_keyword", Severity.INFO)
    assert "“deploy”" in found.message


def test_a_one_time_task_is_refused_except_under_open():
    made = content(category="", name="answer-a-riddle", description="Answer a riddle about cats")
    assert rules(made) == {"one_time_task": Severity.HIGH}
    assert rules(made, policy=Policy(strictness=Strictness.STRICT)) == {"one_time_task": Severity.HIGH}
    assert rules(made, policy=Policy(strictness=Strictness.OPEN)) == {"one_time_task": Severity.LOW}


def test_what_mining_found_in_few_tasks_is_refused_under_strict_alone():
    made = content(category="", name="answer-a-riddle", description="Answer a riddle about cats")
    mined = Provenance(trajectory_ids=("t_1",), made_by="tacit.mining/1")
    assert rules(made, provenance=mined) == {"one_time_task": Severity.LOW}
    strict = Policy(strictness=Strictness.STRICT)
    assert rules(made, policy=strict, provenance=mined) == {"one_time_task": Severity.HIGH}


@pytest.mark.parametrize(
    ("assessment", "rule"),
    [(FAILED, "task_failed"), (CLAIMED, "unverified"), (Assessment(), "unverified")],
)
def test_a_procedure_without_verified_success_is_refused_with_the_reason(assessment, rule):
    assert rules(assessment=assessment)[rule] is Severity.HIGH
    stated = next(f.message for f in eligibility(candidate(assessment=assessment), POLICY) if f.rule == rule)
    assert stated == (assessment.reason or "nothing shows that the attempt succeeded")


def test_too_few_steps_make_no_procedure():
    assert rules(content(steps=MIGRATE[:2]))["too_simple_2_steps"] is Severity.HIGH
    assert "too_simple_2_steps" not in rules(content(steps=MIGRATE[:2]), policy=Policy(min_steps=2))


THREE = Provenance(trajectory_ids=("t_1", "t_2", "t_3"), made_by="tacit.mining/1")
ONE_CASE = (Case(conditions=(Condition(text="x"),), support=3),)


@pytest.mark.parametrize(
    "fields", [{"cases": ONE_CASE}, {"cues": (Cue(term="feed", weight=1.0),)}], ids=["cases", "cues"]
)
def test_one_step_is_enough_where_successes_show_when_it_is_needed(fields):
    made = content(steps=MIGRATE[:1], category="", name="a", description="b", **fields)
    found = {finding.rule: finding for finding in eligibility(candidate(made, provenance=THREE), POLICY)}
    assert found["primitive"].severity is Severity.INFO
    assert "3 successes" in found["primitive"].message
    assert found["seen_again"].severity is Severity.INFO
    strict = rules(made, provenance=THREE, policy=Policy(strictness=Strictness.STRICT))
    assert Severity.HIGH not in strict.values(), "three of a kind are no one-time task"


@pytest.mark.parametrize(
    ("fields", "provenance"),
    [
        ({"cases": (Case(conditions=(Condition(text="x"),), support=2),)}, THREE),
        ({}, THREE),
        ({"cases": ONE_CASE, "steps": ()}, THREE),
    ],
    ids=["a case seen twice", "nothing says when", "nothing to do"],
)
def test_one_step_is_too_little_otherwise(fields, provenance):
    found = rules(content(**{"steps": MIGRATE[:1], **fields}), provenance=provenance)
    assert next(rule for rule, severity in found.items() if severity is Severity.HIGH).startswith("too_simple_")


def test_words_from_few_tasks_are_enough_and_their_number_is_reported():
    made = content(steps=MIGRATE[:1], cues=(Cue(term="feed", weight=1.0),))
    few = candidate(made, provenance=Provenance(trajectory_ids=("t_1", "t_2")))
    found = {finding.rule: finding.message for finding in eligibility(few, POLICY)}
    assert "2 of the compared tasks" in found["primitive"]


def test_a_composite_needs_no_steps_of_its_own_but_more_than_one_part():
    assert rules(content(steps=(), sub_skills=("a", "b")))["composite"] is Severity.INFO
    assert rules(content(steps=(), sub_skills=("a",)))["too_simple_0_steps"] is Severity.HIGH


def test_parts_that_are_not_there_are_named():
    made = content(name="whole", sub_skills=("a", "gone", "whole"))
    assert list(missing_parts(made, {"a"})) == [finding("missing_part", field="sub_skills.1", name="gone")]
    assert rules(made)["part_of_itself"] is Severity.HIGH


def test_what_somebody_wrote_is_not_judged_by_an_attempt():
    assert rules(content(steps=()), assessment=None) == {}


def test_a_lesson_from_a_fix_that_failed_too_is_refused():
    lesson = content(kind=Kind.LESSON, steps=())
    assert rules(lesson, assessment=FAILED) == {"task_failed": Severity.HIGH}
    assert rules(lesson, assessment=VERIFIED) == {}
    assert rules(lesson, assessment=CLAIMED) == {}


@pytest.mark.parametrize("kind", Kind)
def test_nothing_without_a_description_can_be_found(kind):
    assert rules(content(kind=kind, description=" \n"), assessment=None) == {"no_description": Severity.HIGH}


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("cd /srv/ann/invoices", "absolute_path"),
        ("open C:\\Users\\ann\\x.txt", "windows_path"),
        ("cat ~/notes/x.txt", "home_path"),
        ("curl build.corp", "private_host"),
        ("ssh 192.168.1.20", "private_host"),
        ("ssh 10.1.2.3", "private_host"),
        ("ssh 172.20.0.5", "private_host"),
        ("closes INV-123", "ticket_key"),
    ],
)
def test_what_ties_a_skill_to_one_place_is_named_with_a_placeholder(text, rule):
    (found,) = portability(content(body=text))
    assert (found.rule, found.field, found.severity) == (rule, "body", Severity.LOW)
    assert "<" in found.message


@pytest.mark.parametrize(
    "text", ["SHA-256 and UTF-16", "version 10.15.7", "https://example.org/home/x", "src/home/x.py", "/usr/bin/env"]
)
def test_what_is_the_same_everywhere_is_portable(text):
    assert list(portability(content(body=text))) == []


def test_steps_and_conditions_are_looked_at_too():
    step = SkillStep(text="Run", tool="Bash", arguments={"command": "ls /srv/data/x"})
    made = content(steps=(step,), postconditions=(Condition(text="ok", check="test -e ~/done"),))
    assert {(f.field, f.rule) for f in portability(made)} == {
        ("steps.0", "absolute_path"),
        ("postconditions.0", "home_path"),
    }


def test_cases_and_pitfalls_are_looked_through_for_what_is_local():
    shown = Condition(text="x", reading="read", key="host", relation="is", value="db.internal")
    made = content(cases=(Case(conditions=(shown,)),), pitfalls=(Pitfall(text="lost /srv/ann/app"),))
    assert {finding.field for finding in portability(made)} == {"cases.0", "pitfalls.0"}


def test_the_finding_names_the_field_what_is_local_and_the_placeholder():
    made = content(name="run-in-build.corp", description="Closes INV-123", body="see ~/notes")
    assert [(found.field, found.message) for found in portability(made)] == [
        ("name", "name mentions `run-in-build.corp`; write <SERVICE> to make it portable"),
        ("description", "description mentions `INV-123`; write <PROJECT_KEY> to make it portable"),
        ("body", "body mentions `~/notes`; write <home> to make it portable"),
    ]


def test_two_conditions_of_a_case_do_not_run_into_one_path():
    two = (Condition(text="a", value="x"), Condition(text="/srv/ann/app"))
    assert [found.rule for found in portability(content(cases=(Case(conditions=two),)))] == ["absolute_path"]
    assert [f.field for f in portability(content(preconditions=(Condition(text="in ~/a"),)))] == ["preconditions.0"]
