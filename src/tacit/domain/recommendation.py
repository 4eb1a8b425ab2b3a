"""Recommendations: improvements for next time, with a status of their own. They are work for a person, never a skill."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, ClassVar

from tacit.domain.ledger import Entry


class RecommendationStatus(StrEnum):
    """Where a recommendation stands."""

    PROPOSED = "proposed"
    ACCEPTED = "accepted"
    IN_PROGRESS = "in_progress"
    DONE = "done"
    REJECTED = "rejected"
    DEPRECATED = "deprecated"

    @property
    def is_open(self) -> bool:
        """Whether something is left to do."""
        return self in (self.PROPOSED, self.ACCEPTED, self.IN_PROGRESS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Recommendation(Entry):
    """One version of a recommendation; `key` is its id (`rec_…`), `at` the time of this version."""

    SORT: ClassVar[str] = "recommendation"

    title: str
    ts: str
    """The time of this version as its line says it; that of the first version is when it was written."""
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
    """Fields of its files that nobody here knows; they come out as they came in."""
    from_file: bool = False
    """Whether this version was found in a file, so that nobody is known to have said it here."""

    @property
    def standing(self) -> RecommendationStatus:
        """The status that counts: a file may close a recommendation, but that it is to be carried out is said here."""
        is_order = self.status in (RecommendationStatus.ACCEPTED, RecommendationStatus.IN_PROGRESS)
        return RecommendationStatus.PROPOSED if self.from_file and is_order else self.status
