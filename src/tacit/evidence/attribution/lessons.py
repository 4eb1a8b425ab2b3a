"""A lesson and a run → whether its fix was used: what was done after the error that it answers.

The fix counts from the error on, or, where the error did not come, from the moment the lesson was shown: who goes the right
way at once has followed it too. A run in which the error never came and the fix was never used says nothing. One that was
shown the lesson, met the error again and never used the fix has gone on in the way that fails.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from tacit.domain.evidence import Following
from tacit.domain.skill import SkillContent
from tacit.domain.trajectory import Step
from tacit.evidence.attribution.alignment import Alignment, Divergence, Done, Run
from tacit.text.error_signatures import error_signature, without_name
from tacit.text.near_duplicates import text_similarity
from tacit.text.shell import shell_text
from tacit.text.tool_calls import is_error_answer, operations_of

Judge = Callable[[Run, SkillContent, Sequence[Done]], Alignment | None]
_ALIKE = 0.8


def align_lesson(run: Run, content: SkillContent, *, followed: Judge) -> Alignment | None:
    """How a run stands to a lesson."""
    met = [step for step in run.trajectory.actions if is_met(content.signature, step)] if content.signature else []
    first = met[0].index if met else run.start - 1
    fixed = followed(run, content, run.after(first))
    if fixed is None or fixed.following is Following.FOLLOWED or not content.signature:
        return fixed
    again = [step for step in met if step in run.actions]
    if fixed.following is Following.IGNORED and again:
        diverged = tuple(Divergence(step=step.index, instead_of=0, what=_label(step)) for step in again)
        reasons = ("it met the error that this answers, and never used the fix", *fixed.reasons)
        return replace(fixed, following=Following.CONTRADICTED, diverged=diverged, reasons=reasons)
    return fixed if met or fixed.following is not Following.IGNORED else None


def is_met(signature: str, step: Step) -> bool:
    """Whether a call ended in the error of a signature."""
    if not (step.failed or is_error_answer(step.observation)):
        return False
    seen = error_signature(step.observation, command=shell_text(step.arguments))
    return signature in (seen, without_name(seen)) or text_similarity(signature, seen) >= _ALIKE


def _label(step: Step) -> str:
    return next((act.label for act in operations_of(step.tool, step.arguments)), step.tool)[:80]
