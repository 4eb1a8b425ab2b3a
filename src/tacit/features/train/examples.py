"""Attempts → training examples: conversations in the prompt format, as an agent has them at work.

Failed calls are shown and not learned. Texts without a place in the format (the agent's thoughts, messages in between) are
left out; `data_gate` decides whether an attempt makes sense without them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tacit.domain.errors import Mistake
from tacit.features.evaluate.conversation import (
    AGENT,
    DONE,
    SYSTEM,
    USER,
    ChatMessage,
    attempt_messages,
    format_tool_call,
    parse_tool_call,
    prompt_messages,
)
from tacit.features.evaluate.task_overlap import TaskProfile
from tacit.features.evaluate.tool import Call, Turn
from tacit.features.evaluate.verified_attempts import VerifiedAttempt

_QUESTION = "Task:\n"
_ANSWERS = (("<tool_result>", "</tool_result>"), ("<tool_error>", "</tool_error>"))
_PLACEHOLDER = "<redacted:"
_FRAME = 2
"""Messages before the first call: the system message and the task."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """One conversation: the agent's messages are learned, the rest is context."""

    task: str
    """The key of the task."""
    trajectory_id: str
    messages: tuple[ChatMessage, ...]
    silent: tuple[int, ...] = ()
    """Places of the agent's messages that are shown and not learned: failed calls, and calls with a redacted secret."""
    replay: bool = False
    """Whether it comes from an earlier dataset, to prevent forgetting."""

    @property
    def learned(self) -> tuple[int, ...]:
        """Places of the messages that are learned."""
        return tuple(
            place for place, message in enumerate(self.messages) if message.role == AGENT and place not in self.silent
        )

    @property
    def strategy(self) -> tuple[str, ...]:
        """The tools in order; repeated calls of one tool count once."""
        called = [
            call.tool
            for message in self.messages
            if message.role == AGENT and (call := parse_tool_call(message.content))
        ]
        return tuple(tool for place, tool in enumerate(called) if not place or called[place - 1] != tool)


def example_of(attempt: VerifiedAttempt, *, aid: str = "") -> Example:
    """Return an attempt as an example, with the text before its task."""
    turns = attempt.turns
    if not turns:
        raise Mistake(
            f"attempt {attempt.trajectory.id} has no calls",
            code="no_calls",
            hint="an attempt without calls teaches no call",
        )
    return Example(
        task=attempt.task_key,
        trajectory_id=attempt.trajectory.id,
        messages=tuple(attempt_messages(attempt.trajectory.task.text, attempt.tools, turns, aid=aid)),
        silent=tuple(_FRAME + 2 * place for place, turn in enumerate(turns) if turn.failed or _is_cut(turn.call)),
    )


def _is_cut(call: Call) -> bool:
    """Whether a secret was redacted in a call: the placeholder must not be learned."""
    return _PLACEHOLDER in format_tool_call(call)


def texts_within(example: Example) -> Iterator[str]:
    """Yield the foreign texts of an example, without the tags of the format."""
    frame, call = prompt_messages("", ())[0].content, ("<tool_call>", "</tool_call>")
    for message in example.messages:
        content = message.content
        if message.role == SYSTEM:
            yield content.removeprefix(frame)
        elif message.role == USER:
            yield _bare(content)
        elif content != DONE:
            yield content.removeprefix(call[0]).removesuffix(call[1])


def lost_on_the_way(attempt: VerifiedAttempt, example: Example, *, aid: str = "") -> str:
    """Return what of an attempt cannot be restored from its example; empty if everything can."""
    task, turns = attempt.trajectory.task.text, attempt.turns
    for taken, turn in enumerate(turns):
        place = _FRAME + 2 * taken
        if list(example.messages[:place]) != prompt_messages(task, attempt.tools, aid=aid, turns=turns[:taken]):
            return f"what is trained before call {taken + 1} is not what the agent would be asked"
        if parse_tool_call(example.messages[place].content) != turn.call:
            return f"call {taken + 1} ({turn.call.tool}) is read back as another one"
    if example.messages[-1] != ChatMessage(AGENT, DONE):
        return "it does not end as an agent ends its work"
    return ""


