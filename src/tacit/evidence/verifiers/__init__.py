"""Verifiers: checks that Tacit runs itself, so that an outcome is verified, and whether the run left them independent.

A check that cannot be run raises `VerifierOutage`: that is no evidence. A check that the run itself could decide is no
more than its own word (`Check.doubt`). Verifiers by name, and those of other packages, are in `offered`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Protocol, runtime_checkable

from tacit.domain.evidence import Use
from tacit.domain.verification import Check, Verifier
from tacit.evidence.independence.ground import Ground
from tacit.evidence.verifiers.ci import CIResult
from tacit.evidence.verifiers.command import Command, Tests
from tacit.evidence.verifiers.files import FileState
from tacit.evidence.verifiers.people import Person

__all__ = ["CIResult", "Command", "FileState", "Ground", "Groundable", "Person", "Tests", "verify"]


@runtime_checkable
class Groundable(Protocol):
    """A verifier that can be held against what was there when the skill was given."""

    def on(self, ground: Ground) -> Verifier:
        """The same check on that ground; one that stands on its own already stays there."""


def verify(verifier: Verifier, *, use: Use, project: Path | None) -> Check:
    """Run a verifier for a use; it looks where it says, else where one stands in the project."""
    folder = getattr(verifier, "cwd", None) or getattr(verifier, "checkout", None)
    if folder is None and project is not None:
        folder = Path.cwd() if Path.cwd().is_relative_to(project) else project
    if folder is not None and isinstance(verifier, Groundable):
        verifier = verifier.on(Ground.of(use, Path(folder)))
    return verifier.verify()
