"""A language model as an agent: it is asked in the format it was trained in (`conversation`), all worlds in one batch.

The model is on this machine (`local_model`), or behind a server that speaks OpenAI's protocol. llama.cpp lays an adapter over
the model request by request (`lora` with its number and a scale of 0 or 1); vLLM and most others serve an adapter as a model
of its own name. The temperature is 0.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Protocol

from tacit.domain.errors import Mistake, ModelOutage, Outage
from tacit.features.evaluate.actors.stepping import MAX_CALLS, AgentDecision, AgentQuestion, attempt
from tacit.features.evaluate.conversation import ChatMessage, ModelReply, is_done, parse_tool_call, prompt_messages
from tacit.features.evaluate.suite import Aid, Arm, AttemptCost, World
from tacit.providers.http import TIMED_OUT, TOO_LARGE, check_url, post
from tacit.text.words import credible_tokens, estimate_tokens

MAX_TOKENS = 96
"""Most tokens of one answer: a call is short."""
TIMEOUT_S = 120.0
AT_ONCE = 8
_BYTES_MAX = 16 << 20
_PAUSES_S = (0.0, 1.0, 2.0)
"""Before each try."""
_SHOWN, _REFUSAL_SHOWN = 80, 200
_PASSING = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})
"""HTTP statuses that another try may change."""


class Completer(Protocol):
    """Continues many conversations at a time, deterministically."""

    def complete(
        self, conversations: Sequence[Sequence[ChatMessage]], *, adapter: str = "", max_tokens: int = MAX_TOKENS
    ) -> Sequence[ModelReply]:
        """Return the next message of each conversation; `adapter` names the adapter to use."""


class ModelActor:
    """An agent that is a language model."""

    at_once = 256
    """A model reads many conversations in hardly more time than one."""

    def __init__(
        self,
        completer: Completer,
        *,
        name: str = "model",
        adapter: str = "",
        max_calls: int = MAX_CALLS,
        max_tokens: int = MAX_TOKENS,
        max_context: int = 0,
    ) -> None:
        """`adapter` is the completer's name of the adapter for arms with one; empty if there is none.

        `max_context` is the model's context in tokens; 0 if unknown.
        """
        self.name = f"{name}+{adapter}" if adapter else name
        self._completer = completer
        self._adapter = adapter
        self._max_calls = max_calls
        self._max_tokens = max_tokens
        self._max_context = max_context

    def objection(self, arm: Arm) -> str:
        """An arm with an adapter needs one."""
        return "no adapter was given" if arm.adapter and not self._adapter else ""

    def act(self, worlds: Sequence[World], aids: Sequence[Aid], *, adapter: bool = False, seed: int = 0) -> AttemptCost:
        """Act in all worlds in lock-step; the model is deterministic, so the seed has no effect."""
        del seed
        weights = self._adapter if adapter else ""

        def decide(questions: Sequence[AgentQuestion]) -> list[AgentDecision]:
            spoken = [prompt_messages(each.task, each.tools, aid=each.aid, turns=each.turns) for each in questions]
            reply = self._completer.complete(spoken, adapter=weights, max_tokens=self._max_tokens)
            return [_decided(completion, max_context=self._max_context) for completion in reply]

        return attempt(worlds, aids, decide, max_calls=self._max_calls)


def _decided(reply: ModelReply, *, max_context: int) -> AgentDecision:
    call, broken = None if is_done(reply.text) else parse_tool_call(reply.text), ""
    if max_context and reply.context_tokens + reply.output_tokens > max_context:
        # beyond its context a model may write anything, so that is not a decision
        broken = f"the conversation takes more than the {max_context} tokens that the model can read"
    elif call is None and not is_done(reply.text):
        broken = f"no call can be read from {reply.text.strip()[:_SHOWN]!r}"
    read, generated = reply.context_tokens, reply.output_tokens
    return AgentDecision(call=call, broken=broken, context_tokens=read, output_tokens=generated)


class ChatServer:
    """A model that is asked over the network."""

    def __init__(self, url: str, *, model: str = "", key: str = "", timeout_s: float = TIMEOUT_S) -> None:
        """`url` is the address before `/chat/completions`; `model` is the server's name of the model without an adapter."""
        check_url(url, example="http://127.0.0.1:8080/v1, and the key in TACIT_MODEL_KEY")
        if not key.isascii() or not key.isprintable():
            hint = "copy TACIT_MODEL_KEY again"
            raise Mistake("the key holds characters that no request can carry", code="bad_key", hint=hint)
        self.url = f"{url.rstrip('/')}/chat/completions"
        self._model = model
        self._headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {key}"} if key else {})
        self._timeout_s = timeout_s

    def complete(
        self, conversations: Sequence[Sequence[ChatMessage]], *, adapter: str = "", max_tokens: int = MAX_TOKENS
    ) -> list[ModelReply]:
        """The next message of each conversation. An adapter that is a number is llama.cpp's; a name is another model's."""
        # a server of one model needs no name, and an empty list means no adapter
        options: dict[str, Any] = {"lora": []} if not (adapter or self._model) else {"model": adapter or self._model}
        if adapter.isdigit():
            options = {"model": self._model, "lora": [{"id": int(adapter), "scale": 1.0}]}
        asked = []
        for conversation in conversations:
            messages = [{"role": message.role, "content": message.content} for message in conversation]
            asked.append({"messages": messages, "max_tokens": max_tokens, "temperature": 0, "seed": 0, **options})
        with ThreadPoolExecutor(AT_ONCE) as pool:
            return list(pool.map(self._completed, asked))

    def _completed(self, asked: Mapping[str, Any]) -> ModelReply:
        answer = self._posted(json.dumps(asked).encode())
        try:
            document = json.loads(answer)
            text = document["choices"][0]["message"]["content"] or ""
            usage = document.get("usage") or {}
        except (ValueError, RecursionError, LookupError, TypeError, AttributeError) as error:
            raise self._unreadable(answer) from error
        if not isinstance(text, str) or not isinstance(usage, dict):
            raise self._unreadable(answer)
        read = sum(estimate_tokens(each["content"]) for each in asked["messages"])
        return ModelReply(
            text,
            context_tokens=credible_tokens(usage.get("prompt_tokens") or None, otherwise=read),
            output_tokens=credible_tokens(usage.get("completion_tokens") or None, otherwise=estimate_tokens(text)),
        )

    def _unreadable(self, answer: bytes) -> ModelOutage:
        return ModelOutage(f"{self.url} answered in another form: {answer[:120]!r}", code="unreadable_answer")

    def _posted(self, body: bytes) -> bytes:
        """What the server says; a few tries may be needed for it, and all of them together have the time of one answer."""
        until = time.monotonic() + self._timeout_s
        code, problem, hint = TIMED_OUT, "", "is the server running?"
        for pause_s in _PAUSES_S:
            if until - time.monotonic() <= pause_s:
                problem = problem or f"{self._timeout_s:g} seconds were too short"
                break
            time.sleep(pause_s)
            left_s = until - time.monotonic()
            try:
                answer = post(self.url, body, headers=self._headers, timeout_s=left_s, max_bytes=_BYTES_MAX)
            except Outage as error:
                code, problem = error.code, error.message
                if error.code == TIMED_OUT:
                    problem = f"not within {self._timeout_s:g} seconds"
                    break
                if error.code == TOO_LARGE:
                    hint = "ask for fewer tokens, or ask another server"
                    break
                continue
            if answer.is_success:
                return answer.data
            problem = f"{answer.status} {answer.reason}: {answer.data[:_REFUSAL_SHOWN].decode('utf-8', 'replace')}"
            code, hint = "refused_by_server", "is the server running?"
            if answer.is_redirect:
                code = "redirected"
                hint = "it redirects, and a key is sent to no other host than the one named: name the one that answers"
            if answer.status not in _PASSING:
                break
        raise ModelOutage(f"{self.url} gave no answer: {problem}", code=code, hint=hint, retryable=True)
