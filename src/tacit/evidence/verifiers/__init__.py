"""Verifiers: checks that Tacit runs itself, so that an outcome is verified.

A check that cannot be run raises `VerifierOutage`, which is no evidence. A check that the run itself could influence
counts as a self-report (`Check.doubt`). Verifiers by name, and those of other packages, are in `registry`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Protocol, runtime_checkable

from tacit.domain.evidence import Use
from tacit.domain.ports import Check, Verifier
from tacit.evidence.independence.workspace_baseline import WorkspaceBaseline
from tacit.evidence.verifiers.command import Command, Tests
from tacit.evidence.verifiers.project_checks import FileState, Person
from tacit.evidence.verifiers.test_results import CIResult

__all__ = ["CIResult", "Command", "FileState", "Ground", "Groundable", "Person", "Tests", "verify"]


@runtime_checkable
class BaselineVerifier(Protocol):
    """A verifier that can be compared with the workspace as it was when the skill was shown."""

    def on(self, baseline: WorkspaceBaseline) -> Verifier:
        """Return the same check with a baseline; one that has a baseline keeps it."""


def verify(verifier: Verifier, *, use: Use, project: Path | None) -> Check:
    """Run a verifier for a use, in its own folder if it names one, else in the current folder of the project."""
    folder = getattr(verifier, "cwd", None) or getattr(verifier, "checkout", None)
    if folder is None and project is not None:
        folder = Path.cwd() if Path.cwd().is_relative_to(project) else project
    if folder is not None and isinstance(verifier, BaselineVerifier):
        verifier = verifier.on(WorkspaceBaseline.of(use, Path(folder)))
    return verifier.verify()
