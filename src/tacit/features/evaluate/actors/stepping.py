"""Acts in many worlds at once: one decision per world and round. Also the JSON format in which external agents are asked.

A question is `{"task", "tools", "aid", "turns", "adapter", "seed", "attempt"}`. An answer is `{"tool": "name", "arguments":
{…}}`, `{"done": true}` or `{"abstain": "why"}`, optionally with `"tokens": {"context": 900, "output": 20}`. Agents that
loop or make too many calls are stopped here by the same rules.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

from tacit.domain.errors import Outage
from tacit.features.evaluate.suite import Aid, AttemptCost, World
from tacit.features.evaluate.tool import Call, Tool, Turn
from tacit.text.words import credible_tokens, estimate_tokens

MAX_CALLS = 30
"""Most calls of one attempt."""
REPEATS_MAX = 3
"""How often the same call may give the same answer before the agent is stopped."""
STOPPED = "stopped: "
_TAKEN = frozenset({"self", "tool"})
_TOOL_FIELDS = ("name", "description", "required", "optional")


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentQuestion:
    """What an agent is asked in one world; `place` is the world's number in its batch."""

    place: int
    task: str
    tools: tuple[Tool, ...]
    aid: str
    turns: tuple[Turn, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentDecision:
    """The next step of an agent: a call, or the end because the task is done, no way is known, or the answer is broken."""

    call: Call | None = None
    abstained: str = ""
    broken: str = ""
    """Why there is no decision; the attempt ends."""
    context_tokens: int = 0
    output_tokens: int = 0


Decide = Callable[[Sequence[AgentQuestion]], Sequence[AgentDecision]]
"""Returns one decision per question, in order."""


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

    def asked(self) -> AgentQuestion:
        tools, turns = tuple(self.world.tools), tuple(self.world.turns)
        return AgentQuestion(place=self.place, task=self.world.task, tools=tools, aid=self.aid, turns=turns)

    def carry_out(self, decision: AgentDecision, *, max_calls: int) -> None:
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
        signature = json.dumps([call.tool, call.arguments, answer, failed], sort_keys=True, default=str)
        again = hashlib.sha256(signature.encode()).hexdigest()
        self.seen[again] = self.seen.get(again, 0) + 1
        if self.world.over:
            return
        if self.seen[again] >= REPEATS_MAX:
            self._stop(f"{call.tool} gave the same answer {REPEATS_MAX} times")
        elif self.calls >= max_calls:
            self._stop(f"{max_calls} calls were not enough")

    def _stop(self, why: str) -> None:
        self.note = f"{STOPPED}{why}"
        self._end(self.note)

    def _end(self, why: str) -> None:
        self.ended = True  # the agent is not asked again, whatever the world does
        self.world.abstain(why)


def attempt(worlds: Sequence[World], aids: Sequence[Aid], decide: Decide, *, max_calls: int = MAX_CALLS) -> AttemptCost:
    """Act in all worlds until each has ended or is stopped."""
    started = time.perf_counter()
    attempts = [_Attempt(world, aid.text, place) for place, (world, aid) in enumerate(zip(worlds, aids, strict=True))]
    while going := [each for each in attempts if not each.ended and not each.world.over]:
        decisions = decide([each.asked() for each in going])
        for each, decision in zip(going, decisions, strict=True):
            each.carry_out(decision, max_calls=max_calls)
    return AttemptCost(
        context_tokens=tuple(each.context_tokens for each in attempts),
        output_tokens=tuple(each.output_tokens for each in attempts),
        seconds=time.perf_counter() - started,
        notes=tuple(each.note for each in attempts),
    )


def retries(turns: Sequence[Turn]) -> int:
    """Count calls of a tool right after a failed call of the same tool."""
    return sum(before.failed and before.call.tool == after.call.tool for before, after in pairwise(turns))


def concatenate(parts: Sequence[AttemptCost]) -> AttemptCost:
    """Return the costs of attempts that were made one after the other."""
    return AttemptCost(
        context_tokens=tuple(count for part in parts for count in part.context_tokens),
        output_tokens=tuple(count for part in parts for count in part.output_tokens),
        seconds=sum(part.seconds for part in parts),
        notes=tuple(note for part in parts for note in part.notes),
    )


ANSWER_BYTES_MAX = 1 << 20
"""A longer answer is not an answer."""
OBSERVATION_CHARACTERS_MAX = 100_000
FAILURES_MAX = 5
"""After so many failures of an agent that never answered, the run ends."""
_EXCERPT = 120
_ANSWER_FORMAT = 'answer {"tool": "name", "arguments": {…}}, {"done": true} or {"abstain": "why"}'


def question_document(question: AgentQuestion, *, adapter: bool, seed: int) -> dict[str, Any]:
    """Return a question as an object for JSON."""
    return {
        "attempt": question.place,
        "task": question.task,
        "tools": [{name: getattr(tool, name) for name in _TOOL_FIELDS} for tool in question.tools],
        "aid": question.aid,
        "turns": [
            {
                "tool": turn.call.tool,
                "arguments": dict(turn.call.arguments),
                "observation": turn.observation[:OBSERVATION_CHARACTERS_MAX],
                "failed": turn.failed,
            }
            for turn in question.turns
        ],
        "adapter": adapter,
        "seed": seed,
    }


def encode_question(document: Mapping[str, Any]) -> bytes:
    """Encode a question as one line."""
    return json.dumps(document, default=str).encode() + b"\n"


def read_decision(data: bytes, asked: Mapping[str, Any]) -> AgentDecision:
    """Parse an agent's answer; broken if it is not a decision."""
    if len(data) > ANSWER_BYTES_MAX:
        return AgentDecision(broken=f"the agent's answer is longer than {ANSWER_BYTES_MAX >> 20} megabyte")
    try:
        answer = json.loads(data)
    except (ValueError, RecursionError):
        shown = data.decode("utf-8", "replace").strip()[:_EXCERPT]
        return AgentDecision(broken=f"the agent's answer is not JSON: {shown!r}")
    return parse_decision(answer, asked)


def parse_decision(answer: object, asked: Mapping[str, Any]) -> AgentDecision:
    """Return an agent's answer as a decision; broken if it is not one."""
    if not isinstance(answer, Mapping):
        return AgentDecision(broken=f"the agent's answer is not an object: {_ANSWER_FORMAT}")
    meant = [name for name in ("tool", "done", "abstain") if answer.get(name)]
    if len(meant) != 1:
        return AgentDecision(broken=f"the agent's answer has {' and '.join(meant) or 'no decision'}: {_ANSWER_FORMAT}")
    tokens = answer.get("tokens")
    counts = tokens if isinstance(tokens, Mapping) else {}
    read = estimate_tokens(json.dumps(asked, ensure_ascii=False, default=str))  # for agents that do not report it
    decision = AgentDecision(
        context_tokens=credible_tokens(counts.get("context"), otherwise=read),
        output_tokens=credible_tokens(counts.get("output"), otherwise=estimate_tokens(json.dumps(answer, default=str))),
    )
    if meant == ["abstain"]:
        return replace(decision, abstained=str(answer["abstain"])[:_EXCERPT])
    if meant == ["done"]:
        return decision
    arguments = answer.get("arguments", {})
    if not isinstance(answer["tool"], str) or not isinstance(arguments, Mapping):
        return AgentDecision(broken=f"a tool is a text and its arguments are an object: {_ANSWER_FORMAT}")
    return replace(decision, call=Call(tool=answer["tool"], arguments={str(key): arguments[key] for key in arguments}))


class FailureCounter:
    """Distinguishes an agent that fails sometimes from one that never worked."""

    def __init__(self, agent: str) -> None:
        """`agent` is its name in the error."""
        self._agent = agent
        self._failures = 0
        self._worked = False

    def check(self, decision: AgentDecision) -> AgentDecision:
        """Count an answer; raise `Outage` if the agent never worked."""
        self._worked = self._worked or not decision.broken
        self._failures += bool(decision.broken)
        if not self._worked and self._failures >= FAILURES_MAX:
            raise Outage(
                f"{self._agent} answered none of its first {FAILURES_MAX} questions; the last error: {decision.broken}",
                code="agent_never_answers",
                hint="try it by hand; recorded attempts are kept, and the same command continues",
            )
        return decision
