"""The languages that clients speak with a model: a request's document → what it tells; a turn → stream events.

Knows the part of each API that the clients use: Anthropic Messages, OpenAI Responses and Chat Completions, Gemini. Does no
input or output; the server in `model.py` does.
"""

from __future__ import annotations

import html
import itertools
import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

Event = dict[str, Any]


@dataclass(frozen=True)
class Call:
    """A tool call that the model asks for; the input of a free-form tool is a text."""

    tool: str
    input: dict[str, Any] | str


@dataclass(frozen=True)
class Turn:
    """What the model says, and the call it makes, if any."""

    text: str
    call: Call | None = None


@dataclass(frozen=True)
class Request:
    """What one request tells the model."""

    told: str
    """Everything in it that is not the model's own: instructions, prompts, what hooks added, results of calls."""
    turn: int
    """How many calls the model has made before."""
    tools: frozenset[str]


@dataclass(frozen=True)
class Dialect:
    """One API."""

    read: Callable[[dict[str, Any]], Request]
    events: Callable[[Turn, str], list[Event]]


_numbers = itertools.count(1)


def _identity(kind: str) -> str:
    return f"{kind}_{next(_numbers):024d}"


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        yield from _texts(list(value.values()))
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item)


def _names(tools: Iterable[dict[str, Any]]) -> Iterator[str]:
    for tool in tools:
        yield str(tool.get("name") or tool.get("type"))
        yield from _names(tool.get("tools") or [])


# --- Anthropic Messages ---------------------------------------------------------------------------------------------


def _read_messages(body: dict[str, Any]) -> Request:
    messages = body.get("messages", [])
    told = [body.get("system", ""), *(m["content"] for m in messages if m["role"] != "assistant")]
    own = [m["content"] for m in messages if m["role"] == "assistant" and isinstance(m["content"], list)]
    calls = sum(block.get("type") == "tool_use" for content in own for block in content)
    tools = frozenset(_names(body.get("tools") or []))
    return Request(told="\n".join(_texts(told)), turn=calls, tools=tools)


def _message_events(turn: Turn, model: str) -> list[Event]:
    blocks: list[tuple[Event, Event]] = [({"type": "text", "text": ""}, {"type": "text_delta", "text": turn.text})]
    if turn.call:
        block = {"type": "tool_use", "id": _identity("toolu"), "name": turn.call.tool, "input": {}}
        blocks.append((block, {"type": "input_json_delta", "partial_json": json.dumps(turn.call.input)}))
    usage = {"input_tokens": 1000, "output_tokens": 1, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}
    message: Event = {"id": _identity("msg"), "type": "message", "role": "assistant", "model": model, "content": [],
               "stop_reason": None, "stop_sequence": None, "usage": usage}  # fmt: skip
    events: list[Event] = [{"type": "message_start", "message": message}]
    for index, (block, delta) in enumerate(blocks):
        events.append({"type": "content_block_start", "index": index, "content_block": block})
        events.append({"type": "content_block_delta", "index": index, "delta": delta})
        events.append({"type": "content_block_stop", "index": index})
    end = {"stop_reason": "tool_use" if turn.call else "end_turn", "stop_sequence": None}
    events.append({"type": "message_delta", "delta": end, "usage": {"output_tokens": 20}})
    events.append({"type": "message_stop"})
    return events


# --- OpenAI Responses -----------------------------------------------------------------------------------------------


def _read_response(body: dict[str, Any]) -> Request:
    items = body.get("input", [])
    calls = [item for item in items if str(item.get("type")).endswith("_call")]
    own = [item for item in items if item.get("role") == "assistant" or item.get("type") == "reasoning"]
    told = [item for item in items if item not in calls and item not in own]
    tools = [*(body.get("tools") or []), *(tool for item in items for tool in item.get("tools") or [])]
    text = "\n".join(_texts([body.get("instructions") or "", *told]))
    return Request(told=text, turn=len(calls), tools=frozenset(_names(tools)))


