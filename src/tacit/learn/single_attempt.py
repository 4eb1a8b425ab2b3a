"""Learns from one attempt: candidates for the gate, and notes for people.

In order: fixed errors, corrections by a person and, for a verified success, the procedure. Every attempt gives at least one
note.
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
from tacit.learn.correction import Correction, candidate_of, corrections_of, objections_of, rule_of
from tacit.learn.lesson import lesson
from tacit.learn.procedure import SkippedProcedure, procedure
from tacit.learn.recovery import Means, Recovery, recoveries_of, shown
from tacit.learn.values import Timeline
from tacit.learn.wording import code, shorten
from tacit.text.tool_calls import Effect, ToolCall, ToolKind, tool_calls


class AttemptNoteKind(StrEnum):
    """The kind of a note."""

    RECOVERED_ERROR = "recovered_error"
    WORKING_COMMAND = "working_command"
    CORRECTION = "correction"
    SKIPPED = "held"


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
    recoveries = recoveries_of(actions)
    corrections = corrections_of(trajectory, actions)
    outline = outline_of(trajectory, assessment)
    made = (
        None if outline.success and outline.moves else _draft(trajectory, assessment, actions, recoveries, corrections)
    )
    candidates: list[Candidate] = [made] if isinstance(made, Candidate) else []
    timeline = Timeline(trajectory)
    candidates += [found for recovery in recoveries if (found := lesson(trajectory, recovery, timeline=timeline))]
    candidates += [
        found
        for correction_steps in corrections
        if (found := candidate_of(trajectory, correction_steps, assessment=assessment))
    ]
    notes = (
        *([skipped_note(made, trajectory)] if isinstance(made, SkippedProcedure) else ()),
        *_recovered(recoveries),
        *_corrected(corrections),
        *_commands(actions),
    )
    return Distillation(candidates=tuple(candidates), notes=notes, outline=outline)


def draft_of(trajectory: Trajectory, assessment: Assessment) -> Candidate | SkippedProcedure:
    """Return the procedure of one attempt, or why it gives none."""
    actions = tool_calls(trajectory)
    corrections = corrections_of(trajectory, actions)
    return _draft(trajectory, assessment, actions, recoveries_of(actions), corrections)


def _draft(
    trajectory: Trajectory,
    assessment: Assessment,
    actions: Sequence[ToolCall],
    recoveries: Sequence[Recovery],
    corrections: Sequence[Correction],
) -> Candidate | SkippedProcedure:
    correction_steps = {correction.message.index for correction in corrections} | set(
        objections_of(trajectory, actions)
    )
    corrected = tuple(sorted(correction_steps))
    return procedure(trajectory, assessment, actions=actions, recoveries=recoveries, corrected=corrected)


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


def _recovered(recoveries: Sequence[Recovery]) -> Iterator[AttemptNote]:
    for recovery in recoveries:
        if recovery.means is Means.TRANSIENT:
            text = f"{shown(recovery.failed)} failed and worked on the next try with nothing changed."
        elif recovery.teaches:
            text = recovery.sentence()
        else:
            error = shorten(recovery.error, 160)
            text = f"{shown(recovery.failed)} failed with “{error}” and worked later."
        detail = {
            "signature": recovery.signature,
            "means": str(recovery.means),
            "worked_at": str(recovery.worked.index),
        }
        yield AttemptNote(kind=AttemptNoteKind.RECOVERED_ERROR, text=text, step=recovery.failed.index, detail=detail)


def _corrected(corrections: Sequence[Correction]) -> Iterator[AttemptNote]:
    for correction in corrections:
        text = f"A person said: {rule_of(correction.sentence)}"
        detail = {"kind": str(correction.kind)}
        yield AttemptNote(kind=AttemptNoteKind.CORRECTION, text=text, step=correction.message.index, detail=detail)


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
