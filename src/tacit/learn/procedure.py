"""Makes a procedure candidate of a verified success: steps that changed something or that these need, with parameters.

Returns the candidate, or why this attempt makes none. Without a verified success there is no procedure; no step is invented.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tacit.domain.candidate import Candidate
from tacit.domain.evidence import Assessment
from tacit.domain.skill import MADE_BY_SYNTHESIS, Condition, Kind, Provenance, SkillContent, SkillStep
from tacit.domain.trajectory import Origin, Span, Trajectory
from tacit.learn.parameters import Generalisation, generalise
from tacit.learn.values import FieldOrigins, Timeline, action_spans, is_run_specific, particular
from tacit.learn.wording import (
    MAX_DESCRIPTION,
    code,
    local,
    shorten,
    shown_command,
    step_text,
    tags_of,
    title_of,
)
from tacit.text.exit_status import masks_exit
from tacit.text.service_commands import ServiceKind, deploys, service_check
from tacit.text.tool_calls import Effect, ToolCall, ToolKind, essential, leaves, plain_name

_LISTING = frozenset({"ls", "glob", "grep"})
_LOOKING_AROUND = frozenset(
    {"ls", "pwd", "which", "whoami", "date", "tree", "git status", "git log", "git diff", "git branch", "git remote"}
)
_SHOWING = frozenset({"cat", "head", "tail", "sed", "bat"})


def rests_on(actions: Sequence[ToolCall], timeline: Timeline) -> tuple[ToolCall, ...]:
    """The actions that the outcome rests on, in order: changes, the last run of each check, and readings that they need.

    git status, cat a.py, edit a.py, make test (fails), edit a.py, make test   →   cat a.py, edit a.py, edit a.py, make test
    """
    worked = _last_checks_only([action for action in actions if action.worked])
    if all(action.effect is Effect.READ and action.kind is ToolKind.FUNCTION for action in worked):
        return tuple(_distinct(worked))
    used = _Used(timeline)
    opening = _opening_for_edit(worked)
    kept: list[ToolCall] = []
    for at in range(len(worked) - 1, -1, -1):
        action = worked[at]
        needed = at in opening or used.takes_from(action, only_ids=_looks_around(action))
        if action.effect is not Effect.READ or needed:
            kept.append(action)
            used.waiting.append(action)
    return tuple(reversed(kept))


def _distinct(actions: Sequence[ToolCall]) -> list[ToolCall]:
    """Return the first of each set of equal calls."""
    found = {
        json.dumps([action.step.tool, essential(action.step.arguments)], default=str): action
        for action in actions[::-1]
    }
    return list(found.values())[::-1]


class _Used:
    """The answers that later calls took a value from."""

    def __init__(self, timeline: Timeline) -> None:
        self._timeline = timeline
        self.waiting: list[ToolCall] = []
        """Kept actions whose values have not been looked up yet."""
        self._any: set[int] = set()
        self._specific: set[int] = set()

    def takes_from(self, action: ToolCall, *, only_ids: bool = False) -> bool:
        """Whether a later call uses a value, or only an id, that was first seen in this answer."""
        while self.waiting:
            self._look_up(self.waiting.pop())
        if only_ids or action.index in self._specific or action.index not in self._any:
            return action.index in self._specific
        # A name found by looking around is written into the later steps; only if another run would find another name,
        # because the search depends on the task or the value is an id, does the search belong to the procedure.
        return action.kind is ToolKind.FUNCTION or _depends_on_task(action, self._timeline)

    def _look_up(self, action: ToolCall) -> None:
        for value in _values(action):
            place = self._timeline.first_seen(value, before=action.index)
            if place is not None and place.part == "observation":
                self._any.add(place.step)
                if is_run_specific(value):
                    self._specific.add(place.step)


def _looks_around(action: ToolCall) -> bool:
    """Whether a reading keeps an agent informed and belongs to no procedure: a listing, the state of a checkout, a plan."""
    if action.kind is ToolKind.FILE:
        return action.path.endswith((".md", ".txt", ".mdx", ".rst"))
    programs = [f"{command.program} {command.subcommand}".strip() for command in action.programs]
    return bool(programs) and all(program in _LOOKING_AROUND for program in programs)


def _last_checks_only(actions: Sequence[ToolCall]) -> list[ToolCall]:
    """Of a check that was run several times, keep the last run."""
    kept: list[ToolCall] = []
    seen: set[str] = set()
    for action in reversed(actions):
        if action.effect is Effect.CHECK and action.kind is ToolKind.SHELL:
            if action.label in seen:
                continue
            seen.add(action.label)
        kept.append(action)
    return kept[::-1]


def _depends_on_task(action: ToolCall, timeline: Timeline) -> bool:
    typed = "\n".join(str(value) for _, value in leaves(essential(action.step.arguments)))
    return any(piece in typed for piece in timeline.named)


def _values(action: ToolCall) -> tuple[str, ...]:
    if action.kind is ToolKind.FUNCTION:
        texts = (str(value) for _, value in leaves(action.step.arguments) if not isinstance(value, bool))
        return tuple(text for text in texts if len(text) >= 3 or text.isdigit())
    text = "\n".join(str(value) for _, value in leaves(essential(action.step.arguments)))
    return particular(text)


def _opening_for_edit(actions: Sequence[ToolCall]) -> frozenset[int]:
    """The last look into each file before its first change."""
    first_edit: dict[str, int] = {}
    for at, action in enumerate(actions):
        if action.effect is Effect.WRITE and action.path:
            first_edit.setdefault(action.path, at)
    last_look: dict[str, int] = {}
    for at, action in enumerate(actions):
        last_look.update({path: at for path in _looked_into(action, first_edit) if at < first_edit[path]})
    return frozenset(last_look.values())


def _looked_into(action: ToolCall, paths: Mapping[str, int]) -> list[str]:
    if action.effect is not Effect.READ:
        return []
    if action.kind is ToolKind.FILE:
        return [action.path] if action.path in paths and plain_name(action.step.tool) not in _LISTING else []
    shown = tuple(
        command.operands[-1] for command in action.commands if command.program in _SHOWING and command.operands
    )
    return [path for path in paths if path.endswith(shown)] if shown else []


MIN_STEPS = 3
"""Meaningful actions in the attempt; what the gate asks of the finished procedure is its own matter."""
_MIN_KEPT = 2
"""Steps that must be left once looking around is taken out: one command is no procedure."""
BOOKKEEPING = frozenset({"git add", "git commit", "git tag", "git push", "git status", "git fetch", "gh pr create"})


@dataclass(frozen=True, slots=True, kw_only=True)
class SkippedProcedure:
    """Why an attempt makes no procedure."""

    reason: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Draft:
    """What the parts of a procedure are made from."""

    trajectory: Trajectory
    timeline: Timeline
    kept: tuple[ToolCall, ...]
    general: Generalisation
    field_origins: FieldOrigins


def procedure(
    trajectory: Trajectory,
    assessment: Assessment,
    *,
    actions: Sequence[ToolCall],
    corrected: Sequence[int] = (),
) -> Candidate | SkippedProcedure:
    """Make a procedure of one attempt, or say why not."""
    skipped = _reason_to_skip(assessment, actions, corrected=corrected)
    if skipped:
        return skipped
    timeline = Timeline(trajectory, ignore=corrected)
    kept = rests_on(actions, timeline)
    if len(kept) < _MIN_KEPT or all(action.effect is Effect.CHECK for action in kept):
        return _too_simple(len(kept), of=len(actions))
    general = generalise(kept, timeline, workspace=trajectory.environment.workspace)
    draft = _Draft(
        trajectory=trajectory, timeline=timeline, kept=kept, general=general, field_origins=FieldOrigins(trajectory)
    )
    content = _content(draft)
    return Candidate(
        content=content,
        scope=trajectory.task.scope,
        origins=draft.field_origins.origins,
        provenance=Provenance(
            trajectory_ids=(trajectory.id,), grounding=draft.field_origins.spans, made_by=MADE_BY_SYNTHESIS
        ),
        assessment=assessment,
    )


def _reason_to_skip(
    assessment: Assessment, actions: Sequence[ToolCall], *, corrected: Sequence[int]
) -> SkippedProcedure | None:
    if assessment.verified_failure:
        return SkippedProcedure(
            reason="task_failed", text=f"The attempt failed: {assessment.reason or 'a check said so'}."
        )
    if not assessment.verified_success:
        return SkippedProcedure(
            reason="unverified", text=f"Nothing shows that it succeeded: {assessment.reason or 'no check was run'}."
        )
    if corrected:
        return SkippedProcedure(
            reason="corrected_midway", text="A person corrected the agent on the way, so its first steps are no model."
        )
    worked = [action for action in actions if action.worked]
    return _too_simple(len(worked), of=len(actions)) if len(worked) < MIN_STEPS else None


def _too_simple(count: int, *, of: int) -> SkippedProcedure:
    steps = "1 step" if count == 1 else f"{count} steps"
    text = f"The success rests on {steps} of {of}: too little for a procedure."
    return SkippedProcedure(reason=f"too_simple_{count}_steps", text=text)


def _content(draft: _Draft) -> SkillContent:
    field_origins, timeline = draft.field_origins, draft.timeline
    task = draft.general.text(draft.trajectory.task.text, folded=True)
    stated = tuple(found.parameter.name for found in draft.general.bindings if found.place.origin is Origin.USER)
    title = title_of(task, draft.kept, parameters=stated)
    tools = [Span(draft.trajectory.id, action.index, "tool") for action in draft.kept]
    for path in ("name", "description"):
        field_origins.add_spans(path, [timeline.task_span()])
    for path in ("category", "tags"):
        field_origins.add_spans(path, tools)
    steps = _steps(draft)
    for number, binding in enumerate(draft.general.bindings):
        field_origins.add_spans(f"parameters.{number}", [Span(draft.trajectory.id, binding.place.step, binding.part)])
    return SkillContent(
        kind=Kind.PROCEDURE,
        name=title.name,
        description=title.description[:MAX_DESCRIPTION],
        category="procedure",
        tags=tags_of(draft.kept),
        steps=steps,
        parameters=draft.general.parameters,
        preconditions=_preconditions(draft),
        postconditions=_postconditions(draft),
    )


def _steps(draft: _Draft) -> tuple[SkillStep, ...]:
    steps: list[SkillStep] = []
    for number, action in enumerate(draft.kept):
        arguments = draft.general.arguments(action.step.arguments)
        steps.append(SkillStep(text=step_text(action, arguments), tool=action.step.tool, arguments=arguments))
        spans = _spans(draft, action)
        # The sentence repeats the call, so it can be no more trusted than the call.
        draft.field_origins.add_spans(f"steps.{number}", spans)
        draft.field_origins.add_spans(f"steps.{number}.arguments", spans)
    return tuple(steps)


def _spans(draft: _Draft, action: ToolCall) -> tuple[Span, ...]:
    arguments = draft.general.arguments(action.step.arguments)
    workspace = draft.trajectory.environment.workspace
    return action_spans(action, draft.timeline, arguments=arguments, workspace=workspace)


def _preconditions(draft: _Draft) -> tuple[Condition, ...]:
    """Files that were there before."""
    found: list[Condition] = []
    arguments = [draft.general.arguments(action.step.arguments) for action in draft.kept]
    for number, condition in opening_files(draft.kept, arguments, general=lambda _, text: draft.general.text(text)):
        span = Span(draft.trajectory.id, draft.kept[number].index, "arguments")
        draft.field_origins.add_spans(f"preconditions.{len(found)}", [span])
        found.append(condition)
    return tuple(found)


def opening_files(
    actions: Sequence[ToolCall], arguments: Sequence[Mapping[str, Any]], *, general: Callable[[int, str], str]
) -> Iterator[tuple[int, Condition]]:
    """Yield scripts that were run and files that were opened, unless an earlier change names them, as conditions.

    Each comes with the position of its action. `general` puts parameters into a text of the action at a position.
    """
    found: set[str] = set()
    typed_before = ""
    for at, action in enumerate(actions):
        for path in _needed_files(action):
            relative = general(at, _relative(path, action.workspace))
            stem = relative.rsplit("/", 1)[-1].split(".")[0]
            if relative and relative not in found and not (stem and stem in typed_before):
                found.add(relative)
                check = f"test -e {relative}" if re.fullmatch(r"[\w./{}-]+", relative) else ""
                yield at, Condition(text=f"{code(relative)} exists.", check=check)
        if action.effect is Effect.WRITE:
            typed_before += "\n".join(str(value) for _, value in leaves(arguments[at]))


def _needed_files(action: ToolCall) -> list[str]:
    if action.kind is ToolKind.FILE:
        opens = action.effect is Effect.READ or "old_string" in action.step.arguments
        return [action.path] if opens and action.path else []
    scripts = []
    for command in action.programs:
        typed = command.text.split()
        scripts += [
            word for word in typed if word.rsplit("/", 1)[-1] == command.program and re.search(r"\.\w{1,4}$", word)
        ][:1]
    return scripts


def _relative(path: str, workspace: str) -> str:
    """The path inside the workspace, or nothing if it lies elsewhere."""
    inside = path.removeprefix(workspace.rstrip("/") + "/") if workspace else path
    return "" if inside.startswith(("/", "~")) or ".." in inside else inside.removeprefix("./")


def _postconditions(draft: _Draft) -> tuple[Condition, ...]:
    """What was checked after the last change."""
    found: list[Condition] = []
    arguments = [draft.general.arguments(action.step.arguments) for action in draft.kept]
    for number, condition in closing_checks(draft.kept, arguments):
        draft.field_origins.add_spans(f"postconditions.{len(found)}", _spans(draft, draft.kept[number]))
        found.append(condition)
    return tuple(found)


def closing_checks(
    actions: Sequence[ToolCall], arguments: Sequence[Mapping[str, Any]]
) -> Iterator[tuple[int, Condition]]:
    """Yield the checks after the last change as conditions, each with its position among the actions."""
    deployed = any(deploys(command) for action in actions for command in action.commands)
    asks = {at for at, action in enumerate(actions) if deployed and _asks_service(action)}
    last_write = max((at for at, action in enumerate(actions) if at not in asks and _changes(action)), default=-1)
    for at, (action, given) in enumerate(zip(actions, arguments, strict=True)):
        if at <= last_write:
            continue
        if at in asks or (action.effect is Effect.CHECK and not masks_exit(action.command)):
            command = shown_command(given)
            yield at, Condition(text=f"{code(shorten(local(command), 200))} passes.", check=command)


def _asks_service(action: ToolCall) -> bool:
    found = service_check(action.command) if action.command else None
    return found is not None and found.kind in (ServiceKind.HEALTH, ServiceKind.OUTPUT, ServiceKind.ROLLOUT)


def _changes(action: ToolCall) -> bool:
    """Whether it changes what a check looks at; putting it under version control does not."""
    return action.effect is Effect.WRITE and not (
        action.programs and all(command.label in BOOKKEEPING for command in action.programs)
    )
