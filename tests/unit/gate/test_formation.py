"""Why something is, or is not, worth becoming a skill; and what ties it to one place."""

from __future__ import annotations

import pytest

from tacit.config.settings import Policy, Strictness
from tacit.domain.candidate import Severity
from tacit.domain.evidence import Assessment, Grade, Outcome
from tacit.domain.skill import Condition, Kind, SkillStep
from tacit.gate import portability
from tacit.gate.formation import formation
from tests.unit.making import MIGRATE, VERIFIED, candidate, content

POLICY = Policy()
FAILED = Assessment(outcome=Outcome.FAILURE, grade=Grade.MACHINE, reason="`pytest` failed")
CLAIMED = Assessment(outcome=Outcome.SUCCESS, grade=Grade.SELF, reason="the source claims success")


def rules(made=None, *, policy=POLICY, **fields):
    return {finding.rule: finding.severity for finding in formation(candidate(made, **fields), policy)}


def test_a_verified_procedure_of_a_recurring_category_is_worth_having():
    assert rules() == {"recurrent_category_setup": Severity.INFO}


def test_a_recurring_word_will_do_and_is_named():
    made = content(category="", name="deploy-the-site", description="Deployed it")
    (found,) = formation(candidate(made), POLICY)
    assert (found.rule, found.severity) == ("recurring_keyword", Severity.INFO)
    assert "deploy" in found.message


def test_a_one_time_task_weighs_little_but_refuses_under_strict():
    made = content(category="", name="answer-a-riddle", description="Answer a riddle about cats")
    assert rules(made) == {"one_time_task": Severity.LOW}
    assert rules(made, policy=Policy(strictness=Strictness.STRICT)) == {"one_time_task": Severity.HIGH}


@pytest.mark.parametrize(
    ("assessment", "rule"),
    [(FAILED, "task_failed"), (CLAIMED, "unverified"), (Assessment(), "unverified")],
)
def test_a_procedure_without_verified_success_is_refused_with_the_reason(assessment, rule):
    assert rules(assessment=assessment)[rule] is Severity.HIGH
    said = next(f.message for f in formation(candidate(assessment=assessment), POLICY) if f.rule == rule)
    assert said == (assessment.reason or "nothing shows that the attempt succeeded")


def test_too_few_steps_make_no_procedure():
    assert rules(content(steps=MIGRATE[:2]))["too_simple_2_steps"] is Severity.HIGH
    assert "too_simple_2_steps" not in rules(content(steps=MIGRATE[:2]), policy=Policy(min_steps=2))


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
