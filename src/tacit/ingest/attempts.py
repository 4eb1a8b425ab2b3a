"""Drafts of steps, in the order of the log → one trajectory per task, each as soon as the next task begins.

One collector follows one agent through one log. It joins calls with their results, asks the segmenter where a task
begins, and remembers where in the file the open attempt began. An attempt without end loses its middle, so memory stays
flat. Knows no client's format, and does not judge how an attempt ended.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from datetime import datetime
from functools import reduce
from pathlib import PureWindowsPath
from typing import Any

from tacit.domain.stored import Mark
from tacit.domain.trajectory import ASKED_BY_AGENT, Environment, Role, Step, StepResult, Task, Trajectory, Usage
from tacit.ingest.log_files import CUT
from tacit.ingest.segmentation import Segmenter, observed, without_echo

MAX_STEPS = 10_000
MAX_CHARACTERS = 32 * 1024 * 1024
_NOTED_CHARACTERS = 400  # of each argument: enough for a command or a path
_OF_A_STEP = ("role", "text", "tool", "arguments", "observation", "result", "exit_code", "skill", "at")
_MESSAGES_APART = 64  # how many messages may lie between two records of one


@dataclass(slots=True)
class Draft:
    """A step that may still get its result."""

    role: Role
    text: str = ""
    at: datetime | None = None
    tool: str = ""
    arguments: dict[str, Any] = field(default_factory=dict)
    observation: str = ""
    result: StepResult = StepResult.UNKNOWN
    exit_code: int | None = None
    skill: str = ""
    call_id: str = ""
    """By which the result will name its call."""
    message_id: str = ""
    """What the agent says and calls in one message carries one id, and becomes one step."""
    asks: str = ""
    """What is asked for here, where the text itself is not a person's words: a slash command, or what a program asks."""
    asked_by: str = ""
    """Who asks, as in a task; empty for a person."""

    @property
    def goal(self) -> str:
        """What is asked for here, if anything is."""
        return self.text if self.role is Role.USER else self.asks


@dataclass(slots=True)
class Circumstances:
    """Where and with what an agent works; the first word on each counts."""

    session_id: str = ""
    workspace: str = ""
    version: str = ""
    model: str = ""
    branch: str = ""

    def note(self, **values: str) -> None:
        """Take in what a record says; what is empty says nothing."""
        for name, value in values.items():
            if not getattr(self, name):
                setattr(self, name, value)


