"""Connects decisions and assumptions of people to a memory: reviews are noted, assumptions settled after learning."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime

from tacit.domain.candidate import Candidate, Verdict
from tacit.domain.extension import Extension
from tacit.domain.lifecycle import Transition
from tacit.domain.ports import Stored
from tacit.domain.trajectory import Trajectory
from tacit.features.people.assumptions import settle
from tacit.features.people.journal_moments import note_refusal


class PeopleExtension(Extension):
    """Compares decisions with forecasts, and assumptions with what happened."""

    def after_learning(
        self, trajectory: Trajectory, admit: Callable[[Candidate], Verdict], *, at: datetime
    ) -> Sequence[Verdict]:
        """Settle what the trajectory's session assumed."""
        return settle(self.memory.context.store, trajectory, admit, at=at)

    def on_review(self, stored: Stored, transition: Transition) -> None:
        """Keep the review as a decision of the person."""
        self.memory.people.reviewed(stored, transition)
        note_refusal(self.memory.context.store, stored)
