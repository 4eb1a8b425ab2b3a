"""Outcome: what an attempt or a use shows, on whose word → Assessment, Evidence, Reliability.

Nothing here believes the agent about its own success; what cannot be checked is unknown.
"""

from tacit.outcome.assessment import assess
from tacit.outcome.credit import adherence, evidence_for
from tacit.outcome.reliability import NEUTRAL, rank, reliability
from tacit.outcome.verifiers import Command

__all__ = ["NEUTRAL", "Command", "adherence", "assess", "evidence_for", "rank", "reliability"]
