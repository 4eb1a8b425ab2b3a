"""What is measured and under which conditions: suites of exercises, arms, and what one attempt gave. Types only.

A suite makes a fresh world for every attempt, so that no arm sees what another one did. An arm says what the agent is given:
an aid in its context, an adapter in its weights, both, or nothing. All of it is data, so that a report can name it.
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
from tacit.domain.tool import Call, Tool, Turn


class Environment(Protocol):
    """A world with one task in it."""

    @property
    def task(self) -> str:
        """What is asked, and what is known about it."""

    @property
    def tools(self) -> Sequence[Tool]:
        """What may be called."""

    def call(self, tool: str, /, **arguments: Any) -> tuple[str, bool]:
        """Call a tool: its answer, and whether that is an error."""

    def abstain(self, reason: str) -> None:
        """End the attempt: no procedure is known for what was seen."""


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
class AttemptScore:
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

    def score(self) -> AttemptScore:
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

    def act(self, worlds: Sequence[World], aids: Sequence[Aid], *, adapter: bool = False, seed: int = 0) -> AttemptCost:
        """Attempt each world with its aid until it is over."""


@runtime_checkable
class InFiles(Protocol):
    """An agent that is made of files on this machine."""

    def files(self) -> Mapping[str, str]:
        """File → what its contents come to, as it acts now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptCost:
    """What attempts took, world by world."""

    context_tokens: tuple[int, ...] = ()
    output_tokens: tuple[int, ...] = ()
    seconds: float = 0.0
    notes: tuple[str, ...] = ()
    """Why an attempt was broken off from outside; empty where the agent ended it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultRow:
    """One attempt in the record of a run: which exercise, under which arm, and what came of it."""

    suite: str
    arm: str
    seed: int
    exercise: str
    group: str
    score: AttemptScore
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


_BYTES_MAX = 1 << 20
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9 _.+-]{0,39}")
_LIMITS = {"k": 50, "budget_tokens": 100_000}
_FIELDS = ("aid", "adapter", *_LIMITS)
_EXAMPLE = '[arms.one-skill]\naid = "skills"\nk = 1'


@dataclass(frozen=True, slots=True, kw_only=True)
class RunPlan:
    """What a file says is to be measured."""

    arms: tuple[Arm, ...] = ()
    suite: str = ""
    options: Mapping[str, str] = field(default_factory=dict)
    """Options of the suite by name, such as `data`."""


def named_arms(names: str | Sequence[str], known: Mapping[str, Arm] = ARMS) -> list[Arm]:
    """The arms of these names (a text is parted by commas), in that order: the first is what others are compared with."""
    wanted = [name.strip() for name in (names.split(",") if isinstance(names, str) else names)]
    wanted = [name for name in wanted if name]
    unknown = sorted(set(wanted) - set(known))
    if unknown:
        raise Mistake(f"unknown arm: {', '.join(unknown)}", code="unknown_arm", hint=f"the arms are {', '.join(known)}")
    if not wanted:
        raise Mistake("no arm is named", code="no_arm", hint=f"the arms are {', '.join(known)}")
    return [known[name] for name in dict.fromkeys(wanted)]


def read_run_plan(path: Path) -> RunPlan:
    """Read a file of arms; arms that it does not name are the usual ones. Paths of options are seen from its folder."""
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
    arms = tuple(Arm(name=name, **_with_enums(options)) for name, options in document.get("arms", {}).items())
    suite = document.get("suite", {})
    options = {name: value for name, value in suite.items() if name != "name"}
    if "data" in options:
        options["data"] = str(path.parent / options["data"])
    return RunPlan(arms=arms, suite=suite.get("name", ""), options=options)


def all_arms(plan: RunPlan) -> dict[str, Arm]:
    """All arms that can be named: the usual ones, and those of a plan."""
    return {**ARMS, **{arm.name: arm for arm in plan.arms}}


def describe_arm(arm: Arm) -> str:
    """What an agent has under an arm, in a few words."""
    told = _DESCRIPTIONS[arm.aid]
    more = [f"{arm.k} at most" if arm.k else "", f"{arm.budget_tokens} tokens at most" if arm.budget_tokens else ""]
    sized = ", ".join([told, *filter(None, more)])
    if not arm.adapter:
        return sized
    return (
        "an adapter in its weights" if replace(arm, name="") == Arm(name="", adapter=True) else f"{sized}; an adapter"
    )


_DESCRIPTIONS = {
    AidKind.NONE: "nothing but the task",
    AidKind.SKILLS: "skills that are recalled for the task",
    AidKind.TRAJECTORY: "the most similar attempt that succeeded, as it was",
    AidKind.KNOWLEDGE: "passages of documents",
    AidKind.PLACEBO: "the skills that fit least, as long as the right ones",
    AidKind.ORACLE: "the right tools in order, which no real agent has",
}


def _problems(document: Mapping[str, Any]) -> Iterator[str]:
    for key in sorted(set(document) - {"arms", "suite"}):
        yield f"unknown table {key!r}"
    yield from _suite_problems(document.get("suite", {}))
    arms = document.get("arms", {})
    if not isinstance(arms, dict):
        yield "arms is no table"
        return
    for name, options in arms.items():
        yield from (f"arm {name!r}: {problem}" for problem in _arm_problems(name, options))


def _suite_problems(suite: object) -> Iterator[str]:
    if not isinstance(suite, dict):
        yield "suite is no table"
        return
    for key, value in suite.items():
        if not isinstance(value, str):
            yield f"suite: {key} is no text"
    if suite and "name" not in suite:
        yield "suite has no name"


def _arm_problems(name: str, options: object) -> Iterator[str]:
    if not _NAME.fullmatch(name):
        yield "a name has at most 40 letters, digits, blanks and _ . + -"
    if name in ARMS:
        yield "this name has a meaning already"
    if not isinstance(options, dict):
        yield "it is no table"
        return
    for key in sorted(set(options) - set(_FIELDS)):
        yield f"unknown option {key!r} (there are {', '.join(_FIELDS)})"
    if "aid" in options and options["aid"] not in list(AidKind):
        yield f"no such aid: {options['aid']!r} (there are {', '.join(AidKind)})"
    if not isinstance(options.get("adapter", False), bool):
        yield "adapter is neither true nor false"
    for key, most in _LIMITS.items():
        value = options.get(key, 1)
        if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= most:
            yield f"{key} is no whole number from 1 to {most}"


def _with_enums(options: Mapping[str, Any]) -> dict[str, Any]:
    return {**options, "aid": AidKind(options.get("aid", AidKind.NONE))}
