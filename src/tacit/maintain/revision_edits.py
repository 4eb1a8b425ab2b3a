"""Edits of a skill, each with the runs behind it → its next version, with the origin and sources of every field.

An unchanged field keeps its origin and sources; what agents did has the agent's origin. Which edits are made is decided
in `revision_proposals`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tacit.domain.coded_reason import CodedReason
from tacit.domain.origin import Origin, lowest
from tacit.domain.skill import Pitfall, SkillContent, SkillStep, SkillVersion, with_default_origins
from tacit.domain.trajectory import Span, Step
from tacit.evidence.friction import Friction
from tacit.evidence.runs import RunCall, SkillRun, command_in, step_key

MOST_SPANS = 6
"""How many spans are added to the sources of one field."""

Wording = Callable[[Step, Mapping[str, Any]], str]
"""A call and its arguments with parameters filled in → the sentence of a step."""
ReadsOnly = Callable[[SkillStep], bool]
"""Whether a step of a skill only reads something."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Revision:
    """A proposed next version: its content, why, and the sources of each field."""

    content: SkillContent
    origins: Mapping[str, Origin]
    grounding: Mapping[str, tuple[Span, ...]]
    reasons: tuple[CodedReason, ...]
    trajectory_ids: tuple[str, ...]
    """The runs behind it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """One change of the steps or pitfalls, with the runs behind it."""

    reason: CodedReason
    spans: tuple[Span, ...]
    runs: tuple[SkillRun, ...]
    step: int
    """Number of the step in the present version; -1: before the first."""
    made: SkillStep | None = None
    """The new step; None removes the step."""
    added: bool = False
    """Whether the new step comes after that step, rather than in its place."""
    pitfall: Pitfall | None = None
    """A warning that is added instead of changing the step."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RevisionContext:
    """What proposals need to know besides the runs."""

    word_step: Wording
    only_reads: ReadsOnly
    used_elsewhere: Callable[[RunCall], bool] = lambda call: False
    """Whether another skill has this call as a step; then it is not specific to this skill."""
    frictions: Mapping[str, tuple[Friction, ...]] = field(default_factory=dict)
    """Trajectory → the friction in it."""
    rejected: Sequence[SkillContent] = ()
    """Revisions of the same version that a person rejected: none of their edits is made again."""

    def met(self, run: SkillRun) -> tuple[Friction, ...]:
        """Return the friction in a run."""
        return self.frictions.get(run.trajectory.id, ())


def same_revision_content(left: SkillContent, right: SkillContent) -> bool:
    """Whether two contents differ in nothing but the counts of pitfalls."""
    return _without_counts(left) == _without_counts(right)


def step_of(before: SkillStep | None, call: RunCall, word_step: Wording) -> SkillStep:
    """Return a step that describes a call; the words of the step it replaces are kept where they name its command."""
    text = word_step(call.step, call.arguments)
    old = command_in(before) if before else ""
    if before and old and call.command and f"`{old}`" in before.text:
        text = before.text.replace(f"`{old}`", f"`{call.command}`")
    optional = before.optional if before else False
    return SkillStep(text=text, tool=call.step.tool, arguments=call.arguments, optional=optional)


def was_rejected(edit: Edit, content: SkillContent, rejected: Sequence[SkillContent]) -> bool:
    """Whether a person rejected a revision with this edit."""
    return any(_makes_edit(edit, content, other) for other in rejected)


def _makes_edit(edit: Edit, content: SkillContent, other: SkillContent) -> bool:
    theirs = {step_key(step) for step in other.steps}
    if edit.pitfall:
        return edit.pitfall.text in {each.text for each in other.pitfalls}
    if edit.made is None:
        return step_key(content.steps[edit.step]) not in theirs
    key = step_key(edit.made)
    if key in {step_key(step) for step in content.steps}:  # it became optional
        return any(step.optional and step_key(step) == key for step in other.steps)
    return key in theirs


def applied(version: SkillVersion, edits: Sequence[Edit], runs: Sequence[SkillRun]) -> Revision:
    """Apply all edits at once; `runs` are also sources of the steps that stay."""
    content = version.content
    steps: list[SkillStep] = []
    moved: dict[int, int] = {}
    grounding: dict[str, tuple[Span, ...]] = {}

    def put(step: SkillStep, spans: Iterable[Span]) -> None:
        grounding[f"steps.{len(steps)}"] = _first_spans(spans)
        steps.append(step)

    for place in range(-1, len(content.steps)):
        here = [edit for edit in edits if edit.step == place and edit.pitfall is None]
        change = next((edit for edit in here if not edit.added), None)
        if place >= 0 and (change is None or change.made is not None):
            moved[place] = len(steps)
            stays = content.steps[place], _spans_of_step(place, runs)
            put(*((change.made, change.spans) if change and change.made else stays))
        for edit in here:
            if edit.added and edit.made:
                put(edit.made, edit.spans)
    changed = dataclasses.replace(content, steps=tuple(steps), pitfalls=moved_pitfalls(content.pitfalls, moved))
    changed = _with_pitfalls(changed, edits, moved, grounding)
    changed = _corrected_body(changed, content, edits, grounding)
    used = {run.trajectory.id: run for edit in edits for run in edit.runs}
    return revision(version, changed, moved, grounding, reasons=[e.reason for e in edits], runs=list(used.values()))


