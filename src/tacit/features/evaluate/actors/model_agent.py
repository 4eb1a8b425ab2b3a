"""A language model as an agent: each world's question in the one form → a completion → a call. Learns nothing.

The model is asked in the form that it was trained in (`consolidation.conversation`), for all open worlds in one batch.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from tacit.features.evaluate.actors.stepping import MAX_CALLS, AgentDecision, AgentQuestion, attempt
from tacit.features.evaluate.conversation import ChatMessage, is_done, parse_tool_call, prompt_messages
from tacit.features.evaluate.suite import Aid, Arm, AttemptCost, World

MAX_TOKENS = 96
"""What one answer may take: a call is short."""
_SHOWN = 80


class ModelReply(Protocol):
    """What a model said, and what that took."""

    @property
    def text(self) -> str:
        """Its words, up to the end of its turn."""

    @property
    def context_tokens(self) -> int:
        """What it read."""

    @property
    def output_tokens(self) -> int:
        """What it wrote."""


class Completer(Protocol):
    """Goes on with conversations, many at a time, always in the same way (no dice)."""

    def complete(
        self, conversations: Sequence[Sequence[ChatMessage]], *, adapter: str = "", max_tokens: int = MAX_TOKENS
    ) -> Sequence[ModelReply]:
        """The next message of each conversation, in their order; `adapter` names the weights laid over the model's own."""


class ModelActor:
    """Acts by what a model says."""

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
        """`adapter` is the completer's name of the weights that arms with an adapter use; empty: there are none.

        `max_context` is what the model can read and write in one conversation, in tokens; 0: nobody knows.
        """
        self.name = f"{name}+{adapter}" if adapter else name
        self._completer = completer
        self._adapter = adapter
        self._max_calls = max_calls
        self._max_tokens = max_tokens
        self._max_context = max_context

    def objection(self, arm: Arm) -> str:
        """An adapter is needed where an arm asks for one."""
        return "no adapter was given" if arm.adapter and not self._adapter else ""

    def act(self, worlds: Sequence[World], aids: Sequence[Aid], *, adapter: bool = False, seed: int = 0) -> AttemptCost:
        """Attempt all worlds in lock-step; the model throws no dice, so the seed changes nothing."""
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
        # A model may go on beyond what it was made for, and say anything; that is no decision, whatever it looks like.
        broken = f"the conversation takes more than the {max_context} tokens that the model can read"
    elif call is None and not is_done(reply.text):
        broken = f"no call can be read from {reply.text.strip()[:_SHOWN]!r}"
    return AgentDecision(
        call=call,
        broken=broken,
        context_tokens=reply.context_tokens,
        output_tokens=reply.output_tokens,
    )
