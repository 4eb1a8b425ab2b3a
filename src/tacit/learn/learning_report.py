"""The report of a learning pass."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tacit.domain.candidate import GateDecision, Relation, Verdict
from tacit.domain.lifecycle import Transition

if TYPE_CHECKING:  # to show a report, the code that learns need not be loaded
    from tacit.learn.reading import ReadingReport


@dataclass(frozen=True, slots=True, kw_only=True)
class LearningReport:
    """What one learning pass did, with every reason."""

    trajectories: int = 0
    verdicts: tuple[Verdict, ...] = ()
    model: ReadingReport | None = None
    """What the language model did, if one was used."""
    settled: tuple[Transition, ...] = ()
    """Status changes from verified evidence: trusted, back on trial, suspended, retired."""

    withdrawn: tuple[Transition, ...] = ()
    """Lessons and rules that later sessions speak against: no longer in use, or no longer waiting."""

    def _decided(self, decision: GateDecision) -> tuple[Verdict, ...]:
        return tuple(v for v in self.verdicts if v.decision is decision and v.relation is not Relation.REINFORCE)

    @property
    def accepted(self) -> tuple[Verdict, ...]:
        """Skills that are on trial now."""
        return self._decided(GateDecision.ACCEPT)

    @property
    def held(self) -> tuple[Verdict, ...]:
        """Waiting for review."""
        return self._decided(GateDecision.HOLD)

    @property
    def quarantined(self) -> tuple[Verdict, ...]:
        """Quarantined as suspicious."""
        return self._decided(GateDecision.QUARANTINE)

    @property
    def rejected(self) -> tuple[Verdict, ...]:
        """Rejected, each with its reason."""
        return self._decided(GateDecision.REJECT)

    @property
    def reinforced(self) -> tuple[Verdict, ...]:
        """Confirmations of skills that are already known; under `open` one of them may put a skill on trial."""
        return tuple(v for v in self.verdicts if v.relation is Relation.REINFORCE)
