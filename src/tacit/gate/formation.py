"""Formation: is this candidate worth having at all? Candidate → findings with stated reasons.

The rules look at evidence and shape only. Whether the text is safe, and whether it is already known, is judged elsewhere.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from tacit.config.settings import Policy, Strictness
from tacit.domain.candidate import Candidate, Finding, Severity
from tacit.domain.skill import Kind, SkillContent
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
OF_A_KIND = 3
"""So many successes of a kind before something is taken to be general."""


def formation(candidate: Candidate, policy: Policy) -> Iterator[Finding]:
    """State why a candidate should, or should not, become a skill."""
    if candidate.content.kind is Kind.PROCEDURE and candidate.assessment is not None:
        yield from _procedure(candidate, policy)
    if candidate.content.kind is Kind.LESSON and candidate.assessment and candidate.assessment.verified_failure:
        yield _refuse("task_failed", "the fix did not work either; failure alone makes no lesson")
    if candidate.content.name in candidate.content.sub_skills:
        yield _refuse("part_of_itself", f"`{candidate.content.name}` is a part of itself")
    if not candidate.content.description.strip():
        yield _refuse("no_description", "a skill without a description can never be found")


def composition(content: SkillContent, existing: Collection[str]) -> Iterator[Finding]:
    """State which parts of a composite are not there; `existing` are the names of skills that are."""
    for number, name in enumerate(content.sub_skills):
        field = f"sub_skills.{number}"
        if name not in existing and name != content.name:
            message = f"there is no skill `{name}`, which this one is made of"
            yield Finding(rule="missing_part", message=message, severity=Severity.MEDIUM, field=field)


def _procedure(candidate: Candidate, policy: Policy) -> Iterator[Finding]:
    assessment = candidate.assessment
    assert assessment is not None
    if not assessment.verified_success:
        rule = "task_failed" if assessment.verified_failure else "unverified"
        yield _refuse(rule, assessment.reason or "nothing shows that the attempt succeeded")
    yield from _size(candidate, policy)
    yield _recurrence(candidate, policy)


def _size(candidate: Candidate, policy: Policy) -> Iterator[Finding]:
    """Few steps make a skill only where it is known when to take them, or where the parts are skills themselves."""
    content, steps = candidate.content, len(candidate.content.steps)
    if len(content.sub_skills) + steps > 1 and content.sub_skills:
        yield Finding(rule="composite", message=f"made of {len(content.sub_skills)} skills")
    elif steps < policy.min_steps:
        known = _known_when(candidate)
        if steps and known:
            told = f"{steps} step{'' if steps == 1 else 's'}, but {known}"
            yield Finding(rule="primitive", message=told)
        else:
            told = f"{steps} steps are fewer than the {policy.min_steps} that make a procedure"
            yield _refuse(f"too_simple_{steps}_steps", told)


def _known_when(candidate: Candidate) -> str:
    """How it is known when this is needed, in words; empty where nothing shows it."""
    content, successes = candidate.content, _successes(candidate)
    if sum(case.support for case in content.cases) >= OF_A_KIND:
        return f"{successes} successes show in which case it is needed"
    if not content.cues:
        return ""
    if successes < OF_A_KIND:
        return f"seen in {successes} of the tasks that were compared: not yet general"
    return f"{successes} successes show which tasks call for it"


def _successes(candidate: Candidate) -> int:
    return len(set(candidate.provenance.trajectory_ids))


def _recurrence(candidate: Candidate, policy: Policy) -> Finding:
    content = candidate.content
    if content.category in RECURRENT_CATEGORIES:
        return Finding(
            rule=f"recurrent_category_{content.category}", message=f"{content.category} tasks often come again"
        )
    shared = sorted(
        RECURRENT_WORDS[term] for term in term_set(f"{content.name} {content.description}") & RECURRENT_WORDS.keys()
    )
    if shared:
        told = ", ".join(f"“{word}”" for word in shared[:3])
        return Finding(rule="recurring_keyword", message=f"tasks with {told} often come again")
    if _successes(candidate) >= OF_A_KIND:
        return Finding(rule="seen_again", message=f"such tasks came {_successes(candidate)} times")
    severity = Severity.HIGH if policy.strictness is Strictness.STRICT else Severity.LOW
    return Finding(rule="one_time_task", message="nothing shows that this kind of task comes again", severity=severity)


def _refuse(rule: str, message: str) -> Finding:
    return Finding(rule=rule, message=message, severity=REFUSING)
