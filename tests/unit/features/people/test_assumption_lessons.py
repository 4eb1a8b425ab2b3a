"""A wrong assumption becomes a lesson: what was assumed, what was the case, what to look at first, and who vouches for what."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from tacit.domain.candidate import Candidate
from tacit.domain.evidence import Outcome
from tacit.domain.skill import Kind, filled_fields
from tacit.domain.trajectory import Origin, Span, StepResult, Trajectory
from tacit.features.people.assumption_lessons import Mismatch, mismatch
from tacit.features.people.ledger_entries import Aspect, Assumption, Held
from tests.unit.making import NOW, attempt, edit, shell

RUN = attempt(shell("pytest -q", StepResult.FAILED, seen="FAILED test_a", code=1), edit("src/a.py"))


def wrong(**fields: Any) -> Assumption:
    told: dict[str, Any] = {
        "text": "The tests are green.",
        "check": "pytest -q",
        "held": Held.WRONG,
        "reason": "it failed",
    }
    return Assumption(key="a_1", at=NOW, **{**told, **fields})


def span(step: int, part: str = "arguments", run: Trajectory = RUN) -> Span:
    return Span(run.id, step, part)


def made(assumption: Assumption | None = None, **found: Any) -> Candidate:
    told = {"instead": "`pytest -q` failed", "spans": (span(0),), **found}
    candidate = mismatch(assumption or wrong(), Mismatch(**told), RUN)
    assert candidate is not None
    return candidate


def test_it_says_what_was_assumed_what_was_the_case_and_what_to_run_first() -> None:
    content = made().content
    assert content.kind is Kind.LESSON
    assert content.description == "Assumed: The tests are green. In fact: `pytest -q` failed. Run `pytest -q` first."
    assert content.name == "check-tests-green"
    assert content.tags == ("assumption", "approach")
    assert content.example_queries == (RUN.task.text,)
    assert "**So.** Run `pytest -q` first." in content.body


@pytest.mark.parametrize("aspect", [each for each in Aspect if each is not Aspect.RISK])
def test_without_a_check_it_says_what_to_do_first_by_what_it_is_about(aspect: Aspect) -> None:
    told = made(wrong(check="", aspect=aspect)).content.description
    assert "In fact: `pytest -q` failed. " in told
    assert told.endswith(".")
    assert "Run `" not in told


@pytest.mark.parametrize("held", [Held.OPEN, Held.HELD, Held.UNKNOWN])
def test_only_what_was_wrong_teaches(held: Held) -> None:
    assert mismatch(wrong(held=held), Mismatch(instead="x"), RUN) is None


def test_a_risk_that_did_not_come_about_and_a_difference_without_words_teach_nothing() -> None:
    assert mismatch(wrong(aspect=Aspect.RISK), Mismatch(instead="x"), RUN) is None
    assert mismatch(wrong(), Mismatch(instead="  "), RUN) is None
    assert mismatch(wrong(text=" . "), Mismatch(instead="x"), RUN) is None


def test_it_rests_on_the_run_and_on_the_steps_that_show_it() -> None:
    provenance = made(spans=(span(0), span(0, "observation"))).provenance
    assert provenance.trajectory_ids == (RUN.id,)
    assert provenance.made_by == "tacit.moments/1"
    assert provenance.grounding["evidence"] == (span(0), span(0, "observation"))
    assert provenance.grounding["description"] == (span(0),)


def test_what_an_observation_said_stands_in_the_body_alone_and_is_external() -> None:
    candidate = made(quote="FAILED test_a", spans=(span(0), span(0, "observation")))
    assert "> FAILED test_a" in candidate.content.body
    assert "FAILED" not in candidate.content.description
    outside = {path for path, origin in candidate.origins.items() if origin is Origin.EXTERNAL}
    assert outside == {"body"}
    assert candidate.origins["description"] is Origin.AGENT


def test_a_person_who_is_quoted_in_the_difference_lifts_nothing_that_an_agent_wrote() -> None:
    words = "a person said: use pnpm"
    candidate = made(instead=words, quote="use pnpm", spans=(Span(RUN.id, -1, "text"),), by=Origin.OPERATOR)
    assert candidate.content.body.count("use pnpm") == 1
    assert candidate.origins["description"] is Origin.AGENT


def test_the_assumption_of_an_external_skill_stays_external() -> None:
    candidate = made(wrong(origin=Origin.EXTERNAL))
    assert candidate.origins["description"] is Origin.EXTERNAL
    assert candidate.origins["name"] is Origin.EXTERNAL


def test_every_field_that_says_something_has_an_origin() -> None:
    for spans in ((), (span(0),), (span(0), span(0, "observation"))):
        candidate = made(spans=spans, quote="x y z" if spans[1:] else "")
        assert set(filled_fields(candidate.content)) == set(candidate.origins)


def test_what_nothing_shows_rests_on_the_word_of_whoever_said_it() -> None:
    candidate = made(wrong(origin=Origin.USER), spans=(), by=Origin.AGENT)
    assert candidate.origins["description"] is Origin.AGENT
    assert "evidence" not in candidate.provenance.grounding
    persons = made(wrong(origin=Origin.USER), spans=(), by=Origin.USER)
    assert persons.origins["description"] is Origin.USER


def test_it_claims_no_outcome_so_that_policy_alone_never_lets_it_in() -> None:
    assessment = made().assessment
    assert assessment is not None
    assert assessment.outcome is Outcome.UNKNOWN
    assert not assessment.verified_failure


def test_the_same_difference_is_told_in_the_same_words() -> None:
    again = dataclasses.replace(wrong(), at=NOW.replace(year=2027), id="")
    assert made(again).content.hash() == made().content.hash()


def test_long_and_wordless_texts_still_make_a_valid_lesson() -> None:
    candidate = made(wrong(text="é " * 400), instead="y" * 900)
    assert candidate.content.name == "check"
    assert len(candidate.content.description) < 1024
