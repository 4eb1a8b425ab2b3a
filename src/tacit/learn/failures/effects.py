"""The calls of an attempt that change something, in a form in which attempts can be compared.

Shell commands compare by program and subcommand, edits by path, plain tools by name and arguments. Handing the task over
to a person is not a change; it is recorded separately.
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
    """How an attempt failed, by the calls that change something."""

    NO_ACTION = "no action"
    """It changed nothing although a change was needed."""
    MISSING_STEP = "missing step"
    """A needed change is missing, and there is no other change."""
    EXTRA_STEP = "extra step"
    """All needed changes, and others: another change, or one try too many."""
    WRONG_TOOL = "wrong tool"
    """One change instead of another."""
    WRONG_ARGUMENTS = "wrong arguments"
    """The right calls with wrong values."""
    WRONG_END = "wrong end"
    """The changes are right; the answer or the ending is not, for example a needless hand-over."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpectedCall:
    """A call that successful attempts made and the failed one did not."""

    tool: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    """As the successful attempt gave them; empty where only other tasks suggest the call."""
    support: int = 0
    """How many successful attempts made it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FailureCause:
    """Why an attempt failed."""

    trajectory_id: str
    kind: FailureKind
    step: int | None
    """Index of the first wrong step; none where something is missing."""
    tool: str = ""
    """The tool called at that step."""
    keys: tuple[str, ...] = ()
    """For wrong arguments: the names of those that differ, where known."""
    expected: tuple[ExpectedCall, ...] = ()
    signs: tuple[str, ...] = ()
    """Without a successful attempt at the same task: the signs of failure that were seen."""
    spans: tuple[Span, ...] = ()
    confidence: float = 0.0
    """Confidence in the kind, from 0 to 1."""
    by_sibling: bool = False
    """Whether a successful attempt at the same task shows it."""
    passing: bool = False
    """Whether the run made the same calls as the successes and one of them failed: a temporary error."""


_NAME_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+")
_PASSING_ON = frozenset("transfer hand forward refer redirect escalate route assign delegate".split())
_TO_WHOM = frozenset(
    "human humans person operator operators support representative supervisor staff specialist".split()
)
_GIVING_UP = frozenset("escalate escalation handoff handover abstain".split())


Form = tuple[str, tuple[tuple[str, str], ...]]
Free = frozenset[tuple[str, str]]
"""Arguments of calls that may have any value."""


@dataclass(frozen=True, slots=True)
class ComparedCall:
    """One changing call of an attempt."""

    action: ToolCall
    what: str
    """What it does, without values."""
    values: Mapping[str, str]
    """Argument → normalised value; lists of equal length are one entry, without order."""

    @property
    def index(self) -> int:
        """Position of the step."""
        return self.action.index

    @property
    def worked(self) -> bool:
        """Whether nothing shows that the call failed."""
        return self.action.worked

    def form(self, free: Free = frozenset()) -> Form:
        """Return what it does and its values except the free ones; equal for two calls that do the same."""
        values = (item for item in self.values.items() if (self.what, item[0]) not in free)
        return self.what, tuple(sorted(values))

    def differing(self, other: ComparedCall, *, free: Free = frozenset()) -> tuple[str, ...]:
        """Return the names of the arguments in which two calls of one tool differ."""
        names = sorted(self.values.keys() | other.values.keys())
        differ = (
            part
            for name in names
            if (self.what, name) not in free and self.values.get(name) != other.values.get(name)
            for part in name.split("+")
        )
        return tuple(dict.fromkeys(differ))


@dataclass(frozen=True, slots=True)
class AttemptChanges:
    """What an attempt changed, in order, and where it handed the task over."""

    trajectory: Trajectory
    done: tuple[ComparedCall, ...]
    handed_over: Step | None

    @property
    def worked(self) -> tuple[ComparedCall, ...]:
        """The calls that did not fail."""
        return tuple(call for call in self.done if call.worked)


def changes_made(trajectory: Trajectory) -> AttemptChanges:
    """Collect the changing calls of an attempt."""
    done: list[ComparedCall] = []
    handed_over: Step | None = None
    for action in tool_calls(trajectory):
        if action.effect is not Effect.WRITE:
            continue
        if action.kind is ToolKind.FUNCTION and hands_over(action.step.tool):
            handed_over = handed_over or action.step
        else:
            done.append(ComparedCall(action, *_form(action)))
    return AttemptChanges(trajectory, tuple(_settled(done)), handed_over)


def _settled(done: Sequence[ComparedCall]) -> Iterator[ComparedCall]:
    """Leave out a call that failed and later worked with the same values: the error was temporary."""
    working = {call.form(): call.index for call in done if call.worked}
    yield from (call for call in done if call.worked or working.get(call.form(), -1) < call.index)


def hands_over(tool: str) -> bool:
    """Whether the name of a tool means that it hands the task to a person or gives up."""
    words = [word.casefold() for word in _NAME_WORD.findall(tool.rsplit("__", 1)[-1])]
    joined = {first + second for first, second in pairwise(words)}
    if _GIVING_UP & {*words, *joined}:
        return True
    return bool(_PASSING_ON & set(words)) and bool(_TO_WHOM & set(words))


def free_arguments(runs: Sequence[AttemptChanges]) -> Free:
    """Return the arguments whose values differ between successful attempts at one task: they do not matter.

    Only runs that made a call equally often are compared; otherwise other values may be other objects.
    """
    seen: dict[tuple[str, str, int], set[tuple[str, ...]]] = defaultdict(set)
    for run in runs:
        counts = Counter(call.what for call in run.worked)
        for what, count in counts.items():
            same = [call for call in run.worked if call.what == what]
            for name in {name for call in same for name in call.values}:
                seen[what, name, count].add(tuple(sorted(call.values.get(name, "") for call in same)))
    return frozenset((what, name) for (what, name, _), values in seen.items() if len(values) > 1)


def _form(action: ToolCall) -> tuple[str, dict[str, str]]:
    if action.kind is ToolKind.SHELL:
        return action.label, {"command": action.canonical or action.command}
    if action.kind is ToolKind.FILE:
        return "edit", {"path": action.path.removeprefix(action.workspace.rstrip("/") + "/")}
    return plain_name(action.step.tool), _comparable(essential(action.step.arguments))


def _comparable(arguments: Mapping[str, Any]) -> dict[str, str]:
    """Normalise arguments: lists of equal length form rows, whose order does not matter."""
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
    """Return a value as text; equal numbers look equal, and texts ignore case and outer blanks."""
    if isinstance(value, bool) or value is None:
        return str(value).casefold()
    if isinstance(value, int | float):
        return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)
    if isinstance(value, str):
        return value.strip().casefold()
    return json.dumps(value, sort_keys=True, ensure_ascii=False, default=str).casefold()
