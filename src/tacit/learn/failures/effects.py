"""A trajectory → the calls that change something, each in a form in which two attempts can be compared.

Shell commands compare by program and subcommand, file edits by path, plain tools by name and arguments. Handing the task
over to a person is an end, not an effect, and is told apart here.
"""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import pairwise
from typing import Any

from tacit.domain.trajectory import Span, Step, Trajectory
from tacit.text.tool_calls import Effect, ToolCall, ToolKind, essential, plain_name, tool_calls


class FailureKind(StrEnum):
    """How an attempt went wrong, told by its effects: the calls that change something."""

    NO_ACTION = "no action"
    """Nothing was changed though something had to be."""
    MISSING_STEP = "missing step"
    """A needed effect is lacking, and none is there that was not needed."""
    EXTRA_STEP = "extra step"
    """All that was needed, and more: something else as well, or an attempt too many."""
    WRONG_TOOL = "wrong tool"
    """One effect instead of another."""
    WRONG_ARGUMENTS = "wrong arguments"
    """The right calls with wrong values."""
    WRONG_END = "wrong end"
    """The effects are right: what was said or how it ended is not, such as a needless hand-over."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """A call that successful attempts made and the failed one did not."""

    tool: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    """As the sibling gave them; empty where only other tasks speak for the call."""
    support: int = 0
    """How many successful attempts made it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Blame:
    """Why an attempt failed, as far as contrast tells."""

    trajectory_id: str
    kind: FailureKind
    step: int | None
    """Index of the first step at fault; none where the fault is something that was not done."""
    tool: str = ""
    """The tool called at that step."""
    keys: tuple[str, ...] = ()
    """For wrong arguments: the names of those that differ, where that is known."""
    expected: tuple[Expected, ...] = ()
    reason: str = ""
    """One sentence of tool and argument names only: no value and nothing that an observation said."""
    spans: tuple[Span, ...] = ()
    confidence: float = 0.0
    """From 0 to 1: how sure the kind is."""
    by_sibling: bool = False
    """Whether a successful attempt at the same task showed it."""
    passing: bool = False
    """Whether the run made the same calls as successes did and one of them failed: an error of the moment."""


_NAME_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+")
_PASSING_ON = frozenset("transfer hand forward refer redirect escalate route assign delegate".split())
_TO_WHOM = frozenset(
    "human humans person operator operators support representative supervisor staff specialist".split()
)
_GIVING_UP = frozenset("escalate escalation handoff handover abstain".split())


Form = tuple[str, tuple[tuple[str, str], ...]]
Free = frozenset[tuple[str, str]]
"""Calls and their arguments that may have any value."""


@dataclass(frozen=True, slots=True)
class Deed:
    """One effect of an attempt."""

    action: ToolCall
    what: str
    """What was done, without its values."""
    values: Mapping[str, str]
    """Argument → value in one form; lists that belong together are one entry, in no order."""

    @property
    def index(self) -> int:
        """Position of the step."""
        return self.action.index

    @property
    def worked(self) -> bool:
        """Whether nothing says that the call failed."""
        return self.action.worked

    def form(self, free: Free = frozenset()) -> Form:
        """What was done and with which values, arguments that are free to vary aside: equal if two calls do the same."""
        values = (item for item in self.values.items() if (self.what, item[0]) not in free)
        return self.what, tuple(sorted(values))

    def differing(self, other: Deed, *, free: Free = frozenset()) -> tuple[str, ...]:
        """Names of the arguments in which two calls of one tool differ."""
        names = sorted(self.values.keys() | other.values.keys())
        differ = (
            part
            for name in names
            if (self.what, name) not in free and self.values.get(name) != other.values.get(name)
            for part in name.split("+")
        )
        return tuple(dict.fromkeys(differ))


@dataclass(frozen=True, slots=True)
class Deeds:
    """What an attempt changed, in order, and where it handed the task over."""

    trajectory: Trajectory
    done: tuple[Deed, ...]
    handed_over: Step | None

    @property
    def worked(self) -> tuple[Deed, ...]:
        """The effects that nothing says failed."""
        return tuple(deed for deed in self.done if deed.worked)


def deeds_of(trajectory: Trajectory) -> Deeds:
    """Collect the effects of an attempt."""
    done: list[Deed] = []
    handed_over: Step | None = None
    for action in tool_calls(trajectory):
        if action.effect is not Effect.WRITE:
            continue
        if action.kind is ToolKind.FUNCTION and hands_over(action.step.tool):
            handed_over = handed_over or action.step
        else:
            done.append(Deed(action, *_form(action)))
    return Deeds(trajectory, tuple(_settled(done)), handed_over)


def _settled(done: Sequence[Deed]) -> Iterator[Deed]:
    """Leave out a call that failed and worked later with the same values: the error passed, and nothing was wrong."""
    working = {deed.form(): deed.index for deed in done if deed.worked}
    yield from (deed for deed in done if deed.worked or working.get(deed.form(), -1) < deed.index)


def hands_over(tool: str) -> bool:
    """Whether a tool's name says that it passes the task on to a person or gives it up."""
    words = [word.casefold() for word in _NAME_WORD.findall(tool.rsplit("__", 1)[-1])]
    joined = {first + second for first, second in pairwise(words)}
    if _GIVING_UP & {*words, *joined}:
        return True
    return bool(_PASSING_ON & set(words)) and bool(_TO_WHOM & set(words))


def free_arguments(runs: Sequence[Deeds]) -> Free:
    """Arguments whose values differ between successful attempts at one task: they did not decide.

    Only runs that made a call equally often are compared, else other values may be other objects.
    """
    seen: dict[tuple[str, str, int], set[tuple[str, ...]]] = defaultdict(set)
    for run in runs:
        counts = Counter(deed.what for deed in run.worked)
        for what, count in counts.items():
            same = [deed for deed in run.worked if deed.what == what]
            for name in {name for deed in same for name in deed.values}:
                seen[what, name, count].add(tuple(sorted(deed.values.get(name, "") for deed in same)))
    return frozenset((what, name) for (what, name, _), values in seen.items() if len(values) > 1)


def _form(action: ToolCall) -> tuple[str, dict[str, str]]:
    if action.kind is ToolKind.SHELL:
        return action.label, {"command": action.canonical or action.command}
    if action.kind is ToolKind.FILE:
        return "edit", {"path": action.path.removeprefix(action.workspace.rstrip("/") + "/")}
    return plain_name(action.step.tool), _comparable(essential(action.step.arguments))


def _comparable(arguments: Mapping[str, Any]) -> dict[str, str]:
    """Arguments in one form: lists of one length go together, and then their order says nothing."""
    by_length: dict[int, list[str]] = defaultdict(list)
    form: dict[str, str] = {}
    for name in sorted(arguments):
        value = arguments[name]
        if isinstance(value, list) and len(value) > 1:
            by_length[len(value)].append(name)
        else:
            form[name] = _plain(value[0] if isinstance(value, list) and value else value)
    for names in by_length.values():
        rows = sorted("\t".join(map(_plain, row)) for row in zip(*(arguments[name] for name in names), strict=True))
        form["+".join(names)] = "\n".join(rows)
    return form


def _plain(value: Any) -> str:
    """A value as text; numbers that are equal look equal, and so do texts but for case and blanks at the ends."""
    if isinstance(value, bool) or value is None:
        return str(value).casefold()
    if isinstance(value, int | float):
        return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)
    if isinstance(value, str):
        return value.strip().casefold()
    return json.dumps(value, sort_keys=True, ensure_ascii=False, default=str).casefold()
