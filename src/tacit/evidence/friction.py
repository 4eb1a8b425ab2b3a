"""A run beside a skill that it was shown → where it met resistance, and which step of the skill is at fault. Pure.

Seen are refused calls, files that are not where the skill says, calls that only worked with other arguments, what another
tool had to do instead, what a person objected to, and what the run did otherwise, or more, than the skill says. Only a
call that is known not to have worked counts as resistance: a text that speaks of refusals does not. What comes of it is
decided by `revising`.
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
"""Marks revisions that were made from what runs showed; a stored name."""
DETAIL_MAX = 200
THEME_MAX = 80


class FrictionKind(StrEnum):
    """What sort of resistance it was."""

    DENIED = "denied"
    MISSING_FILE = "missing_file"
    RETRY = "retry"
    CORRECTION = "correction"
    FALLBACK = "fallback"
    DIVERGED = "diverged"
    """The run did something else, or more, and nothing resisted: a hint, not counted as friction of a use."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Friction:
    """One place where a run and the skill rubbed."""

    kind: FrictionKind
    step: int
    """Of the skill, from 0; -1 before the first, the number of steps behind the last."""
    detail: str
    run_step: int
    """Where it shows in the run."""
    instead: int | None = None
    """The step of the run that did it in the end."""
    path: str = ""
    """The file that was not there."""
    found: str = ""
    """Where it was."""
    at_fault: bool = False
    """Whether the run did what the step says, and what worked in the end is something else: not only other values."""

    @property
    def resisted(self) -> bool:
        """Whether something or somebody stood in the way."""
        return self.kind is not FrictionKind.DIVERGED


_DENIED = re.compile(
    r"\s*(?:<tool_use_error>)?(?:error: ?)?(?:The user doesn't want to |Permission to use \S+ .{0,60}(?:denied|refused)"
    r"|Permission for this tool use was denied|Claude requested permissions to |exec_command failed: .{0,300}(?:Rejected\(|"
    r"blocked by policy)|(?:patch|exec command) rejected\b|(?:user (?:rejected|cancelled) )?MCP tool call(?: blocked| "
    r"cancelled)|(?:Command|Tool call) blocked by \w+ hook\b|.{0,200}\brejected by (?:user|configuration)\b)",
    re.IGNORECASE,
)
"""What clients say when they do not let a call through; always at the beginning of the answer."""
_FORBIDDEN = re.compile(
    r"permission denied|operation not permitted|\bEACCES\b|\bEPERM\b|access denied|PermissionError|not authori[sz]ed to"
    r"|\b403 forbidden\b",
    re.IGNORECASE,
)
"""What systems say, anywhere in the answer of a call that failed."""
_MISSING = re.compile(
    r"no such file or directory|\bENOENT\b|FileNotFoundError|file (?:does not exist|not found)|(?:does not|doesn't) exist"
    r"|cannot find (?:the )?(?:file|path|module)|can't open file|not a directory|cannot access|no rule to make target",
    re.IGNORECASE,
)
_PATH = re.compile(r"(?:[\w.@+~{}-]*/)+[\w.@+{}-]+|[\w@+{}-][\w.@+{}-]*\.[A-Za-z]\w{0,7}\b")
_SAID_MAX = 4000
_REACH = 24
"""So many calls after a failed one are looked at for what did its work."""


def frictions_of(run: SkillRun) -> tuple[Friction, ...]:
    """All places of a run where it rubbed against the skill, in the run's order; none if it went its own way throughout."""
    if not run.matched or not run.followed:
        return ()
    met = [*_failures(run), *_corrections(run)]
    taken = {friction.instead for friction in met} | {friction.run_step for friction in met}
    found = [*met, *_divergences(run, taken)]
    once = {(friction.kind, friction.step, friction.instead): friction for friction in reversed(found)}
    return tuple(sorted(once.values(), key=lambda friction: friction.run_step))


def place_name(step: int, steps: int) -> str:
    """A step of a skill in words."""
    if step <= BEFORE_THE_FIRST:
        return "before the first step"
    return f"step {step + 1}" if step < steps else "after the last step"


def theme_of(friction: Friction) -> str:
    """What a correction is about, short enough to be counted by."""
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
            told = f"{_told(call)} was refused" + (f"; {_told(repair)} did it" if repair else "")
            yield _friction(run, call, FrictionKind.DENIED, told, repair)
        elif gone:
            found = _found(gone[0], repair)
            told = f"{gone[0]} is not there" + (f"; found as {found}" if found else "")
            made = _friction(run, call, FrictionKind.MISSING_FILE, told, repair)
            yield dataclasses.replace(made, path=gone[0], found=found)
        elif repair and run.is_placed(call):
            same = repair.label == call.label
            kind = FrictionKind.RETRY if same else FrictionKind.FALLBACK
            told = f"{_told(call)} failed; {_told(repair)} {'worked' if same else 'did it instead'}"
            yield _friction(run, call, kind, told, repair)


