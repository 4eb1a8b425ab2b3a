"""Why an attempt failed, compared with successes at the same task, and the pitfalls of a skill that follow from it.

Only calls that change something are compared: shell commands by program and subcommand, edits by path, plain tools by name
and arguments. A change that the successful attempts did not make is at fault. A failure at a task that nobody solved is not
explained.
"""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise
from typing import Any

from tacit.domain.skill import Pitfall, SkillStep
from tacit.domain.trajectory import Role, Span, Step, Trajectory
from tacit.text.programs import SHELL_TOOLS
from tacit.text.tool_calls import Effect, ToolCall, ToolKind, essential, plain_name, tool_call, tool_calls

MAX_SIBLINGS = 32
"""Successes that one failure is compared with; it bounds the time."""
MAX_PITFALLS = 5
"""Pitfalls of one skill; each costs the agent that reads it."""


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
class FailureCause:
    """How a failed attempt differs from successful ones at the same task."""

    trajectory_id: str
    kind: FailureKind
    step: int | None
    """Index of the first wrong step; none where something is missing."""
    tool: str = ""
    """The tool called at that step."""
    keys: tuple[str, ...] = ()
    """For wrong arguments: the names of those that differ, where known."""
    missing: tuple[str, ...] = ()
    """The tools of the calls that the successes made and this attempt did not."""
    spans: tuple[Span, ...] = ()
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
    wrong: tuple[ComparedCall, ...]
    """Changes of the failed run that the reference does not contain, in order."""
    missing: tuple[ComparedCall, ...]
    """Changes of the reference that the failed run does not contain, in order."""
    free: Free


def explain_failure(failed: Trajectory, siblings: Sequence[Trajectory]) -> FailureCause:
    """Explain a failed attempt by successful ones at the same task; at least one is needed."""
    return explain_changes(changes_made(failed), [changes_made(sibling) for sibling in siblings[:MAX_SIBLINGS]])


def explain_changes(failed: AttemptChanges, siblings: Sequence[AttemptChanges]) -> FailureCause:
    """Explain the changes of a failed attempt by those of successful ones."""
    found = compare_changes(failed, siblings)
    kind = _failure_kind(failed, found)
    fault = found.wrong[0] if found.wrong else None
    rival = _closest_missing(fault, found.missing) if fault else None
    ended = failed.handed_over if kind is FailureKind.WRONG_END and found.missing else None
    at_fault = fault.action.step if fault else ended
    step = at_fault.index if at_fault else None
    return FailureCause(
        trajectory_id=failed.trajectory.id,
        kind=kind,
        step=step,
        tool=at_fault.tool if at_fault else "",
        keys=fault.differing(rival, free=found.free) if fault and rival else (),
        missing=tuple(dict.fromkeys(call.action.step.tool for call in found.missing)),
        spans=_spans(failed, found, step=step, rival=rival),
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
    return ChangeDifference(members[0], wrong, missing, free)


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


_Place = tuple[FailureKind, int | None, str, str]
"""Kind, the skill's step, the tool at fault, the tool that was needed."""


@dataclass(frozen=True, slots=True)
class FoundPitfall:
    """A pitfall and the spans of the failed and successful runs behind it."""

    pitfall: Pitfall
    spans: tuple[Span, ...]


def found_pitfalls(skill_steps: Sequence[SkillStep], causes: Iterable[FailureCause]) -> tuple[FoundPitfall, ...]:
    """Return the pitfalls of these steps with their spans, the most frequent first."""
    places = {
        step.tool: place for place, step in reversed(list(enumerate(skill_steps))) if _is_meaningful_tool(step.tool)
    }
    gathered: dict[_Place, dict[str, FailureCause]] = {}
    for cause in causes:
        for place in () if cause.temporary else _skill_places(cause, places):
            gathered.setdefault(place, {}).setdefault(cause.trajectory_id, cause)
    found = [_pitfall(place, list(runs.values())) for place, runs in gathered.items()]
    found.sort(key=lambda each: (-each.pitfall.count, each.pitfall.step or 0, each.pitfall.text))
    return tuple(found[:MAX_PITFALLS])


def _skill_places(cause: FailureCause, places: Mapping[str, int]) -> Iterator[_Place]:
    """Yield where in the skill a cause belongs; nothing if it concerns none of its steps."""
    lacking = [tool for tool in cause.missing if tool in places]
    match cause.kind:
        case FailureKind.NO_ACTION | FailureKind.MISSING_STEP:
            for tool in lacking:
                yield FailureKind.MISSING_STEP, places[tool], "", tool
        case FailureKind.WRONG_TOOL:
            if lacking and _is_meaningful_tool(cause.tool) and cause.tool not in lacking:
                yield cause.kind, places[lacking[0]], cause.tool, lacking[0]
        case FailureKind.EXTRA_STEP:
            if _is_meaningful_tool(cause.tool):
                yield cause.kind, places.get(cause.tool), cause.tool, ""
        case FailureKind.WRONG_ARGUMENTS:
            if cause.tool in places:
                yield cause.kind, places[cause.tool], cause.tool, ""
        case FailureKind.WRONG_END:
            if cause.tool and lacking:
                yield cause.kind, places[lacking[0]], cause.tool, lacking[0]


def _is_meaningful_tool(tool: str) -> bool:
    """Whether the name of a tool says what it does: that of a shell or an editor does not."""
    if not tool or plain_name(tool) in SHELL_TOOLS:
        return False
    return tool_call(Step(index=0, role=Role.AGENT, tool=tool)).kind is ToolKind.FUNCTION


def _pitfall(place: _Place, runs: Sequence[FailureCause]) -> FoundPitfall:
    kind, step, tool, needed = place
    spans = tuple(dict.fromkeys(span for cause in runs for span in cause.spans))
    text = _pitfall_text(kind, tool, needed, keys=_shared_keys(runs), known=step is not None)
    return FoundPitfall(Pitfall(text=text, kind=kind.value, step=step, count=len(runs)), spans)


def _shared_keys(runs: Sequence[FailureCause]) -> tuple[str, ...]:
    """Return the arguments that at least half of the runs got wrong."""
    names = dict.fromkeys(key for cause in runs for key in cause.keys)
    return tuple(name for name in names if 2 * sum(name in cause.keys for cause in runs) >= len(runs))


def _pitfall_text(kind: FailureKind, tool: str, needed: str, *, keys: tuple[str, ...], known: bool) -> str:
    match kind:
        case FailureKind.WRONG_TOOL:
            return f"Calling {tool} where {needed} is needed."
        case FailureKind.EXTRA_STEP:
            return f"Calling {tool} again, or for more than was asked." if known else f"Calling {tool} as well."
        case FailureKind.WRONG_ARGUMENTS:
            return f"Wrong values for {', '.join(keys)} of {tool}." if keys else f"Wrong values for {tool}."
        case FailureKind.WRONG_END:
            return f"Ending with {tool} instead of going on with {needed}."
        case _:
            return f"Leaving out {needed}."
