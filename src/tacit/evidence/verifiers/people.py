"""`Person`: what a person saw with their own eyes. Only a person's surface may make one; it asks nobody and runs nothing."""

from __future__ import annotations

from dataclasses import dataclass

from tacit.domain.errors import VerifierOutage
from tacit.domain.evidence import Grade
from tacit.domain.verification import Check


@dataclass(frozen=True, slots=True, kw_only=True)
class Person:
    """A person's verdict."""

    passed: bool
    by: str
    note: str = ""

    def verify(self) -> Check:
        """Say it."""
        if not self.by.strip():
            raise VerifierOutage("a person's verdict needs their name", hint="give by=")
        return Check(passed=self.passed, verifier=f"person: {self.by}", detail=self.note, grade=Grade.HUMAN)
