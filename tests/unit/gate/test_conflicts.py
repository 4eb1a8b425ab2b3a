"""What a candidate contradicts, and which related skills lack a precondition that it adds."""

from __future__ import annotations

import dataclasses
import re

from tacit.domain.candidate import Severity
from tacit.domain.lifecycle import Status
from tacit.domain.skill import Case, Condition, Kind, SkillContent, SkillStep
from tacit.gate.duplicates import disagreement, disagreements
from tests.unit.making import candidate, stored


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