def out_of_form(messages: tuple[ChatMessage, ...]) -> str:
    """Return the first way in which messages violate the prompt format; empty if they do not."""
    initial_observations = prompt_messages("", ())[0].content
    if len(messages) <= _FRAME or [message.role for message in messages[:_FRAME]] != [SYSTEM, USER]:
        return "it does not begin with the system's message and the task"
    if not messages[0].content.startswith(initial_observations):
        return "its system message is not the one that agents are given"
    if _QUESTION not in messages[1].content:
        return "its task is not put as agents are given it"
    for place, message in enumerate(messages[_FRAME:], start=_FRAME):
        content = message.content
        if message.role != (AGENT if place % 2 == 0 else USER):
            return f"message {place + 1} is the {message.role}'s out of turn"
        if message.role == USER and not any(
            content.startswith(head) and content.endswith(tail) for head, tail in _ANSWERS
        ):
            return f"message {place + 1} is not put as answers of tools are"
        if message.role == AGENT and not _has_agent_form(content, last=place == len(messages) - 1):
            return f"message {place + 1} is not one call as agents write it"
    return "" if messages[-1].role == AGENT else "its last message is not the agent's"


def _has_agent_form(content: str, *, last: bool) -> bool:
    call = parse_tool_call(content)
    return format_tool_call(call) == content if call else last and content == DONE


def task_profile(example: Example) -> TaskProfile:
    """Return the profile of an example's task, as far as its messages show it."""
    asked = example.messages[1].content if len(example.messages) > 1 else ""
    turns = [
        Turn(call=call, observation=_bare(example.messages[place + 1].content), failed=place in example.silent)
        for place, message in enumerate(example.messages[:-1])
        if message.role == AGENT and (call := parse_tool_call(message.content))
    ]
    return TaskProfile.of(example.task, asked.rpartition(_QUESTION)[2], turns)


def seen_values(example: Example) -> tuple[int, int]:
    """Return how many values of learned calls can be read before them, and how many there are."""
    seen = total = 0
    before = ""
    for place, message in enumerate(example.messages):
        call = parse_tool_call(message.content) if place in example.learned else None
        values = list(_leaves(call.arguments)) if call else []
        seen, total = seen + sum(value in before for value in values), total + len(values)
        before += f"\n{message.content}"
    return seen, total


def _leaves(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        yield from (leaf for each in value.values() for leaf in _leaves(each))
    elif isinstance(value, list | tuple):
        yield from (leaf for each in value for leaf in _leaves(each))
    elif value is not None and not isinstance(value, bool) and str(value).strip():
        yield str(value)


def _bare(answer: str) -> str:
    """Return a tool result without the tags around it."""
    return next((answer[len(head) : -len(tail)] for head, tail in _ANSWERS if answer.startswith(head)), answer)


def to_line(example: Example) -> str:
    """Encode an example as one line of JSON."""
    content: dict[str, Any] = {
        "task": example.task,
        "trajectory": example.trajectory_id,
        "messages": [{"role": message.role, "content": message.content} for message in example.messages],
    }
    if example.silent:
        content["silent"] = list(example.silent)
    if example.replay:
        content["replay"] = True
    return json.dumps(content, ensure_ascii=False)


def from_lines(text: str, *, source: str) -> Iterator[Example]:
    """Parse examples from lines of JSON; raise an error that names a bad line."""
    for number, line in enumerate(text.split("\n"), start=1):
        if not line:
            continue
        try:
            content = json.loads(line)
            yield Example(
                task=str(content["task"]),
                trajectory_id=str(content["trajectory"]),
                messages=tuple(ChatMessage(str(each["role"]), str(each["content"])) for each in content["messages"]),
                silent=tuple(int(place) for place in content.get("silent", ())),
                replay=bool(content.get("replay", False)),
            )
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise Mistake(
                f"{source} line {number} is not an example: {error!r}",
                code="dataset_damaged",
                hint="build the dataset again",
            ) from None
