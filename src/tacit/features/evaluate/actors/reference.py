"""The reference agent under test: it reads no text, so it gets aids as what it can act on.

It recalls skills by itself without storing uses; without an aid its memory is empty. A recorded attempt and the oracle's
answer are repeated call by call. It cannot use documents or adapters.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tacit.domain.evidence import Reliability
from tacit.domain.selection import Item, Query, Selection
from tacit.features.evaluate.agent import MAX_CALLS, Agent
from tacit.features.evaluate.suite import Aid, AidKind, Arm, AttemptCost, World
from tacit.features.evaluate.tool import Call
from tacit.text.words import estimate_tokens

if TYPE_CHECKING:
    from tacit.api import Tacit

_REPLAYED = frozenset({AidKind.TRAJECTORY, AidKind.ORACLE})


class ReferenceActor:
    """Acts by recalled skills alone, or repeats a recorded attempt."""

    def __init__(self, memory: Tacit | None = None, *, max_calls: int = MAX_CALLS) -> None:
        """`memory` is where aids come from; without it there are no skills and no placebos."""
        self.name = f"reference agent, {max_calls} calls"
        self._memory = memory
        self._max_calls = max_calls

    def objection(self, arm: Arm) -> str:
        """It has no weights and reads no text."""
        if arm.adapter:
            return "the reference agent has no weights to adapt"
        if arm.aid is AidKind.KNOWLEDGE:
            return "the reference agent reads no documents"
        return "" if self._memory or arm.aid in {AidKind.NONE, *_REPLAYED} else "the reference agent has no memory"

    def act(self, worlds: Sequence[World], aids: Sequence[Aid], *, adapter: bool = False, seed: int = 0) -> AttemptCost:
        """Act in one world after the other; it is deterministic."""
        del adapter, seed
        started = time.perf_counter()
        tokens = [self._attempted(world, aid) for world, aid in zip(worlds, aids, strict=True)]
        return AttemptCost(
            context_tokens=tuple(tokens),
            output_tokens=(0,) * len(tokens),
            seconds=time.perf_counter() - started,
            notes=("",) * len(tokens),
        )

    def _attempted(self, world: World, aid: Aid) -> int:
        """Act in one world; return the tokens that a model would have read."""
        view = _View(self._memory, aid)
        if aid.kind in _REPLAYED:
            self._repeat(world, aid.calls)
        else:
            Agent(view, max_calls=self._max_calls).attempt(world)
        if not world.over:
            world.finish()
        shown = [world.task, aid.text if aid.kind in _REPLAYED else "", *(turn.observation for turn in world.turns)]
        return view.tokens + sum(estimate_tokens(text) for text in shown)

    def _repeat(self, world: World, calls: Sequence[Call]) -> None:
        """Repeat the calls of an attempt, as far as the tools exist."""
        if not calls:
            world.abstain("no episode is known")
            return
        offered = {tool.name for tool in world.tools}
        for call in [call for call in calls if call.tool in offered][: self._max_calls]:
            if world.over:
                return
            world.call(call.tool, **call.arguments)


@dataclass(slots=True)
class _View:
    """A memory as an arm may see it: all of it, the aid's own versions, or nothing. Stores nothing."""

    memory: Tacit | None
    aid: Aid
    tokens: int = 0

    def recall(
        self, task: str, *, k: int | None = None, budget_tokens: int | None = None, tools: Sequence[str] | None = None
    ) -> Selection:
        """Return skills for a task."""
        if self.memory is None or self.aid.kind is AidKind.NONE:
            return Selection(query=Query(text=task), reason="there is nothing to recall in this arm")
        if self.aid.kind is AidKind.PLACEBO:
            selection = self._given(task)
        else:
            selection = self.memory.recall(task, k=k, budget_tokens=budget_tokens, tools=tools, keep=False)
        self.tokens += selection.tokens
        return selection

    def _given(self, task: str) -> Selection:
        assert self.memory is not None
        items = []
        for stored in map(self.memory.context.store.version, self.aid.sources):
            items.append(
                Item(
                    version=stored.version,
                    status=stored.status,
                    score=0.0,
                    signals={},
                    reasons=(),
                    text="",
                    tokens=0,
                    reliability=Reliability(),
                )
            )
        return Selection(query=Query(text=task), items=tuple(items), tokens=estimate_tokens(self.aid.text))
