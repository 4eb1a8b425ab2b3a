"""The changes that an attempt made, in comparable form, and how a failed attempt differs from successful ones.

Shell commands compare by program and subcommand, edits by path, plain tools by name and arguments. A change that the
successful attempts at the same task did not make is at fault. Handing the task over to a person is recorded separately.
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
    temporary: bool = False
    """Whether the error was temporary: the run made the same calls as the successes, and one of them failed."""


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
        differing = (
            part
            for name in names
            if (self.what, name) not in free and self.values.get(name) != other.values.get(name)
            for part in name.split("+")
        )
        return tuple(dict.fromkeys(differing))


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
            done.append(ComparedCall(action, *_comparable_form(action)))
    return AttemptChanges(trajectory, tuple(_without_retried(done)), handed_over)


def _without_retried(done: Sequence[ComparedCall]) -> Iterator[ComparedCall]:
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


def _comparable_form(action: ToolCall) -> tuple[str, dict[str, str]]:
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
            form[name] = _normalised(value[0] if isinstance(value, list) and value else value)
    for names in by_length.values():
        rows = sorted(
            "\t".join(map(_normalised, row)) for row in zip(*(arguments[name] for name in names), strict=True)
        )
        form["+".join(names)] = "\n".join(rows)
    return form


def _normalised(value: Any) -> str:
    """Return a value as text; equal numbers look equal, and texts ignore case and outer blanks."""
    if isinstance(value, bool) or value is None:
        return str(value).casefold()
    if isinstance(value, int | float):
        return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)
    if isinstance(value, str):
        return value.strip().casefold()
    return json.dumps(value, sort_keys=True, ensure_ascii=False, default=str).casefold()


@dataclass(frozen=True, slots=True)
class ChangeDifference:
    """The changes of a failed run compared with those of one success."""

    reference: AttemptChanges
    agreeing: int
    """How many successes made the same changes as the reference."""
    compared: int
    wrong: tuple[ComparedCall, ...]
    """Changes of the failed run that the reference does not contain, in order."""
    missing: tuple[ComparedCall, ...]
    """Changes of the reference that the failed run does not contain, in order."""
    free: Free


def explain_by_siblings(failed: AttemptChanges, siblings: Sequence[AttemptChanges]) -> FailureCause:
    """Explain a failed run by successful attempts at the same task; at least one is needed."""
    found = compare_changes(failed, siblings)
    kind = _failure_kind(failed, found)
    fault = found.wrong[0] if found.wrong else None
    rival = _closest_missing(fault, found.missing) if fault else None
    ended = failed.handed_over if kind is FailureKind.WRONG_END and found.missing else None
    at_fault = fault.action.step if fault else ended
    step = at_fault.index if at_fault else None
    tool = at_fault.tool if at_fault else ""
    keys = fault.differing(rival, free=found.free) if fault and rival else ()
    return FailureCause(
        trajectory_id=failed.trajectory.id,
        kind=kind,
        step=step,
        tool=tool,
        keys=keys,
        expected=_expected_calls(found, siblings),
        spans=_spans(failed, found, step=step, rival=rival),
        confidence=(found.agreeing + 1) / (found.compared + 2),
        by_sibling=True,
        temporary=kind is FailureKind.WRONG_END and not all(call.worked for call in failed.done),
    )


def compare_changes(failed: AttemptChanges, siblings: Sequence[AttemptChanges]) -> ChangeDifference:
    """Compare a failed run with the success that most others agree with; of equals, with the most similar."""
    free = free_arguments(siblings)
    groups: dict[tuple[Form, ...], list[AttemptChanges]] = defaultdict(list)
    for sibling in siblings:
        groups[tuple(sorted(call.form(free) for call in sibling.worked))].append(sibling)
    fits = [
        (
            members,
            _without_partner(failed.done, members[0].worked, free),
            _without_partner(members[0].worked, failed.done, free),
        )
        for members in groups.values()
    ]
    # The first of equals is taken: `siblings` have a fixed order.
    members, wrong, missing = min(fits, key=lambda fit: (-len(fit[0]), len(fit[1]) + len(fit[2])))
    return ChangeDifference(members[0], len(members), len(siblings), wrong, missing, free)


def _without_partner(
    one: Sequence[ComparedCall], other: Sequence[ComparedCall], free: Free
) -> tuple[ComparedCall, ...]:
    """Return the calls of one run that have no partner in the other, in order."""
    left = Counter(call.form(free) for call in other)
    unmatched: list[ComparedCall] = []
    for call in one:
        form = call.form(free)
        if left[form]:
            left[form] -= 1
        else:
            unmatched.append(call)
    return tuple(unmatched)


def _failure_kind(failed: AttemptChanges, found: ChangeDifference) -> FailureKind:
    done = Counter(call.what for call in failed.done)
    needed = Counter(call.what for call in found.reference.worked)
    if not done and needed:
        return FailureKind.NO_ACTION
    if done == needed:
        return FailureKind.WRONG_ARGUMENTS if found.wrong else FailureKind.WRONG_END
    if needed <= done:
        return FailureKind.EXTRA_STEP
    if done <= needed:
        needless = failed.handed_over is not None and found.reference.handed_over is None and not found.wrong
        return FailureKind.WRONG_END if needless else FailureKind.MISSING_STEP
    return FailureKind.WRONG_TOOL


def _closest_missing(fault: ComparedCall, missing: Sequence[ComparedCall]) -> ComparedCall | None:
    """Return the missing call of the same tool with the fewest differences."""
    same = [call for call in missing if call.what == fault.what]
    return min(same, key=lambda call: (len(fault.differing(call)), call.index), default=None)


def _expected_calls(found: ChangeDifference, siblings: Sequence[AttemptChanges]) -> tuple[ExpectedCall, ...]:
    support = Counter(form for run in siblings for form in {call.form(found.free) for call in run.worked})
    return tuple(
        ExpectedCall(
            tool=call.action.step.tool,
            arguments=dict(call.action.step.arguments),
            support=support[call.form(found.free)],
        )
        for call in found.missing
    )


def _spans(
    failed: AttemptChanges, found: ChangeDifference, *, step: int | None, rival: ComparedCall | None
) -> tuple[Span, ...]:
    shown = (rival,) if rival else found.missing
    needed = [Span(found.reference.trajectory.id, call.index, "arguments") for call in shown]
    if step is not None:
        return (Span(failed.trajectory.id, step, "arguments"), *needed)
    if needed:
        return tuple(needed)
    both = (failed.trajectory, found.reference.trajectory)
    return tuple(Span(run.id, run.steps[-1].index, "text") for run in both if run.steps)
