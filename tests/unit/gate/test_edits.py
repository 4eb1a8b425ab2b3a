"""A sentence that was rewritten over a tool call that was not is pointed out, and nothing else is."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tacit.domain.candidate import Finding, Severity
from tacit.domain.skill import SkillStep
from tacit.gate.edits import edited_sentences
from tests.unit.making import MIGRATE, content

BEFORE = content()


def changed(number: int, **fields: Any) -> list[Finding]:
    """What is said of an edit of one step."""
    steps = [replace(step, **fields) if at == number else step for at, step in enumerate(MIGRATE)]
    return list(edited_sentences(content(steps=tuple(steps)), BEFORE))


def test_the_step_is_named_by_its_number_and_its_field():
    assert changed(1, text="Something new") == [
        Finding(
            rule="edited_sentence",
            message="the sentence of step 2 was changed, but its tool call was not: do they still agree?",
            severity=Severity.LOW,
            field="steps.1",
        )
    ]
    assert [found.field for found in changed(0, text="x")] == ["steps.0"]


def test_a_sentence_that_was_kept_is_no_news():
    assert list(edited_sentences(BEFORE, BEFORE)) == []
    assert changed(0, arguments={"command": "make other"}) == []
    assert changed(0, tool="Shell") == []


def test_a_sentence_that_was_rewritten_with_its_call_is_no_news():
    assert changed(0, text="x", arguments={"command": "make other"}) == []
    assert changed(0, text="x", tool="Shell") == []


def test_a_step_without_a_call_may_say_what_it_likes():
    before, after = content(steps=(SkillStep(text="Think"),)), content(steps=(SkillStep(text="Think twice"),))
    assert list(edited_sentences(after, before)) == []


def test_steps_that_were_added_or_left_out_are_compared_with_nothing():
    assert list(edited_sentences(content(steps=MIGRATE[:1]), BEFORE)) == []
    assert list(edited_sentences(content(steps=(*MIGRATE, SkillStep(text="x", tool="Bash"))), BEFORE)) == []
