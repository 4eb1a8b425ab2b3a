"""Reduces one attempt to an outline: its moves and readings, its calls with how they ended, and what the person wished for.

Outlines are small, so those of every session can be compared at once (`mining`, `fixes`, `project_facts`, `person_rules`).
Only plain tool calls become moves and readings; shell and file work is compared as drafts (`consensus`).

A call record has the command or tool, how the call ended, what it printed about errors and which files it edited. A status
that a pipe hid counts as a failure where the output shows one; otherwise the client's word counts, which is good enough to
count with and proves nothing (`proven_end`).
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from hashlib import blake2b
from typing import Any

from tacit.domain.evidence import Assessment
from tacit.domain.outline import CallRecord, Move, Outline, Reading
from tacit.domain.trajectory import Role, StepResult, Trajectory
from tacit.learn.statements import Statement, statements_of, wishes_of
from tacit.learn.wording import shorten
from tacit.text.command_forms import CommandForm, command_forms
from tacit.text.error_signatures import masked_line, output_lines, shows_failure, telling_lines
from tacit.text.exit_status import masks_exit
from tacit.text.facts import facts
from tacit.text.programs import DATA_PROGRAMS
from tacit.text.redaction import redact
from tacit.text.shell import Command, parse_command
from tacit.text.tool_calls import Effect, ToolCall, ToolKind, edits_in_place, essential, only_reads, tool_calls

MAX_TASK = 4_000
MAX_MOVES = 60
MAX_READINGS = 60
MAX_FACTS = 160
_MAX_ARGUMENTS = 2_000
"""Characters of the task, calls of each sort, facts of one answer, and characters of one call's arguments that an outline
keeps. They bound its size: all outlines are in memory at once.
"""
MAX_COMMAND = 400
MAX_EDITS = 10
MIN_ROOT = 4
"""Characters of a workspace that is more than the root of a disk."""
MAX_SEEN = 24
"""How many lines of a working output are kept, as digests."""
MAX_LINE = 200
MAX_REASON = 240
"""Characters of an output line and of what the agent said before a call: outlines of all attempts are in memory at once."""
_NOT_RUN = (StepResult.DENIED, StepResult.INTERRUPTED, StepResult.NO_MATCH)


def outline_of(
    trajectory: Trajectory, assessment: Assessment, *, statements: Sequence[Statement] | None = None
) -> Outline:
    """Outline one attempt; a person's statements that are known need not be found again."""
    actions = tool_calls(trajectory)
    success = True if assessment.verified_success else False if assessment.verified_failure else None
    moves, readings = _moves_and_readings(actions) if calls_only_plain_tools(actions) else ((), ())
    return Outline(
        trajectory_id=trajectory.id,
        task=shorten(trajectory.task.text, MAX_TASK),
        success=success,
        session_id=trajectory.session_id,
        project=trajectory.task.project,
        moves=moves,
        readings=readings,
        session=trajectory.parent_session_id or trajectory.session_id or trajectory.id,
        at=trajectory.started_at,
        calls=call_records(trajectory, actions),
        wishes=wishes_of(statements_of(trajectory, actions) if statements is None else statements),
        keeps_folder=keeps_folder(trajectory),
    )


def calls_only_plain_tools(actions: Sequence[ToolCall]) -> bool:
    """Whether an attempt used only plain tool calls, apart from reading files."""
    changes = [action for action in actions if action.effect is not Effect.READ]
    # A file read without an answer comes from a written plan, not from a run.
    called = any(action.kind is ToolKind.FUNCTION or not action.step.observation for action in actions)
    return called and all(action.kind is ToolKind.FUNCTION and not action.delegates for action in changes)


def _moves_and_readings(actions: Sequence[ToolCall]) -> tuple[tuple[Move, ...], tuple[Reading, ...]]:
    calls = [action for action in actions if action.kind is not ToolKind.SHELL]
    changes = any(action.effect is not Effect.READ for action in calls)
    moves: list[Move] = []
    readings: list[Reading] = []
    for action in calls:
        # A final reading, or one whose answer was not recorded, was the goal of the task.
        looks = action.effect is Effect.READ and action.step.observation
        if not looks or (not changes and action is calls[-1]):
            moves.append(_move(action))
        elif action.worked:
            readings.append(_reading(action, after=len(moves)))
    return tuple(moves[:MAX_MOVES]), tuple(readings[:MAX_READINGS])


def _move(action: ToolCall) -> Move:
    return Move(
        index=action.index,
        tool=action.step.tool,
        arguments=_arguments(action),
        worked=action.worked,
        facts=_facts(action) if action.kind is ToolKind.FUNCTION and action.worked else {},
    )


def _reading(action: ToolCall, *, after: int) -> Reading:
    return Reading(
        index=action.index, tool=action.step.tool, arguments=_arguments(action), facts=_facts(action), after=after
    )


def _facts(action: ToolCall) -> dict[str, tuple[str, ...]]:
    kept = dict(list(facts(action.step.observation).items())[:MAX_FACTS])
    if "\\u" in action.step.observation:  # an escaped secret is recognised only after decoding
        kept = {key: tuple(redact(value).text for value in values) for key, values in kept.items()}
    return kept


