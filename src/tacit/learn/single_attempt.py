"""Learns from one attempt: rules that a person stated and, for a verified success, a draft of its procedure.

Fixed errors and working commands are counted over sessions (`fixes`, `project_facts`), not told of a single attempt.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tacit.domain.candidate import Candidate
from tacit.domain.evidence import Assessment
from tacit.domain.outline import Outline
from tacit.domain.trajectory import Trajectory
from tacit.learn.attempt_outlines import outline_of
from tacit.learn.person_rules import candidates_of
from tacit.learn.procedure import SkippedProcedure, procedure
from tacit.learn.statements import Statement, objections_of, statements_of
from tacit.text.tool_calls import ToolCall, tool_calls


@dataclass(frozen=True, slots=True, kw_only=True)
class Distillation:
    """Everything that one attempt gives."""

    outline: Outline
    """The outline that mining compares with other attempts."""
    candidates: tuple[Candidate, ...] = ()
    skipped: SkippedProcedure | None = None
    """Why there is no procedure; none if there is one, or if the attempt is compared with others first."""


def distil(trajectory: Trajectory, assessment: Assessment) -> Distillation:
    """Learn from one attempt, without a language model.

    An attempt with plain tool calls is only outlined: `mine` compares it with others before it makes a procedure.
    """
    actions = tool_calls(trajectory)
    statements = statements_of(trajectory, actions)
    outline = outline_of(trajectory, assessment, statements=statements)
    made = None if outline.success and outline.moves else _draft(trajectory, assessment, actions, statements)
    rules = candidates_of(trajectory, statements, assessment=assessment)
    if isinstance(made, Candidate):
        return Distillation(outline=outline, candidates=(made, *rules))
    return Distillation(outline=outline, candidates=tuple(rules), skipped=made)


def draft_of(trajectory: Trajectory, assessment: Assessment) -> Candidate | SkippedProcedure:
    """Return the procedure of one attempt, or why it gives none."""
    actions = tool_calls(trajectory)
    return _draft(trajectory, assessment, actions, statements_of(trajectory, actions))


def _draft(
    trajectory: Trajectory, assessment: Assessment, actions: Sequence[ToolCall], statements: Sequence[Statement]
) -> Candidate | SkippedProcedure:
    corrected = objections_of(trajectory, actions, statements=statements)
    return procedure(trajectory, assessment, actions=actions, corrected=corrected)
