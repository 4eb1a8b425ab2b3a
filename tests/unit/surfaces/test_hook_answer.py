"""Answers are whole texts within the limit, in the form that clients take."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from tacit.domain.skill import Kind, SkillContent
from tacit.surfaces.hook.events import MAX_CHARACTERS, HookAnswer
from tests.unit.surfaces.hook_events import claude
from tests.unit.surfaces.hooked_project import NORM, make_project

TEXT = st.text(max_size=400).flatmap(lambda text: st.integers(1, 40).map(lambda times: text * times))
PIECES = st.lists(st.tuples(st.sampled_from(["add", "note", "list"]), TEXT), max_size=12)


@given(PIECES)
def test_an_answer_is_never_over_the_limit_and_holds_whole_texts(pieces):
    answer = HookAnswer("PostToolUseFailure")
    kept: list[str] = []
    for way, text in pieces:
        if way == "list":
            lines = [f"- {line}" for line in text.split()] or ["-"]
            number = answer.add_list("Known:", lines)
            kept += ["\n".join(["Known:", *lines[:number]])] if number else []
        elif answer.add(text) if way == "add" else answer.note(text):
            kept.append(text)
    written = answer.json()
    assert len(written) <= MAX_CHARACTERS
    if written:
        context = json.loads(written)["hookSpecificOutput"]["additionalContext"]
        assert all(text in context for text in kept)
    else:
        assert not any(kept)


def test_nothing_to_say_is_no_answer_at_all():
    answer = HookAnswer("UserPromptSubmit")
    assert not answer.add("")
    assert answer.json() == ""


def test_the_answer_has_the_form_that_both_clients_take():
    answer = HookAnswer("UserPromptSubmit", number="5e1f")
    assert answer.add("<tacit-skill>é</tacit-skill>")
    assert answer.note("careful")
    said = json.loads(answer.json())
    assert list(said) == ["hookSpecificOutput"]
    assert said["hookSpecificOutput"]["hookEventName"] == "UserPromptSubmit"
    context = said["hookSpecificOutput"]["additionalContext"]
    assert context.startswith("<tacit-note>\ncareful\n</tacit-note>\n<tacit-skills-5e1f>\n")
    assert context.endswith("<tacit-skill>é</tacit-skill>\n</tacit-skills-5e1f>")


def test_each_answer_bears_a_number_of_its_own_and_keeps_it():
    first, second = HookAnswer("SessionStart"), HookAnswer("SessionStart")
    assert first.add("x")
    assert second.add("x")
    assert first.json() == first.json() != second.json()


def test_what_does_not_fit_is_left_out_whole_and_smaller_ones_still_go_in():
    answer = HookAnswer("SessionStart")
    assert answer.add("a" * 6_000)
    assert not answer.add("b" * 6_000)
    assert answer.add("c" * 1_000)
    assert not answer.add("d", room=3_000), "a smaller room may be full already"
    assert "b" * 100 not in answer.json()


def test_a_list_keeps_its_first_lines():
    answer = HookAnswer("SessionStart")
    kept = answer.add_list("Known:", [f"- skill {number:04} {'x' * 90}" for number in range(500)])
    assert 60 <= kept <= 95
    assert f"skill {kept - 1:04}" in answer.json()
    assert f"skill {kept:04}" not in answer.json()
    assert answer.add_list("Known:", ["x" * 10_000]) == 0


def test_a_start_with_very_many_norms_and_skills_stays_within_the_limit_and_notes_what_was_held_back(tmp_path):
    norms = [
        SkillContent(kind=Kind.NORM, name=f"rule-{letter}", description=" ".join(f"{letter}{n}" for n in range(220)))
        for letter in "abcdefghijkl"
    ]
    lessons = [
        SkillContent(kind=Kind.LESSON, name=f"lesson-{n}", description=f"No{n}{'é' * 150}", signature=f"E{n}Error: a")
        for n in range(30)
    ]
    project = make_project(tmp_path, NORM, *norms, *lessons)
    told = project.send(claude("SessionStart", source="startup"))
    (line,) = project.lines
    assert 5_000 < len(told) <= MAX_CHARACTERS
    assert len(line["shown"]) >= 5
    assert line["held"]
    assert line["indexed"], "the index has its place beside the norms"
    assert told.count("<tacit-skill ") == told.count("</tacit-skill>") == len(line["shown"])
