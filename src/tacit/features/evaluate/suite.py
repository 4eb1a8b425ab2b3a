"""What is measured and under which conditions: suites of exercises, arms, and what one attempt gave. Types only.

A suite makes a fresh world for every attempt, so that no arm sees what another one did. An arm says what the agent is given:
an aid in its context, an adapter in its weights, both, or nothing. All of it is data, so that a report can name it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol, runtime_checkable

from tacit.domain.tool import Call, Tool, Turn
from tacit.features.evaluate.environment import Environment


class AidKind(StrEnum):
    """What an arm puts before the task."""

    NONE = "none"
    SKILLS = "skills"
    TRAJECTORY = "trajectory"
    """The most similar attempt that succeeded, as it was."""
    KNOWLEDGE = "knowledge"
    """Passages of documents."""
    PLACEBO = "placebo"
    """A skill that has nothing to do with the task, as long as the right one."""
    ORACLE = "oracle"
    """The right procedure, which no real agent has: the ceiling of what an aid can do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Arm:
    """One condition under which exercises are attempted."""

    name: str
    aid: AidKind = AidKind.NONE
    adapter: bool = False
    k: int = 0
    """How many skills are recalled at most; 0: as many as usual."""
    budget_tokens: int = 0
    """What an aid from memory may take; 0: as much as usual."""


ARMS: dict[str, Arm] = {
    arm.name: arm
    for arm in (
        Arm(name="none"),
        Arm(name="skills", aid=AidKind.SKILLS),
        Arm(name="trajectory", aid=AidKind.TRAJECTORY),
        Arm(name="knowledge", aid=AidKind.KNOWLEDGE),
        Arm(name="placebo", aid=AidKind.PLACEBO),
        Arm(name="oracle", aid=AidKind.ORACLE),
        Arm(name="adapter", adapter=True),
        Arm(name="skills+adapter", aid=AidKind.SKILLS, adapter=True),
    )
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Exercise:
    """One thing to do in a suite."""

    key: str
    group: str
    """The task that it belongs to: exercises of one task hang together and are drawn together."""
    task: str
    tools: tuple[Tool, ...] = ()
    turns: tuple[Turn, ...] = ()
    """What was done before; the agent goes on from there."""
    answer: tuple[Call, ...] = ()
    """What would be right, where that is known: for the oracle and for checks of leakage, never for the agent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """What one attempt came to."""

    success: bool
    steps: int = 0
    retries: int = 0
    first_right: bool | None = None
    """Whether the first call was one that the task needs; nothing where nobody can tell."""
    exact: bool | None = None
    """Whether the whole call was right, its arguments too; nothing where nobody can tell."""
    abstained: bool = False
    detail: str = ""


class World(Environment, Protocol):
    """An exercise that is being attempted, in a state of its own."""

    @property
    def turns(self) -> Sequence[Turn]:
        """What was done so far, by whoever."""

    @property
    def over(self) -> bool:
        """Whether nothing can be done any more."""

    def finish(self) -> None:
        """End the attempt: nothing is left to do."""

    def score(self) -> Score:
        """What the attempt came to; asked once, when it is over."""

    def state(self) -> str:
        """A fingerprint of everything that an attempt can change; the same for every fresh world of one exercise."""


class Suite(Protocol):
    """Exercises, and a fresh world for each attempt at one."""

    name: str

    def exercises(self) -> Sequence[Exercise]:
        """What there is to do, always in the same order."""

    def begin(self, exercise: Exercise) -> World:
        """A fresh world."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Aid:
    """What stands before the task, and what it was made of."""

    kind: AidKind = AidKind.NONE
    text: str = ""
    sources: tuple[str, ...] = ()
    """Ids of versions, trajectories or documents."""
    calls: tuple[Call, ...] = ()
    """What it shows being done, for agents that act on calls and read no text."""


class Actor(Protocol):
    """An agent under test. It acts in many worlds at once if it can; the worlds keep what came of it.

    One that is the better for many worlds at once says so by an `at_once`; the others are given few, since what was done
    is on disk only when all of them are over.
    """

    name: str
    """What identifies it in a record: which agent, with which weights and limits."""

    def objection(self, arm: Arm) -> str:
        """Why it cannot act under this arm; empty where it can."""

    def act(self, worlds: Sequence[World], aids: Sequence[Aid], *, adapter: bool = False, seed: int = 0) -> Spent:
        """Attempt each world with its aid until it is over."""


@runtime_checkable
class InFiles(Protocol):
    """An agent that is made of files on this machine."""

    def files(self) -> Mapping[str, str]:
        """File → what its contents come to, as it acts now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Spent:
    """What attempts took, world by world."""

    context_tokens: tuple[int, ...] = ()
    output_tokens: tuple[int, ...] = ()
    seconds: float = 0.0
    notes: tuple[str, ...] = ()
    """Why an attempt was broken off from outside; empty where the agent ended it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One attempt in the record of a run: which exercise, under which arm, and what came of it."""

    suite: str
    arm: str
    seed: int
    exercise: str
    group: str
    score: Score
    context_tokens: int = 0
    output_tokens: int = 0
    seconds: float = 0.0
    """Its share of the time that all attempts took that were made together."""
    aid_sources: tuple[str, ...] = ()
    note: str = ""
    """Why it was broken off from outside; empty where the agent ended it."""

    def figure(self, name: str) -> float | None:
        """One metric of the row as a number: `context_tokens`, or what the score tells under that name."""
        value: Any = self.context_tokens if name == "context_tokens" else getattr(self.score, name)
        return None if value is None else float(value)
