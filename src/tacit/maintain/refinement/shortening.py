"""Runs that came to a skill's end in fewer steps → the shorter way as its next version. Pure.

The same end means: the same kind of task, every check of the skill made and passed, and either its postconditions shown or
its last step done. Two independent sessions must have gone the very same way, and somebody vouches for both. What only looks
at something makes no way longer, and stays where all of them looked.
"""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from collections.abc import Iterator, Sequence

from tacit.domain.skill import SkillContent, SkillStep, SkillVersion
from tacit.domain.trajectory import Span
from tacit.evidence.runs import CHECK, WRITE, Call, Run, command_in, is_particular, step_key
from tacit.maintain.refinement.revision import (
    MOST_SPANS,
    Beside,
    Revision,
    moved_pitfalls,
    revision,
    says_the_same,
    step_of,
)
from tacit.text.shell import is_check
from tacit.text.similarity import text_similarity

SESSIONS = 2
"""So many independent sessions must have gone the way."""
_ALIKE = 0.5
"""How alike a task must be to those of the skill to be of its kind."""


def shorter(version: SkillVersion, runs: Sequence[Run], beside: Beside) -> Revision | None:
    """The shortest way of several sessions that came to the same end in fewer steps than the skill asks for."""
    content = version.content
    required = sum(not step.optional and not beside.looks(step) for step in content.steps)
    groups: dict[tuple[str, ...], list[Run]] = defaultdict(list)
    for run in runs:
        way = [] if any(met.resisted for met in beside.met(run)) else way_of(run)  # what was refused is not left out
        new = [call for call in way if call.index not in run.at]
        if not 0 < len(way) < required or any(is_particular(run, call) for call in new):
            continue
        if _same_end(run, way, runs):
            groups[tuple(call.key for call in way)].append(run)
    fitting = [group for group in groups.values() if len({run.session for run in group}) >= SESSIONS]
    if not fitting:
        return None
    group = min(fitting, key=lambda each: (len(way_of(each[0])), -len(each)))
    sessions, length = len({run.session for run in group}), len(way_of(group[0]))
    told = f"{sessions} sessions came to the same end with {length} of {required} changes and checks"
    made = _told_as(version, group, beside, reason=told)
    return None if any(says_the_same(made.content, other) for other in beside.refused) else made


def way_of(run: Run) -> list[Call]:
    """What a run did: changes and checks that worked, each once; of a check that was made again the last time."""
    worked = [call for call in run.calls if call.worked and call.effect in (WRITE, CHECK)]
    last = {call.key: call.index for call in worked if call.effect == CHECK}
    found: dict[str, Call] = {}
    for call in worked:
        if call.effect == WRITE or last[call.key] == call.index:
            found.setdefault(call.key, call)
    return list(found.values())


def shows_the_end(step: SkillStep, content: SkillContent) -> bool:
    """Whether a step shows that the work is done: it is never left out because runs left it out."""
    command = command_in(step)
    checks = {condition.check.strip() for condition in content.postconditions if condition.check}
    return bool(command) and (is_check(command) or command.strip() in checks)


def _told_as(version: SkillVersion, group: Sequence[Run], beside: Beside, *, reason: str) -> Revision:
    """The way as steps: the skill's own where it went that way, and what was done instead."""
    content = version.content
    steps: list[SkillStep] = []
    moved: dict[int, int] = {}
    grounding: dict[str, tuple[Span, ...]] = {}
    for own, call, spans in _stations(group, beside):
        if own is None or own in moved:
            steps.append(step_of(None, call, beside.word))
        else:
            moved[own] = len(steps)
            steps.append(content.steps[own])
        grounding[f"steps.{len(steps) - 1}"] = spans[:MOST_SPANS]
    made = dataclasses.replace(content, steps=tuple(steps), pitfalls=moved_pitfalls(content.pitfalls, moved))
    return revision(version, made, moved, grounding, reasons=[reason], runs=group)


def _stations(group: Sequence[Run], beside: Beside) -> Iterator[tuple[int | None, Call, tuple[Span, ...]]]:
    """What the runs of a group did alike, in order: the step of the skill, if it is one, the call, and where each did it."""
    first = group[0]
    ways = {run.trajectory.id: way_of(run) for run in group}
    place = {call.index: number for number, call in enumerate(ways[first.trajectory.id])}
    for call in first.calls:
        own = first.at.get(call.index)
        if call.index in place:
            number = place[call.index]
            yield own, call, tuple(run.span(ways[run.trajectory.id][number].index) for run in group)
        elif own is not None and call.index == first.matched[own][-1] and _looked(own, group, beside):
            yield own, call, tuple(run.span(run.matched[own][-1]) for run in group)


def _looked(step: int, group: Sequence[Run], beside: Beside) -> bool:
    """Whether a step only looks at something, and all of a group did."""
    return beside.looks(group[0].content.steps[step]) and all(step in run.matched for run in group)


def _same_end(run: Run, way: Sequence[Call], runs: Sequence[Run]) -> bool:
    content = run.content
    done = {run.at[call.index] for call in way if call.index in run.at}
    keys = {call.key for call in way}
    for number, step in enumerate(content.steps):
        if shows_the_end(step, content) and number not in done and step_key(step) not in keys:
            return False
    checks = [condition.check.strip() for condition in content.postconditions if condition.check]
    shown = all(any(check in call.command for call in way) for check in checks)
    if not shown or (not checks and len(content.steps) - 1 not in done):
        return False
    followed = [each.trajectory.task.text for each in runs if len(each.matched) == len(content.steps)]
    asked = [*content.example_queries, *followed] or [content.description]
    return any(text_similarity(run.trajectory.task.text, other) >= _ALIKE for other in asked) or bool(done)
