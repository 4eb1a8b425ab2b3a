"""Friction: where a run had trouble with a skill that it was shown, and which step of the skill is at fault.

It finds refused calls, missing files, calls that only worked with other arguments or another tool, objections of the
user, and deviations from the skill. Only a call that is known to have failed counts; a text that mentions refusals does
not. What follows from it is decided in `maintain.revision_proposals`.

Runs are put in the skill's terms: this run's values are replaced by the skill's parameters, and paths are relative to the
workspace, so that the same call of two runs is equal. The alignment and the user's objections are passed in.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property, partial
from typing import Any

from tacit.domain.identity import digest
from tacit.domain.skill import SkillContent, SkillStep
from tacit.domain.trajectory import Role, Span, Step, StepResult, Trajectory
from tacit.text.canonical import canonical_command
from tacit.text.safe_markdown import one_line
from tacit.text.shell import parse_command
from tacit.text.tool_calls import (
    FILE_WRITERS,
    SILENT,
    Effect,
    command_of,
    essential,
    leaves,
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
        values = _values(self)
        found = []
        for call in tool_calls(self.trajectory):
            step, arguments = call.step, essential(call.step.arguments)
            general = map_texts(arguments, partial(general_text, values=values, workspace=call.workspace))
            found.append(
                RunCall(
                    step=step,
                    effect=call.effect,
                    worked=call.worked,
                    arguments=general,
                    key=key_of(step.tool, general),
                    label=_label(step.tool, arguments),
                )
            )
        return tuple(found)

    @cached_property
    def places(self) -> dict[int, int]:
        """Step of the run → the step of the skill that it belongs to; what belongs to none lies behind the one before.

        `BEFORE_THE_FIRST` and, behind the last step, the number of steps are places too.
        """
        return {call.index: self._place(call) for call in self.calls}

    @cached_property
    def frictions(self) -> tuple[Friction, ...]:
        """All friction of the run, in its order; none if it did not follow the skill at all."""
        if not self.matched or not self.followed:
            return ()
        met = [*_failures(self), *_corrections(self)]
        taken = {friction.instead for friction in met} | {friction.run_step for friction in met}
        found = [*met, *_divergences(self, taken)]
        once = {(friction.kind, friction.step, friction.instead): friction for friction in reversed(found)}
        return tuple(sorted(once.values(), key=lambda friction: friction.run_step))

    def call(self, run_step: int) -> RunCall:
        """The call of one step."""
        return next(call for call in self.calls if call.index == run_step)

    def span(self, run_step: int, part: str = "arguments") -> Span:
        """Return the span of a step."""
        return Span(self.trajectory.id, run_step, part)

    def is_placed(self, call: RunCall) -> bool:
        """Whether a call is one of the skill's own steps, or an attempt at one."""
        place = self.places[call.index]
        return call.index in self.at or (0 <= place < len(self.content.steps) and self._resembles(call, place))

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
        before = [index for index in self.at if index <= call.index]
        return self.at[max(before)] if before else BEFORE_THE_FIRST

    def _place(self, call: RunCall) -> int:
        """Its own step, an attempt at a step near by, or the place behind the step that was done last."""
        if call.index in self.at:
            return self.at[call.index]
        steps, low = self.content.steps, self.gap(call)
        after = [index for index in self.at if index > call.index]
        high = self.at[min(after)] if after else len(steps) - 1
        near = [number for number in range(max(low, 0), high + 1) if self._resembles(call, number)]
        if near:
            return max(near, key=lambda number: (number > low, -number))
        return len(steps) if low == len(steps) - 1 else low

    def _resembles(self, call: RunCall, number: int) -> bool:
        """Whether a call is an attempt at a step: the same program and subcommand, or the same tool."""
        label = label_of(self.content.steps[number])
        return bool(label) and label == call.label


