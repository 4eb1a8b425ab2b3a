"""Answers are whole texts within the limit, in the form that clients take."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from tacit.surfaces.hook.events import LINES_HEADING, MAX_CHARACTERS, HookAnswer

TEXT = st.text(max_size=400).flatmap(lambda text: st.integers(1, 40).map(lambda times: text * times))
PIECES = st.lists(st.tuples(st.sampled_from(["add", "note", "add_lines"]), TEXT), max_size=12)


@given(PIECES)
def test_an_answer_is_never_over_the_limit_and_holds_whole_texts(pieces):
    answer = HookAnswer("PostToolUseFailure")
    kept: list[str] = []
    for way, text in pieces:
        if getattr(answer, way)(text):
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


def test_lines_stand_in_order_below_one_heading_between_notes_and_blocks():
    answer = HookAnswer("SessionStart", number="5e1f")
    assert answer.add("<tacit-skill>x</tacit-skill>")
    assert answer.add_lines("- first")
    assert answer.note("careful")
    assert answer.add_lines("- second\n- third")
    context = json.loads(answer.json())["hookSpecificOutput"]["additionalContext"]
    assert context.startswith(
        f"<tacit-note>\ncareful\n</tacit-note>\n{LINES_HEADING}\n- first\n- second\n- third\n<tacit-skills-5e1f>\n"
    )


def test_lines_alone_have_no_frame():
    answer = HookAnswer("SessionStart")
    assert answer.add_lines("- first")
    context = json.loads(answer.json())["hookSpecificOutput"]["additionalContext"]
    assert context == f"{LINES_HEADING}\n- first"


def test_lines_that_do_not_fit_into_their_room_are_left_out_whole():
    answer = HookAnswer("SessionStart")
    assert answer.add_lines("a" * 300, room=800)
    assert not answer.add_lines("b" * 420, room=800)
    assert answer.add_lines("c" * 50, room=800)
    assert not answer.add_lines("d" * MAX_CHARACTERS)
    context = json.loads(answer.json())["hookSpecificOutput"]["additionalContext"]
    assert context.split("\n")[1:] == ["a" * 300, "c" * 50]
    assert len(answer.json()) <= 800
