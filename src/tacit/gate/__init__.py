"""Gate: Candidate → Verdict. The one door to memory: formation policy, duplicates, safety, review rules. Pure."""

from tacit.config.settings import Policy
from tacit.gate.duplicates import carries_out
from tacit.gate.judgement import Judgement, judge, turned_away, twin_of
from tacit.gate.origins import origins_of_edit
from tacit.gate.portability import portability
from tacit.gate.review import Review, decide

__all__ = [
    "Judgement",
    "Policy",
    "Review",
    "carries_out",
    "decide",
    "judge",
    "origins_of_edit",
    "portability",
    "turned_away",
    "twin_of",
]