def key_of(tool: str, arguments: Mapping[str, Any]) -> str:
    """Return the key by which calls are compared across runs and machines."""
    command = command_of(tool, arguments)
    if command:
        return f"$ {canonical_command(_local(command))}"
    return f"{plain_name(tool)} {digest(map_texts(essential(arguments), _local))}"


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
    if not text or not _PLACEHOLDER.search(template):
        return {}
    try:
        match = re.search(template_pattern(template, value=r"[^\s'\"`;|&]{1,200}") + r"(?![\w])", text)
    except re.error:  # a name that no group can have
        return {}
    return match.groupdict() if match else {}


def template_pattern(template: str, *, value: str) -> str:
    """Return the pattern of a filled-in template: each parameter is a group of its name, with one value wherever it stands."""
    pieces = _PLACEHOLDER.split(template)
    pattern = re.escape(pieces[0])
    for at in range(1, len(pieces), 2):
        name = pieces[at]
        pattern += f"(?P={name})" if name in pieces[1:at:2] else f"(?P<{name}>{value})"
        pattern += re.escape(pieces[at + 1])
    return pattern


def _label(tool: str, arguments: Mapping[str, Any]) -> str:
    command = command_of(tool, arguments)
    working = [each for each in parse_command(command) if each.program not in SILENT]
    return f"$ {working[0].program} {working[0].subcommand}".rstrip() if working else plain_name(tool)


def _local(text: str) -> str:
    return text.replace(f"cd {{{_WORKSPACE}}} && ", "").replace(f"{{{_WORKSPACE}}}/", "")


def map_texts(value: Any, change: Callable[[str], str]) -> Any:
    """Return nested arguments with every text mapped."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, Mapping):
        return {name: map_texts(item, change) for name, item in value.items()}
    return [map_texts(item, change) for item in value] if isinstance(value, list | tuple) else value


MADE_BY = "tacit.refinement/1"
"""The author of revisions that were made from runs; a stored name."""
DETAIL_MAX = 200
_CALL_MAX = 80
"""Characters of a remark, and of a call in it: remarks are listed one a line."""


class FrictionKind(StrEnum):
    """What sort of trouble it was."""

    DENIED = "denied"
    MISSING_FILE = "missing_file"
    RETRY = "retry"
    CORRECTION = "correction"
    FALLBACK = "fallback"
    DIVERGED = "diverged"
    """The run did something else, or more, without trouble: a hint, not counted as friction of a use."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Friction:
    """One place where a run had trouble with the skill."""

    kind: FrictionKind
    step: int
    """Step of the skill, from 0; -1 before the first, the number of steps after the last."""
    detail: str
    run_step: int
    """The step of the run that shows it."""
    instead: int | None = None
    """The step of the run that worked in the end."""
    path: str = ""
    """The missing file."""
    found: str = ""
    """Where the file was found."""
    at_fault: bool = False
    """Whether the run did what the step says, and what worked in the end differs by more than values."""

    @property
    def resisted(self) -> bool:
        """Whether something got in the way."""
        return self.kind is not FrictionKind.DIVERGED


_DENIED = re.compile(
    r"\s*(?:<tool_use_error>)?(?:error: ?)?(?:The user doesn't want to |Permission to use \S+ .{0,60}(?:denied|refused)"
    r"|Permission for this tool use was denied|Claude requested permissions to |exec_command failed: .{0,300}(?:Rejected\(|"
    r"blocked by policy)|(?:patch|exec command) rejected\b|(?:user (?:rejected|cancelled) )?MCP tool call(?: blocked| "
    r"cancelled)|(?:Command|Tool call) blocked by \w+ hook\b|.{0,200}\brejected by (?:user|configuration)\b)",
    re.IGNORECASE,
)
"""Messages of clients that deny a call; always at the beginning of the output."""
_FORBIDDEN = re.compile(
    r"permission denied|operation not permitted|\bEACCES\b|\bEPERM\b|access denied|PermissionError|not authori[sz]ed to"
    r"|\b403 forbidden\b",
    re.IGNORECASE,
)
"""Messages of systems, anywhere in the output of a failed call."""
_MISSING = re.compile(
    r"no such file or directory|\bENOENT\b|FileNotFoundError|file (?:does not exist|not found)|(?:does not|doesn't) exist"
    r"|cannot find (?:the )?(?:file|path|module)|can't open file|not a directory|cannot access|no rule to make target",
    re.IGNORECASE,
)
_PATH = re.compile(r"(?:[\w.@+~{}-]*/)+[\w.@+{}-]+|[\w@+{}-][\w.@+{}-]*\.[A-Za-z]\w{0,7}\b")
_OUTPUT_MAX = 4000
_REACH = 24
"""How many calls after a failed one are searched for its replacement."""


