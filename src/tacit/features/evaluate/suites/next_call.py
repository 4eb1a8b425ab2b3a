"""Next-call suites: solved attempts → one exercise for every call, and one for the end.

The agent sees the task and the calls so far, and answers with the next call or that it is done. Nothing is executed, so a
language model is measured without a world. An answer is right if it names the tool of the attempt; whether the arguments
are equal too is a separate figure (`exact`). If the order of calls is free, another order counts as wrong, in every arm
alike.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from tacit.domain.trajectory import Trajectory
from tacit.features.evaluate.suite import AttemptScore, Exercise
from tacit.features.evaluate.tool import Call, Tool, Turn, turns_of

EXACT = "arguments exact"
OTHER_ARGUMENTS = "other arguments"
RIGHT_TOOL = "right tool"
"""The right arguments are unknown."""
LATER = "right, but later"
"""The tool is called later in the attempt."""
WRONG = "wrong tool"
UNKNOWN = "no such tool"
STOPPED = "stopped too soon"
WENT_ON = "went on for nothing"
RIGHTLY_DONE = "rightly done"
SILENT = "said nothing that can be read"


class NextCallWorld:
    """One question; it ends with the first answer."""

    def __init__(self, exercise: Exercise, *, knows_arguments: bool = True) -> None:
        """`knows_arguments`: the right arguments are known, not only the tool."""
        self.task: str = exercise.task
        self.tools: Sequence[Tool] = exercise.tools
        self.turns: Sequence[Turn] = exercise.turns
        self.over = False
        self._exercise = exercise
        self._knows_arguments = knows_arguments
        self._answer: Call | None = None
        self._done = False
        self._reason = ""

    def call(self, tool: str, /, **arguments: Any) -> tuple[str, bool]:
        """Answer with a call; it is not executed."""
        if self.over:
            return "the question was answered before", True
        self._answer, self.over = Call(tool=tool, arguments=arguments), True
        return "", False

    def finish(self) -> None:
        """Answer that the task is done."""
        self._done, self.over = self._done or not self.over, True

    def abstain(self, reason: str) -> None:
        """Answer that the next call is unknown."""
        self._reason, self.over = self._reason or ("" if self.over else reason or "abstained"), True

    def score(self) -> AttemptScore:
        """Return whether the answer is right."""
        success, detail = self._judged()
        tells = self._exercise.answer and self._knows_arguments  # an end has no arguments
        return AttemptScore(
            success=success,
            steps=int(self._answer is not None),
            first_right=success,
            exact=detail == EXACT if tells else None,
            abstained=bool(self._reason),
            detail=detail,
        )

    def state(self) -> str:
        """Return a hash of the question and its answer."""
        answer = None if self._answer is None else [self._answer.tool, _plain(self._answer.arguments)]
        detail = [self._exercise.key, answer, self._done, self._reason]
        return hashlib.sha256(json.dumps(detail).encode()).hexdigest()[:16]

    def _judged(self) -> tuple[bool, str]:
        right, given = self._exercise.answer, self._answer
        if given is None:
            if not self._done:
                return False, self._reason or SILENT
            return (False, STOPPED) if right else (True, RIGHTLY_DONE)
        if not right:
            return False, WENT_ON
        if given.tool == right[0].tool and not self._knows_arguments:
            return True, RIGHT_TOOL
        if given.tool == right[0].tool:
            return True, EXACT if _plain(given.arguments) == _plain(right[0].arguments) else OTHER_ARGUMENTS
        if given.tool in {call.tool for call in right}:
            return False, LATER
        return False, WRONG if given.tool in {tool.name for tool in self.tools} else UNKNOWN


class NextCallSuite:
    """Exercises from attempts that are known to be right.

    `tools` are the same for all, or a function of the attempt. `key` names an attempt, `group` the task of dependent
    attempts; by default both are the session.
    """

    def __init__(
        self,
        name: str,
        trajectories: Iterable[Trajectory],
        tools: Sequence[Tool] | Callable[[Trajectory], Sequence[Tool]],
        *,
        key: Callable[[Trajectory], str] | None = None,
        group: Callable[[Trajectory], str] | None = None,
        ends: bool = True,
    ) -> None:
        self.name = name
        self.trajectories = tuple(trajectories)
        offered = tools if callable(tools) else lambda _: tools
        named = key or (lambda trajectory: trajectory.session_id or trajectory.id)
        self._exercises = tuple(
            exercise
            for trajectory in self.trajectories
            for exercise in positions(
                trajectory, offered(trajectory), key=named(trajectory), group=(group or named)(trajectory), ends=ends
            )
        )

    def exercises(self) -> Sequence[Exercise]:
        """Return one exercise for each call, in the attempts' order."""
        return self._exercises

    def begin(self, exercise: Exercise) -> NextCallWorld:
        """Return an unanswered question."""
        return NextCallWorld(exercise)


def positions(
    trajectory: Trajectory, tools: Sequence[Tool], *, key: str, group: str, ends: bool = True
) -> list[Exercise]:
    """Return the exercises of one attempt. The answer is the rest of the attempt; its first call is asked for.

    Failed calls are shown and are never an answer.
    """
    turns = turns_of(trajectory)
    worked = [at for at, turn in enumerate(turns) if not turn.failed]
    asked = [*worked, *([len(turns)] if ends and worked else [])]
    return [
        Exercise(
            key=f"{key}/{at}",
            group=group,
            task=trajectory.task.text,
            tools=tuple(tools),
            turns=tuple(turns[:at]),
            answer=tuple(turn.call for turn in turns[at:] if not turn.failed),
        )
        for at in asked
    ]


def _plain(arguments: Mapping[str, Any]) -> str:
    """Return arguments as text for comparison; their order does not matter."""
    return json.dumps(dict(arguments), sort_keys=True, ensure_ascii=False, default=str)
