"""Checks of an outcome: the result of a verifier, and whether it is independent of the run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from tacit.domain.evidence import Grade


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """The result of a verifier."""

    passed: bool
    verifier: str
    detail: str = ""
    grade: Grade = Grade.MACHINE
    """Who verified it."""
    doubt: str = ""
    """Why it is not independent of the judged run, such as tests that the run changed; empty: it is."""

    @property
    def counts_as(self) -> Grade:
        """The grade of the evidence: a check that the run itself could influence is a self-report."""
        return Grade.SELF if self.doubt else self.grade


class Verifier(Protocol):
    """Runs a check that the agent did not write; raises `VerifierOutage`, which is no evidence, if it could not be run."""

    def verify(self) -> Check:
        """Run the check."""
