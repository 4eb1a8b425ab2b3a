"""A read-only view of the library: versions by skill, what may be recalled, evidence and pins, each read once."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime
from functools import cached_property

from tacit.config.settings import Policy
from tacit.domain.evidence import Evidence
from tacit.domain.ledger import About, pinned
from tacit.domain.lifecycle import RECALLABLE, Status
from tacit.domain.stored import StoredVersion
from tacit.store import Store

Progress = Callable[[int, int], None]
"""Called with how much is done, and of how much."""


class LibraryView:
    """What the maintenance checks look at."""

    def __init__(
        self,
        store: Store,
        policy: Policy,
        *,
        at: datetime,
        version_ids: Iterable[str] | None = None,
        progress: Progress | None = None,
    ) -> None:
        self.store, self.policy, self.at = store, policy, at
        self._named = None if version_ids is None else list(dict.fromkeys(version_ids))
        self.progress: Progress = progress or (lambda done, total: None)

    @cached_property
    def skills(self) -> dict[str, list[StoredVersion]]:
        """The versions of each skill, oldest first."""
        found: dict[str, list[StoredVersion]] = {}
        for stored in sorted(self.store.catalogue(), key=lambda each: each.sequence):
            found.setdefault(stored.skill.id, []).append(stored)
        return found

    @cached_property
    def versions(self) -> dict[str, StoredVersion]:
        """Every version by its id."""
        return {stored.version.id: stored for versions in self.skills.values() for stored in versions}

    @cached_property
    def recallable(self) -> list[StoredVersion]:
        """Every version that agents may see, or those of them that are named, oldest first."""
        if self._named is None:
            return sorted(self.store.catalogue(statuses=RECALLABLE), key=lambda each: each.sequence)
        return [stored for stored in map(self.store.version, self._named) if stored.status in RECALLABLE]

    @cached_property
    def current(self) -> list[StoredVersion]:
        """The current version of each skill: the newest recallable one; where there is none, the newest candidate."""
        found: list[StoredVersion] = []
        for versions in self.skills.values():
            recallable = [stored for stored in versions if stored.status in RECALLABLE]
            waiting = [stored for stored in versions[-1:] if stored.status is Status.CANDIDATE]
            found += (recallable or waiting)[-1:]
        return found

    @cached_property
    def evidence(self) -> dict[str, list[Evidence]]:
        """Results of everything recallable, oldest first."""
        return self.store.evidence([stored.version.id for stored in self.recallable])

    @cached_property
    def pinned(self) -> frozenset[str]:
        """Ids of the skills that a person pinned."""
        return pinned(self.store.remarks(about=About.PIN))
