"""Many worlds at once, one decision each per round: what an agent decides → calls made, and what ended each attempt.

An agent that turns in circles, or makes more calls than it may, is stopped here, so that every agent is stopped by the same
rules. Nothing here knows how a decision is come by.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from tacit.domain.tool import Call, Tool, Turn
from tacit.features.evaluate.suite import Aid, Spent, World

MAX_CALLS = 30
"""Calls that one attempt may make."""
CIRCLES = 3
"""So often may the same call give the same answer; then the agent turns in circles."""
STOPPED = "stopped: "
_TAKEN = frozenset({"self", "tool"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What an agent is asked in one world: what is the next call? `place` tells the worlds of a batch apart."""

    place: int
    task: str
    tools: tuple[Tool, ...]
    aid: str
    turns: tuple[Turn, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What an agent wants: a call; or to end, because all is done, because it knows no way, or because it broke."""

    call: Call | None = None
    abstained: str = ""
    broken: str = ""
    """Why no decision came; the attempt ends there."""
    context_tokens: int = 0
    output_tokens: int = 0


Decide = Callable[[Sequence[Question]], Sequence[Decision]]
"""One decision for each question, in their order."""


@dataclass(slots=True)
class _Attempt:
    world: World
    aid: str
    place: int
    context_tokens: int = 0
    output_tokens: int = 0
    calls: int = 0
    note: str = ""
    ended: bool = False
    seen: dict[str, int] = field(default_factory=dict)

    @property
    def open(self) -> bool:
        return not self.ended and not self.world.over

    def asked(self) -> Question:
        world = self.world
        tools, turns = tuple(world.tools), tuple(world.turns)
        return Question(place=self.place, task=world.task, tools=tools, aid=self.aid, turns=turns)

    def carry_out(self, decision: Decision, *, max_calls: int) -> None:
        self.context_tokens += decision.context_tokens
        self.output_tokens += decision.output_tokens
        if decision.broken:
            self._stop(decision.broken)
        elif decision.abstained:
            self._end(decision.abstained)
        elif decision.call is None:
            self.ended = True
            self.world.finish()
        else:
            self._call(decision.call, max_calls=max_calls)

    def _call(self, call: Call, *, max_calls: int) -> None:
        if taken := _TAKEN & set(call.arguments):
            self._stop(f"no world can be called with an argument named {min(taken)}")
            return
        answer, failed = self.world.call(call.tool, **call.arguments)
        self.calls += 1
        said = json.dumps([call.tool, call.arguments, answer, failed], sort_keys=True, default=str)
        again = hashlib.sha256(said.encode()).hexdigest()
        self.seen[again] = self.seen.get(again, 0) + 1
        if self.world.over:
            return
        if self.seen[again] >= CIRCLES:
            self._stop(f"{call.tool} gave the same answer {CIRCLES} times")
        elif self.calls >= max_calls:
            self._stop(f"{max_calls} calls were not enough")

    def _stop(self, why: str) -> None:
        self.note = f"{STOPPED}{why}"
        self._end(self.note)

    def _end(self, why: str) -> None:
        self.ended = True  # whatever the world makes of it: nobody is asked again
        self.world.abstain(why)


def attempt(worlds: Sequence[World], aids: Sequence[Aid], decide: Decide, *, max_calls: int = MAX_CALLS) -> Spent:
    """Act in all worlds until each is over, the agent ends, or it is stopped."""
    started = time.perf_counter()
    attempts = [_Attempt(world, aid.text, place) for place, (world, aid) in enumerate(zip(worlds, aids, strict=True))]
    for round_ in _rounds(attempts):
        decisions = decide([each.asked() for each in round_])
        for each, decision in zip(round_, decisions, strict=True):
            each.carry_out(decision, max_calls=max_calls)
    return Spent(
        context_tokens=tuple(each.context_tokens for each in attempts),
        output_tokens=tuple(each.output_tokens for each in attempts),
        seconds=time.perf_counter() - started,
        notes=tuple(each.note for each in attempts),
    )


def _rounds(attempts: Sequence[_Attempt]) -> Iterator[list[_Attempt]]:
    while going := [each for each in attempts if each.open]:
        yield going


def retries(turns: Sequence[Turn]) -> int:
    """Calls of a tool right after a call of the same tool failed."""
    return sum(before.failed and before.call.tool == after.call.tool for before, after in pairwise(turns))


def joined(parts: Sequence[Spent]) -> Spent:
    """What attempts took that were made one after the other."""
    return Spent(
        context_tokens=tuple(count for part in parts for count in part.context_tokens),
        output_tokens=tuple(count for part in parts for count in part.output_tokens),
        seconds=sum(part.seconds for part in parts),
        notes=tuple(note for part in parts for note in part.notes),
    )
