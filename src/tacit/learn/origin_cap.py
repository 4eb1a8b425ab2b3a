"""The origin fence: a candidate → the same, no field of it vouched for higher than what was read in its attempts allows.

Fetches the attempts behind a candidate, with those before them in their sessions; what is borrowed from what is found by
`synthesis`. Whatever makes candidates of attempts passes them through here before they come to the door.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from contextlib import suppress

from tacit import learn as synthesis
from tacit.domain.candidate import Candidate
from tacit.domain.errors import TacitError
from tacit.domain.ports import Store
from tacit.domain.trajectory import Trajectory

MAX_HELD_AGAINST = 40
"""Attempts behind one candidate that its text is held against: those that its fields rest on first."""
MAX_BEFORE = 12
"""Attempts of the same session, before one, that are looked at for what was read in them."""
MAX_ACCOUNTS = 64


class Fence:
    """Holds every candidate against all that was read in its attempts, and before them in their sessions."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._sessions: dict[str, list[str]] | None = None
        self._accounts: dict[str, synthesis.Account | None] = {}

    def sealed(self, candidate: Candidate) -> Candidate:
        """The candidate, no field of it vouched for higher than its text allows."""
        provenance = candidate.provenance
        grounds = (span.trajectory_id for spans in provenance.grounding.values() for span in spans)
        behind = list(dict.fromkeys((*grounds, *provenance.trajectory_ids)))[:MAX_HELD_AGAINST]
        accounts = [self._account(trajectory_id) for trajectory_id in behind]
        return synthesis.sealed(candidate, [account for account in accounts if account is not None])

    def held_against_the_latest(self, candidate: Candidate) -> Candidate:
        """What an agent proposes by itself: of its session nothing more is known than what was captured lately."""
        latest = [episode.id for episode in self._store.episodes() if not episode.pruned][-MAX_BEFORE:]
        accounts = [self._account(trajectory_id) for trajectory_id in latest]
        made = synthesis.sealed(candidate, [account for account in accounts if account is not None])
        return dataclasses.replace(made, provenance=candidate.provenance)

    def _account(self, trajectory_id: str) -> synthesis.Account | None:
        """What was said and read in one attempt; nothing where it is no longer kept."""
        if trajectory_id not in self._accounts:
            if len(self._accounts) >= MAX_ACCOUNTS:
                self._accounts.pop(next(iter(self._accounts)))
            whole = self._kept([trajectory_id])
            made = synthesis.account_of(whole[0], earlier=self._kept(self._before(whole[0]))) if whole else None
            self._accounts[trajectory_id] = made
        return self._accounts[trajectory_id]

    def _before(self, trajectory: Trajectory) -> list[str]:
        """Attempts before this one in its session, and all of the session that started it."""
        if self._sessions is None:
            self._sessions = {}
            for episode in self._store.episodes():
                self._sessions.setdefault(episode.session_id, []).append(episode.id)
        own = self._sessions.get(trajectory.session_id, []) if trajectory.session_id else []
        before = own[: own.index(trajectory.id)] if trajectory.id in own else own
        starting = self._sessions.get(trajectory.parent_session_id, []) if trajectory.parent_session_id else []
        return list(dict.fromkeys([*starting[-MAX_BEFORE:], *before[-MAX_BEFORE:]]))

    def _kept(self, trajectory_ids: Iterable[str]) -> list[Trajectory]:
        found: list[Trajectory] = []
        for trajectory_id in trajectory_ids:
            with suppress(TacitError):
                found.append(self._store.trajectory(trajectory_id))
        return found
