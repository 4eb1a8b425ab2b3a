"""Formation policy: may a candidate become a skill, and may the policy accept it without a person? Reads no store.

Eligibility looks at the evidence and the form only; safety and duplicates are judged elsewhere. For acceptance without a
person only machine-verified successes count, and one per session with all its subagents; attempts of unknown session count
as one together. Two things always need a person: a skill that reaches out of its workspace, and one whose attempts had read a
text with instructions before they acted, since the action may then be what that text asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator

from tacit.config.settings import Policy, Strictness
from tacit.domain.candidate import Candidate, Finding, Severity
from tacit.domain.evidence import Grade
from tacit.domain.lifecycle import CodedReason, coded
from tacit.domain.skill import MADE_BY_MINING, READ_INSTRUCTIONS, Kind, Provenance, SkillContent, SkillVersion
from tacit.domain.stored import Episode
from tacit.domain.trajectory import Origin
from tacit.domain.trust import ResourceKind
from tacit.gate.content_checks import attempts_by_field
from tacit.gate.findings import GateReason, field_name, finding
from tacit.text.capabilities import HashedContent, resource_uses
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
    assessment = candidate.assessment
    if candidate.content.kind is Kind.PROCEDURE and assessment is not None:
        if not assessment.verified_success:
            rule = "task_failed" if assessment.verified_failure else "unverified"
            yield finding(rule, why=assessment.reason or "nothing shows that the attempt succeeded")
        yield from _size(candidate, policy)
        yield _recurrence(candidate, policy)
    if candidate.content.kind is Kind.LESSON and assessment and assessment.verified_failure:
        yield finding("task_failed", why="the fix did not work either, and a failure alone gives no lesson")
    if candidate.content.name in candidate.content.sub_skills:
        yield finding("part_of_itself", name=candidate.content.name)
    if not candidate.content.description.strip():
        yield finding("no_description")


def missing_parts(content: SkillContent, existing: Collection[str]) -> Iterator[Finding]:
    """Yield the parts of a composite that do not exist; `existing` are the names of skills that do."""
    for number, name in enumerate(content.sub_skills):
        if name not in existing and name != content.name:
            yield finding("missing_part", field=f"sub_skills.{number}", name=name)


def _size(candidate: Candidate, policy: Policy) -> Iterator[Finding]:
    """Check the number of steps: few are enough only where it is known when to use them, or where the parts are skills."""
    content, steps = candidate.content, len(candidate.content.steps)
    if len(content.sub_skills) + steps > 1 and content.sub_skills:
        yield finding("composite", count=len(content.sub_skills))
    elif steps < policy.min_steps:
        successes = _attempts(candidate)
        why = ""
        if sum(case.support for case in content.cases) >= REPEATED:
            why = f"{successes} successes show in which case it is needed"
        elif content.cues and successes < REPEATED:
            why = f"seen in {successes} of the compared tasks (not general yet)"
        elif content.cues:
            why = f"{successes} successes show which tasks call for it"
        if steps and why:
            yield finding("primitive", steps=steps, why=why)  # short, but justified
        else:
            yield finding("too_simple", code=f"too_simple_{steps}_steps", steps=steps, least=policy.min_steps)


def _attempts(candidate: Candidate) -> int:
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
    if _attempts(candidate) >= REPEATED:
        return finding("seen_again", count=_attempts(candidate))
    # What comes from comparing attempts recurs: like runs were merged, or calls counted over many tasks.
    compared = candidate.provenance.made_by.startswith(MADE_BY_MINING)
    lenient = policy.strictness is Strictness.OPEN or (compared and policy.strictness is Strictness.STANDARD)
    severity = Severity.LOW if lenient else Severity.HIGH
    return finding("one_time_task", severity=severity)


CountSuccesses = Callable[[Collection[str]], int]
"""Counts the independent machine-verified successes among attempts, given by their ids."""
_INSIDE_WORKSPACE = frozenset({ResourceKind.COMMAND, ResourceKind.EFFECT})
"""What a procedure inside the workspace may touch; the checks find dangerous commands and effects."""


def reason_against_acceptance(
    made: Candidate | SkillVersion, findings: Iterable[Finding], policy: Policy
) -> CodedReason | None:
    """Return why the policy may not accept something by itself, however often it was proven; None where it may."""
    if policy.strictness is not Strictness.OPEN:
        return coded(GateReason.PERSON_DECIDES)
    if made.lowest_origin is Origin.EXTERNAL:
        return coded(GateReason.EXTERNAL_ORIGIN)
    if reason := reason_for_person(made):
        return reason
    for each in findings:
        if each.severity.at_least(Severity.MEDIUM):
            return coded(GateReason.HAS_FINDING, rule=each.rule, message=each.message)
    return None


def reason_for_person(made: Candidate | SkillVersion) -> CodedReason | None:
    """Return why only a person may accept this; None where the policy may."""
    content = made.content
    for each in resource_uses(HashedContent(content, content.hash())):
        if each.kind not in _INSIDE_WORKSPACE:
            return coded(
                GateReason.LEAVES_WORKSPACE, field=field_name(each.field), kind=str(each.kind), value=each.value
            )
    for span in made.provenance.grounding.get(READ_INSTRUCTIONS, ()):
        return coded(GateReason.READ_INSTRUCTIONS, step=span.step + 1, attempt=span.trajectory_id)
    return None


def is_machine_verified(candidate: Candidate) -> bool:
    """Whether a machine verified the attempt that a candidate came from."""
    assessment = candidate.assessment
    return assessment is not None and assessment.verified_success and assessment.grade is Grade.MACHINE


def independent_successes(episodes: Iterable[Episode]) -> int:
    """Count the sessions that ended in a success which a machine verified."""
    return len(
        {
            episode.parent_session_id or episode.session_id
            for episode in episodes
            if episode.assessment.verified_success and episode.assessment.grade is Grade.MACHINE
        }
    )


def missing_evidence(
    content: SkillContent, provenance: Provenance, *, count: CountSuccesses, least: int
) -> CodedReason | None:
    """Return which part has too few successes; None where every part has enough.

    Each field counts for itself: all attempts together prove nothing about a step that only one of them took.
    """
    if count(provenance.trajectory_ids) < least:
        return coded(GateReason.TOO_FEW_SUCCESSES, what="it", least=least)
    for path, attempts in attempts_by_field(content, provenance):
        if count(attempts) < least:
            return coded(GateReason.TOO_FEW_SUCCESSES, what=field_name(path), least=least)
    return None
