"""Evidence: what attempts and uses show about skills: assessment, attribution, reliability, lift.

The agent's own claim of success is never trusted; what cannot be checked is unknown.
"""

from tacit.evidence.assessment import assess
from tacit.evidence.credit import Followed, evidence_for, parse_outcome
from tacit.evidence.reliability import NEUTRAL, confirmed_at, reinforced, reliability, reliability_score, votes
from tacit.evidence.verifiers.checks import Command

__all__ = [
    "NEUTRAL",
    "Command",
    "Followed",
    "assess",
    "confirmed_at",
    "evidence_for",
    "parse_outcome",
    "reinforced",
    "reliability",
    "reliability_score",
    "votes",
]
