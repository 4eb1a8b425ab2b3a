"""An open store together with its settings, scope, location, embedder and clock: what every part of a memory works with."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path

from tacit.config.location import StoreLocation, account_name
from tacit.config.settings import Config
from tacit.domain.candidate import Candidate
from tacit.domain.errors import Refusal
from tacit.domain.extension import Extension
from tacit.domain.ports import Embedder
from tacit.domain.scope import Level, Scope
from tacit.domain.skill import of_person
from tacit.domain.stored import StoredVersion
from tacit.store import queries
from tacit.store.sqlite_store import Store


class StoreContext:
    """A store with its settings. `now` is the only clock; `embedder` is opened when it is first needed."""

    def __init__(
        self,
        store: Store,
        *,
        config: Config | None = None,
        scope: Scope | None = None,
        place: StoreLocation | None = None,
        embedder: Embedder | Callable[[], Embedder | None] | None = None,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
        extensions: Callable[[], Sequence[Extension]] = tuple,
    ) -> None:
        self.store = store
        self.config = config or Config()
        self.scope = scope or Scope(Level.PROJECT, "")
        self.place = place
        self.session = ""
        """The agent's session, where one asks: it sees what is kept for that session too."""
        self.now = clock
        self._embedder = embedder
        self._extensions = extensions

    @cached_property
    def embedder(self) -> Embedder | None:
        """The embedder for search by meaning; None means keyword search only."""
        return self._embedder() if callable(self._embedder) else self._embedder

    @cached_property
    def extensions(self) -> Sequence[Extension]:
        """The extensions of this memory, loaded when they are first needed."""
        return self._extensions()

    @property
    def project(self) -> Path | None:
        """The project's folder, if the store belongs to one."""
        return self.place.project if self.place else None

    @property
    def person(self) -> str:
        """The account name of whoever works here; empty where the system does not know it."""
        return account_name()

    @property
    def paused(self) -> bool:
        """Whether capturing and recalling are paused here."""
        return self.place is not None and self.place.paused_until is not None

    def require_running(self) -> None:
        """Raise `Refusal` while Tacit is paused here."""
        if self.paused:
            raise Refusal("Tacit is paused here", code="paused", hint="tacit pause --resume")

    def may_see(self, stored: StoredVersion) -> bool:
        """Whether a version may be shown here: its scope covers this one, and it is not another person's preference."""
        return queries.may_see(stored, self.scope.of_agents(self.session), person=self.person)

    def at_this_scope(self, candidate: Candidate) -> Candidate:
        """Return the candidate at this scope, or at that of the session it was learned for; a preference belongs to the
        person who works here."""
        narrow = candidate.scope.level is Level.SESSION and self.scope.level is Level.PROJECT
        scope = candidate.scope if narrow else self.scope
        return replace(candidate, scope=scope, content=of_person(candidate.content, self.person))

    def with_store(self, store: Store, scope: Scope) -> StoreContext:
        """Return the same settings over another store, without a project."""
        return StoreContext(store, config=self.config, scope=scope, embedder=self._embedder, clock=self.now)
