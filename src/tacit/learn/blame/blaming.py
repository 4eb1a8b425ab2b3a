"""A failed attempt, successes and perhaps siblings → blame. The one entry; contrast first, signs where none can be had."""

from __future__ import annotations

from collections.abc import Sequence

from tacit.domain.trajectory import Role, Span, Step, Trajectory
from tacit.learn.blame.contrast import contrast
from tacit.learn.blame.effects import Deeds, deeds_of
from tacit.learn.blame.pool import MOST_SIBLINGS, Pool
from tacit.learn.blame.signs import Signs, signs_of
from tacit.learn.blame.verdict import Blame, Expected, FailureKind
from tacit.learn.blame.wants import said

_BEFORE_ALL = -1
"""Where the task stands if no step states it."""
_RULED = 0.4
"""How sure a kind is that only the plain rules give."""


def blame(failed: Trajectory, successes: Sequence[Trajectory] | Pool, *, siblings: Sequence[Trajectory] = ()) -> Blame:
    """Say how a failed attempt went wrong and at which step.

    `siblings` are successful attempts at the same task, `successes` those at others; give a `Pool` of them if many
    failures are to be blamed.
    """
    run = deeds_of(failed)
    if siblings:
        return contrast(run, [deeds_of(sibling) for sibling in siblings[:MOST_SIBLINGS]])
    pool = successes if isinstance(successes, Pool) else Pool(successes)
    return _by_signs(run, pool)


def _by_signs(run: Deeds, pool: Pool) -> Blame:
    likely = pool.wants.likely(said(run.trajectory))
    signs = signs_of(run, likely)
    kinds = pool.kinds(signs.features)
    if not run.done:
        kind, confidence = FailureKind.NO_ACTION, 1.0 if signs.wanted else 0.8
    elif kinds:
        kind = max(FailureKind, key=lambda kind: kinds.get(kind, 0.0))
        confidence = kinds[kind]
    else:
        kind, confidence = _ruled(signs), _RULED
    fault = _fault(kind, run)
    return Blame(
        trajectory_id=run.trajectory.id,
        kind=kind,
        step=fault.index if fault else None,
        tool=fault.tool if fault else "",
        expected=tuple(Expected(tool=what) for what in signs.wanted),
        reason=_reason(kind, signs, fault),
        spans=_spans(run, signs, fault),
        confidence=confidence,
    )


def _ruled(signs: Signs) -> FailureKind:
    if signs.retried or (signs.effects > 2 and signs.repeated):
        return FailureKind.EXTRA_STEP
    if signs.handed_over or signs.wanted:
        return FailureKind.MISSING_STEP
    return FailureKind.WRONG_ARGUMENTS


def _fault(kind: FailureKind, run: Deeds) -> Step | None:
    """The step at fault: most failures that have one go wrong with their first effect."""
    if kind is FailureKind.WRONG_END:
        return run.handed_over
    return None if kind in (FailureKind.NO_ACTION, FailureKind.MISSING_STEP) else run.done[0].action.step


def _reason(kind: FailureKind, signs: Signs, fault: Step | None) -> str:
    shown = []
    if signs.handed_over:
        shown.append("the task was handed over")
    if signs.wanted:
        shown.append(f"the words call for {', '.join(signs.wanted)}, which was not called")
    if signs.retried:
        shown.append(f"{signs.retried.what} failed and was called again")
    if signs.invented:
        shown.append(f"{signs.invented.what} was given an identifier that nobody had mentioned")
    if signs.declined:
        shown.append("the agent said that it could not do something")
    if signs.untouched:
        shown.append("something that the person named and the agent looked at was left as it was")
    opening = "Nothing was changed" if kind is FailureKind.NO_ACTION else f"By its signs {kind}"
    if fault:
        opening += f", from {fault.tool} on"
    return f"{opening}: {'; '.join(shown)}." if shown else f"{opening}."


def _spans(run: Deeds, signs: Signs, fault: Step | None) -> tuple[Span, ...]:
    own = run.trajectory.id
    spans = [Span(own, fault.index, "arguments")] if fault else []
    if signs.retried:
        spans.append(Span(own, signs.retried.index, "observation"))
    if signs.invented:
        spans.append(Span(own, signs.invented.index, "arguments"))
    if signs.declined:
        spans.append(Span(own, signs.declined[0], "text"))
    if run.handed_over:
        spans.append(Span(own, run.handed_over.index, "arguments"))
    if signs.wanted or signs.untouched or not spans:
        asked = (step.index for step in run.trajectory.steps if step.role is Role.USER)
        spans.append(Span(own, next(asked, _BEFORE_ALL), "text"))
    return tuple(dict.fromkeys(spans))
