"""Compares a procedure with failed attempts: steps that decide success, and habits that only failures show.

A step of all successes is decisive if failed attempts continued without it. A change that several failed attempts made and
no success did is a pitfall. Failures never add a step.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tacit.domain.skill import Pitfall
from tacit.domain.trajectory import Span, Trajectory
from tacit.learn.consensus.step_columns import (
    SAME_STEP_SIMILARITY,
    AttemptStep,
    DraftSource,
    StepColumn,
    attempt_step,
    own_words,
    step_similarity,
)
from tacit.learn.parameters import generalise
from tacit.learn.values import Timeline, action_spans
from tacit.learn.wording import code, local, shorten
from tacit.text.tool_calls import Effect, ToolKind, tool_calls

_SHOWN = 0.6
"""The least similarity at which a failed attempt's call counts as the step. Larger: more steps look skipped."""
_MIN_HABIT = 2
"""Failed attempts that must share a change. 1: every odd change of a failure would become a pitfall."""
_MAX_HABITS = 3
_MAX_COMMAND = 160


@dataclass(frozen=True, slots=True, kw_only=True)
class FailedSource:
    """A failed attempt in comparable form."""

    trajectory: Trajectory
    timeline: Timeline
    steps: tuple[AttemptStep, ...]

    def positions_of(self, column: StepColumn) -> tuple[int, ...]:
        """Return the positions of the calls that are this step."""
        return tuple(at for at, step in enumerate(self.steps) if column.similarity(step) >= _SHOWN)

    def took(self, column: StepColumn) -> bool:
        """Whether the step was taken and worked."""
        return any(self.steps[at].action.worked for at in self.positions_of(column))


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisiveStep:
    """A step that all successes took and failed attempts skipped."""

    column: int
    without: int
    """The failed attempts that skipped it."""
    spans: tuple[Span, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Habit:
    """A pitfall with its spans."""

    pitfall: Pitfall
    spans: tuple[Span, ...]


def failed_sources(trajectories: Sequence[Trajectory], sources: Sequence[DraftSource]) -> list[FailedSource]:
    """Return failed attempts in comparable form; those that are sources are left out."""
    succeeded = {source.trajectory.id for source in sources}
    ordered = sorted({trajectory.id: trajectory for trajectory in trajectories}.items())
    own = own_words(
        [*(source.trajectory.task.text for source in sources), *(failed.task.text for _, failed in ordered)]
    )
    words = {identity: own[len(sources) + at] for at, (identity, _) in enumerate(ordered)}
    found: list[FailedSource] = []
    for number, trajectory in enumerate(trajectory for identity, trajectory in ordered if identity not in succeeded):
        actions, timeline = tool_calls(trajectory), Timeline(trajectory)
        general = generalise(actions, timeline, workspace=trajectory.environment.workspace)
        steps = tuple(
            attempt_step(
                action,
                general.arguments(action.step.arguments),
                source=-1 - number,
                number=at,
                own=words[trajectory.id],
            )
            for at, action in enumerate(actions)
        )
        found.append(FailedSource(trajectory=trajectory, timeline=timeline, steps=steps))
    return found


def decisive_steps(
    columns: Sequence[StepColumn], failures: Sequence[FailedSource], *, successes: int
) -> list[DecisiveStep]:
    """Return the decisive steps, in order."""
    found: list[DecisiveStep] = []
    for number, column in enumerate(columns):
        looks_only = all(step.action.effect is Effect.READ for step in column.steps)
        if looks_only or len(column.sources) < successes or any(failure.took(column) for failure in failures):
            continue
        spans: list[Span] = []
        for failure in failures:
            # An attempt that stopped earlier says nothing about this step.
            later = [at for other in columns[number + 1 :] for at in failure.positions_of(other)]
            if later:
                spans.append(Span(failure.trajectory.id, failure.steps[min(later)].action.index, "arguments"))
        if len(spans) * 2 > len(failures):
            found.append(DecisiveStep(column=number, without=len(spans), spans=tuple(spans)))
    return found


def failure_habits(
    columns: Sequence[StepColumn], failures: Sequence[FailedSource], sources: Sequence[DraftSource]
) -> list[Habit]:
    """Return changes that at least two failed attempts made and no success did, the most frequent first."""
    usual = [step for column in columns for step in column.steps] + [
        step for source in sources for step in _all_calls(source)
    ]
    groups: list[list[tuple[FailedSource, AttemptStep]]] = []
    for failure in failures:
        for step in failure.steps:
            if step.action.effect is not Effect.WRITE or any(step_similarity(step, other) >= _SHOWN for other in usual):
                continue
            group = next(
                (found for found in groups if step_similarity(found[0][1], step) >= SAME_STEP_SIMILARITY), None
            )
            if group is None:
                groups.append([(failure, step)])
            else:
                group.append((failure, step))
    found: list[Habit] = []
    for group in groups:
        count = len({failure.trajectory.id for failure, _ in group})
        if count >= _MIN_HABIT:
            what = _shared_description([step for _, step in group])
            text = f"{what}: {count} of {len(failures)} failed attempts did, no success."
            spans = dict.fromkeys(span for failure, step in group for span in _spans(failure, step))
            found.append(Habit(pitfall=Pitfall(text=text, kind="extra step", count=count), spans=tuple(spans)))
    return sorted(found, key=lambda habit: (-habit.pitfall.count, habit.pitfall.text))[:_MAX_HABITS]


def _all_calls(source: DraftSource) -> list[AttemptStep]:
    """Return all calls of a successful attempt, in the draft or not."""
    return [
        attempt_step(action, source.general.arguments(action.step.arguments), source=-1, number=0, own=source.own)
        for action in tool_calls(source.trajectory)
    ]


def _spans(failure: FailedSource, step: AttemptStep) -> tuple[Span, ...]:
    workspace = failure.trajectory.environment.workspace
    return action_spans(step.action, failure.timeline, arguments=step.arguments, workspace=workspace)


def _shared_description(steps: Sequence[AttemptStep]) -> str:
    """Return what the steps have in common, as the start of a sentence."""
    first = steps[0]
    if first.action.kind is ToolKind.SHELL:
        root = first.action.workspace.rstrip("/")
        texts = {step.action.command.replace(f"cd {root} && ", "") if root else step.action.command for step in steps}
        same = len(texts) == 1 and "\n" not in first.action.command
        return f"Running {code(shorten(min(texts), _MAX_COMMAND) if same else first.action.label)}"
    if first.action.kind is ToolKind.FILE:
        places = {step.path for step in steps}
        return (
            f"Changing {code(local(first.path))}" if len(places) == 1 else f"Changing files with {first.action.label}"
        )
    return f"Calling {code(first.action.step.tool)}"
