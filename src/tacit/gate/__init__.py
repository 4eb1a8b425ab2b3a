"""Gate: Candidate → Verdict. The one door to memory: formation policy, duplicates, safety, review rules. Pure."""

from tacit.config.settings import Policy
from tacit.gate.disagreement import disagreement, disagreements, fixed_arguments, interference
from tacit.gate.duplicates import adds_nothing, carries_out, shapes, similarity
from tacit.gate.evidence import independent
from tacit.gate.examination import checks_in_use, examined, examined_version, needs_of, touches_of
from tacit.gate.formation import composition
from tacit.gate.judgement import BY_POLICY, Judgement, joined, judge, objection, turned_away, twin_of
from tacit.gate.origins import origin_at, origins_of_edit
from tacit.gate.portability import portability
from tacit.gate.quoting import is_quotation, unnameable, unquotable
from tacit.gate.review import (
    Holding,
    Review,
    approve,
    decide,
    holds,
    is_grave,
    is_weighty,
    makes_recallable,
    unticked,
)

__all__ = [
    "BY_POLICY",
    "Holding",
    "Judgement",
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
    "examined",
    "examined_version",
    "fixed_arguments",
    "holds",
    "independent",
    "interference",
    "is_grave",
    "is_quotation",
    "is_weighty",
    "joined",
    "judge",
    "makes_recallable",
    "needs_of",
    "objection",
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
