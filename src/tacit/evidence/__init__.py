"""Outcome: what an attempt or a use shows, on whose word → Assessment, Evidence, Reliability.

Nothing here believes the agent about its own success; what cannot be checked is unknown.
"""

from tacit.evidence.assessment import assess
from tacit.evidence.credit import Followed, evidence_for, parse_outcome
from tacit.evidence.reliability import NEUTRAL, confirmed_at, rank, reinforced, reliability, votes
from tacit.evidence.verifiers import Command

__all__ = [
    "NEUTRAL",
    "Command",
    "Followed",
    "assess",
    "confirmed_at",
    "evidence_for",
    "parse_outcome",
    "rank",
    "reinforced",
    "reliability",
    "votes",
]
