"""The aha-card workflow: cards, the events they came from, signals of their use, and backports.

A card's text is a lesson like any other: it passes the gate, and recall shows it only after a review. These are the records of
the workflow and its files.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, ClassVar

from tacit.domain.ledger import LedgerEntry


class CardStatus(StrEnum):
    """The status of a card in its workflow; recall does not use it."""

    PROPOSED = "proposed"
    ACCEPTED = "accepted"
    REJECTED = "rejected"
    DEPRECATED = "deprecated"
    BACKPORTED = "backported"


class SignalKind(StrEnum):
    """What a signal reports."""

    AHA_USED = "aha_used"
    AHA_RECALLED = "aha_recalled"
    AHA_REINFORCED = "aha_reinforced"
    AHA_PROMOTED = "aha_promoted"
    AHA_BACKPORTED = "aha_backported"
    REC_USED = "rec_used"
    REC_TOUCHED = "rec_touched"
    REC_DONE = "rec_done"


@dataclass(frozen=True, slots=True, kw_only=True)
class Card(LedgerEntry):
    """One version of a card; `key` is its id (`aha_…`), `at` the time of this version."""

    SORT: ClassVar[str] = "card"

    title: str
    ts: str
    """The time of this version as its line says it; that of the first version is when the card was written."""
    when_to_use: str = ""
    problem: str = ""
    solution_steps: tuple[str, ...] = ()
    evidence: tuple[str, ...] = ()
    primary_skill: str = "unknown"
    scope: str = "project"
    shareable: bool = True
    tags: tuple[str, ...] = ()
    status: CardStatus = CardStatus.PROPOSED
    note: str = ""
    last_touched_ts: str = ""
    equivalence: str = ""
    """The field `key` of its files: cards with one such key are the same card."""
    input_shape: Mapping[str, Any] = field(default_factory=dict)
    output_shape: Mapping[str, Any] = field(default_factory=dict)
    gotchas: tuple[str, ...] = ()
    links: tuple[str, ...] = ()
    extra: Mapping[str, Any] = field(default_factory=dict)
    """Unknown fields of its line; they are written back unchanged."""
    version_id: str = ""
    """The lesson with the same text, once the gate admitted it."""
    shelf: str = "project"
    """`project`, or `global` for the person's own store."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CardEvent(LedgerEntry):
    """A task that cards and recommendations came from; `key` is its id (`evt_…`)."""

    SORT: ClassVar[str] = "card-event"

    ts: str
    task_summary: str
    primary_skill: str = "unknown"
    notes: tuple[str, ...] = ()
    extra: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Signal(LedgerEntry):
    """Something that happened to a card or a recommendation; `key` is its id (`sig_…`)."""

    SORT: ClassVar[str] = "signal"

    ts: str
    kind: SignalKind
    target: str
    """The id of the card or recommendation."""
    source: str = ""
    context: str = ""
    extra: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Backport(LedgerEntry):
    """Knowledge written into a skill or a document; `key` is its id (`slbp_…`). The last version has its state."""

    SORT: ClassVar[str] = "backport"

    ts: str
    target_skill: str
    target_path: str
    """Below the repository's root, never a machine's path."""
    requested: tuple[str, ...] = ()
    added: tuple[str, ...] = ()
    result: tuple[str, ...] = ()
    """Ids that were requested, that were new to the target, and that the target holds afterwards."""
    applied: bool = False
    undone: bool = False
    diff_written: bool = False
    bundle: str = ""
    """The bundle's folder below the store's folder."""
    hashes: Mapping[str, str] = field(default_factory=dict)
    """Content hash of each written file, so that `undo` detects later edits."""
    state: str = ""
    """`applying` or `undoing` while files are written, so that an interruption is visible."""
    graft: Mapping[str, Any] = field(default_factory=dict)
    """What undoing needs: the target, how each file is restored, and the cards' earlier status. Not in its files."""
    extra: Mapping[str, Any] = field(default_factory=dict)


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
