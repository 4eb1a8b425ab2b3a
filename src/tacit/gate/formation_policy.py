"""Formation policy: is a candidate eligible to become a skill at all? Candidate → findings. Pure.

The rules look at the evidence and the form only; safety and duplicates are judged elsewhere.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from tacit.config.settings import Policy, Strictness
from tacit.domain.candidate import Candidate, Finding, Severity
from tacit.domain.skill import Kind, SkillContent
from tacit.gate.findings import finding
from tacit.text.words import stem, term_set

RECURRENT_CATEGORIES = frozenset(
    {"deployment", "debugging", "setup", "configuration", "testing", "monitoring", "data-processing", "reporting"}
)
RECURRENT_WORDS = {
    stem(word): word
    for word in "add build change check configure create debug deploy exchange export fix generate import install "
    "migrate monitor release rename return run setup test update upgrade".split()
}
REJECT_FROM = Severity.HIGH
"""A formation finding of this severity or more rejects the candidate."""
REPEATED = 3
"""Successes of one kind after which something counts as general. Set by hand."""


def eligibility(candidate: Candidate, policy: Policy) -> Iterator[Finding]:
    """Yield why a candidate should, or should not, become a skill."""
    if candidate.content.kind is Kind.PROCEDURE and candidate.assessment is not None:
        yield from _procedure(candidate, policy)
    if candidate.content.kind is Kind.LESSON and candidate.assessment and candidate.assessment.verified_failure:
        yield finding("task_failed", why="the fix did not work either, and a failure alone gives no lesson")
    if candidate.content.name in candidate.content.sub_skills:
        yield finding("part_of_itself", name=candidate.content.name)
    if not candidate.content.description.strip():
        yield finding("no_description")


def composition(content: SkillContent, existing: Collection[str]) -> Iterator[Finding]:
    """Yield the parts of a composite that do not exist; `existing` are the names of skills that do."""
    for number, name in enumerate(content.sub_skills):
        field = f"sub_skills.{number}"
        if name not in existing and name != content.name:
            yield finding("missing_part", field=field, name=name)


def _procedure(candidate: Candidate, policy: Policy) -> Iterator[Finding]:
    assessment = candidate.assessment
    assert assessment is not None
    if not assessment.verified_success:
        rule = "task_failed" if assessment.verified_failure else "unverified"
        yield finding(rule, why=assessment.reason or "nothing shows that the attempt succeeded")
    yield from _size(candidate, policy)
    yield _recurrence(candidate, policy)


def _size(candidate: Candidate, policy: Policy) -> Iterator[Finding]:
    """Check the number of steps: few are enough only where it is known when to use them, or where the parts are skills."""
    content, steps = candidate.content, len(candidate.content.steps)
    if len(content.sub_skills) + steps > 1 and content.sub_skills:
        yield finding("composite", count=len(content.sub_skills))
    elif steps < policy.min_steps:
        usage_evidence = _usage_evidence(candidate)
        if steps and usage_evidence:
            yield finding("primitive", steps=steps, why=usage_evidence)  # short, but justified
        else:
            yield finding("too_simple", code=f"too_simple_{steps}_steps", steps=steps, least=policy.min_steps)


def _usage_evidence(candidate: Candidate) -> str:
    """Return how it is known when this is needed; empty where nothing shows it."""
    content, successes = candidate.content, _successes(candidate)
    if sum(case.support for case in content.cases) >= REPEATED:
        return f"{successes} successes show in which case it is needed"
    if not content.cues:
        return ""
    if successes < REPEATED:
        return f"seen in {successes} of the compared tasks (not general yet)"
    return f"{successes} successes show which tasks call for it"


def _successes(candidate: Candidate) -> int:
    return len(set(candidate.provenance.trajectory_ids))


def _recurrence(candidate: Candidate, policy: Policy) -> Finding:
    content = candidate.content
    if content.category in RECURRENT_CATEGORIES:
        return finding("recurrent_category", code=f"recurrent_category_{content.category}", category=content.category)
    shared = sorted(
        RECURRENT_WORDS[term] for term in term_set(f"{content.name} {content.description}") & RECURRENT_WORDS.keys()
    )
    if shared:
        return finding("recurring_keyword", words=", ".join(f"“{word}”" for word in shared[:3]))
    if _successes(candidate) >= REPEATED:
        return finding("seen_again", count=_successes(candidate))
    severity = Severity.HIGH if policy.strictness is Strictness.STRICT else Severity.LOW
    return finding("one_time_task", severity=severity)
