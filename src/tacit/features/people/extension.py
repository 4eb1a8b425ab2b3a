"""Connects decisions and assumptions of people to a memory: reviews become decisions, runs settle assumptions."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING

from tacit.domain.candidate import Candidate, Verdict
from tacit.domain.errors import GateRefusal
from tacit.domain.extension import ExpectedReview, Extension, HistoryEvent
from tacit.domain.lifecycle import Transition
from tacit.domain.stored import StoredVersion
from tacit.domain.trajectory import Trajectory
from tacit.features.people.decisions import People
from tacit.features.people.forecast import describe
from tacit.features.people.journal_moments import entries_of_journal, lines_of, note_refusal
from tacit.features.people.ledger_entries import Assumption, Held, Moment
from tacit.features.people.proxy import answer_reviews
from tacit.features.people.session_assumptions import settle

if TYPE_CHECKING:
    from tacit.api import Tacit


class PeopleExtension(Extension):
    """Compares decisions with forecasts, and assumptions with what happened."""

    @cached_property
    def _people(self) -> People:
        return People(self.memory)

    def after_learning(
        self,
        trajectory: Trajectory,
        admit: Callable[[Candidate], Verdict],
        *,
        verdicts: Sequence[Verdict],
        at: datetime,
    ) -> Sequence[Verdict]:
        """Settle what the trajectory's session assumed."""
        return settle(self.memory.context.store, trajectory, admit, verdicts=verdicts, at=at)

    def on_review(self, stored: StoredVersion, transition: Transition) -> None:
        """Record the review as a decision of the person; a rejection also becomes a moment of its sessions."""
        self._people.reviewed(stored, transition)
        note_refusal(self.memory.context.store, stored)

    def in_background(self) -> None:
        """Let the forecasts of people answer what these people allowed them to."""
        answer_reviews(self.memory)

    def expect_review(self, stored: StoredVersion, person: str, *, shown: bool = True) -> ExpectedReview | None:
        """Record the forecast of a review; return it where it is sure and not drawn to stay hidden."""
        queued = self._people.show(stored, person, is_shown=shown)
        if not queued.shown:
            return None
        known = queued.outlook
        return ExpectedReview(decision=known.posterior, text=describe(known))

    def taught_by_review(self, stored: StoredVersion, person: str) -> str:
        """Return the name of the preference that came from the person's reason."""
        return self._people.taught_with(stored, person)

    def history(self, subjects: Collection[str]) -> Iterable[HistoryEvent]:
        """Return the moments that a skill was part of, and its assumptions that a run confirmed or refuted."""
        store = self.memory.context.store
        entries: list[Moment | Assumption] = [each for each in store.entries(Moment) if each.what != "shown"]
        entries += [each for each in store.entries(Assumption) if each.held in (Held.HELD, Held.WRONG)]
        return [_event(entry) for entry in entries if not set(subjects).isdisjoint(entry.sources)]

    def session_history(self, session_id: str) -> Iterable[HistoryEvent]:
        """Return the assumptions of a session and their results, refusals, and the retrospective."""
        store = self.memory.context.store
        entries = [*store.entries(Assumption, session_id=session_id), *store.entries(Moment, session_id=session_id)]
        return map(_event, entries)

    def on_journal(
        self, session: str, lines: Sequence[tuple[Mapping[str, object], datetime]], texts: Mapping[str, str]
    ) -> None:
        """Store the assumptions and moments of a hook journal, each key once."""
        store = self.memory.context.store
        for entry in entries_of_journal(store, lines_of(session, lines, texts)):
            if not store.entries(type(entry), key=entry.key):
                with suppress(GateRefusal):  # it rests on something that was purged
                    store.add(entry)

    @classmethod
    def mcp_tools(
        cls, open_memory: Callable[..., AbstractContextManager[Tacit]], session_id: str
    ) -> Sequence[Callable[..., str]]:
        """Return the tools `assume` and `checkpoint`."""
        from tacit.features.people.mcp_tools import MomentTools  # only a server needs them

        return MomentTools(open_memory, session_id).tools


def _event(entry: Moment | Assumption) -> HistoryEvent:
    version_id = next((source for source in entry.sources if source.startswith("v_")), "")
    if isinstance(entry, Moment):
        what, why, by = f"{entry.phase}: {entry.what}", entry.text, entry.by
    else:
        what = "assumed" if entry.held is Held.OPEN else f"assumption {entry.held}"
        why, by = f"{entry.text}{f': {entry.reason}' if entry.reason else ''}", entry.settled_by or entry.by
    return HistoryEvent(at=entry.at, what=what, why=why[:200], by=by, version_id=version_id)
