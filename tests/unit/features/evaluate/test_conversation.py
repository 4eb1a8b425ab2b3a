"""The form in which a model is asked and trained: what is spelled is understood, and asking ends where telling goes on."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.features.evaluate.conversation import (
    AGENT,
    DONE,
    OBSERVATION_CHARACTERS,
    attempt_messages,
    form_hash,
    format_tool_call,
    is_done,
    parse_tool_call,
    prompt_messages,
)
from tacit.features.evaluate.tool import Call, Tool, Turn

LOOK = Tool(name="look", description="Looks at something. More about it.", required=("at",), optional=("by",))
FIX = Tool(name="fix")
TURNS = (
    Turn(call=Call(tool="look", arguments={"at": "pump"}), observation="leaks"),
    Turn(call=Call(tool="fix"), observation="no hand", failed=True),
    Turn(call=Call(tool="fix", arguments={"with": "tape"}), observation="dry"),
)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(st.text(min_size=1), st.dictionaries(st.text(), json_values, max_size=4))
def test_what_is_spelled_is_understood(tool: str, arguments: dict[str, object]) -> None:
    call = Call(tool=tool, arguments=arguments)
    assert parse_tool_call(format_tool_call(call)) == call


@given(st.text())
def test_no_words_of_a_model_are_too_odd_to_read(text: str) -> None:
    found = parse_tool_call(text)
    assert found is None or text.count("{") > 0


@pytest.mark.parametrize(
    "text",
    [
        "",
        "I would look at it.",
        "<tool_call>",
        "<tool_call>{",
        '<tool_call>{"name": 3}</tool_call>',
        '<tool_call>{"name": "", "arguments": {}}</tool_call>',
        '<tool_call>{"name": "look", "arguments": ["pump"]}</tool_call>',
        "[" * 100_000 + '{"a": ' * 100_000,
    ],
)
def test_what_is_no_call_is_none(text: str) -> None:
    assert parse_tool_call(text) is None


def test_a_call_is_found_without_its_marks_and_the_first_one_counts() -> None:
    assert parse_tool_call('Sure: {"name": "look", "arguments": {"at": "pump"}} then {"name": "fix"}') == Call(
        tool="look", arguments={"at": "pump"}
    )
    assert parse_tool_call('{"x": 1} <tool_call> {"name": "fix"}') == Call(tool="fix")


def test_every_agent_message_is_what_should_be_stated_where_asking_ends() -> None:
    whole = attempt_messages("stop the leak", [LOOK, FIX], TURNS, aid="Look first.")
    places = [at for at, message in enumerate(whole) if message.role == AGENT]
    assert len(places) == len(TURNS) + 1
    for number, at in enumerate(places):
        assert whole[:at] == prompt_messages("stop the leak", [LOOK, FIX], aid="Look first.", turns=TURNS[:number])
    assert [whole[at].content for at in places] == [*(format_tool_call(turn.call) for turn in TURNS), DONE]


def test_an_attempt_that_was_not_ended_teaches_no_end() -> None:
    whole = attempt_messages("stop the leak", [LOOK], TURNS[:1], ended=False)
    assert whole[-1].content == format_tool_call(TURNS[0].call)
    with pytest.raises(ValueError, match="without calls"):
        attempt_messages("stop the leak", [LOOK], ())


def test_tools_are_reported_with_their_arguments_and_one_sentence() -> None:
    system = prompt_messages("x", [LOOK, FIX])[0].content
    assert system.endswith("Tools:\n- look(at, by?): Looks at something.\n- fix()")


def test_answers_are_cut_and_errors_are_reported_as_errors() -> None:
    long = Turn(call=Call(tool="look"), observation="a  b\n" * 1000)
    shown = prompt_messages("x", [], turns=[long, TURNS[1]])
    assert shown[3].content.startswith("<tool_result>a b a b")
    assert len(shown[3].content) < OBSERVATION_CHARACTERS + 40
    assert shown[5].content == "<tool_error>no hand</tool_error>"


def test_an_aid_stands_before_the_task_and_nothing_of_it_where_there_is_none() -> None:
    assert prompt_messages("x", [], aid=" Look. \n")[1].content == "Look.\n\nTask:\nx"
    assert prompt_messages(" x ", [], aid="  ")[1].content == "Task:\nx"


def test_the_end_is_reported_from_everything_else() -> None:
    assert is_done(f" {DONE}\n")
    assert not is_done(f"<tool_call>{DONE}")


def test_the_form_is_known_by_its_hash(monkeypatch: pytest.MonkeyPatch) -> None:
    before = form_hash()
    assert before == form_hash()
    monkeypatch.setattr("tacit.features.evaluate.conversation.OBSERVATION_CHARACTERS", 50)
    assert form_hash() != before
