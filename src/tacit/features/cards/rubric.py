"""The rubric for cards: reasons not to store a card, each with the field and how to fix it.

A card must be complete, durable, reusable, specific and safe; a portable one must also be valid in every project. Rejecting a
good card costs more than accepting a poor one, which a person still reviews: in doubt a card passes. Duplicates and dangers are
judged elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from tacit.domain.skill import Kind, SkillContent, SkillStep
from tacit.features.cards.card import Card
from tacit.features.cards.rubric_texts import (
    dump_in,
    is_a_secret,
    is_concrete,
    is_filler,
    passing_state,
    says_something,
)
from tacit.maintain.portability import NO_PROJECT_FACTS, ProjectFacts, portability

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


@dataclass(frozen=True, slots=True)
class RubricReason:
    """Why a card is not stored: criterion, field, a sentence, and how to fix it."""

    criterion: Criterion
    rule: str
    field: str
    message: str
    fix: str

    def __str__(self) -> str:
        return f"{self.field}: {self.message} ({self.fix})"


def judge(card: Card, local: ProjectFacts = NO_PROJECT_FACTS) -> tuple[RubricReason, ...]:
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


def _missing(card: Card) -> Iterator[RubricReason]:
    if is_filler(card.title):
        yield RubricReason(
            Criterion.COMPLETE, "no_title", "title", "the card has no title", "say in one line what was learned"
        )
    if is_filler(card.when_to_use):
        yield RubricReason(
            Criterion.REUSABLE,
            "no_occasion",
            "when_to_use",
            "nothing tells when the card is needed, so it can never be found",
            "name the task or the error that calls for it",
        )
    if all(map(is_filler, _instructions(card))):
        yield RubricReason(
            Criterion.COMPLETE,
            "no_solution",
            "solution_steps",
            "the card does not say what to do",
            "give at least one step: a command, a template, a field and its meaning, or what to avoid",
        )


def _dumps(card: Card) -> Iterator[RubricReason]:
    for field, texts in _texts_by_field(card).items():
        if what := dump_in(texts):
            yield RubricReason(
                Criterion.SPECIFIC,
                "raw_dump",
                field,
                f"it is {what}, not what was learned from it",
                "keep the one line that tells, and say what follows from it",
            )


def _secrets(card: Card) -> Iterator[RubricReason]:
    for field, texts in (("title", [card.title]), ("solution_steps", _instructions(card))):
        if any(map(is_a_secret, texts)):
            yield RubricReason(
                Criterion.SAFE,
                "secret",
                field,
                "a secret is what it says",
                "say where the secret is kept and how it is fetched; never the secret itself",
            )


def _moments(card: Card) -> Iterator[RubricReason]:
    state = passing_state(card.title[:_READ], card.problem[:_READ], _instructions(card))
    if state:
        yield RubricReason(
            Criterion.DURABLE,
            "passing_state",
            state.field,
            f"“{state.words}” will not hold for long",
            "write what stays true: how to find it out, or what to do whenever it happens",
        )


def _vague(card: Card) -> Iterator[RubricReason]:
    # “Ensure Docker is running” is an answer to one error, and to nothing else
    anchored = is_concrete(card.problem[:_READ])
    if any(says_something(text, anchored=anchored) for text in _instructions(card)):
        return
    yield RubricReason(
        Criterion.SPECIFIC,
        "vague",
        "solution_steps",
        "it is a reminder that fits every task, and tells nobody what to do",
        "name the command, file, field, value or order of steps that made the difference",
    )


def _local(card: Card, local: ProjectFacts) -> Iterator[RubricReason]:
    """What ties a card to one project although it calls itself portable, by the lint that skills are held against."""
    for field, texts in _texts_by_field(card).items():
        done = field == "solution_steps"  # what is done is looked at more closely than what is told
        steps = tuple(SkillStep(text=text) for text in texts) if done else ()
        description = "" if done else "\n".join(texts)
        content = SkillContent(kind=Kind.LESSON, name="", description=description, steps=steps)
        for finding in portability(content, local):
            text, _, fix = finding.message.removeprefix(f"{finding.field} ").partition("; ")
            yield RubricReason(
                Criterion.PORTABLE,
                finding.rule,
                field,
                f"it {text}, which only this project knows",
                f"{fix}, or give the scope `project`",
            )


def _instructions(card: Card) -> list[str]:
    """All that a card tells to do, as far as anybody would read it."""
    shapes = [f"{name}: {value}" for shape in (card.input_shape, card.output_shape) for name, value in shape.items()]
    return [text[:_READ] for text in (*card.solution_steps, *card.gotchas, *shapes)]


def _texts_by_field(card: Card) -> dict[str, Sequence[str]]:
    lines: dict[str, Sequence[str]] = {name: [getattr(card, name)] for name in ("title", "when_to_use", "problem")}
    return lines | {name: getattr(card, name) for name in ("solution_steps", "evidence", "gotchas")}