def place_name(step: int, steps: int) -> str:
    """Return a step of a skill in words."""
    if step <= BEFORE_THE_FIRST:
        return "before the first step"
    return f"step {step + 1}" if step < steps else "after the last step"


def _failures(run: SkillRun) -> Iterator[Friction]:
    for at, call in enumerate(run.calls):
        result, seen = call.step.result, call.step.observation[:_OUTPUT_MAX]
        refused = result is StepResult.DENIED
        if not refused and result is not StepResult.OK:
            forbidden = result is StepResult.FAILED and _FORBIDDEN.search(seen)
            refused = bool(_DENIED.match(seen) or forbidden)
        if call.worked and not refused:
            continue
        after = run.calls[at + 1 : at + 1 + _REACH]
        gone = () if refused else _missing(run, call)
        repair = _repair(run, call, after)
        if refused:
            detail = f"{_call_text(call)} was refused" + (f"; {_call_text(repair)} did it" if repair else "")
            yield _friction(run, call, FrictionKind.DENIED, detail, repair)
        elif gone:
            found = _found(gone[0], repair)
            detail = f"{gone[0]} is not there" + (f"; found as {found}" if found else "")
            made = _friction(run, call, FrictionKind.MISSING_FILE, detail, repair)
            yield dataclasses.replace(made, path=gone[0], found=found)
        elif repair and run.is_placed(call):
            same = repair.label == call.label
            kind = FrictionKind.RETRY if same else FrictionKind.FALLBACK
            detail = f"{_call_text(call)} failed; {_call_text(repair)} {'worked' if same else 'did it instead'}"
            yield _friction(run, call, kind, detail, repair)


def _repair(run: SkillRun, failed: RunCall, after: Sequence[RunCall]) -> RunCall | None:
    """The call that replaced a failed one, if there is one before the next step."""
    place, other = run.places[failed.index], None
    for call in after:
        if call.index in run.at and run.at[call.index] != place:
            break
        if not call.worked:
            continue
        if call.key == failed.key:
            return None  # the same call worked later
        if call.label == failed.label:
            return call
        # files edited before a command is tried again do not replace it
        if other is None and call.effect is not Effect.READ and not (edits_files(call) and failed.command):
            other = call
        reads = failed.effect is Effect.READ and call.effect is Effect.READ
        if other is None and reads and not _file_names(call).isdisjoint(_file_names(failed)):
            other = call
    # Changes after a failing check are the work itself, not another way to check.
    return None if failed.effect is Effect.CHECK and other is not None and other.effect is not Effect.CHECK else other