def _repair(run: SkillRun, failed: RunCall, after: Sequence[RunCall]) -> RunCall | None:
    """The call that did what a failed one was meant to do, if there is one before the run went on."""
    place, other = run.places[failed.index], None
    for call in after:
        if call.index in run.at and run.at[call.index] != place:
            break
        if not call.worked:
            continue
        if call.key == failed.key:
            return None  # the world had changed, not the call
        if call.label == failed.label:
            return call
        if other is None and call.effect is not Effect.READ and not _serves(call, failed):
            other = call
        if other is None and failed.effect is Effect.READ and call.effect is Effect.READ and _shares_name(call, failed):
            other = call
    # Whatever is done while a failing check is answered is the work itself, not another way to check.
    return None if failed.effect is Effect.CHECK and other is not None and other.effect is not Effect.CHECK else other


def _serves(call: RunCall, failed: RunCall) -> bool:
    """Whether a call is a change of files on the way to another try of a command."""
    return edits_files(call) and bool(failed.command)


def _corrections(run: SkillRun) -> Iterator[Friction]:
    """What a person objected to right after a step of the skill was done, and what was done then."""
    messages = [step.index for step in run.trajectory.steps if step.role is Role.USER and not step.is_action]
    said = {step.index: step.text for step in run.trajectory.steps}
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
        told = one_line(said[message])[:DETAIL_MAX]
        yield Friction(
            kind=FrictionKind.CORRECTION,
            step=place,
            detail=told,
            run_step=message,
            instead=instead.index if instead else None,
            at_fault=run.says(at_fault, place) and not (instead is not None and run.says(instead, place)),
        )


def _divergences(run: SkillRun, taken: set[int | None]) -> Iterator[Friction]:
    """What a run did in a place where the skill says nothing, or something else that was left out; one for each place."""
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
        told = f"did {_told(call)} in place of {place_name(place, len(run.content.steps))}" if left_out else ""
        yield _friction(run, call, FrictionKind.DIVERGED, told or f"also did {_told(call)}", call, step=place)


def _is_denied(call: RunCall) -> bool:
    step = call.step
    if step.result in (StepResult.DENIED, StepResult.OK):
        return step.result is StepResult.DENIED
    said = step.observation[:_SAID_MAX]
    return bool(_DENIED.match(said)) or (step.result is StepResult.FAILED and bool(_FORBIDDEN.search(said)))


def _missing(run: SkillRun, call: RunCall) -> tuple[str, ...]:
    """Files that a call and the skill's step both name, where the answer says that something is not there."""
    if not _MISSING.search(call.step.observation[:_SAID_MAX]):
        return ()
    place = run.places[call.index]
    if not 0 <= place < len(run.content.steps):
        return ()
    step = run.content.steps[place]
    said = f"{command_in(step)}\n{step.text}\n" + "\n".join(_texts(step.arguments.values()))
    named = [path for text in _texts(call.arguments.values()) for path in _PATH.findall(text)]
    return tuple(dict.fromkeys(path for path in named if path in said))


def _found(path: str, repair: RunCall | None) -> str:
    """Where a file was, as the call that worked has it: one of the same name, or the only one that is new."""
    if repair is None:
        return ""
    named = [each for text in _texts(repair.arguments.values()) for each in _PATH.findall(text) if each != path]
    name = path.rpartition("/")[2]
    alike = [each for each in named if each.rpartition("/")[2] == name]
    chosen: list[str] = alike or (named if len(set(named)) == 1 else [])
    return chosen[0] if chosen else ""


def _shares_name(call: RunCall, failed: RunCall) -> bool:
    names = [
        {path.rpartition("/")[2] for text in _texts(each.arguments.values()) for path in _PATH.findall(text)}
        for each in (call, failed)
    ]
    return not names[0].isdisjoint(names[1])


def _texts(values: object) -> Iterator[str]:
    if isinstance(values, str):
        yield values
    elif isinstance(values, dict):
        yield from _texts(values.values())
    elif hasattr(values, "__iter__"):
        for value in values:
            yield from _texts(value)


def _told(call: RunCall) -> str:
    """A call in a few words: the command, or the tool with what it was given."""
    inner = ", ".join(f"{name}={value}" for name, value in call.arguments.items())
    shown = call.command or f"{call.step.tool}({inner})"
    line = one_line(shown).replace("`", "'")
    return f"`{line if len(line) <= _CALL_MAX else line[: _CALL_MAX - 1] + '…'}`"


_CALL_MAX = 80


def _friction(
    run: SkillRun, call: RunCall, kind: FrictionKind, told: str, repair: RunCall | None, *, step: int | None = None
) -> Friction:
    place = run.places[call.index] if step is None else step
    return Friction(
        kind=kind,
        step=place,
        detail=one_line(told)[:DETAIL_MAX],
        run_step=call.index,
        instead=repair.index if repair else None,
        at_fault=run.says(call, place) and not (repair is not None and run.says(repair, place)),
    )
