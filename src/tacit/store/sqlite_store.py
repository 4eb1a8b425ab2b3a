"""The store on one SQLite file: the methods of its tables, and what concerns the store as a whole.

Trajectories, skills and appended records (`trajectories`, `skills`, `record_log`) are reached by methods of the store itself;
the tables of `progress`, `renderings`, `vectors` and `passage_table` are attributes with methods of their own. A missing id
raises `NotFound`, a damaged row `StoreOutage` naming it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, closing, suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from tacit.config.signers import Signers
from tacit.domain.archive import Anchor, Descent, Manifest, Purge, Source
from tacit.domain.errors import NotFound, StoreOutage
from tacit.domain.lifecycle import RECALLABLE, Transition
from tacit.domain.stored import AuditEntry, Counts, Damage, StoredVersion
from tacit.domain.trust import Approval
from tacit.store.audit import Anchors, AuditNote, anchor_of, holds_anchor, identity_of, record_path
from tacit.store.backup import copy_store, describe_copy, write_manifest
from tacit.store.connection import MEMORY, PATIENCE_S, Connection, StoreDamaged, damage_of, reads, writes
from tacit.store.integrity import Integrity
from tacit.store.purge import Purger
from tacit.store.schema import MIGRATIONS, Migration, check_triggers, migrate
from tacit.store.tables import Tables, count_all, ids_with_prefix

ANCHORED = "the audit chain"


class Store:
    """Keeps everything in one file. One writer at a time; every change is audited in the same transaction.

    `patience_s` bounds the wait for other writers. Methods that read or write one kind of record are those of its table.
    """

    def __init__(
        self,
        path: str | Path | Connection,
        *,
        patience_s: float = PATIENCE_S,
        migrations: Sequence[Migration] = MIGRATIONS,
        anchors: Anchors | None = None,
    ) -> None:
        is_new = anchors is not None and not isinstance(path, Connection) and not Path(path).exists()
        self._connection = path if isinstance(path, Connection) else Connection(path, patience_s=patience_s)
        self._migrations = tuple(migrations)
        self._anchors = anchors
        try:
            migrate(self._connection, migrations, check=check_triggers)
        except BaseException:
            self._connection.close()
            raise
        if anchors and not is_new and self.path != MEMORY and not anchors.knows(self.path):
            with self._connection.writing():  # a store that arrived here lists what somebody else says
                self._connection.run("DELETE FROM approved_before")
        tables = self._tables = Tables(self._connection, schema=len(self._migrations))
        self.outlines = tables.outlines
        self.bookmarks = tables.bookmarks
        self.notes = tables.notes
        self.renderings = tables.renderings
        self.vectors = tables.vectors
        self.passages = tables.passages

        attempts, skills, records = tables.trajectories, tables.skills, tables.records
        self.add_trajectory = attempts.add
        self.vouch = attempts.vouch
        self.mark_learned = attempts.mark_learned
        self.trajectory = attempts.whole
        self.episode = attempts.summary
        self.episodes = attempts.episodes
        self.search_episodes = attempts.search
        self.add_version = skills.add
        self.version = skills.version
        self.versions = skills.of_skill
        self.transitions = skills.transitions_of
        self.catalogue = skills.catalogue
        self.newest = skills.newest
        self.search = skills.search
        self.document_frequency = skills.document_frequency
        self.add = records.add
        self.verdicts = records.list_verdicts
        self.use = records.use
        self.uses = records.list_uses
        self.evidence = records.evidence_by_version
        self.remarks = records.list_remarks
        self.entries = records.list_entries
        self.tombstones = records.list_tombstones
        self.backups = records.list_backups
        if is_new:
            self._write_anchor(first=True)

    @property
    def path(self) -> str:
        """The file, or ``:memory:``."""
        return self._connection.path

    @property
    def connection(self) -> Connection:
        """The connection to the file, for copies."""
        return self._connection

    @property
    def id(self) -> str:
        """The id that the store got when it was made."""
        return identity_of(self._connection)

    @property
    def signers(self) -> Signers | None:
        """Whose approvals count here; None: signatures are not needed."""
        return self._tables.skills.signers

    def require_signatures(self, signers: Signers | None) -> None:
        """Read as recallable only what one of these signers approved; the rest of it reads as waiting. None: all of it."""
        self._tables.skills.require_signatures(signers)

    def is_approved(self, stored: StoredVersion) -> bool:
        """Whether a person signed an approval of this version, if that is needed here."""
        return self._tables.skills.is_approved(stored.skill, stored.version)

    def approvals(self, version_id: str, *, unsigned: bool = False) -> list[Approval]:
        """All approvals of a version, oldest first: those that a signer of today gave, where there is one.

        With `unsigned` those too that nobody signed: whoever can write the file can have made them.
        """
        skills, found = self._tables.skills, self._tables.records.list_approvals(version_id)
        if unsigned or not found or not (skills.signers and skills.signers.root):
            return found
        stored = skills.version(version_id)
        return [each for each in found if skills.counts(each, stored.skill, stored.version)]

    def transaction(self) -> AbstractContextManager[None]:
        """Make several writes one: all or none. Nested use joins the outer one."""
        return self._connection.writing()

    def close(self) -> None:
        """Release the file."""
        try:
            if self._connection.has_written:
                self._write_anchor()
        finally:
            self._connection.close()

    @writes
    def prune(self, *, keep_days: int | None, cap_bytes: int | None, at: datetime) -> int:
        """Drop the steps of old trajectories beyond retention or cap; returns how many."""
        dropped = self._tables.trajectories.prune(keep_days=keep_days, cap_bytes=cap_bytes, at=at)
        if dropped:
            self.outlines.forget_pruned()
        self.notes.forget(at=at)
        return dropped

    @writes
    def add_transition(self, transition: Transition) -> None:
        """Change a status; raises `IllegalTransition`, or `StaleVersion` if status or content is not as expected."""
        self._tables.skills.change(transition)
        if transition.after not in RECALLABLE:
            self.vectors.pack_after_removal()

    @reads
    def resolve(self, prefix: str) -> list[str]:
        """Ids of versions, skills, trajectories and uses that begin with `prefix`, at most ten."""
        return ids_with_prefix(self._connection, prefix)

    @reads
    def history(self, subject: str = "", *, limit: int | None = None) -> list[AuditEntry]:
        """Links of the audit chain, oldest first; of one subject if given."""
        if not subject:
            return self._tables.audit.entries(None, limit=limit)
        subjects = {subject}
        with suppress(NotFound):  # not a skill
            subjects |= {stored.version.id for stored in self._tables.skills.of_skill(subject)}
        return self._tables.audit.entries(frozenset(subjects), limit=limit)

    @reads
    def counts(self) -> Counts:
        """How much there is."""
        return count_all(self._connection)

    @writes
    def reindex(self) -> int:
        """Rebuild the full-text indexes from the stored versions and episodes; returns how many rows they cover."""
        self._tables.records.rebuild_use_keys()
        count = sum(index.rebuild() for index in self._tables.word_indexes)
        self.vectors.rebuild()
        self._connection.run("DELETE FROM renderings")  # the caller renders again
        return count

    def verify(self, *, quick: bool = False) -> Iterator[Damage]:
        """Check every row, the audit chain, its anchor and the indexes; yields nothing when all is intact.

        `quick` checks the file, the newest links and the anchor, without reading every row.
        """
        integrity = Integrity(self._tables, self._migrations)
        yield from integrity.quick_damages() if quick else integrity.damages()
        yield from self.check_anchor()

    def anchor(self) -> Anchor | None:
        """What was noted of this store's audit chain outside its file; nothing if it is unknown here."""
        return next(iter(self._known_anchors()), None)

    def backup(self, path: Path) -> Manifest:
        """Write a consistent, verified copy while others go on writing, and a manifest next to it."""
        target, made = Path(path), list[Manifest]()

        def check(copy: Path) -> None:
            with closing(Connection(copy)) as connection:
                for damage in Integrity(Tables(connection), self._migrations).damages():
                    raise StoreDamaged(str(copy), damage.subject, damage.code or "bad_file", damage.problem)
                with connection.reading():
                    manifest = describe_copy(connection, copy, at=datetime.now(UTC))
            made.append(replace(manifest, path=str(target.resolve())))
            if not self._connection.read_only:
                self.add(made[0])  # before the copy appears: a purge must know every copy

        with self._connection.outside("a backup"):
            alone = self._connection.path == MEMORY or self._connection.read_only
            copy_store(self._connection.raw if alone else self._connection.path, target, check=check)
            write_manifest(target, made[0])
        return made[0]

    @reads
    def descent(self, *sources: Source) -> Descent:
        """Everything that came from these sources, by provenance."""
        return Purger(self._tables).descent(sources)

    def purge(self, descent: Descent, *, by: str, at: datetime, reason: str = "") -> bool:
        """Remove all of it for good and add tombstones, so that it is refused (`GateRefusal`) when it comes back.

        Trajectories that remain wait to be learned from again. False if traces stay until another process is done.
        """
        with self._connection.writing():
            Purger(self._tables).remove(descent, Purge(by=by, at=at, reason=reason))
        return self.wipe()

    def wipe(self) -> bool:
        """Leave no trace of deleted rows in the file or its log; False if that must wait."""
        return self._connection.wipe()

    @writes
    def note_restored(self, *, by: str, at: datetime) -> None:
        """Note in the audit chain that this store was restored from a backup."""
        identity = identity_of(self._connection)
        note = AuditNote(action="restore", subject=identity, actor=by, at=at)
        self._tables.audit.append(note, record=record_path("restored", identity), digest="")

    # --- the anchor of the audit chain --------------------------------------------------------------------------

    def check_anchor(self) -> list[Damage]:
        """Whether entries are missing that were noted outside the file, as after a lost write-ahead log; quick."""
        try:
            known = self._known_anchors()
            fits = self._holds_any(known)
        except StoreOutage as error:
            return [damage_of(ANCHORED, "anchor_unreadable", detail=error.message)]
        return [] if fits else [damage_of(ANCHORED, "chain_rewritten", detail=f"link {known[0].sequence}")]

    @reads
    def _holds_any(self, anchors: Sequence[Anchor]) -> bool:
        return not anchors or any(holds_anchor(self._connection, anchor) for anchor in anchors)

    def _known_anchors(self) -> tuple[Anchor, ...]:
        if self._anchors is None or self._connection.path == MEMORY:
            return ()
        try:
            return self._anchors.read(self._connection.path)
        except ValueError as error:
            raise StoreDamaged(self._connection.path, "the anchor", "anchor_unreadable", str(error)) from error

    def _write_anchor(self, *, first: bool = False) -> None:
        """Note the newest link outside, unless that would hide that the chain was cut or rewritten."""
        if self._anchors is None or self._connection.path == MEMORY:
            return
        with suppress(StoreOutage), self._connection.reading():  # `verify` reports what is wrong
            if self._holds_any(() if first else self._known_anchors()):
                self._anchors.write(self._connection.path, anchor_of(self._connection, at=datetime.now(UTC)))
