"""A failed attempt and successful attempts at the same task → what differs between their effects, as blame.

The successes agree on what had to be done; an effect of the failed run that this does not contain is at fault. Speaks of
nothing but effects: two runs with the same effects differ in what was said or in how they ended.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from tacit.domain.trajectory import Span, Trajectory
from tacit.learn.failures.effects import Blame, Deed, Deeds, Expected, FailureKind, Form, Free, free_arguments


@dataclass(frozen=True, slots=True)
class Difference:
    """The effects of a failed run laid beside those of one success."""

    reference: Deeds
    agreeing: int
    """How many successes did just the same as the reference."""
    compared: int
    wrong: tuple[Deed, ...]
    """Effects of the failed run that the reference does not contain, in order."""
    missing: tuple[Deed, ...]
    """Effects of the reference that the failed run does not contain, in order."""
    free: Free


def contrast(failed: Deeds, siblings: Sequence[Deeds]) -> Blame:
    """Blame a failed run by what successful attempts at the same task did; there must be one."""
    found = differ(failed, siblings)
    kind = _kind(failed, found)
    fault = found.wrong[0] if found.wrong else None
    rival = _rival(fault, found.missing) if fault else None
    ended = failed.handed_over if kind is FailureKind.WRONG_END and found.missing else None
    at_fault = fault.action.step if fault else ended
    step = at_fault.index if at_fault else None
    tool = at_fault.tool if at_fault else ""
    keys = fault.differing(rival, free=found.free) if fault and rival else ()
    return Blame(
        trajectory_id=failed.trajectory.id,
        kind=kind,
        step=step,
        tool=tool,
        keys=keys,
        expected=_expected(found, siblings),
        reason=_reason(kind, found, failed, tool=tool, keys=keys),
        spans=_spans(failed, found, step=step, rival=rival),
        confidence=(found.agreeing + 1) / (found.compared + 2),
        by_sibling=True,
        passing=kind is FailureKind.WRONG_END and not all(deed.worked for deed in failed.done),
    )


def differ(failed: Deeds, siblings: Sequence[Deeds]) -> Difference:
    """Lay a failed run beside the success that most others agree with; among equals the one most like it."""
    free = free_arguments(siblings)
    groups: dict[tuple[Form, ...], list[Deeds]] = defaultdict(list)
    for sibling in siblings:
        groups[tuple(sorted(deed.form(free) for deed in sibling.worked))].append(sibling)
    fits = [(members, *_unmatched(failed.done, members[0].worked, free)) for members in groups.values()]
    # The first of equals stays: `siblings` come in a fixed order.
    members, wrong, missing = min(fits, key=lambda fit: (-len(fit[0]), len(fit[1]) + len(fit[2])))
    return Difference(members[0], len(members), len(siblings), wrong, missing, free)


def _unmatched(done: Sequence[Deed], needed: Sequence[Deed], free: Free) -> tuple[tuple[Deed, ...], tuple[Deed, ...]]:
    return _beyond(done, needed, free), _beyond(needed, done, free)


def _beyond(one: Sequence[Deed], other: Sequence[Deed], free: Free) -> tuple[Deed, ...]:
    """Deeds of the one that have no partner in the other, in order."""
    left = Counter(deed.form(free) for deed in other)
    alone: list[Deed] = []
    for deed in one:
        form = deed.form(free)
        if left[form]:
            left[form] -= 1
        else:
            alone.append(deed)
    return tuple(alone)


def _kind(failed: Deeds, found: Difference) -> FailureKind:
    done = Counter(deed.what for deed in failed.done)
    needed = Counter(deed.what for deed in found.reference.worked)
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


def _rival(fault: Deed, missing: Sequence[Deed]) -> Deed | None:
    """The call that should have been made instead: of the same tool, with the fewest differences."""
    same = [deed for deed in missing if deed.what == fault.what]
    return min(same, key=lambda deed: (len(fault.differing(deed)), deed.index), default=None)


def _expected(found: Difference, siblings: Sequence[Deeds]) -> tuple[Expected, ...]:
    support = Counter(form for run in siblings for form in {deed.form(found.free) for deed in run.worked})
    return tuple(
        Expected(
            tool=deed.action.step.tool,
            arguments=dict(deed.action.step.arguments),
            support=support[deed.form(found.free)],
        )
        for deed in found.missing
    )


def _reason(kind: FailureKind, found: Difference, failed: Deeds, *, tool: str, keys: tuple[str, ...]) -> str:
    said = f"{found.agreeing} of {found.compared} successful attempts at the same task"
    lacking = _names(found.missing)
    match kind:
        case FailureKind.NO_ACTION:
            before = "handed the task over without a change" if failed.handed_over else "changed nothing"
            return f"It {before}; {said} called {lacking}."
        case FailureKind.MISSING_STEP:
            return f"It never called {lacking} as needed; {said} did." + (f" {tool} differs as well." if tool else "")
        case FailureKind.EXTRA_STEP:
            instead = f" where {said} called {lacking}" if lacking else f" beyond what {said} did"
            return f"It called {_names(found.wrong)}{instead}."
        case FailureKind.WRONG_TOOL:
            return f"It called {_names(found.wrong)} where {said} called {lacking}."
        case FailureKind.WRONG_ARGUMENTS:
            values = f"other values for {', '.join(keys)}" if keys else "other values"
            return f"It called {tool} with {values} than {said}."
        case FailureKind.WRONG_END:
            if tool:
                return f"It ended with {tool}; {said} went on with {lacking}."
            if not all(deed.worked for deed in failed.done):
                return f"It called what {said} called, and the call failed."
            return f"Its changes are those of {said}; what it said or how it ended is at fault."


def _names(deeds: Sequence[Deed]) -> str:
    counts = Counter(deed.what for deed in deeds)
    return ", ".join(name if count == 1 else f"{name} ({count} times)" for name, count in counts.items())


def _spans(failed: Deeds, found: Difference, *, step: int | None, rival: Deed | None) -> tuple[Span, ...]:
    shown = (rival,) if rival else found.missing
    needed = [Span(found.reference.trajectory.id, deed.index, "arguments") for deed in shown]
    if step is not None:
        return (Span(failed.trajectory.id, step, "arguments"), *needed)
    if needed:
        return tuple(needed)
    return tuple(Span(run.id, run.steps[-1].index, "text") for run in _both(failed, found) if run.steps)


def _both(failed: Deeds, found: Difference) -> tuple[Trajectory, Trajectory]:
    return failed.trajectory, found.reference.trajectory
