"""Changes of a skill, each with the runs that show it → the next version of it, and what every field rests on. Pure.

An entry that stays keeps its origin and what it rested on; what an agent did is the agent's, until the origin fence has
looked at it. Which changes are made is not decided here.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tacit.domain.origin import Origin, lowest
from tacit.domain.skill import Pitfall, SkillContent, SkillStep, SkillVersion, accounted
from tacit.domain.trajectory import Span, Step
from tacit.evidence.friction import Friction
from tacit.evidence.runs import Call, Run, command_in, step_key

MOST_SPANS = 6
"""Spans that one field is shown to rest on, beside those it had."""

Wording = Callable[[Step, Mapping[str, Any]], str]
"""A call, and its arguments with parameters in place → the sentence of a step."""
Looking = Callable[[SkillStep], bool]
"""Whether a step of a skill only looks at something."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Revision:
    """A proposed next version: what it says, why, and what each field rests on."""

    content: SkillContent
    origins: Mapping[str, Origin]
    grounding: Mapping[str, tuple[Span, ...]]
    reasons: tuple[str, ...]
    trajectory_ids: tuple[str, ...]
    """The runs that show it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """One change of the steps or pitfalls, with the runs that show it."""

    reason: str
    spans: tuple[Span, ...]
    runs: tuple[Run, ...]
    step: int
    """Of the skill as it is; -1: before the first."""
    made: SkillStep | None = None
    """What stands there then; nothing: the step goes."""
    added: bool = False
    """Whether it comes behind that step, rather than in its place."""
    pitfall: Pitfall | None = None
    """What is warned of instead of a change of the step."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Beside:
    """What must be known beside the runs."""

    word: Wording
    looks: Looking
    elsewhere: Callable[[Call], bool] = lambda call: False
    """Whether another skill says to do this: what several tasks need is not one skill's business."""
    frictions: Mapping[str, tuple[Friction, ...]] = field(default_factory=dict)
    """Trajectory → what was met in it."""
    refused: Sequence[SkillContent] = ()
    """Revisions of the same version that a person turned down: none of their changes is made again."""

    def met(self, run: Run) -> tuple[Friction, ...]:
        """What was met in a run."""
        return self.frictions.get(run.trajectory.id, ())


def says_the_same(left: SkillContent, right: SkillContent) -> bool:
    """Whether two contents differ in nothing but how often a pitfall was met."""
    return _uncounted(left) == _uncounted(right)


def step_of(before: SkillStep | None, call: Call, word: Wording) -> SkillStep:
    """A step that says what a call did; the words of the step before it stay where they name its command."""
    text = word(call.step, call.arguments)
    old = command_in(before) if before else ""
    if before and old and call.command and f"`{old}`" in before.text:
        text = before.text.replace(f"`{old}`", f"`{call.command}`")
    optional = before.optional if before else False
    return SkillStep(text=text, tool=call.step.tool, arguments=call.arguments, optional=optional)


def was_refused(edit: Edit, content: SkillContent, refused: Sequence[SkillContent]) -> bool:
    """Whether a person turned down a revision that made this very change."""
    return any(_makes(edit, content, other) for other in refused)


def _makes(edit: Edit, content: SkillContent, other: SkillContent) -> bool:
    theirs = {step_key(step) for step in other.steps}
    if edit.pitfall:
        return edit.pitfall.text in {each.text for each in other.pitfalls}
    if edit.made is None:
        return step_key(content.steps[edit.step]) not in theirs
    key = step_key(edit.made)
    if key in {step_key(step) for step in content.steps}:  # it became optional
        return any(step.optional and step_key(step) == key for step in other.steps)
    return key in theirs


def applied(version: SkillVersion, edits: Sequence[Edit], runs: Sequence[Run]) -> Revision:
    """Make all changes at once; `runs` also vouch for the steps that stay."""
    content = version.content
    steps: list[SkillStep] = []
    moved: dict[int, int] = {}
    grounding: dict[str, tuple[Span, ...]] = {}

    def put(step: SkillStep, spans: Iterable[Span]) -> None:
        grounding[f"steps.{len(steps)}"] = _few(spans)
        steps.append(step)

    for place in range(-1, len(content.steps)):
        here = [edit for edit in edits if edit.step == place and edit.pitfall is None]
        change = next((edit for edit in here if not edit.added), None)
        if place >= 0 and (change is None or change.made is not None):
            moved[place] = len(steps)
            stays = content.steps[place], _done_at(place, runs)
            put(*((change.made, change.spans) if change and change.made else stays))
        for edit in here:
            if edit.added and edit.made:
                put(edit.made, edit.spans)
    changed = dataclasses.replace(content, steps=tuple(steps), pitfalls=moved_pitfalls(content.pitfalls, moved))
    changed = _warned(changed, edits, moved, grounding)
    changed = _mended_body(changed, content, edits, grounding)
    used = {run.trajectory.id: run for edit in edits for run in edit.runs}
    return revision(version, changed, moved, grounding, reasons=[e.reason for e in edits], runs=list(used.values()))


