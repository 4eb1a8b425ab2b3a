"""Reports of a learning pass and of an activated skill."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tacit import render
from tacit.domain.candidate import Decision, Relation, Verdict
from tacit.domain.lifecycle import Transition

if TYPE_CHECKING:  # reports are loaded without the learning code
    from tacit.learn.reading import ReadingReport
    from tacit.learn.single_attempt import AttemptNote


@dataclass(frozen=True, slots=True, kw_only=True)
class LearningReport:
    """What one learning pass did, with every reason."""

    trajectories: int = 0
    verdicts: tuple[Verdict, ...] = ()
    notes: tuple[AttemptNote, ...] = ()
    model: ReadingReport | None = None
    """What the language model did, if one was used."""
    settled: tuple[Transition, ...] = ()
    """Status changes from verified evidence: trusted, back on trial, suspended, retired."""

    def _decided(self, decision: Decision) -> tuple[Verdict, ...]:
        return tuple(v for v in self.verdicts if v.decision is decision and v.relation is not Relation.REINFORCE)

    @property
    def accepted(self) -> tuple[Verdict, ...]:
        """Skills that are on trial now."""
        return self._decided(Decision.ACCEPT)

    @property
    def held(self) -> tuple[Verdict, ...]:
        """Waiting for review."""
        return self._decided(Decision.HOLD)

    @property
    def quarantined(self) -> tuple[Verdict, ...]:
        """Quarantined as suspicious."""
        return self._decided(Decision.QUARANTINE)

    @property
    def rejected(self) -> tuple[Verdict, ...]:
        """Rejected, each with its reason."""
        return self._decided(Decision.REJECT)

    @property
    def reinforced(self) -> tuple[Verdict, ...]:
        """Confirmations of skills that are already known."""
        return tuple(v for v in self.verdicts if v.relation is Relation.REINFORCE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Applied:
    """An activated skill."""

    entry: render.Entry
    text: str
    files: tuple[str, ...]
    unlocked: tuple[str, ...] = ()
    """The tools that it and its overlays ask for and a person confirmed at review."""
    use_id: str = ""
    """The use to record its outcome under; empty for a static skill without overlays."""

    def unlocks(self, tool: str, argument: str = "") -> bool:
        """Whether a call is within the tools that a person unlocked."""
        return any(render.covers(pattern, tool, argument) for pattern in self.unlocked)

    def read(self, path: str) -> bytes:
        """Read one of its files."""
        return render.read_file(self.entry, path)
