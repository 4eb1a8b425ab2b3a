"""Proposals: plain values or a SKILL.md become a content, with every problem told, and no count of the author's own."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from tacit.domain.errors import InvalidSkill
from tacit.domain.skill import Case, Condition, Kind, Parameter, Pitfall, SkillStep
from tacit.render import proposed, read_evidence, read_proposal, render
from tests.raising import raises_rule
from tests.unit.render.test_conditions import RESTART, STOPPED

WHOLE: dict[str, Any] = {
    "name": "restart-the-feed",
    "description": "Restart the feed of a sensor.",
    "steps": ["Look at it", {"text": "Restart it", "tool": "restart_feed", "arguments": {"feed": "{feed}"}}],
    "when": ["`read_sensor` shows `Feed: stopped` (40 of 40 times)", "somebody asks for it"],
    "check": "`read_sensor` shows `Feed: running`",
    "needs": ["The battery is full"],
    "parameters": ["feed: its number", {"name": "sensor", "from": "the task, as `A-000`"}],
    "pitfalls": ["Restarted twice (seen 90 times)"],
    "after": ["charge-the-battery"],
    "tags": ["sensors"],
    "examples": ["the feed stands still"],
}


def problems(fields: dict[str, Any]) -> tuple[str, ...]:
    with pytest.raises(InvalidSkill) as refused:
        proposed(fields)
    return refused.value.problems


def test_a_procedure_is_taken_whole() -> None:
    made = proposed(WHOLE)
    assert made.steps == (
        SkillStep(text="Look at it"),
        SkillStep(text="Restart it", tool="restart_feed", arguments={"feed": "{feed}"}),
    )
    assert made.parameters == (
        Parameter(name="feed", description="its number"),
        Parameter(name="sensor", reading="task", key="A-000"),
    )
    assert made.postconditions[0].relation == "is"
    assert made.preconditions == (Condition(text="The battery is full"),)
    assert (made.after, made.tags, made.example_queries) == (
        ("charge-the-battery",),
        ("sensors",),
        ("the feed stands still",),
    )


def test_nobody_counts_for_attempts_that_were_not_made() -> None:
    made = proposed(WHOLE)
    assert made.cases == (Case(conditions=(STOPPED,)), Case(conditions=(Condition(text="somebody asks for it"),)))
    assert made.pitfalls == (Pitfall(text="Restarted twice"),)
    again = read_proposal(render(RESTART))
    assert again.cues == ()
    assert [case.support for case in again.cases] == [0, 0]
    assert again.steps == RESTART.steps


def test_a_command_is_a_check_too() -> None:
    assert proposed(WHOLE | {"check": "make status"}).postconditions == (
        Condition(text="the check passes", check="make status"),
    )


def test_a_lesson_answers_the_error_reduced_to_what_does_not_vary() -> None:
    made = proposed(
        {
            "kind": "lesson",
            "name": "a-lesson",
            "description": "x",
            "error": "Error: port 8080 is in use",
            "body": "Wait.",
        }
    )
    assert made.kind is Kind.LESSON
    assert made.signature
    assert "8080" not in made.signature


def test_a_composite_needs_no_steps() -> None:
    made = proposed({"name": "mend", "description": "x", "parts": ["charge", "restart"]})
    assert made.sub_skills == ("charge", "restart")


def test_json_and_skill_md_say_the_same() -> None:
    made = proposed(WHOLE)
    assert read_proposal(json.dumps(WHOLE)) == made
    assert read_proposal(render(made)) == made
    assert read_proposal(render(replace(made, tags=()))) != made


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"name": "Not A Name"}, "lower case"),
        ({"description": " "}, "description"),
        ({"kind": "reference"}, "cannot be proposed"),
        ({"steps": []}, "does nothing"),
        ({"kind": "lesson", "steps": [], "error": "OSError: the port is taken"}, "what to do about the error"),
        ({"extends": "restart-the-feed"}, "among what it extends itself"),
        ({"evidence": "a quote"}, "not a list"),
        ({"evidence": [0]}, "it is not a text"),
        ({"evidence": [True]}, "it is not a text"),
        ({"evidence": [""]}, "it is empty"),
        ({"steps": "one"}, "not a list"),
        ({"steps": [3]}, "entry 1: it is neither"),
        ({"steps": ["ok", {"arguments": {}}]}, "entry 2: it has no text"),
        ({"steps": [{"text": "x", "arguments": []}]}, "'arguments'"),
        ({"steps": [{"text": "x", "sudo": True}]}, "'sudo'"),
        ({"when": [""]}, "it is empty"),
        ({"when": [{"text": "x"}]}, "it is not a text"),
        ({"body": 3}, "not a text"),
        ({"cues": []}, "'cues' is not known"),
        ({"parts": ["restart-the-feed"]}, "among the parts itself"),
        ({"after": ["restart-the-feed"]}, "among what it comes after itself"),
    ],
)
def test_each_mistake_is_told_with_what_to_do(change: dict[str, Any], told: str) -> None:
    assert any(told in problem for problem in problems(WHOLE | change))


def test_all_mistakes_are_told_at_once() -> None:
    assert len(problems({"name": "x", "steps": [1, 2], "colour": "red", "kind": "song"})) == 4


@pytest.mark.parametrize("text", ["{", "[1]", "{}", "hello", "", "{" * 5000, '{"name": "' + "x" * (1 << 20) + '"}'])
def test_what_is_no_proposal_is_refused_plainly(text: str) -> None:
    with pytest.raises(InvalidSkill):
        read_proposal(text)


@pytest.mark.parametrize(
    ("text", "rule", "detail"),
    [
        ("[]", "json-not-a-map", "list"),
        (' "restart"', "json-not-a-map", "text"),
        ('{"name": ', "json", "Expecting value"),
        ("[1,", "json", "Expecting value"),
        ("{}", "name-missing", "name"),
        ('{"name": "x", "description": ""}', "description-missing", "description"),
    ],
)
def test_json_that_is_wrong_is_answered_as_json(text: str, rule: str, detail: str) -> None:
    with raises_rule(rule) as refused:
        read_proposal(text)
    assert detail in refused.value.problems[0]
    assert "line " not in refused.value.problems[0].partition("Expecting")[0]
    assert "front matter" not in str(refused.value)


def test_a_json_file_is_json_whatever_it_holds() -> None:
    with raises_rule("json-not-a-map"):
        read_proposal("42", source="idea.json")
    with raises_rule("json"):
        read_proposal("", source="idea.json")


def test_a_byte_order_mark_before_json_is_passed_over() -> None:
    assert read_proposal("\ufeff" + json.dumps(WHOLE)) == proposed(WHOLE)


@pytest.mark.parametrize(
    ("named", "kind", "category"),
    [
        ("lesson", Kind.LESSON, ""),
        ("Fact", Kind.FACT, ""),
        ("norm", Kind.NORM, ""),
        ("preference", Kind.PREFERENCE, ""),
        ("code", Kind.LESSON, "code"),
        ("code note", Kind.LESSON, "code"),
        ("code-note", Kind.LESSON, "code"),
    ],
)
def test_one_sentence_is_enough_for_what_is_no_procedure(named: str, kind: Kind, category: str) -> None:
    made = proposed(
        {"name": "amounts", "description": "Amounts are in cents.", "kind": named, "evidence": ["cents", 3]}
    )
    assert (made.kind, made.category, made.body) == (kind, category, "")
    assert read_proposal(render(made)) == made


def test_lessons_facts_and_code_notes_are_found_by_their_occasions() -> None:
    note = {"name": "amounts", "description": "Amounts are in cents.", "kind": "code", "when": ["a price is changed"]}
    assert proposed(note).example_queries == ("a price is changed",)
    assert proposed(note | {"kind": "norm"}).example_queries == ()


def test_the_tools_of_a_proposal_are_read_as_a_list() -> None:
    made = proposed(WHOLE | {"tools": ["Read", "Bash(git:*)"]})
    assert made == replace(proposed(WHOLE), allowed_tools=("Read", "Bash(git:*)"))
    assert read_proposal(json.dumps(WHOLE | {"tools": ["Read", "Bash(git:*)"]})) == made == read_proposal(render(made))
    with raises_rule("proposal-tools"):
        proposed(WHOLE | {"tools": "Read"})


def test_what_a_proposal_extends_and_its_evidence_are_read() -> None:
    made = proposed(WHOLE | {"extends": "care-for-sensors", "evidence": ["the feed stands still", 4]})
    assert made == replace(proposed(WHOLE), extends="care-for-sensors")
    assert read_evidence(json.dumps(WHOLE | {"evidence": ["the feed stands still", 4]})) == ("the feed stands still", 4)
    assert read_evidence(render(made)) == read_evidence(json.dumps(WHOLE)) == ()


def test_a_reference_is_not_proposed_as_a_file_either() -> None:
    with raises_rule("proposal-kind"):
        read_proposal(render(replace(RESTART, kind=Kind.REFERENCE)))