def _corrections(run: SkillRun) -> Iterator[Friction]:
    """Objections of the user right after a step of the skill, and what was done then."""
    messages = [step.index for step in run.trajectory.steps if step.role is Role.USER and not step.is_action]
    texts = {step.index: step.text for step in run.trajectory.steps}
    for message in run.objections:
        earlier = max((index for index in messages if index < message), default=-1)
        later = min((index for index in messages if index > message), default=1 << 30)
        before = [call for call in run.calls if earlier < call.index < message and run.is_placed(call)]
        placed = [call for call in before if call.effect is not Effect.READ or call.index in run.at]
        if not placed:
            continue
        # who objects, objects to a change
        at_fault = ([call for call in placed if call.effect is Effect.WRITE] or placed)[-1]
        after = [c for c in run.calls if message < c.index < later and c.worked and c.effect == at_fault.effect]
        place = run.places[at_fault.index]
        fitting = [c for c in after if run.at.get(c.index, place) == place and c.key != at_fault.key]
        alike = [c for c in fitting if c.label == at_fault.label]
        instead = next(iter(alike or fitting), None)
        made = _friction(run, at_fault, FrictionKind.CORRECTION, texts[message], instead)
        yield dataclasses.replace(made, run_step=message)


def _divergences(run: SkillRun, taken: set[int | None]) -> Iterator[Friction]:
    """Deviations: calls where the skill has no step, or another step that was skipped; one for each place."""
    seen: set[int] = set()
    for call in run.calls:
        if call.effect is Effect.READ or not call.worked or call.index in taken or run.is_placed(call):
            continue
        gap = run.gap(call)
        if gap in seen:
            continue
        seen.add(gap)
        left_out = gap + 1 < len(run.content.steps) and gap + 1 not in run.matched
        place = gap + 1 if left_out else run.places[call.index]
        detail = f"did {_call_text(call)} in place of {place_name(place, len(run.content.steps))}" if left_out else ""
        yield _friction(run, call, FrictionKind.DIVERGED, detail or f"also did {_call_text(call)}", call, step=place)


def _missing(run: SkillRun, call: RunCall) -> tuple[str, ...]:
    """Files that a call and the skill's step both name, where the output says that something is missing."""
    if not _MISSING.search(call.step.observation[:_OUTPUT_MAX]):
        return ()
    place = run.places[call.index]
    if not 0 <= place < len(run.content.steps):
        return ()
    step = run.content.steps[place]
    texts = f"{command_in(step)}\n{step.text}\n" + "\n".join(texts_of(step.arguments))
    return tuple(dict.fromkeys(path for path in _paths(call) if path in texts))


def _found(path: str, repair: RunCall | None) -> str:
    """The path of a missing file in the call that worked: one with the same name, or the only new one."""
    if repair is None:
        return ""
    named = [each for each in _paths(repair) if each != path]
    name = path.rpartition("/")[2]
    alike = [each for each in named if each.rpartition("/")[2] == name]
    chosen: list[str] = alike or (named if len(set(named)) == 1 else [])
    return chosen[0] if chosen else ""


def _paths(call: RunCall) -> list[str]:
    """The paths that a call's arguments name."""
    return [path for text in texts_of(call.arguments) for path in _PATH.findall(text)]


def texts_of(arguments: Mapping[str, Any]) -> list[str]:
    """Return the texts in nested arguments."""
    return [value for _, value in leaves(arguments) if isinstance(value, str)]


def _file_names(call: RunCall) -> set[str]:
    return {path.rpartition("/")[2] for path in _paths(call)}


def _call_text(call: RunCall) -> str:
    """A call in short: the command, or the tool with its arguments."""
    inner = ", ".join(f"{name}={value}" for name, value in call.arguments.items())
    shown = call.command or f"{call.step.tool}({inner})"
    line = one_line(shown).replace("`", "'")
    return f"`{line if len(line) <= _CALL_MAX else line[: _CALL_MAX - 1] + '…'}`"


def _friction(
    run: SkillRun, call: RunCall, kind: FrictionKind, detail: str, repair: RunCall | None, *, step: int | None = None
) -> Friction:
    place = run.places[call.index] if step is None else step
    return Friction(
        kind=kind,
        step=place,
        detail=one_line(detail)[:DETAIL_MAX],
        run_step=call.index,
        instead=repair.index if repair else None,
        at_fault=run.says(call, place) and not (repair is not None and run.says(repair, place)),
    )
