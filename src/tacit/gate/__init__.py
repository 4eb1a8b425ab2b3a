"""Gate: Candidate → Verdict. The one door to memory: formation policy, duplicates, safety, review rules. Pure."""

from tacit.config.settings import Policy
from tacit.gate.duplicates import carries_out
from tacit.gate.evidence import independent
from tacit.gate.examination import checks_in_use, examined, examined_version, needs_of, touches_of
from tacit.gate.judgement import BY_POLICY, Judgement, judge, objection, turned_away, twin_of
from tacit.gate.origins import origin_at, origins_of_edit
from tacit.gate.portability import portability
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
    "approve",
    "carries_out",
    "checks_in_use",
    "decide",
    "examined",
    "examined_version",
    "holds",
    "independent",
    "is_grave",
    "is_weighty",
    "judge",
    "makes_recallable",
    "needs_of",
    "objection",
    "origin_at",
    "origins_of_edit",
    "portability",
    "touches_of",
    "turned_away",
    "twin_of",
    "unticked",
]
