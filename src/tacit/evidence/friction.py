"""Friction: where a run had trouble with a skill that it was shown, and which step of the skill is at fault.

It finds refused calls, missing files, calls that only worked with other arguments or another tool, objections of the
user, and deviations from the skill. Only a call that is known to have failed counts; a text that mentions refusals does
not. What follows from it is decided in `maintain.revision_proposals`.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from tacit.domain.trajectory import Role, StepResult
from tacit.evidence.runs import BEFORE_THE_FIRST, RunCall, SkillRun, command_in, edits_files
from tacit.text.safe_markdown import one_line
from tacit.text.tool_calls import Effect

MADE_BY = "tacit.refinement/1"
"""The author of revisions that were made from runs; a stored name."""
DETAIL_MAX = 200
THEME_MAX = 80


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


def frictions_of(run: SkillRun) -> tuple[Friction, ...]:
    """Return all friction of a run, in the run's order; none if it did not follow the skill at all."""
    if not run.matched or not run.followed:
        return ()
    met = [*_failures(run), *_corrections(run)]
    taken = {friction.instead for friction in met} | {friction.run_step for friction in met}
    found = [*met, *_divergences(run, taken)]
    once = {(friction.kind, friction.step, friction.instead): friction for friction in reversed(found)}
    return tuple(sorted(once.values(), key=lambda friction: friction.run_step))


def place_name(step: int, steps: int) -> str:
    """Return a step of a skill in words."""
    if step <= BEFORE_THE_FIRST:
        return "before the first step"
    return f"step {step + 1}" if step < steps else "after the last step"


def theme_of(friction: Friction) -> str:
    """Return the subject of a correction, short enough to be counted by."""
    return friction.detail.casefold()[:THEME_MAX]


def _failures(run: SkillRun) -> Iterator[Friction]:
    for at, call in enumerate(run.calls):
        refused = _is_denied(call)
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
        if other is None and call.effect is not Effect.READ and not _serves(call, failed):
            other = call
        if other is None and failed.effect is Effect.READ and call.effect is Effect.READ and _shares_name(call, failed):
            other = call
    # Changes after a failing check are the work itself, not another way to check.
    return None if failed.effect is Effect.CHECK and other is not None and other.effect is not Effect.CHECK else other


def _serves(call: RunCall, failed: RunCall) -> bool:
    """Whether a call edits files before a command is tried again."""
    return edits_files(call) and bool(failed.command)


def _corrections(run: SkillRun) -> Iterator[Friction]:
    """Objections of the user right after a step of the skill, and what was done then."""
    messages = [step.index for step in run.trajectory.steps if step.role is Role.USER and not step.is_action]
    texts = {step.index: step.text for step in run.trajectory.steps}
    for message in run.objections:
        earlier = max((index for index in messages if index < message), default=-1)
        later = min((index for index in messages if index > message), default=1 << 30)
        before = [
            c for c in run.calls if earlier < c.index < message and (c.effect is not Effect.READ or c.index in run.at)
        ]
        if not before or not any(run.is_placed(call) for call in before):
            continue
        placed = [call for call in before if run.is_placed(call)]
        at_fault = ([call for call in placed if call.effect is Effect.WRITE] or placed)[
            -1
        ]  # who objects, objects to a change
        after = [c for c in run.calls if message < c.index < later and c.worked and c.effect == at_fault.effect]
        place = run.places[at_fault.index]
        fitting = [c for c in after if run.at.get(c.index, place) == place and c.key != at_fault.key]
        alike = [c for c in fitting if c.label == at_fault.label]
        instead = next(iter(alike or fitting), None)
        detail = one_line(texts[message])[:DETAIL_MAX]
        yield Friction(
            kind=FrictionKind.CORRECTION,
            step=place,
            detail=detail,
            run_step=message,
            instead=instead.index if instead else None,
            at_fault=run.says(at_fault, place) and not (instead is not None and run.says(instead, place)),
        )


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


def _is_denied(call: RunCall) -> bool:
    step = call.step
    if step.result in (StepResult.DENIED, StepResult.OK):
        return step.result is StepResult.DENIED
    texts = step.observation[:_OUTPUT_MAX]
    return bool(_DENIED.match(texts)) or (step.result is StepResult.FAILED and bool(_FORBIDDEN.search(texts)))


def _missing(run: SkillRun, call: RunCall) -> tuple[str, ...]:
    """Files that a call and the skill's step both name, where the output says that something is missing."""
    if not _MISSING.search(call.step.observation[:_OUTPUT_MAX]):
        return ()
    place = run.places[call.index]
    if not 0 <= place < len(run.content.steps):
        return ()
    step = run.content.steps[place]
    texts = f"{command_in(step)}\n{step.text}\n" + "\n".join(_strings_in(step.arguments.values()))
    named = [path for text in _strings_in(call.arguments.values()) for path in _PATH.findall(text)]
    return tuple(dict.fromkeys(path for path in named if path in texts))


def _found(path: str, repair: RunCall | None) -> str:
    """The path of a missing file in the call that worked: one with the same name, or the only new one."""
    if repair is None:
        return ""
    named = [each for text in _strings_in(repair.arguments.values()) for each in _PATH.findall(text) if each != path]
    name = path.rpartition("/")[2]
    alike = [each for each in named if each.rpartition("/")[2] == name]
    chosen: list[str] = alike or (named if len(set(named)) == 1 else [])
    return chosen[0] if chosen else ""


def _shares_name(call: RunCall, failed: RunCall) -> bool:
    names = [
        {path.rpartition("/")[2] for text in _strings_in(each.arguments.values()) for path in _PATH.findall(text)}
        for each in (call, failed)
    ]
    return not names[0].isdisjoint(names[1])


def _strings_in(values: object) -> Iterator[str]:
    if isinstance(values, str):
        yield values
    elif isinstance(values, dict):
        yield from _strings_in(values.values())
    elif hasattr(values, "__iter__"):
        for value in values:
            yield from _strings_in(value)


def _call_text(call: RunCall) -> str:
    """A call in short: the command, or the tool with its arguments."""
    inner = ", ".join(f"{name}={value}" for name, value in call.arguments.items())
    shown = call.command or f"{call.step.tool}({inner})"
    line = one_line(shown).replace("`", "'")
    return f"`{line if len(line) <= _CALL_MAX else line[: _CALL_MAX - 1] + '…'}`"


_CALL_MAX = 80


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
