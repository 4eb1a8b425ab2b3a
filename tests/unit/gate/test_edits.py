"""A sentence that was rewritten over a tool call that was not is pointed out, and nothing else is."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tacit.config.settings import Policy
from tacit.domain.candidate import Finding
from tacit.domain.lifecycle import Status
from tacit.domain.skill import SkillStep
from tacit.gate.findings import finding
from tacit.gate.judgement import judge
from tacit.gate.revisions import edited_sentences
from tests.unit.making import MIGRATE, NOW, candidate, content, stored

BEFORE = content()


def changed(number: int, **fields: Any) -> list[Finding]:
    """What is said of an edit of one step."""
    steps = [replace(step, **fields) if at == number else step for at, step in enumerate(MIGRATE)]
    return list(edited_sentences(content(steps=tuple(steps)), BEFORE))


def test_the_step_is_named_by_its_number_and_its_field():
    assert changed(1, text="Something new") == [finding("edited_sentence", field="steps.1", step=2)]
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


def test_steps_are_known_again_by_their_call_wherever_they_stand_now():
    first, second = replace(MIGRATE[0], text="Once"), replace(MIGRATE[0], text="Once more")
    before = content(steps=(first, MIGRATE[1], second))
    assert list(edited_sentences(content(steps=(MIGRATE[1], second)), before)) == []
    assert list(edited_sentences(content(steps=(second, MIGRATE[1], first)), before)) == []
    moved = list(edited_sentences(content(steps=(MIGRATE[1], replace(first, text="Twice"))), content(steps=(first,))))
    assert [found.field for found in moved] == ["steps.1"]


def test_an_edit_is_held_against_its_parent_and_not_against_what_came_in_between():
    parent = stored()
    other = content(steps=tuple(replace(step, text=f"Check: {step.text}") for step in MIGRATE))
    between = stored(other, status=Status.CANDIDATE, sequence=2, skill=parent.skill)
    edited = content(description="Bring the tables up to date. Use when a model was changed.")
    made = candidate(edited, revises=parent.skill.id, parents=(parent.version.id,), assessment=None)
    rules = {finding.rule for finding in judge(made, [parent, between], Policy(), at=NOW).verdict.findings}
    assert "edited_sentence" not in rules
    orphan = replace(made, parents=())
    rules = {finding.rule for finding in judge(orphan, [parent, between], Policy(), at=NOW).verdict.findings}
    assert "edited_sentence" in rules, "of an edit that names no parent the newest version is what it changes"
