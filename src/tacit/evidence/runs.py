"""Runs of a skill: the tool calls of a run in the skill's terms, and the step of the skill that each belongs to.

This run's values are replaced by the skill's parameters, and paths are relative to the workspace, so that the same call of
two runs is equal. The alignment and the user's objections are passed in.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from tacit.domain.identity import digest
from tacit.domain.skill import SkillContent, SkillStep
from tacit.domain.trajectory import Span, Step, Trajectory
from tacit.text.canonical import canonical_command
from tacit.text.shell import parse_command
from tacit.text.tool_calls import (
    FILE_WRITERS,
    SILENT,
    Effect,
    ToolCall,
    command_of,
    essential,
    plain_name,
    tool_calls,
)

BEFORE_THE_FIRST = -1
_PLACEHOLDER = re.compile(r"\{(\w+)\}")
_TICKED = re.compile(r"`([^`\n]+)`")
_WORKSPACE = "workspace"
_WORD = re.compile(r"[\w.@#+-]{3,}")
_VALUE = re.compile(r"[\d@]")
_SHORTEST_VALUE = 3
"""A shorter value occurs too often by chance to be taken for a parameter."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunCall:
    """One tool call in the skill's terms."""

    step: Step
    effect: Effect
    worked: bool
    arguments: Mapping[str, Any]
    """With parameters in place of this run's values, and without mere descriptions."""
    key: str
    """Equal for the same call in another run."""
    label: str
    """The program or the tool: calls with one label are of one sort."""

    @property
    def index(self) -> int:
        """The step of the run."""
        return self.step.index

    @property
    def command(self) -> str:
        """The shell text, parameters in place; empty where the tool is no shell."""
        return command_of(self.step.tool, self.arguments)


@dataclass(frozen=True, kw_only=True)
class SkillRun:
    """One run compared with a skill that it was shown."""

    trajectory: Trajectory
    content: SkillContent
    matched: Mapping[int, tuple[int, ...]]
    """Step of the skill → steps of the run that did it, or tried to."""
    objections: tuple[int, ...] = ()
    """Steps of the run in which the user objected to what was just done."""
    followed: bool = True
    """Whether it went the skill's way, at least in part: what it only has in common with it, such as a look, is not
    that."""
    proven: bool = False
    """Whether its success was verified independently of the agent."""
    values: Mapping[str, str] = field(default_factory=dict)
    """What the skill's parameters were in this run, where that is known already."""

    @property
    def session(self) -> str:
        """The session, with its subagents; runs without a known session count as one."""
        return self.trajectory.parent_session_id or self.trajectory.session_id

    @cached_property
    def at(self) -> dict[int, int]:
        """Step of the run → the step of the skill that it did."""
        return {run_step: step for step, run_steps in self.matched.items() for run_step in run_steps}

    @cached_property
    def text(self) -> str:
        """The whole skill as text, to search for a word."""
        return repr(self.content).casefold()

    @cached_property
    def calls(self) -> tuple[RunCall, ...]:
        """The tool calls in order, in the skill's terms."""
        values = {**_values(self), **self.values}
        return tuple(self._call(call, values) for call in tool_calls(self.trajectory))

    @cached_property
    def places(self) -> dict[int, int]:
        """Step of the run → the step of the skill that it belongs to; what belongs to none lies behind the one before.

        `BEFORE_THE_FIRST` and, behind the last step, the number of steps are places too.
        """
        done = sorted(self.at)
        return {call.index: self.at.get(call.index, self._place(call, done)) for call in self.calls}

    def call(self, run_step: int) -> RunCall:
        """The call of one step."""
        return next(call for call in self.calls if call.index == run_step)

    def span(self, run_step: int, part: str = "arguments") -> Span:
        """Return the span of a step."""
        return Span(self.trajectory.id, run_step, part)

    def is_placed(self, call: RunCall) -> bool:
        """Whether a call is one of the skill's own steps, or an attempt at one."""
        place = self.places[call.index]
        return call.index in self.at or (0 <= place < len(self.content.steps) and _resembles(call, self.content, place))

    def did(self, number: int) -> bool:
        """Whether a step of the skill was done, or something like it in its place."""
        return number in self.matched or number in self.places.values()

    def says(self, call: RunCall, number: int) -> bool:
        """Whether a call matches a step of the skill, with any parameter values."""
        if not 0 <= number < len(self.content.steps):
            return False
        return fits(self.content.steps[number], call.step, workspace=self.trajectory.environment.workspace)

    def gap(self, call: RunCall) -> int:
        """The step of the skill that was done last before a call."""
        done = sorted(self.at)
        before = bisect_right(done, call.index) - 1
        return self.at[done[before]] if before >= 0 else BEFORE_THE_FIRST

    def _place(self, call: RunCall, done: list[int]) -> int:
        """An attempt at a step near by, or the place behind the step that was done last."""
        steps = self.content.steps
        before = bisect_right(done, call.index) - 1
        after = bisect_left(done, call.index)
        low = self.at[done[before]] if before >= 0 else BEFORE_THE_FIRST
        high = self.at[done[after]] if after < len(done) else len(steps) - 1
        near = [number for number in range(max(low, 0), high + 1) if _resembles(call, self.content, number)]
        if near:
            return max(near, key=lambda number: (number > low, -number))
        return len(steps) if low == len(steps) - 1 else low

    def _call(self, call: ToolCall, values: Mapping[str, str]) -> RunCall:
        step, workspace = call.step, call.workspace
        arguments = essential(step.arguments)
        general: dict[str, Any] = _mapped(arguments, lambda text: general_text(text, values, workspace=workspace))
        return RunCall(
            step=step,
            effect=call.effect,
            worked=call.worked,
            arguments=general,
            key=key_of(step.tool, general),
            label=_label(step.tool, arguments),
        )


