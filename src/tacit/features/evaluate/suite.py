"""Suites of exercises, arms (what the agent is given), and the result of one attempt; arms can be read from a TOML file.

A suite makes a fresh world for every attempt, so no arm sees what another did. An arm gives the agent an aid in its context,
an adapter in its weights, both, or nothing.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from tacit.domain.errors import Mistake, NotFound
from tacit.features.evaluate.tool import Call, Tool, Turn


class TaskEnvironment(Protocol):
    """A world with one task, as an agent sees it."""

    @property
    def task(self) -> str:
        """The task, and what is known about it."""

    @property
    def tools(self) -> Sequence[Tool]:
        """The tools that can be called."""

    def call(self, tool: str, /, **arguments: Any) -> tuple[str, bool]:
        """Call a tool; return its answer, and whether that is an error."""

    def abstain(self, reason: str) -> None:
        """End the attempt because no procedure is known."""


class AidKind(StrEnum):
    """The kind of aid that is put before the task."""

    NONE = "none"
    SKILLS = "skills"
    TRAJECTORY = "trajectory"
    """The most similar successful attempt, unchanged."""
    KNOWLEDGE = "knowledge"
    """Passages of documents."""
    PLACEBO = "placebo"
    """Skills that have nothing to do with the task, as long as the right ones."""
    ORACLE = "oracle"
    """The right procedure, which no real agent has: the upper limit for an aid."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Arm:
    """One condition under which exercises are attempted."""

    name: str
    aid: AidKind = AidKind.NONE
    adapter: bool = False
    k: int = 0
    """How many skills are recalled at most; 0 means the default."""
    budget_tokens: int = 0
    """Token budget of an aid from memory; 0 means the default."""


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
    """One exercise of a suite."""

    key: str
    group: str
    """Its task. Exercises of one task are dependent, so statistics resample whole tasks."""
    task: str
    tools: tuple[Tool, ...] = ()
    turns: tuple[Turn, ...] = ()
    """What was done before; the agent continues from there."""
    answer: tuple[Call, ...] = ()
    """The right calls, if known: for the oracle and the leakage checks, never for the agent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptScore:
    """The result of one attempt."""

    success: bool
    steps: int = 0
    retries: int = 0
    first_right: bool | None = None
    """Whether the task needs the first call; None if unknown."""
    exact: bool | None = None
    """Whether the whole call was right, including its arguments; None if unknown."""
    abstained: bool = False
    detail: str = ""


class World(TaskEnvironment, Protocol):
    """An exercise during an attempt, with its own state."""

    @property
    def turns(self) -> Sequence[Turn]:
        """All turns so far, including those before the attempt."""

    @property
    def over(self) -> bool:
        """Whether the attempt has ended."""

    def finish(self) -> None:
        """End the attempt because the task is done."""

    def score(self) -> AttemptScore:
        """Return the result; called once, at the end."""

    def state(self) -> str:
        """Return a hash of everything that an attempt can change; equal for every fresh world of one exercise."""


class Suite(Protocol):
    """Exercises, and a fresh world for each attempt."""

    name: str

    def exercises(self) -> Sequence[Exercise]:
        """Return the exercises, always in the same order."""

    def begin(self, exercise: Exercise) -> World:
        """Return a fresh world."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Aid:
    """The text before the task, and its sources."""

    kind: AidKind = AidKind.NONE
    text: str = ""
    sources: tuple[str, ...] = ()
    """Ids of versions, trajectories or documents."""
    calls: tuple[Call, ...] = ()
    """The calls that it shows, for agents that do not read text."""


class Actor(Protocol):
    """An agent under test. It may act in many worlds at once; the worlds hold the results.

    An agent that is faster with many worlds has an attribute `at_once`. Others get few, because results are written to disk
    when all worlds of a batch have ended.
    """

    name: str
    """Identifies the agent in a record, with its weights and limits."""

    def objection(self, arm: Arm) -> str:
        """Return why it cannot act under this arm; empty if it can."""

    def act(self, worlds: Sequence[World], aids: Sequence[Aid], *, adapter: bool = False, seed: int = 0) -> AttemptCost:
        """Act in each world with its aid until the attempt has ended."""


@runtime_checkable
class InFiles(Protocol):
    """An agent that consists of files on this machine."""

    def files(self) -> Mapping[str, str]:
        """Return the hash of each file, as it is now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptCost:
    """The cost of attempts, world by world."""

    context_tokens: tuple[int, ...] = ()
    output_tokens: tuple[int, ...] = ()
    seconds: float = 0.0
    notes: tuple[str, ...] = ()
    """Why an attempt was ended from outside; empty if the agent ended it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultRow:
    """One attempt in the record of a run: exercise, arm and result."""

    suite: str
    arm: str
    seed: int
    exercise: str
    group: str
    score: AttemptScore
    context_tokens: int = 0
    output_tokens: int = 0
    seconds: float = 0.0
    """Its share of the time of its batch."""
    aid_sources: tuple[str, ...] = ()
    note: str = ""
    """Why it was ended from outside; empty if the agent ended it."""

    def figure(self, name: str) -> float | None:
        """Return one metric as a number: `context_tokens`, or a field of the score."""
        value: Any = self.context_tokens if name == "context_tokens" else getattr(self.score, name)
        return None if value is None else float(value)


