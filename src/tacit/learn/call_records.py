"""Reduces an attempt to its calls: command or tool, how each ended, what it printed about errors, which files were edited.

Call records are small, so those of every session can be compared at once (`fixes`, `project_facts`). A status that a pipe
hid counts as a failure where the output shows one, and as unknown otherwise.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from hashlib import blake2b

from tacit.domain.outline import CallRecord
from tacit.domain.trajectory import Role, StepResult, Trajectory
from tacit.text.command_forms import CommandForm, command_forms
from tacit.text.error_signatures import masked_line, output_lines, shows_failure, telling_lines
from tacit.text.exit_status import masks_exit
from tacit.text.programs import DATA_PROGRAMS
from tacit.text.tool_calls import ToolCall, ToolKind, edits_in_place, essential, only_reads

MAX_COMMAND = 400
MAX_EDITS = 10
MIN_ROOT = 4
"""Characters of a workspace that is more than the root of a disk."""
MAX_SEEN = 24
"""How many lines of a working output are kept, as digests."""
MAX_LINE = 200
MAX_REASON = 240
_NOT_RUN = (StepResult.DENIED, StepResult.INTERRUPTED, StepResult.NO_MATCH)


def call_records(trajectory: Trajectory, actions: Sequence[ToolCall]) -> tuple[CallRecord, ...]:
    """Return the calls of an attempt in order; refused and interrupted ones are left out."""
    reasons = _reasons(trajectory)
    records = (_record(action, reasons.get(action.index, "")) for action in actions if not action.delegates)
    return tuple(record for record in records if record)


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
    worked = _worked(action)
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


def _worked(action: ToolCall) -> bool | None:
    step = action.step
    if step.failed or not action.worked:
        return False
    if action.kind is not ToolKind.SHELL:
        return True if action.surely_worked else None
    if masks_exit(action.command) and shows_failure(step.observation):
        return False
    return True if step.result is StepResult.OK else None


def _edited_in_shell(action: ToolCall) -> tuple[str, ...]:
    forms = command_forms(action.command) if action.kind is ToolKind.SHELL else ()
    return tuple(
        path[:MAX_LINE] for form in forms if edits_files(form) for path in (form.command.outputs or form.targets[-1:])
    )[:MAX_EDITS]


def _without_workspace(action: ToolCall) -> str:
    """Return the shell text with paths relative to the project's root."""
    root = action.workspace.rstrip("/\\")
    if len(root) < MIN_ROOT:
        return action.command
    return action.command.replace(f"{root}/", "").replace(f"{root}\\", "").replace(root, ".")


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


_CANCELLED = re.compile(r"(?:<tool_use_error>)?\s*(?:Cancelled:|Sibling tool call|Hook PreToolUse|PreToolUse:)")
"""The call did not run: another one of the same message failed, or a hook stopped it."""
_LOOKING_VERBS = frozenset(
    "ls list show view status help info describe log logs diff version search doctor --dry-run".split()
)
_INLINE = frozenset({"python", "python3", "node", "ruby", "perl", "php", "deno"})
