"""Checks of an outcome: what a verifier finds when it runs, and whether that counts as somebody else's word."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from tacit.domain.evidence import Grade


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """What a verifier found when it ran."""

    passed: bool
    verifier: str
    detail: str = ""
    grade: Grade = Grade.MACHINE
    """Whose word it is."""
    doubt: str = ""
    """Why it is not independent of the run that it judges, such as tests which that run changed; empty: it is."""

    @property
    def counts_as(self) -> Grade:
        """The grade of evidence that rests on it: a check that the run itself could decide is no more than its own word."""
        return Grade.SELF if self.doubt else self.grade


class Verifier(Protocol):
    """Runs a check that the agent did not write; raises `VerifierOutage` if it could not be run: that is no evidence."""

    def verify(self) -> Check:
        """Run it."""
