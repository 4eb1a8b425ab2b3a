"""The words in which any agent is asked and answers: a question → a JSON object; an agent's JSON object → a decision.

Asked is `{"task", "tools", "aid", "turns", "adapter", "seed", "attempt"}`. The answer is one of
`{"tool": "name", "arguments": {…}}`, `{"done": true}` and `{"abstain": "why"}`; beside it `"tokens": {"context": 900,
"output": 20}` may tell what that took. Every question holds all that was done so far: an agent need not remember anything.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from tacit.domain.errors import Outage
from tacit.domain.tool import Call
from tacit.features.evaluate.actors.lockstep import Decision, Question
from tacit.text.words import credible_tokens, estimate_tokens

ANSWER_BYTES_MAX = 1 << 20
"""A call is short: what is longer is no answer."""
OBSERVATION_CHARACTERS_MAX = 100_000
FAILURES_MAX = 5
"""So many questions may go unanswered by an agent that never answered one; then it is not set up rightly."""
_SHOWN = 120
_HINT = 'answer {"tool": "name", "arguments": {…}}, {"done": true} or {"abstain": "why"}'


@dataclass(frozen=True, slots=True)
class Circumstances:
    """What is the same for all questions of an attempt."""

    adapter: bool = False
    seed: int = 0


def worded(question: Question, around: Circumstances) -> dict[str, Any]:
    """A question as an object that JSON can hold."""
    return {
        "attempt": question.place,
        "task": question.task,
        "tools": [
            {
                "name": tool.name,
                "description": tool.description,
                "required": list(tool.required),
                "optional": list(tool.optional),
            }
            for tool in question.tools
        ],
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
        "adapter": around.adapter,
        "seed": around.seed,
    }


def written(document: Mapping[str, Any]) -> bytes:
    """A question as one line."""
    return json.dumps(document, default=str).encode() + b"\n"


def read(data: bytes, asked: Mapping[str, Any]) -> Decision:
    """What an agent wrote, as a decision; broken where it is none."""
    if len(data) > ANSWER_BYTES_MAX:
        return Decision(broken=f"the agent's answer is longer than {ANSWER_BYTES_MAX >> 20} megabyte")
    try:
        answer = json.loads(data)
    except (ValueError, RecursionError):
        shown = data.decode("utf-8", "replace").strip()[:_SHOWN]
        return Decision(broken=f"the agent's answer is no JSON: {shown!r}")
    return decided(answer, asked)


def decided(answer: object, asked: Mapping[str, Any]) -> Decision:
    """An agent's answer, as a decision; broken where it is none."""
    if not isinstance(answer, Mapping):
        return Decision(broken=f"the agent's answer is no object: {_HINT}")
    meant = [name for name in ("tool", "done", "abstain") if answer.get(name)]
    if len(meant) != 1:
        return Decision(broken=f"the agent's answer says {' and '.join(meant) or 'nothing'}: {_HINT}")
    tokens = answer.get("tokens")
    counts = tokens if isinstance(tokens, Mapping) else {}
    decision = Decision(
        context_tokens=credible_tokens(counts.get("context"), otherwise=_read_by(asked)),
        output_tokens=credible_tokens(counts.get("output"), otherwise=estimate_tokens(json.dumps(answer, default=str))),
    )
    if meant == ["abstain"]:
        return replace(decision, abstained=str(answer["abstain"])[:_SHOWN])
    if meant == ["done"]:
        return decision
    arguments = answer.get("arguments", {})
    if not isinstance(answer["tool"], str) or not isinstance(arguments, Mapping):
        return Decision(broken=f"a tool is a text and its arguments are an object: {_HINT}")
    return replace(decision, call=Call(tool=answer["tool"], arguments={str(key): arguments[key] for key in arguments}))


class Patience:
    """Tells an agent that fails now and then from one that never worked: with that one the run ends."""

    def __init__(self, agent: str) -> None:
        """`agent` is how it is named in the error."""
        self._agent = agent
        self._failures = 0
        self._worked = False

    def seen(self, decision: Decision) -> Decision:
        """Take note of an answer; raises `Outage` once it is plain that none will come."""
        self._worked = self._worked or not decision.broken
        self._failures += bool(decision.broken)
        if not self._worked and self._failures >= FAILURES_MAX:
            raise Outage(
                f"{self._agent} answered none of its first {FAILURES_MAX} questions; the last time: {decision.broken}",
                hint="try it by hand; what was recorded until here stands, and the same command goes on",
            )
        return decision


def _read_by(asked: Mapping[str, Any]) -> int:
    """What an agent had to read, where it does not say so itself."""
    return estimate_tokens(json.dumps(asked, ensure_ascii=False, default=str))
