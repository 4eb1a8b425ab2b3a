"""What a candidate contradicts, and which related skills lack a precondition that it adds."""

from __future__ import annotations

import dataclasses
import re

import pytest

from tacit.config.settings import Policy
from tacit.domain.candidate import Decision, Severity
from tacit.domain.lifecycle import Status
from tacit.domain.skill import Case, Condition, Kind, SkillContent, SkillStep
from tacit.gate.duplicates import disagreement, disagreements, interference
from tacit.gate.judgement import judge
from tests.unit.making import NOW, candidate, stored


def norm(text: str) -> SkillContent:
    return SkillContent(kind=Kind.NORM, name="a-norm", description=text)


def procedure(name: str, *steps: str, needs: tuple[str, ...] = (), body: str = "") -> SkillContent:
    return SkillContent(
        kind=Kind.PROCEDURE,
        name=name,
        description=f"How to {name.replace('-', ' ')}.",
        steps=tuple(SkillStep(text=text) for text in steps),
        preconditions=tuple(Condition(text=text) for text in needs),
        body=body,
    )


def refund(reason: str, **fields: object) -> SkillContent:
    step = SkillStep(text="Refund it", tool="refund", arguments={"order": "{order}", "reason": reason})
    made = SkillContent(kind=Kind.PROCEDURE, name="refund-order", description="Refund an order.", steps=(step,))
    return dataclasses.replace(made, **fields)  # type: ignore[arg-type]


def test_two_rules_that_cannot_both_be_followed_disagree() -> None:
    assert "against" in disagreement(norm("Use pnpm, not npm."), norm("Use npm instead of pnpm."))
    assert not disagreement(norm("Use pnpm, not npm."), norm("Use ruff."))


def test_a_rule_disagrees_with_a_procedure_that_does_what_it_puts_aside() -> None:
    install = procedure("install-packages", "Run npm ci")
    assert disagreement(norm("Use pnpm, not npm."), install)
    assert not disagreement(norm("Use pnpm, not npm."), procedure("install-packages", "Run pnpm install"))


def test_a_reference_lays_nothing_down() -> None:
    paper = SkillContent(kind=Kind.REFERENCE, name="paper", description="Use npm instead of pnpm.")
    assert not disagreement(norm("Use pnpm, not npm."), paper)


def test_procedures_for_one_thing_disagree_where_they_fix_a_value_differently() -> None:
    found = disagreement(refund("damaged"), refund("late"))
    assert re.findall(r"[`'](\w+)[`']", found) == ["refund", "damaged", "late"]
    assert not disagreement(refund("damaged"), refund("{reason}"))


def test_procedures_that_say_in_which_case_they_hold_do_not_disagree() -> None:
    case = Case(conditions=(Condition(text="it came late"),))
    assert not disagreement(refund("damaged"), refund("late", cases=(case,)))


def test_only_what_may_be_used_is_contradicted() -> None:
    made = candidate(norm("Use pnpm, not npm."))
    other = norm("Use npm instead of pnpm.")
    (finding,) = disagreements(made, [stored(other, status=Status.TRIAL)])
    assert (finding.rule, finding.severity) == ("contradicts", Severity.MEDIUM)
    assert not list(disagreements(made, [stored(other, status=Status.RETIRED)]))


def test_the_past_of_a_skill_is_not_contradicted_by_its_next_version() -> None:
    held = stored(norm("Use npm instead of pnpm."), status=Status.TRUSTED)
    made = dataclasses.replace(candidate(norm("Use pnpm, not npm.")), revises=held.skill.id)
    assert not list(disagreements(made, [held]))


DEPLOY = procedure("deploy-billing", "Apply `db/schema.sql`", "Restart the billing service")
DEPENDENT = procedure("roll-back-billing", "Apply `db/schema.sql` of the last release", "Restart the billing service")


def revised(**fields: object) -> SkillContent:
    return dataclasses.replace(DEPLOY, **fields)  # type: ignore[arg-type]


def found(revision: SkillContent, *others: SkillContent, before: SkillContent = DEPLOY) -> list[str]:
    held = stored(before, status=Status.TRUSTED)
    made = dataclasses.replace(candidate(revision), revises=held.skill.id)
    library_findings = [stored(other, status=Status.TRUSTED) for other in others]
    return [finding.message for finding in interference(made, [held], library_findings)]


LOCK = (Condition(text="The migration lock is free"),)


@pytest.mark.parametrize(
    "revision",
    [
        revised(preconditions=LOCK),
        revised(body="The deployment requires that the migration lock is free."),
        revised(steps=(*DEPLOY.steps, SkillStep(text="Make sure the migration lock is free"))),
    ],
)
def test_a_condition_that_others_on_the_same_things_lack_is_reported(revision: SkillContent) -> None:
    (reported,) = found(revision, DEPENDENT)
    assert "`roll-back-billing`" in reported
    assert "db/schema.sql" in reported


@pytest.mark.parametrize(
    ("revision", "dependent"),
    [
        (revised(preconditions=LOCK), dataclasses.replace(DEPENDENT, preconditions=LOCK)),
        (revised(preconditions=LOCK), procedure("write-changelog", "Edit `CHANGELOG.md`")),
        (revised(description="How to deploy billing, in other words."), DEPENDENT),
        (revised(preconditions=LOCK), dataclasses.replace(
            DEPENDENT, steps=(SkillStep(text="Wait until the migration lock is free"), *DEPENDENT.steps))),
    ],
)  # fmt: skip
def test_who_asks_for_it_or_has_nothing_to_do_with_it_is_not_left_out(
    revision: SkillContent, dependent: SkillContent
) -> None:
    assert not found(revision, dependent)


def test_a_first_version_adds_no_condition() -> None:
    made = candidate(revised(preconditions=LOCK))
    assert not list(interference(made, [], [stored(DEPENDENT, status=Status.TRUSTED)]))


def test_such_a_revision_is_set_apart_and_the_version_before_stays() -> None:
    held = stored(DEPLOY, status=Status.TRUSTED)
    made = dataclasses.replace(candidate(revised(preconditions=LOCK)), revises=held.skill.id, assessment=None)
    library_findings = list(interference(made, [held], [stored(DEPENDENT, status=Status.TRUSTED)]))
    verdict = judge(made, [held], Policy(), at=NOW, library_findings=library_findings).verdict
    assert verdict.decision is Decision.QUARANTINE
    assert "new_precondition" in verdict.reasons