def _arguments(action: ToolCall) -> Mapping[str, Any]:
    """Return the arguments, unless they hold a document."""
    arguments = essential(action.step.arguments)
    return arguments if len(json.dumps(arguments, default=str)) <= _MAX_ARGUMENTS else {}


def call_records(trajectory: Trajectory, actions: Sequence[ToolCall]) -> tuple[CallRecord, ...]:
    """Return the calls of an attempt in order; refused and interrupted ones are left out."""
    reasons = _reasons(trajectory)
    records = (_record(action, reasons.get(action.index, "")) for action in actions if not action.delegates)
    return tuple(record for record in records if record)


def keeps_folder(trajectory: Trajectory) -> bool:
    """Whether the shell stays where a call left it; that of a subagent starts in the same place every time."""
    return trajectory.environment.client in _KEEPING_CLIENTS and not trajectory.parent_session_id


def without_copies(outlines: Sequence[Outline]) -> list[Outline]:
    """Return attempts oldest first, without those that a session took over: same task, begun at the same moment."""
    longest: dict[tuple[str, object], Outline] = {}
    for outline in outlines:
        key = (outline.task, outline.at or outline.trajectory_id)
        if key not in longest or len(outline.calls) > len(longest[key].calls):
            longest[key] = outline
    kept = {id(outline) for outline in longest.values()}
    left = [outline for outline in outlines if id(outline) in kept]
    return sorted(left, key=lambda outline: outline.at.timestamp() if outline.at else 0.0)


def in_their_folders(records: Sequence[CallRecord], start: str) -> tuple[list[CallRecord], str]:
    """Write out the folder in which the shell stood before each call; return also the folder after the last one."""
    here = start
    found: list[CallRecord] = []
    for record in records:
        placed = replace(record, command=f"cd {shlex.quote(here)} && {record.command}") if here else record
        found.append(placed if record.command else record)
        moves = _MOVES.search(record.command) and not any(map(_NOT_MOVED.search, record.lines))
        here = _folder_after(placed.command, here) if moves else here
    return found, here


def _folder_after(line: str, here: str) -> str:
    """Return where a line leaves the shell; a client puts it back into the project when it left that."""
    last = parse_command(f"{line}\n:")[-1]
    folder = inside_project(last.directory)
    if last.program != ":":
        return here  # a script that cannot be read to its end
    return folder if folder and not _ELSEWHERE.match(folder) else ""


def inside_project(folder: str) -> str:
    """Return a folder relative to the project's root, or to that of a worktree in it; empty for the root itself."""
    path = folder.replace("\\", "/")
    path = path[len(_ROOT) :].lstrip("/") if path.startswith(_ROOT) else path
    path = _TWICE.sub(r"\1\2", _WORKTREE.sub("", path))
    return "" if path in ("", ".", "./") else path.removeprefix("./").rstrip("/") or path


def forms_of(call: CallRecord) -> tuple[CommandForm, ...]:
    """Return the commands of a call in normal form; a plain tool call counts as one command."""
    if call.command:
        return _placed_forms(call.command)
    if not call.tool:
        return ()
    typed = f"{call.tool}({', '.join(call.arguments)})"
    return (
        CommandForm(
            text=call.tool,
            goal=call.tool,
            options=frozenset(call.arguments),
            settings=frozenset(),
            targets=(),
            directory="",
            tokens=(call.tool,),
            typed=typed,
            command=Command(program=call.tool, text=typed),
        ),
    )


@lru_cache(maxsize=20_000)
def _placed_forms(line: str) -> tuple[CommandForm, ...]:
    return tuple(form._replace(directory=inside_project(form.directory)) for form in command_forms(line))


def acts(form: CommandForm) -> bool:
    """Whether a command changes something or checks something, and does not only look."""
    command = form.command
    if form.program in _INLINE and (
        form.options & {"-c", "-e", "-p"} or "-" in command.operands or not command.operands
    ):
        return False  # a script typed for the moment
    return not only_reads(command) and form.goal.rsplit(" ", 1)[-1] not in _LOOKING_VERBS


def edits_files(form: CommandForm) -> bool:
    """Whether a command is an edit typed in the shell."""
    command = form.command
    written = command.program in DATA_PROGRAMS and bool(command.outputs)
    return edits_in_place(command) or written or command.program in ("patch", "ed", "tee")


@lru_cache(maxsize=50_000)
def line_digest(line: str) -> str:
    """Return the digest of a line without what differs from run to run."""
    return blake2b(masked_line(line).encode("utf-8", "replace"), digest_size=4).hexdigest()


