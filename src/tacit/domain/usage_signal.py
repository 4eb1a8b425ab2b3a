"""Heed: whether something that a run was shown was really used in it. It makes a skill more or less prominent, nothing else."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from tacit.domain.ledger import Entry


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageSignal(Entry):
    """One version was shown to one run, and used there or not; its key is the version."""

    SORT: ClassVar[str] = "heed"

    heeded: bool
    use_id: str = ""
    """A session is shown something once, and may have several attempts: what one of them used was used."""
    trajectory_id: str = ""
