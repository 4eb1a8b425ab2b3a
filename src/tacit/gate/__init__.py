"""Gate: the only way into the library. Formation policy, duplicates, safety checks, review rules."""

from tacit.config.settings import Policy
from tacit.gate.conflicts import disagreement, disagreements, fixed_arguments, interference
from tacit.gate.content_checks import (
    checks_in_use,
    examine_content,
    examine_version,
    is_quotation,
    needed_capabilities_of,
    resource_uses_of,
    findings_against_section_title,
    findings_against_quoting,
)
from tacit.gate.duplicates import adds_nothing, includes_steps_of, shapes, similarity
from tacit.gate.formation_policy import composition
from tacit.gate.judgement import GateResult, merge_candidate, judge, rejection, matching_version
from tacit.gate.origins import origin_at, origins_of_edit
from tacit.gate.portability import portability
from tacit.gate.review_rules import (
    ApprovalCheck,
    Review,
    approve,
    decide,
    has_severe_findings,
    check_approval,
    makes_recallable,
    needs_attention,
    unconfirmed_values,
)

__all__ = [
    "ApprovalCheck",
    "GateResult",
    "Policy",
    "Review",
    "adds_nothing",
    "approve",
    "includes_steps_of",
    "checks_in_use",
    "composition",
    "decide",
    "disagreement",
    "disagreements",
    "examine_content",
    "examine_version",
    "fixed_arguments",
    "has_severe_findings",
    "check_approval",
    "interference",
    "is_quotation",
    "merge_candidate",
    "judge",
    "makes_recallable",
    "needs_attention",
    "needed_capabilities_of",
    "origin_at",
    "origins_of_edit",
    "portability",
    "shapes",
    "similarity",
    "resource_uses_of",
    "rejection",
    "matching_version",
    "findings_against_section_title",
    "findings_against_quoting",
    "unconfirmed_values",
]
