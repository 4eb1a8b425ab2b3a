"""The rubric for cards: reasons not to store a card, each with the field and how to fix it.

A card must be complete, durable, reusable, specific and safe; a portable one must also be valid in every project. Rejecting a
good card costs more than accepting a poor one, which a person still reviews: in doubt a card passes. Duplicates and dangers are
judged elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol

from tacit.domain.skill import Kind, SkillContent, SkillStep
from tacit.features.cards.rubric_texts import (
    dump_in,
    is_a_secret,
    is_concrete,
    is_filler,
    passing_state,
    says_something,
)
from tacit.gate.portability import NO_PROJECT_FACTS, ProjectFacts, portability

PORTABLE = "portable"
_READ = 2_000
"""Characters of one text that are read for meaning; its form is checked as a whole."""


class Criterion(StrEnum):
    """The criteria of the rubric."""

    COMPLETE = "complete"
    DURABLE = "durable"
    REUSABLE = "reusable"
    SPECIFIC = "specific"
    SAFE = "safe"
    PORTABLE = "portable"


class CardLike(Protocol):
    """What the rubric reads of a card."""

    @property
    def title(self) -> str: ...
    @property
    def when_to_use(self) -> str: ...
    @property
    def problem(self) -> str: ...
    @property
    def solution_steps(self) -> Sequence[str]: ...
    @property
    def evidence(self) -> Sequence[str]: ...
    @property
    def gotchas(self) -> Sequence[str]: ...
    @property
    def input_shape(self) -> Mapping[str, Any]: ...
    @property
    def output_shape(self) -> Mapping[str, Any]: ...
    @property
    def scope(self) -> str: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class RubricReason:
    """Why a card is not stored: criterion, field, a sentence, and how to fix it."""

    criterion: Criterion
    rule: str
    field: str
    message: str
    fix: str

    def __str__(self) -> str:
        return f"{self.field}: {self.message} ({self.fix})"


def judge(card: CardLike, local: ProjectFacts = NO_PROJECT_FACTS) -> tuple[RubricReason, ...]:
    """Return all reasons not to store a card; none means that it may go to the gate.

    `local` describes the project that a portable card must not name.
    """
    found = [*_missing(card), *_dumps(card)]
    covered = {reason.field for reason in found}
    if "solution_steps" not in covered:  # of what is not there, or no text, nothing else is asked
        found += [reason for reason in (*_secrets(card), *_moments(card)) if reason.field not in covered] or _vague(
            card
        )
    if card.scope == PORTABLE:
        found += _local(card, local)
    return tuple(found)


def _missing(card: CardLike) -> Iterator[RubricReason]:
    if is_filler(card.title):
        yield RubricReason(
            criterion=Criterion.COMPLETE,
            rule="no_title",
            field="title",
            message="the card has no title",
            fix="say in one line what was learned",
        )
    if is_filler(card.when_to_use):
        yield RubricReason(
            criterion=Criterion.REUSABLE,
            rule="no_occasion",
            field="when_to_use",
            message="nothing tells when the card is needed, so it can never be found",
            fix="name the task or the error that calls for it",
        )
    if all(map(is_filler, _instructions(card))):
        yield RubricReason(
            criterion=Criterion.COMPLETE,
            rule="no_solution",
            field="solution_steps",
            message="the card does not say what to do",
            fix="give at least one step: a command, a template, a field and its meaning, or what to avoid",
        )


def _dumps(card: CardLike) -> Iterator[RubricReason]:
    fields = {
        "title": [card.title],
        "when_to_use": [card.when_to_use],
        "problem": [card.problem],
        "solution_steps": list(card.solution_steps),
        "evidence": list(card.evidence),
        "gotchas": list(card.gotchas),
    }
    for field, texts in fields.items():
        if what := dump_in(texts):
            yield RubricReason(
                criterion=Criterion.SPECIFIC,
                rule="raw_dump",
                field=field,
                message=f"it is {what}, not what was learned from it",
                fix="keep the one line that tells, and say what follows from it",
            )


def _secrets(card: CardLike) -> Iterator[RubricReason]:
    for field, texts in (("title", [card.title]), ("solution_steps", _instructions(card))):
        if any(map(is_a_secret, texts)):
            yield RubricReason(
                criterion=Criterion.SAFE,
                rule="secret",
                field=field,
                message="a secret is what it says",
                fix="say where the secret is kept and how it is fetched; never the secret itself",
            )


def _moments(card: CardLike) -> Iterator[RubricReason]:
    state = passing_state(card.title[:_READ], card.problem[:_READ], _instructions(card))
    if state:
        yield RubricReason(
            criterion=Criterion.DURABLE,
            rule="passing_state",
            field=state.field,
            message=f"“{state.words}” will not hold for long",
            fix="write what stays true: how to find it out, or what to do whenever it happens",
        )


def _vague(card: CardLike) -> Iterator[RubricReason]:
    # “Ensure Docker is running” is an answer to one error, and to nothing else
    anchored = is_concrete(card.problem[:_READ])
    if any(says_something(text, anchored=anchored) for text in _instructions(card)):
        return
    yield RubricReason(
        criterion=Criterion.SPECIFIC,
        rule="vague",
        field="solution_steps",
        message="it is a reminder that fits every task, and tells nobody what to do",
        fix="name the command, file, field, value or order of steps that made the difference",
    )


def _local(card: CardLike, local: ProjectFacts) -> Iterator[RubricReason]:
    """What ties a card to one project although it calls itself portable, by the lint that skills are held against."""
    covered = {
        "title": [card.title],
        "when_to_use": [card.when_to_use],
        "problem": [card.problem],
        "solution_steps": card.solution_steps,
        "evidence": card.evidence,
        "gotchas": card.gotchas,
    }
    for field, texts in covered.items():
        done = field == "solution_steps"  # what is done is looked at more closely than what is told
        steps = tuple(SkillStep(text=text) for text in texts) if done else ()
        description = "" if done else "\n".join(texts)
        content = SkillContent(kind=Kind.LESSON, name="", description=description, steps=steps)
        for finding in portability(content, local):
            text, _, fix = finding.message.removeprefix(f"{finding.field} ").partition("; ")
            yield RubricReason(
                criterion=Criterion.PORTABLE,
                rule=finding.rule,
                field=field,
                message=f"it {text}, which only this project knows",
                fix=f"{fix}, or give the scope `project`",
            )


def _instructions(card: CardLike) -> list[str]:
    """All that a card tells to do, as far as anybody would read it."""
    shapes = [*_shape_texts(card.input_shape), *_shape_texts(card.output_shape)]
    return [text[:_READ] for text in (*card.solution_steps, *card.gotchas, *shapes)]


def _shape_texts(shape: Mapping[str, Any]) -> list[str]:
    return [f"{name}: {value}" for name, value in shape.items()]
