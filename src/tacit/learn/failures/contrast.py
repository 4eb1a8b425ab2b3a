"""Explains a failed attempt by comparing its changes with those of successful attempts at the same task.

A change that the successes did not make is at fault. Two runs with the same changes differ in what they answered or in how
they ended.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from tacit.domain.trajectory import Span, Trajectory
from tacit.learn.failures.effects import (
    AttemptChanges,
    ComparedCall,
    ExpectedCall,
    FailureCause,
    FailureKind,
    Form,
    Free,
    free_arguments,
)


@dataclass(frozen=True, slots=True)
class EffectDifference:
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


def contrast(failed: AttemptChanges, siblings: Sequence[AttemptChanges]) -> FailureCause:
    """Explain a failed run by successful attempts at the same task; at least one is needed."""
    found = differ(failed, siblings)
    kind = _kind(failed, found)
    fault = found.wrong[0] if found.wrong else None
    rival = _rival(fault, found.missing) if fault else None
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
        expected=_expected(found, siblings),
        spans=_spans(failed, found, step=step, rival=rival),
        confidence=(found.agreeing + 1) / (found.compared + 2),
        by_sibling=True,
        passing=kind is FailureKind.WRONG_END and not all(call.worked for call in failed.done),
    )


def differ(failed: AttemptChanges, siblings: Sequence[AttemptChanges]) -> EffectDifference:
    """Compare a failed run with the success that most others agree with; of equals, with the most similar."""
    free = free_arguments(siblings)
    groups: dict[tuple[Form, ...], list[AttemptChanges]] = defaultdict(list)
    for sibling in siblings:
        groups[tuple(sorted(call.form(free) for call in sibling.worked))].append(sibling)
    fits = [(members, *_unmatched(failed.done, members[0].worked, free)) for members in groups.values()]
    # The first of equals is taken: `siblings` have a fixed order.
    members, wrong, missing = min(fits, key=lambda fit: (-len(fit[0]), len(fit[1]) + len(fit[2])))
    return EffectDifference(members[0], len(members), len(siblings), wrong, missing, free)


def _unmatched(
    done: Sequence[ComparedCall], needed: Sequence[ComparedCall], free: Free
) -> tuple[tuple[ComparedCall, ...], tuple[ComparedCall, ...]]:
    return _beyond(done, needed, free), _beyond(needed, done, free)


def _beyond(one: Sequence[ComparedCall], other: Sequence[ComparedCall], free: Free) -> tuple[ComparedCall, ...]:
    """Return the calls of one run that have no partner in the other, in order."""
    left = Counter(call.form(free) for call in other)
    alone: list[ComparedCall] = []
    for call in one:
        form = call.form(free)
        if left[form]:
            left[form] -= 1
        else:
            alone.append(call)
    return tuple(alone)


def _kind(failed: AttemptChanges, found: EffectDifference) -> FailureKind:
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


def _rival(fault: ComparedCall, missing: Sequence[ComparedCall]) -> ComparedCall | None:
    """Return the missing call of the same tool with the fewest differences."""
    same = [call for call in missing if call.what == fault.what]
    return min(same, key=lambda call: (len(fault.differing(call)), call.index), default=None)


def _expected(found: EffectDifference, siblings: Sequence[AttemptChanges]) -> tuple[ExpectedCall, ...]:
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
    failed: AttemptChanges, found: EffectDifference, *, step: int | None, rival: ComparedCall | None
) -> tuple[Span, ...]:
    shown = (rival,) if rival else found.missing
    needed = [Span(found.reference.trajectory.id, call.index, "arguments") for call in shown]
    if step is not None:
        return (Span(failed.trajectory.id, step, "arguments"), *needed)
    if needed:
        return tuple(needed)
    return tuple(Span(run.id, run.steps[-1].index, "text") for run in _both(failed, found) if run.steps)


def _both(failed: AttemptChanges, found: EffectDifference) -> tuple[Trajectory, Trajectory]:
    return failed.trajectory, found.reference.trajectory