class Attempts:
    """What one agent was asked, did and saw, cut into attempts; those of a subagent are never cut."""

    def __init__(
        self,
        session: Circumstances | None = None,
        *,
        client: str,
        source: str,
        agent_id: str = "",
        whole: bool = False,
    ) -> None:
        """Follow the session's own agent, or the subagent of this id; a `whole` log is one attempt, and never cut."""
        self.session = Circumstances() if session is None else session
        """What holds for every attempt of the session unless the attempt says otherwise."""
        self.client = client
        """What ran the agent."""
        self._source = source
        self._agent_id = agent_id
        self._is_whole = whole or bool(agent_id)
        self._begin()

    def _begin(self) -> None:
        """Begin the next attempt: its first steps are kept, and its last ones as far as they fit."""
        self.mark: Mark | None = None
        """Where the record stands that the open attempt begins with; nothing if none is open."""
        self._goal = self._asked_by = ""
        self._segmenter = Segmenter()  # a fresh one, so that reading from the mark comes to the same judgement
        self._own = Circumstances()
        self._calls: dict[str, Draft] = {}
        self._first: list[Draft] = []
        self._last: deque[Draft] = deque()
        self._size = self._left_out = 0
        self._acted = False
        self._spent: dict[str, Usage] = {}
        self._folded = Usage()

    @property
    def _is_begun(self) -> bool:
        """Whether the attempt is more than what the host says before the first prompt."""
        return self._acted or bool(self._goal)

    @property
    def has_goal(self) -> bool:
        """Whether something is asked for in the open attempt."""
        return bool(self._goal)

    def say(self, drafts: list[Draft], mark: Mark) -> Trajectory | None:
        """Take in what one record says in the user's place; gives the attempt that it ends, if it begins another."""
        goal = "\n".join(draft.goal for draft in drafts if draft.goal)
        finished = None
        if goal and not self._is_whole and self._segmenter.is_new_task(goal, drafts[0].at) and self._is_begun:
            finished = self.finish(reply=goal)
            self._segmenter.is_new_task(goal, drafts[0].at)
        if goal and not self._goal:
            self._goal = goal.strip()
            self._asked_by = next((draft.asked_by for draft in drafts if draft.goal and draft.asked_by), "")
        for draft in drafts:
            if self._agent_id and draft.role is Role.USER:
                draft.role = Role.CONTEXT  # an agent's words, not a person's
            self._add(draft, mark)
        return finished

    def act(self, draft: Draft, mark: Mark) -> None:
        """Take in what the agent says or calls, or what the host says beside it."""
        if draft.role is Role.AGENT:
            self._acted = True
            self._segmenter.note(draft.text)
            for value in draft.arguments.values():
                if isinstance(value, str):
                    self._segmenter.note(value[:_NOTED_CHARACTERS])
        before = self._last or self._first
        message = before[-1] if before and draft.tool and draft.message_id else None
        if message and message.message_id == draft.message_id and message.role is Role.AGENT and not message.tool:
            before.pop()  # the words belong to this call, and are no step of their own
            draft.text, draft.at = message.text, message.at or draft.at
            self._size -= _size(message)
        self._add(draft, mark)
        if draft.call_id:
            self._calls[draft.call_id] = draft

    def _add(self, draft: Draft, mark: Mark) -> None:
        self.mark = self.mark or mark
        if draft.role is Role.CONTEXT:
            draft.text = without_echo(draft.text)
        self._size += _size(draft)
        if not self._last and len(self._first) < MAX_STEPS // 2 and self._size < MAX_CHARACTERS // 2:
            self._first.append(draft)
        else:
            self._last.append(draft)
            self._fit()

    def _fit(self) -> None:
        while self._last and (len(self._last) > MAX_STEPS // 2 or self._size > MAX_CHARACTERS):
            draft = self._last.popleft()
            self._size -= _size(draft)
            self._left_out += 1
            self._calls.pop(draft.call_id, None)

    def waiting(self, call_id: str) -> Draft | None:
        """The call that waits for its result under this id."""
        return self._calls.get(call_id)

    def resolve(
        self, call_id: str, *, observation: str, result: StepResult, exit_code: int | None = None
    ) -> Draft | None:
        """Give a call its result; the draft, or nothing if no such call is waiting."""
        draft = self._calls.pop(call_id, None)
        if draft is not None:
            draft.observation = observed(draft.tool, draft.arguments, observation)
            draft.result, draft.exit_code = result, exit_code
            self._size += len(draft.observation)
            self._fit()
        return draft

    def interrupt(self) -> None:
        """Note that work was stopped: no call that still waits will get its result."""
        for draft in self._calls.values():
            draft.result = StepResult.INTERRUPTED
        self._calls.clear()

    def note(self, **values: str) -> None:
        """Take in the circumstances of the open attempt."""
        self._own.note(**values)

    def spend(self, message_id: str, usage: Usage) -> None:
        """Take in what a message cost; said again for the same message, the last word counts."""
        self._spent[message_id] = usage
        if len(self._spent) > _MESSAGES_APART:
            self._folded = _sum(self._folded, self._spent.pop(next(iter(self._spent))))

    def finish(self, *, reply: str = "") -> Trajectory | None:
        """Close the open attempt and give it, if anything was asked or done in it."""
        trajectory = self._trajectory(reply) if self._is_begun else None
        self._begin()
        return trajectory

    def _trajectory(self, reply: str) -> Trajectory:
        own, whole = self._own, self.session
        session_id = own.session_id or whole.session_id
        drafts = [*self._first, *self._last]
        if self._left_out:
            drafts.insert(len(self._first), Draft(Role.CONTEXT, f"{CUT}{self._left_out} steps left out …]"))
        return Trajectory(
            task=Task(
                text=self._goal,
                project=project_of(whole.workspace),
                by=ASKED_BY_AGENT if self._agent_id else self._asked_by,
            ),
            steps=tuple(
                Step(index=index, **{name: getattr(draft, name) for name in _OF_A_STEP})
                for index, draft in enumerate(drafts)
            ),
            environment=Environment(
                client=self.client,
                client_version=own.version or whole.version,
                model=own.model or whole.model,
                workspace=whole.workspace,
                branch=own.branch or whole.branch,
            ),
            session_id=self._agent_id or session_id,
            parent_session_id=session_id if self._agent_id else "",
            reply=reply.strip(),
            usage=reduce(_sum, self._spent.values(), self._folded),
            source=self._source,
        )


def project_of(workspace: str) -> str:
    """Name the project by its folder; a worktree that the client made belongs to the project around it."""
    around, _, _ = workspace.replace("\\", "/").partition("/.claude/worktrees/")
    return PureWindowsPath(around).name


def _size(draft: Draft) -> int:
    given = sum(len(value) if isinstance(value, str) else 16 for value in draft.arguments.values())
    return len(draft.text) + len(draft.observation) + given


def _sum(left: Usage, right: Usage) -> Usage:
    costs = [cost for cost in (left.cost_usd, right.cost_usd) if cost is not None]
    return Usage(
        input_tokens=left.input_tokens + right.input_tokens,
        output_tokens=left.output_tokens + right.output_tokens,
        cached_tokens=left.cached_tokens + right.cached_tokens,
        cost_usd=sum(costs) if costs else None,
    )
