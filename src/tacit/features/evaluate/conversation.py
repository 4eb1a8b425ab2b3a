"""The prompt format for small models: task, tools, aid and turns → chat messages, and a model's text → a tool call.

Training and evaluation use the same format: a model trained on another format than it is asked in learns nothing useful.
The caller applies the model's chat template.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass

from tacit.features.evaluate.tool import Call, Tool, Turn

SYSTEM, USER, AGENT = "system", "user", "assistant"
"""The roles that every chat template knows."""
OBSERVATION_CHARACTERS = 400
"""How many characters of a tool result are shown, in training as at work."""
DONE = "<done/>"
"""What an agent answers when the task is done."""
_INSTRUCTIONS = f"""\
You carry out a task by calling tools, one at a time. Answer with exactly one line:
<tool_call>{{"name": "…", "arguments": {{…}}}}</tool_call>
or, when nothing is left to do:
{DONE}

Tools:"""
_MARKED = re.compile(r"<tool_call>\s*")


@dataclass(frozen=True, slots=True)
class ChatMessage:
    """One message of a chat."""

    role: str
    content: str


@dataclass(frozen=True, slots=True)
class ModelReply:
    """A model's text up to the end of its turn, and how many tokens were read and generated."""

    text: str
    context_tokens: int
    output_tokens: int


def prompt_messages(
    task: str, tools: Sequence[Tool], *, aid: str = "", turns: Sequence[Turn] = ()
) -> list[ChatMessage]:
    """Return the messages that ask for the next call after these turns."""
    listed = "\n".join(_described(tool) for tool in tools)
    question = f"Task:\n{task.strip()}"
    messages = [
        ChatMessage(SYSTEM, f"{_INSTRUCTIONS}\n{listed}"),
        ChatMessage(USER, f"{aid.strip()}\n\n{question}" if aid.strip() else question),
    ]
    for turn in turns:
        messages += [ChatMessage(AGENT, format_tool_call(turn.call)), ChatMessage(USER, _answered(turn))]
    return messages


def attempt_messages(
    task: str, tools: Sequence[Tool], turns: Sequence[Turn], *, aid: str = "", ended: bool = True
) -> list[ChatMessage]:
    """Return a whole attempt as messages: each agent message follows what `prompt_messages` returns at that point."""
    if not turns:
        raise ValueError("an attempt without calls teaches no call")
    last = turns[-1]
    messages = [
        *prompt_messages(task, tools, aid=aid, turns=turns[:-1]),
        ChatMessage(AGENT, format_tool_call(last.call)),
    ]
    return [*messages, ChatMessage(USER, _answered(last)), ChatMessage(AGENT, DONE)] if ended else messages


def format_tool_call(call: Call) -> str:
    """Format a call as the agent writes it; the arguments keep their order."""
    content = {"name": call.tool, "arguments": dict(call.arguments)}
    return f"<tool_call>{json.dumps(content, ensure_ascii=False, default=str)}</tool_call>"


def parse_tool_call(text: str) -> Call | None:
    """Return the first tool call in a text; None if there is none that can be parsed."""
    marked = _MARKED.search(text)
    start = text.find("{", marked.end() if marked else 0)
    if start < 0:
        return None
    try:
        content, _ = json.JSONDecoder().raw_decode(text, start)
    except (ValueError, RecursionError):
        return None
    name, arguments = content.get("name"), content.get("arguments", {})
    if not isinstance(name, str) or not name or not isinstance(arguments, dict):
        return None
    return Call(tool=name, arguments=arguments)


def is_done(text: str) -> bool:
    """Whether the agent says that the task is done."""
    return text.strip().startswith(DONE)


def form_hash() -> str:
    """Return a hash of the format; an adapter trained with another one is not used."""
    tool = Tool(name="look", description="Looks. At what?", required=("at",), optional=("for",))
    call = Call(tool="look", arguments={"at": "é", "for": ["x"]})
    long = Turn(call=call, observation="seen " * OBSERVATION_CHARACTERS)
    turns = [long, Turn(call=call, observation="no", failed=True)]
    messages = attempt_messages("look", [tool], turns, aid="Look first.")
    content = [(message.role, message.content) for message in messages]
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()[:16]


def _described(tool: Tool) -> str:
    arguments = ", ".join([*tool.required, *(f"{name}?" for name in tool.optional)])
    content = " ".join(tool.description.split())
    first = re.split(r"(?<=[.!?])\s", content, maxsplit=1)[0]
    return f"- {tool.name}({arguments}): {first}" if first else f"- {tool.name}({arguments})"


def _answered(turn: Turn) -> str:
    shown = " ".join(turn.observation.split())
    cut = shown if len(shown) <= OBSERVATION_CHARACTERS else f"{shown[:OBSERVATION_CHARACTERS]} …"
    return f"<tool_error>{cut}</tool_error>" if turn.failed else f"<tool_result>{cut}</tool_result>"
