"""What one can do with a memory beside the loop itself: open it, look at it, keep it safe, close it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Self

from tacit.config.place import Place
from tacit.config.settings import Config
from tacit.config.whereabouts import account_name
from tacit.domain.candidate import Candidate
from tacit.domain.errors import Refusal
from tacit.domain.heed import Heed
from tacit.domain.lifecycle import RECALLABLE, Status
from tacit.domain.model import Embedder
from tacit.domain.ports import AuditEntry, Counts, Damage, Store, Stored
from tacit.domain.purging import Purge, Source
from tacit.domain.safekeeping import Manifest
from tacit.domain.scope import Level, Scope
from tacit.domain.skill import of_person
from tacit.evidence import skill_history as chronicle
from tacit.recall import publishing
from tacit.store import purge_plan as custody
from tacit.store import queries as shelf
from tacit.text.redaction import redact


class Keeping:
    """A store with its settings, its scope and a clock."""

    def __init__(
        self,
        store: Store,
        *,
        config: Config | None = None,
        scope: Scope | None = None,
        place: Place | None = None,
        embedder: Embedder | Callable[[], Embedder | None] | None = None,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self.store = store
        self.config = config or Config()
        self.scope = scope or Scope(Level.PROJECT, "")
        self.place = place
        self._embedder = embedder
        self._now = clock

    @cached_property
    def embedder(self) -> Embedder | None:
        """What finds skills by meaning, opened when first needed; nothing where words must do."""
        return self._embedder() if callable(self._embedder) else self._embedder

    @property
    def person(self) -> str:
        """Who works here, by the account of this process; empty where the system does not tell."""
        return account_name()

    def may_see(self, stored: Stored) -> bool:
        """Whether a version may be shown to whoever works here: it reaches here, and is nobody else's preference."""
        return shelf.may_see(stored, self.scope, person=self.person)

    def placed(self, candidate: Candidate) -> Candidate:
        """What was learned, as this scope's, and a preference as that of whoever works here."""
        return replace(candidate, scope=self.scope, content=of_person(candidate.content, self.person))

    def version(self, reference: str) -> Stored:
        """Find a version by its id, the beginning of it, a skill's id, or a skill's name (its current version)."""
        return shelf.find(self.store, reference)

    def skills(self, *, statuses: Collection[Status] | None = None) -> list[Stored]:
        """The current version of each skill, by name."""
        return shelf.current(self.store, statuses=statuses)

    def history(self, subject: str = "") -> list[AuditEntry]:
        """What happened, link by link of the audit chain."""
        return self.store.history(subject)

    def life(self, reference: str) -> list[chronicle.Event]:
        """The life of a skill as a story: versions, changes of status with their reasons, results, remarks."""
        return chronicle.life(self.store, self.version(reference).skill.id)

    def stats(self) -> Counts:
        """How much there is."""
        return self.store.counts()

    def records(self, references: Sequence[str] = ()) -> list[chronicle.Record]:
        """What is known of each skill in figures: of those that are named, or of all that may be recalled."""
        held = [self.version(each) for each in references] or self.skills(statuses=RECALLABLE)
        return chronicle.records(self.store, held)

    def verify(self) -> list[Damage]:
        """Check that everything is as it was written; empty means intact."""
        return list(self.store.verify())

    def backup(self, path: Path) -> Manifest:
        """Write a verified copy, and its manifest beside it."""
        return self.store.backup(path)

    def descent(self, *sources: Source) -> custody.Plan:
        """What a purge of these sources would remove, here and in the copies that are known of."""
        return custody.plan_purge(self.store, sources, database=self.place.database if self.place else ":memory:")

    def purge(
        self, plan: custody.Plan, *, by: str, reason: str = "", backups: bool = False
    ) -> tuple[bool, tuple[custody.Copy, ...]]:
        """Remove for good what a plan names; what is left of its sources waits to be learned from again."""
        purge = Purge(by=by, at=self._now(), reason=redact(reason).text)
        heeded = {heed.key for heed in self.store.entries(Heed)}
        done = custody.purge(self.store, plan, purge=purge, backups=backups)
        publishing.refresh(self.store, heeded)
        publishing.publish(self.store, self.embedder)
        return done

    def prune(self) -> int:
        """Drop old trajectories' steps as the settings say."""
        settings = self.config.store
        return self.store.prune(keep_days=settings.keep_days, cap_bytes=settings.cap_mb * 1024 * 1024, at=self._now())

    @property
    def paused(self) -> bool:
        """Whether capturing and recalling are switched off here."""
        return self.place is not None and self.place.paused_until is not None

    def _require_running(self) -> None:
        if self.paused:
            raise Refusal("Tacit is paused here", hint="tacit pause --resume")

    def close(self) -> None:
        """Release the store."""
        self.store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()