def _record(action: ToolCall, reason: str) -> CallRecord | None:
    step = action.step
    if step.result in _NOT_RUN or _CANCELLED.match(step.observation):
        return None
    edited = tuple(edit.file[:MAX_LINE] for edit in action.edits)
    is_shell = action.kind is ToolKind.SHELL
    if action.kind is ToolKind.FILE and not edited:
        return None
    worked = was_successful(action)
    lines = output_lines(step.observation) if worked and not edited else []
    return CallRecord(
        step=step.index,
        command=_shortened(_without_workspace(action)) if is_shell else "",
        tool="" if is_shell or edited else step.tool,
        arguments=() if is_shell or edited else tuple(sorted(essential(step.arguments))),
        worked=worked,
        lines=tuple(line[:MAX_LINE] for line in telling_lines(step.observation)) if worked is False else (),
        seen=tuple(dict.fromkeys(map(line_digest, (*lines[: MAX_SEEN // 2], *lines[-MAX_SEEN // 2 :]))))
        if worked
        else (),
        edited=edited or _edited_in_shell(action),
        reason=reason if is_shell else "",
    )


def was_successful(action: ToolCall) -> bool | None:
    """Return how a call ended as far as the client and the output tell; nothing where neither does."""
    step = action.step
    if step.failed or not action.worked:
        return False
    if action.kind is not ToolKind.SHELL:
        return True if action.surely_worked else None
    if masks_exit(action.command) and shows_failure(step.observation):
        return False
    return True if step.result is StepResult.OK else None


def proven_end(action: ToolCall) -> bool | None:
    """Return how a call ended; nothing also where its exit status could be hidden, by a pipe or `|| true`."""
    ended = was_successful(action)
    return None if ended and action.kind is ToolKind.SHELL and masks_exit(action.command) else ended


def _edited_in_shell(action: ToolCall) -> tuple[str, ...]:
    forms = command_forms(action.command) if action.kind is ToolKind.SHELL else ()
    return tuple(
        path[:MAX_LINE] for form in forms if edits_files(form) for path in (form.command.outputs or form.targets[-1:])
    )[:MAX_EDITS]


def _without_workspace(action: ToolCall) -> str:
    """Return the shell text with paths relative to the project's root; a `cd` still shows that it starts there."""
    root = action.workspace.rstrip("/\\")
    if len(root) < MIN_ROOT:
        return action.command
    entered, named, alone = _root_patterns(root)
    return alone.sub(".", named.sub("", entered.sub(rf"\g<1>{_ROOT}", action.command)))


@lru_cache(maxsize=100)
def _root_patterns(root: str) -> tuple[re.Pattern[str], re.Pattern[str], re.Pattern[str]]:
    """Return what finds the root in a shell text: behind `cd`, before a path, and by itself."""
    drive, _, rest = root.replace("\\", "/").partition(":/")
    spellings = [root, *([f"{drive}:/{rest}", f"/{drive.lower()}/{rest}"] if rest else [])]
    path = f"(?:{'|'.join(map(re.escape, spellings))})"
    ends = r"(?=[/\\\s\"';&|)]|$)"
    return (
        re.compile(rf"(?i)(\b(?:cd|pushd|set-location)\s+[\"']?){path}{ends}"),
        re.compile(rf"{path}[/\\]"),
        re.compile(path),
    )


def _shortened(command: str) -> str:
    text = command.strip()
    return text if len(text) <= MAX_COMMAND else text[:MAX_COMMAND].rsplit(None, 1)[0]


def _reasons(trajectory: Trajectory) -> dict[int, str]:
    """Return what the agent wrote right before each call: its last sentences."""
    found: dict[int, str] = {}
    text = ""
    for step in trajectory.steps:
        if step.role is Role.AGENT and step.text.strip():
            text = step.text
        if step.is_action:
            found[step.index] = _last_sentences(text)
            text = ""
        elif step.role is Role.USER:
            text = ""
    return found


def _last_sentences(text: str) -> str:
    sentences = re.split(r"(?<=[.!?:])\s+(?=[A-Z`*])", " ".join(text.split()))
    kept = ""
    for sentence in reversed(sentences):
        if len(kept) + len(sentence) > MAX_REASON:
            break
        kept = f"{sentence} {kept}".strip()
    return kept


_KEEPING_CLIENTS = frozenset({"claude-code"})
"""Clients with one shell for a whole session."""
_ROOT = "/."
"""Stands for the project's root behind `cd`."""
_WORKTREE = re.compile(r"^(?:.*/)?\.?(?:worktrees?|wt)/[^/]+(?:/|$)")
_MOVES = re.compile(r"\b(?:cd|pushd|popd|set-location)\b", re.IGNORECASE)
_NOT_MOVED = re.compile(r"\bcd: |\bcan't cd to |: cd$")
_TWICE = re.compile(r"(^|/)([^/]+)/\2$")
"""`cd web` inside `web`: the shell stood somewhere else, or the call failed where nobody saw it."""
_ELSEWHERE = re.compile(r"[/~$]|[A-Za-z]:|\.\.")
_CANCELLED = re.compile(r"(?:<tool_use_error>)?\s*(?:Cancelled:|Sibling tool call|Hook PreToolUse|PreToolUse:)")
"""The call did not run: another one of the same message failed, or a hook stopped it."""
_LOOKING_VERBS = frozenset(
    "ls list show view status help info describe log logs diff version search doctor --dry-run".split()
)
_INLINE = frozenset({"python", "python3", "node", "ruby", "perl", "php", "deno"})
