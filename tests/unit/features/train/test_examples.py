"""Examples: what is trained is what an agent is asked and says, token for token."""

from __future__ import annotations

import dataclasses
from datetime import UTC, datetime

import pytest

from tacit.domain.errors import Mistake
from tacit.domain.trajectory import Role, Step, StepResult
from tacit.features.evaluate.conversation import AGENT, DONE, ChatMessage, format_tool_call, prompt_messages
from tacit.features.evaluate.verified_attempts import VerifiedAttempt
from tacit.features.train.examples import (
    example_of,
    from_lines,
    lost_on_the_way,
    out_of_form,
    seen_values,
    task_profile,
    to_line,
)
from tests.raising import raises
from tests.unit.features.train.attempt_builders import attempts, calls, solved_task


def chat_ml(messages: list[ChatMessage], *, asking: bool) -> str:
    """ChatML as small models' own templates lay it out."""
    text_seen = "".join(f"<|im_start|>{message.role}\n{message.content}<|im_end|>\n" for message in messages)
    return text_seen + "<|im_start|>assistant\n" if asking else text_seen


def pieces(text: str) -> list[str]:
    """A stand-in for a tokenizer: marks, words, blanks and signs, none of which is lost."""
    found, word = [], ""
    for character in text:
        if character.isalnum():
            word += character
            continue
        found += [word, character] if word else [character]
        word = ""
    return [*found, word] if word else found


@pytest.mark.parametrize("aid", ["", "Look the order up first."])
def test_training_text_is_what_the_agent_is_sent_and_should_say_token_for_token(aid: str) -> None:
    for attempt in attempts(12):
        example = example_of(attempt, aid=aid)
        whole = chat_ml(list(example.messages), asking=False)
        turns = attempt.turns
        for taken in range(len(turns) + 1):
            sent = chat_ml(
                prompt_messages(attempt.trajectory.task.text, attempt.tools, aid=aid, turns=turns[:taken]), asking=True
            )
            answer = (format_tool_call(turns[taken].call) if taken < len(turns) else DONE) + "<|im_end|>\n"
            assert pieces(whole)[: len(pieces(sent))] == pieces(sent)
            assert whole[len(sent) :].startswith(answer)
        assert not lost_on_the_way(attempt, example, aid=aid)
        assert not out_of_form(example.messages)


def test_a_call_that_failed_is_shown_and_not_learned() -> None:
    steps = [*calls("get_order", about=1, result=StepResult.FAILED), *calls("get_order", about=2)]
    example = example_of(solved_task(1, steps=steps))
    assert example.silent == (2,)
    assert [example.messages[place].content for place in example.learned] == [example.messages[4].content, DONE]
    assert "<tool_error>" in example.messages[3].content


def test_a_call_that_a_secret_was_taken_out_of_is_not_learned() -> None:
    example = example_of(
        solved_task(1, steps=[*calls("get_order", about="<redacted:api-key>"), *calls("get_user", about=2)])
    )
    assert example.silent == (2,)


def test_an_attempt_without_calls_is_named() -> None:
    with raises(Mistake, "no_calls"):
        example_of(solved_task(1, steps=[]))


@pytest.mark.parametrize("value", [datetime(2026, 1, 1, tzinfo=UTC), ("a", "b"), {1: "x"}])
def test_arguments_that_json_does_not_give_back_are_found(value: object) -> None:
    step = Step(index=1, role=Role.AGENT, tool="get_order", arguments={"id": value})
    attempt = solved_task(1, steps=[step])
    assert lost_on_the_way(attempt, example_of(attempt)) == "call 1 (get_order) is read back as another one"


def test_an_example_that_was_made_with_another_aid_is_found() -> None:
    attempt = solved_task(1)
    found = lost_on_the_way(attempt, example_of(attempt, aid="Be quick."))
    assert found == "what is trained before call 1 is not what the agent would be asked"


def changed(attempt: VerifiedAttempt, place: int, content: str) -> tuple[ChatMessage, ...]:
    messages = list(example_of(attempt).messages)
    messages[place] = dataclasses.replace(messages[place], content=content)
    return tuple(messages)


@pytest.mark.parametrize(
    ("place", "content", "why"),
    [
        (0, "You are a helpful assistant.", "its system message is not the one that agents are given"),
        (1, "Cancel it", "its task is not put as agents are given it"),
        (2, "First I would call get_order.", "message 3 is not one call as agents write it"),
        (
            2,
            '<tool_call>{"arguments": {}, "name": "get_order"}</tool_call>',
            "message 3 is not one call as agents write it",
        ),
        (2, DONE, "message 3 is not one call as agents write it"),
        (3, "done", "message 4 is not put as answers of tools are"),
    ],
)
def test_a_conversation_in_another_form_is_reported_from_ours(place: int, content: str, why: str) -> None:
    assert out_of_form(changed(solved_task(0), place, content)) == why


def test_questions_and_answers_are_not_the_form() -> None:
    assert out_of_form((ChatMessage("user", "How is it done?"), ChatMessage(AGENT, "So."))) != ""
    assert out_of_form(example_of(solved_task(0)).messages[:-1]) == "its last message is not the agent's"


def test_an_example_comes_back_from_its_line() -> None:
    steps = [*calls("get_order", about=1, result=StepResult.FAILED), *calls("get_order", about="é\u2028\n2")]
    example = dataclasses.replace(example_of(solved_task(1, steps=steps)), replay=True)
    assert list(from_lines(f"{to_line(example)}\n", source="x")) == [example]


@pytest.mark.parametrize("line", ['{"task": "x"}', "[" * 100_000])
def test_a_line_that_is_no_example_is_named(line: str) -> None:
    with raises(Mistake, "dataset_damaged"):
        list(from_lines(f"{to_line(example_of(solved_task(1)))}\n{line}\n", source="train.jsonl"))


def test_calls_on_end_of_one_tool_are_one_part_of_a_strategy() -> None:
    example = example_of(solved_task(1, steps=calls("get_order", "cancel_order", "cancel_order", about=5)))
    assert example.strategy == ("get_order", "cancel_order")


def test_what_an_example_is_about_is_read_from_its_messages() -> None:
    attempt = solved_task(0)
    matter = task_profile(example_of(attempt, aid="A hint."))
    assert matter.text == attempt.trajectory.task.text
    assert list(matter.calls) == [turn.call for turn in attempt.turns]


def test_values_that_stand_nowhere_before_their_call_are_counted() -> None:
    seen = example_of(solved_task(3, text="cancel 77", steps=calls("cancel_order", about=77)))
    invented = example_of(solved_task(3, text="cancel it", steps=calls("cancel_order", about=77)))
    assert (seen_values(seen), seen_values(invented)) == ((1, 1), (0, 1))