def _response_events(turn: Turn, model: str) -> list[Event]:
    content = [{"type": "output_text", "text": turn.text, "annotations": []}]
    output: list[Event] = [{"type": "message", "id": _identity("msg"), "role": "assistant", "content": content}]
    if turn.call and isinstance(turn.call.input, str):
        call: Event = {"type": "custom_tool_call", "id": _identity("ctc"), "input": turn.call.input}
    elif turn.call:
        call = {"type": "function_call", "id": _identity("fc"), "arguments": json.dumps(turn.call.input)}
    if turn.call:
        output.append(call | {"call_id": _identity("call"), "name": turn.call.tool})
    usage = {"input_tokens": 1000, "input_tokens_details": {"cached_tokens": 0}, "output_tokens": 20,
             "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 1020}  # fmt: skip
    response = {"id": _identity("resp"), "object": "response", "model": model, "output": output, "error": None}
    events: list[Event] = [{"type": "response.created", "response": response | {"status": "in_progress", "output": []}}]
    for index, item in enumerate(output):
        done = item | {"status": "completed"}
        events.append({"type": "response.output_item.added", "output_index": index, "item": done})
        events.append({"type": "response.output_item.done", "output_index": index, "item": done})
    events.append({"type": "response.completed", "response": response | {"status": "completed", "usage": usage}})
    return events


# --- OpenAI Chat Completions ----------------------------------------------------------------------------------------


def _read_chat(body: dict[str, Any]) -> Request:
    messages = body.get("messages", [])
    told = [message.get("content") for message in messages if message["role"] != "assistant"]
    calls = sum(len(message.get("tool_calls") or []) for message in messages)
    tools = frozenset(_names(tool.get("function", tool) for tool in body.get("tools") or []))
    text = html.unescape("\n".join(_texts(told)))  # Qwen Code escapes the angle brackets of what hooks say at a prompt
    return Request(told=text, turn=calls, tools=tools)


def _chat_events(turn: Turn, model: str) -> list[Event]:
    delta: Event = {"role": "assistant", "content": turn.text}
    if turn.call:
        call = {"name": turn.call.tool, "arguments": json.dumps(turn.call.input)}
        delta["tool_calls"] = [{"index": 0, "id": _identity("call"), "type": "function", "function": call}]
    chunk: Event = {"id": _identity("chatcmpl"), "object": "chat.completion.chunk", "created": 0, "model": model}
    end = {"index": 0, "delta": {}, "finish_reason": "tool_calls" if turn.call else "stop"}
    usage = {"prompt_tokens": 1000, "completion_tokens": 20, "total_tokens": 1020}
    return [
        chunk | {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]},
        chunk | {"choices": [end]},
        chunk | {"choices": [], "usage": usage},
    ]


def whole_chat(events: list[Event]) -> Event:
    """The same answer for a client that does not want it piece by piece."""
    said, end, spent = events
    choice = {"index": 0, "message": said["choices"][0]["delta"], "finish_reason": end["choices"][0]["finish_reason"]}
    return said | {"object": "chat.completion", "choices": [choice], "usage": spent["usage"]}


# --- Gemini ---------------------------------------------------------------------------------------------------------


def _read_contents(body: dict[str, Any]) -> Request:
    contents = body.get("contents", [])
    told = [body.get("systemInstruction", ""), *(each["parts"] for each in contents if each["role"] != "model")]
    parts = [part for each in contents if each["role"] == "model" for part in each["parts"]]
    tools = frozenset(_names(tool for each in body.get("tools") or [] for tool in each["functionDeclarations"]))
    text = html.unescape("\n".join(_texts(told)))  # Gemini CLI escapes the angle brackets of what hooks say
    return Request(told=text, turn=sum("functionCall" in part for part in parts), tools=tools)


def _content_events(turn: Turn, model: str) -> list[Event]:
    parts: list[Event] = [{"text": turn.text}]
    if turn.call:
        parts.append({"functionCall": {"id": _identity("fc"), "name": turn.call.tool, "args": turn.call.input}})
    usage = {"promptTokenCount": 1000, "candidatesTokenCount": 20, "totalTokenCount": 1020}
    candidate = {"index": 0, "content": {"role": "model", "parts": parts}, "finishReason": "STOP"}
    return [{"candidates": [candidate], "usageMetadata": usage, "modelVersion": model}]


DIALECTS = {
    "/messages": Dialect(_read_messages, _message_events),
    "/responses": Dialect(_read_response, _response_events),
    "/chat/completions": Dialect(_read_chat, _chat_events),
    ":streamGenerateContent": Dialect(_read_contents, _content_events),
    ":generateContent": Dialect(_read_contents, _content_events),
}
"""By the end of the path that is asked."""