def key_of(tool: str, arguments: Mapping[str, Any]) -> str:
    """Return the key by which calls are compared across runs and machines."""
    command = command_of(tool, arguments)
    if command:
        return f"$ {canonical_command(_local(command))}"
    return f"{plain_name(tool)} {digest(_mapped(essential(arguments), _local))}"


def step_key(step: SkillStep) -> str:
    """Return the key by which steps of skills are compared with calls."""
    command = command_in(step)
    return f"$ {canonical_command(_local(command))}" if command else key_of(step.tool, step.arguments)


def label_of(step: SkillStep) -> str:
    """Return the program or the tool of a step; empty where it is prose."""
    command = command_in(step)
    return _label("bash", {"command": command}) if command else _label(step.tool, step.arguments)


def command_in(step: SkillStep) -> str:
    """The shell text of a step of a skill: of its call, or set as code in its words where it has none."""
    if step.tool:
        return command_of(step.tool, step.arguments)
    ticked = _TICKED.findall(step.text)
    return ticked[0] if len(ticked) == 1 else ""


def general_text(text: str, values: Mapping[str, str], *, workspace: str = "") -> str:
    """Return a text with parameters in place of values, and paths relative to the workspace."""
    root = workspace.rstrip("/")
    if root:
        text = text.replace(f"cd {root} && ", "").replace(f"{root}/", "")
    for name, value in sorted(values.items(), key=lambda item: -len(item[1])):
        if len(value) >= _SHORTEST_VALUE:
            text = re.sub(rf"(?<![\w{{]){re.escape(value)}(?![\w}}])", f"{{{name}}}", text)
    return text


def edits_files(call: RunCall) -> bool:
    """Whether a call edits a file, so that its arguments belong to that file."""
    return not call.command and plain_name(call.step.tool) in FILE_WRITERS


def is_particular(run: SkillRun, call: RunCall) -> bool:
    """Whether a call contains a value that is specific to this task."""
    asked = run.trajectory.task.text.casefold()
    words = {word.casefold() for word in _WORD.findall(repr(call.arguments))}
    return any(word in asked and word not in run.text for word in words if _VALUE.search(word))