_BYTES_MAX = 1 << 20
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9 _.+-]{0,39}")
_LIMITS = {"k": 50, "budget_tokens": 100_000}
_FIELDS = ("aid", "adapter", *_LIMITS)
_EXAMPLE = '[arms.one-skill]\naid = "skills"\nk = 1'


@dataclass(frozen=True, slots=True, kw_only=True)
class RunPlan:
    """The arms and the suite that a file defines."""

    arms: tuple[Arm, ...] = ()
    suite: str = ""
    options: Mapping[str, str] = field(default_factory=dict)
    """Options of the suite by name, such as `data`."""


def named_arms(names: str | Sequence[str], known: Mapping[str, Arm] = ARMS) -> list[Arm]:
    """Return the arms of these names (a list, or a text with commas) in that order; the first is the reference."""
    wanted = [name.strip() for name in (names.split(",") if isinstance(names, str) else names)]
    wanted = [name for name in wanted if name]
    unknown = sorted(set(wanted) - set(known))
    if unknown:
        raise Mistake(f"unknown arm: {', '.join(unknown)}", code="unknown_arm", hint=f"the arms are {', '.join(known)}")
    if not wanted:
        raise Mistake("no arm is named", code="no_arm", hint=f"the arms are {', '.join(known)}")
    return [known[name] for name in dict.fromkeys(wanted)]


def read_run_plan(path: Path) -> RunPlan:
    """Read a TOML file with arms and a suite. The path `data` is relative to the file's folder."""
    if not path.is_file():
        raise NotFound(f"no such file: {path}", code="no_file", hint=f"a file of arms is TOML, such as\n{_EXAMPLE}")
    with path.open("rb") as stream:
        data = stream.read(_BYTES_MAX + 1)
    if len(data) > _BYTES_MAX:
        raise Mistake(f"{path} is larger than a megabyte", code="file_too_large", hint="a file of arms is short")
    try:
        document = tomllib.loads(data.decode("utf-8"))
    except (UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError) as error:
        raise Mistake(f"{path} is not TOML: {error}", code="bad_toml", hint=f"write it like\n{_EXAMPLE}") from error
    problems = list(_problems(document))
    if problems:
        raise Mistake(f"{path}: {'; '.join(problems)}", code="bad_run_plan", hint=f"write it like\n{_EXAMPLE}")
    arms = tuple(
        Arm(name=name, **{**options, "aid": AidKind(options.get("aid", AidKind.NONE))})
        for name, options in document.get("arms", {}).items()
    )
    suite = document.get("suite", {})
    options = {name: value for name, value in suite.items() if name != "name"}
    if "data" in options:
        options["data"] = str(path.parent / options["data"])
    return RunPlan(arms=arms, suite=suite.get("name", ""), options=options)


def all_arms(plan: RunPlan) -> dict[str, Arm]:
    """Return all arms that can be named: the predefined ones and those of a plan."""
    return {**ARMS, **{arm.name: arm for arm in plan.arms}}


def describe_arm(arm: Arm) -> str:
    """Describe in a few words what an agent has under an arm."""
    description = _DESCRIPTIONS[arm.aid]
    more = [f"{arm.k} at most" if arm.k else "", f"{arm.budget_tokens} tokens at most" if arm.budget_tokens else ""]
    sized = ", ".join([description, *filter(None, more)])
    if not arm.adapter:
        return sized
    return (
        "an adapter in its weights" if replace(arm, name="") == Arm(name="", adapter=True) else f"{sized}; an adapter"
    )


_DESCRIPTIONS = {
    AidKind.NONE: "nothing but the task",
    AidKind.SKILLS: "skills recalled for the task",
    AidKind.TRAJECTORY: "the most similar successful attempt, unchanged",
    AidKind.KNOWLEDGE: "passages of documents",
    AidKind.PLACEBO: "the skills that fit least, as long as the right ones",
    AidKind.ORACLE: "the right tools in order, which no real agent has",
}


def _problems(document: Mapping[str, Any]) -> Iterator[str]:
    for key in sorted(set(document) - {"arms", "suite"}):
        yield f"unknown table {key!r}"
    suite = document.get("suite", {})
    if not isinstance(suite, dict):
        yield "suite must be a table"
    else:
        yield from (f"suite: {key} must be a text" for key, value in suite.items() if not isinstance(value, str))
        if suite and "name" not in suite:
            yield "suite has no name"
    arms = document.get("arms", {})
    if not isinstance(arms, dict):
        yield "arms must be a table"
        return
    for name, options in arms.items():
        yield from (f"arm {name!r}: {problem}" for problem in _arm_problems(name, options))


def _arm_problems(name: str, options: object) -> Iterator[str]:
    if not _NAME.fullmatch(name):
        yield "a name has at most 40 letters, digits, spaces and _ . + -"
    if name in ARMS:
        yield "this name is predefined"
    if not isinstance(options, dict):
        yield "it must be a table"
        return
    for key in sorted(set(options) - set(_FIELDS)):
        yield f"unknown option {key!r} (use {', '.join(_FIELDS)})"
    if "aid" in options and options["aid"] not in list(AidKind):
        yield f"unknown aid {options['aid']!r} (use {', '.join(AidKind)})"
    if not isinstance(options.get("adapter", False), bool):
        yield "adapter must be true or false"
    for key, most in _LIMITS.items():
        value = options.get(key, 1)
        if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= most:
            yield f"{key} must be a whole number from 1 to {most}"