def revision(
    version: SkillVersion,
    content: SkillContent,
    moved: Mapping[int, int],
    grounding: Mapping[str, tuple[Span, ...]],
    *,
    reasons: Sequence[CodedReason],
    runs: Sequence[SkillRun],
) -> Revision:
    """Return the next version with the origin of every field; `moved` maps old step numbers to new ones."""
    stays = {now for old, now in moved.items() if content.steps[now] == version.content.steps[old]}
    origins: dict[str, Origin] = {}
    rests = dict(grounding)
    for path, origin in with_default_origins(version.content, version.origins).items():
        if now := _new_path(path, moved, stays):
            origins[now] = origin
    for path, spans in version.provenance.grounding.items():
        if now := _new_path(path, moved, stays):
            rests[now] = tuple(dict.fromkeys((*spans, *rests.get(now, ()))))[: len(spans) + MOST_SPANS]
    for path in grounding:
        if not (path.startswith("steps.") and int(path.removeprefix("steps.")) in stays):
            origins[path] = lowest((Origin.AGENT, origins.get(path, Origin.AGENT)))
    ids = tuple(dict.fromkeys(run.trajectory.id for run in runs))
    return Revision(content=content, origins=origins, grounding=rests, reasons=tuple(reasons), trajectory_ids=ids)


def moved_pitfalls(pitfalls: Sequence[Pitfall], moved: Mapping[int, int]) -> tuple[Pitfall, ...]:
    """Return the pitfalls with the new number of the step each refers to; None where the step is gone."""
    return tuple(
        dataclasses.replace(each, step=moved.get(each.step)) if each.step is not None else each for each in pitfalls
    )


def _new_path(path: str, moved: Mapping[int, int], stays: set[int]) -> str:
    """The new path of an unchanged field; empty where it is gone or changed."""
    name, _, rest = path.partition(".")
    number, dot, tail = rest.partition(".")
    if name != "steps" or not number.isdigit():
        return path
    now = moved.get(int(number))
    return f"steps.{now}{dot}{tail}" if now in stays else ""


def _with_pitfalls(
    content: SkillContent, edits: Sequence[Edit], moved: Mapping[int, int], grounding: dict[str, tuple[Span, ...]]
) -> SkillContent:
    """The content with the pitfalls that the runs met, each once."""
    pitfalls = list(content.pitfalls)
    for edit in edits:
        known = {each.text for each in pitfalls}
        if edit.pitfall and edit.pitfall.text not in known:
            grounding[f"pitfalls.{len(pitfalls)}"] = _first_spans(edit.spans)
            pitfalls.append(dataclasses.replace(edit.pitfall, step=moved.get(edit.step)))
    return dataclasses.replace(content, pitfalls=tuple(pitfalls))


def _corrected_body(
    changed: SkillContent, content: SkillContent, edits: Sequence[Edit], grounding: dict[str, tuple[Span, ...]]
) -> SkillContent:
    """The content with old commands replaced by working ones, where the body repeats them."""
    body, spans = content.body, list[Span]()
    for edit in edits:
        if edit.made is None or edit.added:
            continue
        old, new = command_in(content.steps[edit.step]), command_in(edit.made)
        if old and new and old != new and f"`{old}`" in body:
            body = body.replace(f"`{old}`", f"`{new}`")
            spans += edit.spans
    if spans:
        grounding["body"] = _first_spans(spans)
    return dataclasses.replace(changed, body=body)


def _spans_of_step(step: int, runs: Sequence[SkillRun]) -> list[Span]:
    """Where the runs took a step as it is written."""
    return [run.span(run_step) for run in runs for run_step in run.matched.get(step, ())[-1:]]


def _first_spans(spans: Iterable[Span]) -> tuple[Span, ...]:
    return tuple(dict.fromkeys(spans))[:MOST_SPANS]


def _without_counts(content: SkillContent) -> SkillContent:
    return dataclasses.replace(content, pitfalls=tuple(dataclasses.replace(each, count=1) for each in content.pitfalls))
