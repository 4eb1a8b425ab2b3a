"""Usage signals: was a shown version used in a run? They change how prominent a skill is; they are no evidence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from tacit.domain.ledger import LedgerEntry


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageSignal(LedgerEntry):
    """One version was shown to one run, and used there or not; its key is the version."""

    SORT: ClassVar[str] = "heed"
    """The stored name of this kind of entry."""

    heeded: bool
    """Whether it was used; a stored and hashed field name."""
    use_id: str = ""
    """A session is shown something once and may have several attempts; a use by one of them counts."""
    trajectory_id: str = ""
