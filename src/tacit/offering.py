"""The rooms of a memory beside the loop: each is opened by one property, and keeps its own verbs.

A room is loaded when it is first entered: most commands enter none, and all of them together are a quarter of a start.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING, cast

from tacit.deciding import Deciding
from tacit.domain.candidate import Candidate, Verdict
from tacit.domain.errors import Mistake
from tacit.domain.lifecycle import Transition
from tacit.domain.ports import Stored
from tacit.domain.selection import Selection
from tacit.store.purge_plan import Copy, Plan

if TYPE_CHECKING:
    from tacit.features.cards.deck import Deck
    from tacit.features.cards.graduating import Graduation
    from tacit.features.people import People
    from tacit.features.people.moments import Moments
    from tacit.features.research import Research
    from tacit.features.sessions import WorkingMemory
    from tacit.features.train.adapters import Adapters


class Offering(Deciding, ABC):
    """A memory with its rooms."""

    @abstractmethod
    def admit(self, candidate: Candidate) -> Verdict:
        """Put a candidate before the gate: the one door, which the loop opens."""

    def session(self, session_id: str) -> WorkingMemory:
        """What the agents of a running session share while it lasts."""
        from tacit.features.sessions import WorkingMemory

        return WorkingMemory(self.store, session_id, now=self._now, may_write=self._require_running)

    def _asked(self, selection: Selection, session_id: str) -> Selection:
        """Note a question among those of its session; without a session, or while paused, nothing is noted."""
        if session_id.strip() and not self.paused:
            with suppress(Mistake):  # an id that working memory does not take is no reason to recall nothing
                self.session(session_id).asked(selection.query.text, [item.name for item in selection.items])
        return selection

    @cached_property
    def people(self) -> People:
        """What people decided, and what they are expected to."""
        from tacit.features.people import People

        return People(self.store, self, scope=self.scope, clock=self._now, user=self.person)

    def _noted(self, stored: Stored, move: Transition) -> None:
        from tacit.features.people.moments import note_refusal

        self.people.reviewed(stored, move)
        note_refusal(self.store, stored)

    @cached_property
    def moments(self) -> Moments:
        """What sessions took for granted, what was said no to in them, and what came of it."""
        from tacit.features.people.moments import Moments

        return Moments(self.store, self.admit, clock=self._now)

    @property
    def cards(self) -> Deck:
        """The aha-card workflow: cards, recommendations and signals, in step with their folder where there is one."""
        from tacit.features.cards.opening import Memory, open_deck

        return open_deck(cast(Memory, self), clock=self._now)

    @property
    def graduation(self) -> Graduation:
        """The way of proven knowledge into skills, instructions and pages, and back."""
        from tacit.features.cards.graduating import open_graduation

        return open_graduation(self.cards, self.place)

    @cached_property
    def research(self) -> Research:
        """Documents and papers that may be quoted; loaded when asked for, since most runs read none."""
        from tacit.features.research import Research
        from tacit.features.research.keeping import Memory as Library

        return Research(cast(Library, self))

    @cached_property
    def adapters(self) -> Adapters:
        """Weights that base models were given from verified experience: which there are, what tests say, which one serves."""
        from tacit.features.train.adapters import Adapters

        return Adapters(self, clock=self._now)

    def purge(self, plan: Plan, *, by: str, reason: str = "", backups: bool = False) -> tuple[bool, tuple[Copy, ...]]:
        """Remove for good what a plan names, and the files of adapters that were trained on it."""
        done = super().purge(plan, by=by, reason=reason, backups=backups)
        self.adapters.tidy(purged=True)
        return done
