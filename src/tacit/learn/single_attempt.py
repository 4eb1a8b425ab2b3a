"""Learns from one attempt: candidates for the gate, and notes for people.

Candidates are what a person said and, for a verified success, a draft of its procedure. Fixed errors and working commands are
only noted here: they are counted over sessions (`fixes`, `project_facts`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from tacit.domain.candidate import Candidate
from tacit.domain.evidence import Assessment
from tacit.domain.outline import Outline
from tacit.domain.trajectory import Trajectory
from tacit.learn.attempt_outlines import outline_of
from tacit.learn.fixes import FixKind, SourcedCall, retries_of
from tacit.learn.person_rules import candidates_of
from tacit.learn.procedure import SkippedProcedure, procedure
from tacit.learn.statements import Statement, objections_of, rule_of, statements_of
from tacit.learn.wording import code, shorten
from tacit.text.tool_calls import Effect, ToolCall, ToolKind, tool_calls


class AttemptNoteKind(StrEnum):
    """The kind of a note."""

    RECOVERED_ERROR = "recovered_error"
    WORKING_COMMAND = "working_command"
    CORRECTION = "correction"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptNote:
    """One true statement about an attempt for people."""

    kind: AttemptNoteKind
    text: str
    step: int | None = None
    """The step that shows it; none for the whole attempt."""
    detail: Mapping[str, str] = field(default_factory=dict)
    """The same as values: `reason`, `command`, `ok`, `failed`, `signature`, …"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Distillation:
    """Everything that one attempt gives."""

    outline: Outline
    """The outline that mining compares with other attempts."""
    candidates: tuple[Candidate, ...] = ()
    notes: tuple[AttemptNote, ...] = ()

    @property
    def skipped(self) -> tuple[str, ...]:
        """Why there is no procedure; empty if there is one."""
        return tuple(note.detail["reason"] for note in self.notes if note.kind is AttemptNoteKind.SKIPPED)


_MAX_COMMANDS = 8
_MAX_FILES = 3


def distil(trajectory: Trajectory, assessment: Assessment) -> Distillation:
    """Learn from one attempt, without a language model.

    An attempt with plain tool calls is only outlined: `mine` compares it with others before it makes a procedure.
    """
    actions = tool_calls(trajectory)
    statements = statements_of(trajectory, actions)
    outline = outline_of(trajectory, assessment, statements=statements)
    made = None if outline.success and outline.moves else _draft(trajectory, assessment, actions, statements)
    candidates: list[Candidate] = [made] if isinstance(made, Candidate) else []
    candidates += candidates_of(trajectory, statements, assessment=assessment)
    notes = (
        *([skipped_note(made, trajectory)] if isinstance(made, SkippedProcedure) else ()),
        *_recovered(outline),
        *_stated(statements),
        *_commands(actions),
    )
    return Distillation(candidates=tuple(candidates), notes=notes, outline=outline)


def draft_of(trajectory: Trajectory, assessment: Assessment) -> Candidate | SkippedProcedure:
    """Return the procedure of one attempt, or why it gives none."""
    actions = tool_calls(trajectory)
    return _draft(trajectory, assessment, actions, statements_of(trajectory, actions))


def _draft(
    trajectory: Trajectory, assessment: Assessment, actions: Sequence[ToolCall], statements: Sequence[Statement]
) -> Candidate | SkippedProcedure:
    corrected = objections_of(trajectory, actions, statements=statements)
    return procedure(trajectory, assessment, actions=actions, corrected=corrected)


def skipped_note(made: SkippedProcedure, trajectory: Trajectory) -> AttemptNote:
    """Return why there is no procedure, and what the attempt changed."""
    actions = tool_calls(trajectory)
    root = trajectory.environment.workspace.rstrip("/") + "/"
    changed = dict.fromkeys(action.path.removeprefix(root) for action in actions if _changed_file(action))
    if changed:
        more = f" and {len(changed) - _MAX_FILES} more files" if len(changed) > _MAX_FILES else ""
        done = f" It changed {', '.join(code(path) for path in list(changed)[:_MAX_FILES])}{more}."
    else:
        done = "" if actions else " It called no tool."
    detail = {"reason": made.reason, "actions": str(len(actions))}
    return AttemptNote(kind=AttemptNoteKind.SKIPPED, text=made.text + done, detail=detail)


def _changed_file(action: ToolCall) -> bool:
    return action.kind is ToolKind.FILE and action.effect is Effect.WRITE and action.worked and bool(action.path)


def _recovered(outline: Outline) -> Iterator[AttemptNote]:
    """Yield which failures were followed by a success of the same goal, and what may have made the difference."""
    calls = [SourcedCall(outline.trajectory_id, record) for record in outline.calls]
    for retry in retries_of(outline.trajectory_id, calls):
        if not retry.worked:
            continue
        typed = [tried.typed for fix, tried in retry.fixes.items() if fix.kind is FixKind.RUN_FIRST]
        edits = [fix.what for fix in retry.fixes if fix.kind is FixKind.EDIT]
        between = [code(shorten(each, 80)) for each in typed] + [f"an edit of {code(path)}" for path in edits]
        command = retry.again.record.command
        again = f"as {code(shorten(command, 80))}" if command != retry.failed.record.command else "on another try"
        how = f"after {', '.join(between[:_MAX_FILES])}" if between else again
        detail = {
            "error": next(iter(retry.lines), ""),
            "worked_at": str(retry.again.record.step),
            "fixes": str(len(retry.fixes)),
        }
        yield AttemptNote(
            kind=AttemptNoteKind.RECOVERED_ERROR,
            text=f"{code(retry.goal.text)} failed and worked {how}.",
            step=retry.failed.record.step,
            detail=detail,
        )


def _stated(statements: Sequence[Statement]) -> Iterator[AttemptNote]:
    for statement in statements:
        if statement.standing:
            text = f"A person said: {rule_of(statement.text)}"
            yield AttemptNote(kind=AttemptNoteKind.CORRECTION, text=text, step=statement.message.index)


def _commands(actions: Sequence[ToolCall]) -> Iterator[AttemptNote]:
    """Yield which commands worked and how often; reading does not count."""
    ok: dict[str, int] = {}
    failed: dict[str, int] = {}
    last: dict[str, int] = {}
    for action in actions:
        if action.effect is Effect.READ or action.kind is ToolKind.FILE or action.delegates:
            continue
        label = action.label
        tally = ok if action.surely_worked else failed if not action.worked else {}
        tally[label] = tally.get(label, 0) + 1
        last[label] = action.index
    for label in sorted(ok, key=lambda name: (-ok[name], last[name]))[:_MAX_COMMANDS]:
        bad = failed.get(label, 0)
        times = "once" if ok[label] == 1 else f"{ok[label]} times"
        tail = f" and failed {'once' if bad == 1 else f'{bad} times'}" if bad else ""
        detail = {"command": label, "ok": str(ok[label]), "failed": str(bad)}
        yield AttemptNote(
            kind=AttemptNoteKind.WORKING_COMMAND,
            text=f"{code(label)} worked {times}{tail}.",
            step=last[label],
            detail=detail,
        )
