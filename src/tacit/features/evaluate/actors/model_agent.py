"""A language model as an agent: it is asked in the format it was trained in (`conversation`), all worlds in one batch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from tacit.features.evaluate.actors.stepping import MAX_CALLS, AgentDecision, AgentQuestion, attempt
from tacit.features.evaluate.conversation import ChatMessage, is_done, parse_tool_call, prompt_messages
from tacit.features.evaluate.suite import Aid, Arm, AttemptCost, World

MAX_TOKENS = 96
"""Most tokens of one answer: a call is short."""
_SHOWN = 80


class ModelReply(Protocol):
    """A model's answer and its cost."""

    @property
    def text(self) -> str:
        """The text, up to the end of the turn."""

    @property
    def context_tokens(self) -> int:
        """Tokens read."""

    @property
    def output_tokens(self) -> int:
        """Tokens written."""


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
    call = None if is_done(reply.text) else parse_tool_call(reply.text)
    broken = ""
    if max_context and reply.context_tokens + reply.output_tokens > max_context:
        # beyond its context a model may write anything, so that is not a decision
        broken = f"the conversation takes more than the {max_context} tokens that the model can read"
    elif call is None and not is_done(reply.text):
        broken = f"no call can be read from {reply.text.strip()[:_SHOWN]!r}"
    return AgentDecision(
        call=call,
        broken=broken,
        context_tokens=reply.context_tokens,
        output_tokens=reply.output_tokens,
    )
