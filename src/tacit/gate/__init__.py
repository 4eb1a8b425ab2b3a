"""Gate: the only way into the library. Formation policy, duplicates, safety checks, review rules."""

from tacit.config.settings import Policy
from tacit.gate.conflicts import disagreement, disagreements, fixed_arguments, interference
from tacit.gate.content_checks import (
    checks_in_use,
    examine_content,
    examine_version,
    is_quotation,
    needs_of,
    touches_of,
    unnameable,
    unquotable,
)
from tacit.gate.duplicates import adds_nothing, carries_out, shapes, similarity
from tacit.gate.formation_policy import composition
from tacit.gate.judgement import GateResult, joined, judge, turned_away, twin_of
from tacit.gate.origins import origin_at, origins_of_edit
from tacit.gate.portability import portability
from tacit.gate.review_rules import (
    ApprovalCheck,
    Review,
    approve,
    decide,
    has_severe_findings,
    holds,
    makes_recallable,
    needs_attention,
    unticked,
)

__all__ = [
    "ApprovalCheck",
    "GateResult",
    "Policy",
    "Review",
    "adds_nothing",
    "approve",
    "carries_out",
    "checks_in_use",
    "composition",
    "decide",
    "disagreement",
    "disagreements",
    "examine_content",
    "examine_version",
    "fixed_arguments",
    "has_severe_findings",
    "holds",
    "interference",
    "is_quotation",
    "joined",
    "judge",
    "makes_recallable",
    "needs_attention",
    "needs_of",
    "origin_at",
    "origins_of_edit",
    "portability",
    "shapes",
    "similarity",
    "touches_of",
    "turned_away",
    "twin_of",
    "unnameable",
    "unquotable",
    "unticked",
]
