"""One attempt of an agent at a task, as evidence: what was asked, done and seen, and who wrote each part.

Input is what a reader parsed; the id is the hash of the content, so the same attempt read twice is one trajectory.
Nothing here judges whether the attempt succeeded.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

from tacit.domain.identity import content_id
from tacit.domain.scope import Scope


class Origin(StrEnum):
    """Who wrote a text, from most to least trusted."""

    OPERATOR = "operator"
    USER = "user"
    AGENT = "agent"
    EXTERNAL = "external"

    @property
    def rank(self) -> int:
        """Trust as a number: higher is more trusted."""
        return _RANK[self]


_RANK = {Origin.EXTERNAL: 0, Origin.AGENT: 1, Origin.USER: 2, Origin.OPERATOR: 3}


def lowest(origins: Iterable[Origin]) -> Origin:
    """Return the origin of something made from several texts: the least trusted of them.

    Without any text it is external.
    """
    return min(origins, key=lambda origin: origin.rank, default=Origin.EXTERNAL)


class Role(StrEnum):
    """Who speaks in a step. `context` is text that the host slipped in: a loaded skill, a reminder, a summary."""

    SYSTEM = "system"
    USER = "user"
    AGENT = "agent"
    CONTEXT = "context"


_TEXT_ORIGIN = {
    Role.SYSTEM: Origin.OPERATOR,
    Role.USER: Origin.USER,
    Role.AGENT: Origin.AGENT,
    Role.CONTEXT: Origin.EXTERNAL,
}


class StepResult(StrEnum):
    """How a tool call ended, in the same words for every client."""

    OK = "ok"
    FAILED = "failed"
    DENIED = "denied"
    INTERRUPTED = "interrupted"
    NO_MATCH = "no_match"
    UNKNOWN = "unknown"


ASKED_BY_AGENT = "agent"
ASKED_BY_PROGRAM = "program"
"""Who asked, where it was no person: another agent, or a program that ran the client."""
ASKED_BY_TEAMMATE = "teammate:"
"""How `Task.by` begins where another person asked: their name follows. Their words are nobody's here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """What was asked, where and by whom."""

    text: str
    project: str = ""
    by: str = ""
    scope: Scope = Scope()


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One message, or one tool call with what came back."""

    index: int
    role: Role
    text: str = ""
    tool: str = ""
    arguments: Mapping[str, Any] = field(default_factory=dict)
    """Of a call; of a text that the host put before the agent: where it is from."""
    observation: str = ""
    result: StepResult = StepResult.UNKNOWN
    exit_code: int | None = None
    skill: str = ""
    """Name of the skill that the client says this step followed."""
    at: datetime | None = None

    @property
    def is_action(self) -> bool:
        """Whether this is a tool call."""
        return bool(self.tool)

    @property
    def failed(self) -> bool:
        """Whether the call is known not to have worked."""
        return self.result not in (StepResult.OK, StepResult.UNKNOWN)

    def origin_of(self, part: str) -> Origin:
        """Origin of one part: `text`, `tool`, `arguments` or `observation`."""
        if part == "observation":
            return Origin.EXTERNAL
        if part in ("tool", "arguments"):
            return Origin.AGENT
        return _TEXT_ORIGIN[self.role]


@dataclass(frozen=True, slots=True)
class Span:
    """A place in a trajectory: which step, and which part of it."""

    trajectory_id: str
    step: int
    part: str = "arguments"


@dataclass(frozen=True, slots=True, kw_only=True)
class Environment:
    """The circumstances of an attempt."""

    client: str = ""
    client_version: str = ""
    model: str = ""
    workspace: str = ""
    branch: str = ""
    tools: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """An outcome written in the source itself. It counts only if the person importing it says so."""

    result: str = ""
    score: float | None = None
    verified_by: str = ""

    def __post_init__(self) -> None:
        if self.score is not None:  # 1 and 1.0 are one score, and must give one content hash
            object.__setattr__(self, "score", float(self.score))


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """What the attempt cost, counted once per model message."""

    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    cost_usd: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Trajectory:
    """One attempt: ordered steps with their origins, circumstances and claimed result."""

    task: Task
    steps: tuple[Step, ...]
    environment: Environment = Environment()
    claim: Claim | None = None
    session_id: str = ""
    parent_session_id: str = ""
    """Set for a subagent's own attempt: the session that started it."""
    reply: str = ""
    """What the person said next, where that began another task: their word on how this one ended."""
    usage: Usage = Usage()
    source: str = ""
    """Where it was read from; not part of the content."""
    id: str = ""

    def __post_init__(self) -> None:
        if not self.id:
            object.__delattr__(self, "id")  # computed when it is first asked for: what is redacted never is

    def __getattr__(self, name: str) -> str:
        if name != "id":
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        object.__setattr__(self, "id", self.content_id())
        return self.id

    def content_id(self) -> str:
        """Compute the id from the content, ignoring what the `id` field says."""
        content = [self.task, self.steps, self.environment, self.claim, self.session_id, self.parent_session_id]
        return content_id("t", [*content, self.reply] if self.reply else content)

    @property
    def task_origin(self) -> Origin:
        """Who wrote the task's text."""
        if self.parent_session_id:
            return Origin.AGENT
        others = self.task.by == ASKED_BY_PROGRAM or self.task.by.startswith(ASKED_BY_TEAMMATE)
        return Origin.EXTERNAL if others else Origin.USER

    @property
    def actions(self) -> tuple[Step, ...]:
        """The tool calls, in order."""
        return tuple(step for step in self.steps if step.is_action)

    @property
    def started_at(self) -> datetime | None:
        """Time of the first dated step."""
        return next((step.at for step in self.steps if step.at), None)

    @property
    def ended_at(self) -> datetime | None:
        """Time of the last dated step."""
        return next((step.at for step in reversed(self.steps) if step.at), None)
