"""What is the next call? Solved attempts in; one exercise for every call of them, and one for having nothing left to do, out.

The agent is shown the task and the calls that were made so far, and says one thing: the next call, or that it is done.
Nothing is carried out, so that a language model is measured without a world to act in. A right answer names the tool that
was called there; whether its arguments are the same too is a figure of its own (`exact`). Where the order of calls is free,
another order than the attempt's counts as wrong: that holds for every arm alike, and `detail` says how often it is so.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from tacit.domain.tool import Call, Tool, Turn, turns_of
from tacit.domain.trajectory import Trajectory
from tacit.features.evaluate.suite import AttemptScore, Exercise

EXACT = "arguments exact"
OTHER_ARGUMENTS = "other arguments"
RIGHT_TOOL = "right tool"
"""Where nobody can tell what the arguments should be."""
LATER = "right, but later"
"""The tool is called further on in the attempt."""
WRONG = "wrong tool"
UNKNOWN = "no such tool"
STOPPED = "stopped too soon"
WENT_ON = "went on for nothing"
RIGHTLY_DONE = "rightly done"
SILENT = "said nothing that can be read"


class NextCallWorld:
    """One question; it is over with the first answer."""

    def __init__(self, exercise: Exercise, *, knows_arguments: bool = True) -> None:
        """`knows_arguments`: the answer says the arguments too, and not only which tool is right."""
        self._exercise = exercise
        self._knows_arguments = knows_arguments
        self._answer: Call | None = None
        self._done = False
        self._reason = ""
        self._over = False

    @property
    def task(self) -> str:
        """What is asked."""
        return self._exercise.task

    @property
    def tools(self) -> Sequence[Tool]:
        """What may be called."""
        return self._exercise.tools

    @property
    def turns(self) -> Sequence[Turn]:
        """The calls before the one that is asked for."""
        return self._exercise.turns

    @property
    def over(self) -> bool:
        """Whether the question was answered."""
        return self._over

    def call(self, tool: str, /, **arguments: Any) -> tuple[str, bool]:
        """Answer with a call; it is not carried out."""
        if self._over:
            return "the question was answered before", True
        self._answer, self._over = Call(tool=tool, arguments=arguments), True
        return "", False

    def finish(self) -> None:
        """Answer that nothing is left to do."""
        self._done, self._over = self._done or not self._over, True

    def abstain(self, reason: str) -> None:
        """Answer that it is not known."""
        self._reason, self._over = self._reason or ("" if self._over else reason or "abstained"), True

    def score(self) -> AttemptScore:
        """Whether the answer is the right one."""
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
        """A fingerprint of the question and of its answer."""
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

    `tools` are the same for all, or are looked up for each attempt. `key` names an attempt, `group` what attempts share
    that are not independent of one another; both are the attempt's session where nothing else is said.
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
                trajectory,
                offered(trajectory),
                key=named(trajectory),
                group=(group or named)(trajectory),
                ends=ends,
            )
        )

    def exercises(self) -> Sequence[Exercise]:
        """One for each call, in the attempts' order."""
        return self._exercises

    def begin(self, exercise: Exercise) -> NextCallWorld:
        """A question that nobody has answered yet."""
        return NextCallWorld(exercise)


def positions(
    trajectory: Trajectory, tools: Sequence[Tool], *, key: str, group: str, ends: bool = True
) -> list[Exercise]:
    """The exercises of one attempt. The answer is what is left to do from there: its first call is the one that is asked.

    Calls that failed are shown, and are nobody's answer.
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
    """Arguments as text to compare by: their order does not matter."""
    return json.dumps(dict(arguments), sort_keys=True, ensure_ascii=False, default=str)