def revision(
    version: SkillVersion,
    content: SkillContent,
    moved: Mapping[int, int],
    grounding: Mapping[str, tuple[Span, ...]],
    *,
    reasons: Sequence[str],
    runs: Sequence[Run],
) -> Revision:
    """The next version with the origin of every field; `moved` tells where each step that stays stands now."""
    stays = {now for old, now in moved.items() if content.steps[now] == version.content.steps[old]}
    origins: dict[str, Origin] = {}
    rests = dict(grounding)
    for path, origin in accounted(version.content, version.origins).items():
        if now := _stands_at(path, moved, stays):
            origins[now] = origin
    for path, spans in version.provenance.grounding.items():
        if now := _stands_at(path, moved, stays):
            rests[now] = tuple(dict.fromkeys((*spans, *rests.get(now, ()))))[: len(spans) + MOST_SPANS]
    for path in grounding:
        if not (path.startswith("steps.") and int(path.removeprefix("steps.")) in stays):
            origins[path] = lowest((Origin.AGENT, origins.get(path, Origin.AGENT)))
    ids = tuple(dict.fromkeys(run.trajectory.id for run in runs))
    return Revision(content=content, origins=origins, grounding=rests, reasons=tuple(reasons), trajectory_ids=ids)


def moved_pitfalls(pitfalls: Sequence[Pitfall], moved: Mapping[int, int]) -> tuple[Pitfall, ...]:
    """Pitfalls with the step that each speaks of where it stands now; of none where that is gone."""
    return tuple(
        dataclasses.replace(each, step=moved.get(each.step)) if each.step is not None else each for each in pitfalls
    )


def _stands_at(path: str, moved: Mapping[int, int], stays: set[int]) -> str:
    """Where a field that is as it was stands now; empty where it is gone or says something else."""
    name, _, rest = path.partition(".")
    number, dot, tail = rest.partition(".")
    if name != "steps" or not number.isdigit():
        return path
    now = moved.get(int(number))
    return f"steps.{now}{dot}{tail}" if now in stays else ""


def _warned(
    content: SkillContent, edits: Sequence[Edit], moved: Mapping[int, int], grounding: dict[str, tuple[Span, ...]]
) -> SkillContent:
    """With the pitfalls that the runs met, each once."""
    pitfalls = list(content.pitfalls)
    for edit in edits:
        known = {each.text for each in pitfalls}
        if edit.pitfall and edit.pitfall.text not in known:
            grounding[f"pitfalls.{len(pitfalls)}"] = _few(edit.spans)
            pitfalls.append(dataclasses.replace(edit.pitfall, step=moved.get(edit.step)))
    return dataclasses.replace(content, pitfalls=tuple(pitfalls))


def _mended_body(
    changed: SkillContent, content: SkillContent, edits: Sequence[Edit], grounding: dict[str, tuple[Span, ...]]
) -> SkillContent:
    """With old commands replaced by those that work, where the body repeats them."""
    body, spans = content.body, list[Span]()
    for edit in edits:
        if edit.made is None or edit.added:
            continue
        old, new = command_in(content.steps[edit.step]), command_in(edit.made)
        if old and new and old != new and f"`{old}`" in body:
            body = body.replace(f"`{old}`", f"`{new}`")
            spans += edit.spans
    if spans:
        grounding["body"] = _few(spans)
    return dataclasses.replace(changed, body=body)


def _done_at(step: int, runs: Sequence[Run]) -> list[Span]:
    """Where the runs did a step as it stands."""
    return [run.span(run_step) for run in runs for run_step in run.matched.get(step, ())[-1:]]


def _few(spans: Iterable[Span]) -> tuple[Span, ...]:
    return tuple(dict.fromkeys(spans))[:MOST_SPANS]


def _uncounted(content: SkillContent) -> SkillContent:
    return dataclasses.replace(content, pitfalls=tuple(dataclasses.replace(each, count=1) for each in content.pitfalls))
