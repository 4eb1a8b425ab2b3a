"""Formation: is this candidate worth having at all? Candidate → findings with stated reasons.

The rules look at evidence and shape only. Whether the text is safe, and whether it is already known, is judged elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterator

from tacit.config.settings import Policy, Strictness
from tacit.domain.candidate import Candidate, Finding, Severity
from tacit.domain.skill import Kind
from tacit.text.words import stem, term_set

RECURRENT_CATEGORIES = frozenset(
    {"deployment", "debugging", "setup", "configuration", "testing", "monitoring", "data-processing", "reporting"}
)
RECURRENT_WORDS = {
    stem(word): word
    for word in "add build change check configure create debug deploy exchange export fix generate import install "
    "migrate monitor release rename return run setup test update upgrade".split()
}
REFUSING = Severity.HIGH
"""A formation finding of this weight or more turns the candidate away."""


def formation(candidate: Candidate, policy: Policy) -> Iterator[Finding]:
    """State why a candidate should, or should not, become a skill."""
    if candidate.content.kind is Kind.PROCEDURE and candidate.assessment is not None:
        yield from _procedure(candidate, policy)
    if candidate.content.kind is Kind.LESSON and candidate.assessment and candidate.assessment.verified_failure:
        yield _refuse("task_failed", "the fix did not work either; failure alone makes no lesson")
    if not candidate.content.description.strip():
        yield _refuse("no_description", "a skill without a description can never be found")


def _procedure(candidate: Candidate, policy: Policy) -> Iterator[Finding]:
    assessment, steps = candidate.assessment, len(candidate.content.steps)
    assert assessment is not None
    if not assessment.verified_success:
        rule = "task_failed" if assessment.verified_failure else "unverified"
        yield _refuse(rule, assessment.reason or "nothing shows that the attempt succeeded")
    if steps < policy.min_steps:
        yield _refuse(
            f"too_simple_{steps}_steps", f"{steps} steps are fewer than the {policy.min_steps} that make a procedure"
        )
    yield _recurrence(candidate, policy)


def _recurrence(candidate: Candidate, policy: Policy) -> Finding:
    content = candidate.content
    if content.category in RECURRENT_CATEGORIES:
        return Finding(rule=f"recurrent_category_{content.category}", message=f"{content.category} tasks come again")
    shared = sorted(
        RECURRENT_WORDS[term] for term in term_set(f"{content.name} {content.description}") & RECURRENT_WORDS.keys()
    )
    if shared:
        return Finding(rule="recurring_keyword", message=f"such tasks come again ({', '.join(shared[:3])})")
    severity = Severity.HIGH if policy.strictness is Strictness.STRICT else Severity.LOW
    return Finding(rule="one_time_task", message="nothing shows that this kind of task comes again", severity=severity)


def _refuse(rule: str, message: str) -> Finding:
    return Finding(rule=rule, message=message, severity=REFUSING)
