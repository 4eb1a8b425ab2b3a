"""Gate: the only way into the library. Formation policy, duplicates, safety checks, review rules."""

from tacit.config.settings import Policy
from tacit.gate.conflicts import disagreement, disagreements, fixed_arguments, interference
from tacit.gate.content_checks import (
    checks_in_use,
    examine_content,
    examine_version,
    findings_against_quoting,
    findings_against_section_title,
    is_quotation,
    needed_capabilities_of,
    resource_uses_of,
)
from tacit.gate.duplicates import adds_nothing, includes_steps_of, shapes, similarity
from tacit.gate.formation_policy import composition
from tacit.gate.judgement import GateResult, judge, matching_version, merge_candidate, rejection
from tacit.gate.origins import origin_at, origins_of_edit
from tacit.gate.portability import portability
from tacit.gate.review_rules import (
    ApprovalCheck,
    Review,
    approve,
    check_approval,
    decide,
    has_severe_findings,
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
    "check_approval",
    "checks_in_use",
    "composition",
    "decide",
    "disagreement",
    "disagreements",
    "examine_content",
    "examine_version",
    "findings_against_quoting",
    "findings_against_section_title",
    "fixed_arguments",
    "has_severe_findings",
    "includes_steps_of",
    "interference",
    "is_quotation",
    "judge",
    "makes_recallable",
    "matching_version",
    "merge_candidate",
    "needed_capabilities_of",
    "needs_attention",
    "origin_at",
    "origins_of_edit",
    "portability",
    "rejection",
    "resource_uses_of",
    "shapes",
    "similarity",
    "unconfirmed_values",
]
