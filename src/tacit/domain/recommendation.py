"""Recommendations: improvements for next time, with their own status. They are work for a person, never a skill."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, ClassVar

from tacit.domain.ledger import LedgerEntry


class RecommendationStatus(StrEnum):
    """The status of a recommendation."""

    PROPOSED = "proposed"
    ACCEPTED = "accepted"
    IN_PROGRESS = "in_progress"
    DONE = "done"
    REJECTED = "rejected"
    DEPRECATED = "deprecated"

    @property
    def is_open(self) -> bool:
        """Whether something remains to be done."""
        return self in (self.PROPOSED, self.ACCEPTED, self.IN_PROGRESS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Recommendation(LedgerEntry):
    """One version of a recommendation; `key` is its id (`rec_…`), `at` the time of this version."""

    SORT: ClassVar[str] = "recommendation"

    title: str
    ts: str
    """The time of this version as its line gives it; that of the first version is the time of writing."""
    why: str = ""
    expected_impact: Mapping[str, str] = field(default_factory=dict)
    """`speed` and `quality`: high, medium or low."""
    implementation_hint: str = ""
    primary_skill: str = "unknown"
    scope: str = "project"
    shareable: bool = True
    status: RecommendationStatus = RecommendationStatus.PROPOSED
    note: str = ""
    tags: tuple[str, ...] = ()
    last_touched_ts: str = ""
    backport: Mapping[str, Any] = field(default_factory=dict)
    extra: Mapping[str, Any] = field(default_factory=dict)
    """Unknown fields of its files; they are written back unchanged."""
    from_file: bool = False
    """Whether this version was read from a file rather than entered here."""

    @property
    def effective_status(self) -> RecommendationStatus:
        """The status that counts: a file may close a recommendation, but only a person here can accept it."""
        is_order = self.status in (RecommendationStatus.ACCEPTED, RecommendationStatus.IN_PROGRESS)
        return RecommendationStatus.PROPOSED if self.from_file and is_order else self.status
