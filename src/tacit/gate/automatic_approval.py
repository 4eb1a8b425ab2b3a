"""May the policy accept a version without a person? Returns the reason against it, as a code. Pure.

Only machine-verified successes count, and one per session with all its subagents; attempts of unknown session count as one
together. Two things always need a person: a skill that reaches out of its workspace, and one whose attempts had read a text
with instructions before they acted, since the action may then be what that text asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable

from tacit.config.settings import Policy, Strictness
from tacit.domain.candidate import SEVERITY_RANK, Candidate, Finding, Severity
from tacit.domain.coded_reason import CodedReason, coded
from tacit.domain.evidence import Grade
from tacit.domain.origin import Origin
from tacit.domain.skill import READ_INSTRUCTIONS, Provenance, SkillContent, SkillVersion
from tacit.domain.stored import Episode
from tacit.domain.trust import ResourceKind
from tacit.gate.content_checks import attempts_by_field
from tacit.gate.findings import GateReason, field_name
from tacit.text.capabilities import HashedContent, resource_uses

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
        if SEVERITY_RANK[each.severity] >= SEVERITY_RANK[Severity.MEDIUM]:
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


def no_successes(_: Collection[str]) -> int:
    """Count nothing: for callers who know no attempts."""
    return 0