def fits(step: SkillStep, done: Step, *, workspace: str = "") -> bool:
    """Whether a call is a step of a skill with any values for its parameters."""
    command = command_in(step)
    if command:
        typed = command_of(done.tool, done.arguments)
        wanted = canonical_command(_local(command))
        return bool(typed) and _filled(wanted, canonical_command(typed, workspace=workspace), value=r"\S+")
    same_tool = bool(step.tool) and plain_name(step.tool) == plain_name(done.tool)
    return same_tool and _is_filled(essential(step.arguments), essential(done.arguments))


def _is_filled(template: Any, value: Any) -> bool:
    if isinstance(template, Mapping):
        same = isinstance(value, Mapping) and template.keys() == value.keys()
        return same and all(_is_filled(item, value[name]) for name, item in template.items())
    if isinstance(template, list | tuple):
        if any(isinstance(item, str) and _PLACEHOLDER.search(item) for item in template):
            return isinstance(value, list | tuple)  # how many there are differs from use to use
        return list(template) == (list(value) if isinstance(value, list | tuple) else value)
    if isinstance(template, str):
        return _filled(_local(template), _local(str(value)), value=".*")
    return bool(template == value)


def _filled(template: str, text: str, *, value: str) -> bool:
    pieces = _PLACEHOLDER.split(template)[::2]
    return re.fullmatch(value.join(map(re.escape, pieces)), text, re.DOTALL) is not None


def _values(run: SkillRun) -> dict[str, str]:
    """The parameter values, read from the calls that did a step; unknown where two calls disagree."""
    found: dict[str, set[str]] = {}
    by_index = {step.index: step for step in run.trajectory.actions}
    root = run.trajectory.environment.workspace.rstrip("/")
    for number, run_steps in run.matched.items():
        if number >= len(run.content.steps):
            continue
        step = run.content.steps[number]
        for run_step in run_steps:
            done = by_index.get(run_step)
            for template, text in _pairs(step, done) if done else ():
                for name, value in _bound(_local(template), general_text(text, {}, workspace=root)).items():
                    found.setdefault(name, set()).add(value)
    return {name: values.pop() for name, values in found.items() if len(values) == 1 and name != _WORKSPACE}


def _pairs(step: SkillStep, done: Step) -> Iterator[tuple[str, str]]:
    """Texts of a skill's step paired with the corresponding texts of a call."""
    command = command_in(step)
    if command:
        yield command, command_of(done.tool, done.arguments)
        return
    for name, template in step.arguments.items():
        given = done.arguments.get(name)
        if isinstance(template, str) and isinstance(given, str):
            yield template, given


def _bound(template: str, text: str) -> dict[str, str]:
    """Parameter → value, where a text is the filled-in template, or contains it."""
    names = _PLACEHOLDER.findall(template)
    if not names or not text:
        return {}
    pieces, seen = [], set[str]()
    for number, piece in enumerate(_PLACEHOLDER.split(template)):
        if number % 2 == 0:
            pieces.append(re.escape(piece))
        else:
            pieces.append(f"(?P={piece})" if piece in seen else rf"(?P<{piece}>[^\s'\"`;|&]{{1,200}})")
            seen.add(piece)
    try:
        match = re.search("".join(pieces) + r"(?![\w])", text)
    except re.error:  # a name that no group can have
        return {}
    return match.groupdict() if match else {}


def _resembles(call: RunCall, content: SkillContent, number: int) -> bool:
    """Whether a call is an attempt at a step: the same program and subcommand, or the same tool."""
    label = label_of(content.steps[number])
    return bool(label) and label == call.label


def _label(tool: str, arguments: Mapping[str, Any]) -> str:
    command = command_of(tool, arguments)
    working = [each for each in parse_command(command) if each.program not in SILENT]
    return f"$ {working[0].program} {working[0].subcommand}".rstrip() if working else plain_name(tool)


def _local(text: str) -> str:
    return text.replace(f"cd {{{_WORKSPACE}}} && ", "").replace(f"{{{_WORKSPACE}}}/", "")


def _mapped(value: Any, change: Any) -> Any:
    """Nested arguments with every text mapped."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, Mapping):
        return {name: _mapped(item, change) for name, item in value.items()}
    return [_mapped(item, change) for item in value] if isinstance(value, list | tuple) else value
