"""The `Store` on one SQLite file: each method opens a transaction and calls the part that knows the table.

See `trajectories`, `skills`, `records`, `audit`, `purge`, `integrity`; the attributes of a store are tables with methods of
their own (`progress`, `renderings`, `vectors`, `passages`, `session_notes`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from tacit.domain.archive import Anchor, Descent, Manifest, Purge, Source, Tombstone
from tacit.domain.candidate import Verdict
from tacit.domain.errors import NotFound, StoreOutage
from tacit.domain.evidence import Assessment, Evidence, Outcome, Use
from tacit.domain.ledger import About, E, Remark
from tacit.domain.lifecycle import RECALLABLE, Status, Transition
from tacit.domain.ports import Record
from tacit.domain.skill import Kind, Skill, SkillVersion
from tacit.domain.stored import AuditEntry, Counts, Damage, Episode, FoundEpisode, Hit, StoredVersion
from tacit.domain.trajectory import Trajectory
from tacit.domain.trust import Approval
from tacit.store import invariants
from tacit.store.anchors import Anchors, anchor_of, holds_anchor
from tacit.store.audit import Audit, AuditNote, record_path
from tacit.store.backup import copy_store, describe_copy, identity_of, write_manifest
from tacit.store.connection import MEMORY, PATIENCE_S, Connection, reads, writes
from tacit.store.counts import count_all, ids_with_prefix
from tacit.store.damage import StoreDamaged, damage_of
from tacit.store.integrity import Integrity
from tacit.store.lexical_search import episode_words, passage_words, version_words
from tacit.store.migrations import Migration, migrate
from tacit.store.passage_table import Passages
from tacit.store.progress import Bookmarks, Outlines
from tacit.store.purge import Purger
from tacit.store.record_log import RecordLog
from tacit.store.renderings import Renderings
from tacit.store.schema import MIGRATIONS, check_triggers
from tacit.store.session_notes import SessionNotes
from tacit.store.skills import Skills
from tacit.store.trajectories import Trajectories
from tacit.store.vectors import Vectors

ANCHORED = "the audit chain"


class SqliteStore:
    """Keeps everything in one file. `patience_s` bounds the wait for other writers."""

    def __init__(
        self,
        path: str | Path,
        *,
        patience_s: float = PATIENCE_S,
        migrations: Sequence[Migration] = MIGRATIONS,
        anchors: Anchors | None = None,
    ) -> None:
        is_new = anchors is not None and not Path(path).exists()
        self._connection = Connection(path, patience_s=patience_s)
        self._migrations = tuple(migrations)
        self._anchors = anchors
        try:
            migrate(self._connection, migrations, check=check_triggers)
        except BaseException:
            self._connection.close()
            raise
        self._audit = Audit(self._connection)
        self._trajectories = Trajectories(self._connection, self._audit)
        self._skills = Skills(self._connection, self._audit)
        self._records = RecordLog(self._connection, self._audit, schema=len(self._migrations))
        self.renderings = Renderings(self._connection, self._skills)
        self.vectors = Vectors(self._connection, self._skills)
        self.bookmarks = Bookmarks(self._connection)
        self.outlines = Outlines(self._connection)
        self.passages = Passages(self._connection, self._audit, self._skills)
        self.notes = SessionNotes(self._connection)
        if is_new:
            self._write_anchor(first=True)

    @property
    def path(self) -> str:
        """The file."""
        return self._connection.path

    def transaction(self) -> AbstractContextManager[None]:
        """Make several writes one: all or none."""
        return self._connection.writing()

    def close(self) -> None:
        """Release the file; what was written is anchored first."""
        try:
            if self._connection.has_written:
                self._write_anchor()
        finally:
            self._connection.close()

    # --- trajectories -------------------------------------------------------------------------------------------

    @writes
    def add_trajectory(self, trajectory: Trajectory, assessment: Assessment, *, at: datetime) -> bool:
        """Keep a trajectory; False if its content is known."""
        invariants.check_trajectory_not_purged(trajectory, self._records.tombstone)
        return self._trajectories.add(trajectory, assessment, at=at)

    @writes
    def vouch(self, trajectory_id: str, assessment: Assessment, *, at: datetime) -> bool:
        """Replace an unverified assessment by a verified one; the trajectory then waits to be learned from again."""
        return self._trajectories.vouch(trajectory_id, assessment, at=at)

    @writes
    def mark_learned(self, trajectory_id: str, *, at: datetime) -> None:
        """Note that a trajectory has been learned from."""
        self._trajectories.mark_learned(trajectory_id, at=at)

    @reads
    def trajectory(self, trajectory_id: str) -> Trajectory:
        """Fetch one whole trajectory."""
        return self._trajectories.whole(trajectory_id)

    @reads
    def episode(self, trajectory_id: str) -> Episode:
        """Fetch the summary of one trajectory."""
        return self._trajectories.summary(trajectory_id)

    @reads
    def episodes(
        self, *, unlearned: bool = False, outcome: Outcome | None = None, limit: int | None = None
    ) -> list[Episode]:
        """Summaries of trajectories, oldest first."""
        return self._trajectories.episodes(unlearned=unlearned, outcome=outcome, limit=limit)

    @reads
    def search_episodes(self, query: str | Sequence[str], *, limit: int = 10) -> list[FoundEpisode]:
        """Find trajectories by words of task and files, best first."""
        return self._trajectories.search(query, limit=limit)

    @writes
    def prune(self, *, keep_days: int | None, cap_bytes: int | None, at: datetime) -> int:
        """Drop the steps of old trajectories beyond retention or cap; returns how many."""
        dropped = self._trajectories.prune(keep_days=keep_days, cap_bytes=cap_bytes, at=at)
        if dropped:
            self.outlines.forget_pruned()
        self.notes.forget(at=at)
        return dropped

    # --- skills -------------------------------------------------------------------------------------------------

    @writes
    def add_version(self, skill: Skill, version: SkillVersion, transition: Transition) -> bool:
        """Keep a version with its first transition; False if it is known."""
        invariants.check_content_not_purged(version, self._records.tombstone)
        return self._skills.add(skill, version, transition)

    @writes
    def add_transition(self, transition: Transition) -> None:
        """Change a status."""
        self._skills.change(transition)
        if transition.after not in RECALLABLE:
            self.vectors.pack_after_removal()

    @reads
    def version(self, version_id: str) -> StoredVersion:
        """Fetch one version."""
        return self._skills.version(version_id)

    @reads
    def versions(self, skill_id: str) -> list[StoredVersion]:
        """All versions of a skill, oldest first."""
        return self._skills.of_skill(skill_id)

    @reads
    def transitions(self, version_id: str) -> list[Transition]:
        """All transitions of a version, oldest first."""
        return self._skills.transitions_of(version_id)

    @reads
    def catalogue(
        self, *, statuses: Collection[Status] | None = None, kinds: Collection[Kind] | None = None, name: str = ""
    ) -> list[StoredVersion]:
        """All versions in these statuses, by name and then arrival."""
        return self._skills.catalogue(statuses=statuses, kinds=kinds, name=name)

    @reads
    def search(
        self,
        terms: Sequence[str],
        *,
        statuses: Collection[Status],
        kinds: Collection[Kind] | None = None,
        limit: int = 50,
        cued_within: int = 0,
    ) -> list[Hit]:
        """Find versions by words, best first."""
        return self._skills.search(terms, statuses=statuses, kinds=kinds, limit=limit, cued_within=cued_within)

    @reads
    def document_frequency(self, terms: Sequence[str]) -> tuple[dict[str, int], int]:
        """In how many recallable versions each term occurs, and how many of them there are."""
        return self._skills.index.frequencies(terms, recallable=True, total=self._skills.count_recallable())

    @reads
    def resolve(self, prefix: str) -> list[str]:
        """Ids that begin with `prefix`, at most ten."""
        return ids_with_prefix(self._connection, prefix)

    # --- records ------------------------------------------------------------------------------------------------

    @writes
    def add(self, record: Record) -> bool:
        """Append a record; False if this very one is known."""
        return self._records.add(record)

    @reads
    def verdicts(self, *, trajectory_id: str = "", version_id: str = "", limit: int | None = None) -> list[Verdict]:
        """The gate's verdicts, newest first."""
        return self._records.list_verdicts(trajectory_id=trajectory_id, version_id=version_id, limit=limit)

    @reads
    def approvals(self, version_id: str) -> list[Approval]:
        """All approvals of a version, oldest first."""
        return self._records.list_approvals(version_id)

    @reads
    def use(self, use_id: str) -> Use:
        """Fetch one use."""
        return self._records.use(use_id)

    @reads
    def uses(self, *, session_id: str = "", version_id: str = "") -> list[Use]:
        """What was shown or held back, oldest first: in one session, of one version, or everything."""
        return self._records.list_uses(session_id=session_id, version_id=version_id)

    @reads
    def evidence(self, version_ids: Iterable[str]) -> dict[str, list[Evidence]]:
        """Evidence by version, oldest first."""
        return self._records.evidence_by_version(version_ids)

    @reads
    def remarks(self, *subjects: str, about: About | None = None) -> list[Remark]:
        """Remarks, oldest first: on these skills and versions, or on everything; of one sort if given."""
        return self._records.list_remarks(*subjects, about=about)

    @reads
    def entries(self, sort: type[E], *, key: str = "", session_id: str = "") -> list[E]:
        """Ledger entries of one sort, oldest first: of one key, or of one session."""
        return self._records.list_entries(sort, key=key, session_id=session_id)

    @reads
    def tombstones(self, *identities: str) -> list[Tombstone]:
        """What stays of purged ids and content hashes: of these, or all, oldest first."""
        return self._records.list_tombstones(*identities)

    @reads
    def backups(self) -> list[Manifest]:
        """The backups that were made, oldest first; of several at one place the last."""
        return self._records.list_backups()

    # --- the store as a whole -----------------------------------------------------------------------------------

    @reads
    def history(self, subject: str = "", *, limit: int | None = None) -> list[AuditEntry]:
        """The newest links of the audit chain, oldest first; of one subject (a skill with its versions) if given."""
        return self._audit.entries(self._with_versions(subject) if subject else None, limit=limit)

    @reads
    def counts(self) -> Counts:
        """How much there is."""
        return count_all(self._connection)

    @writes
    def reindex(self) -> int:
        """Rebuild the full-text indexes and the blocks of vectors; returns how many rows they cover.

        A damaged record stops it; damaged vectors are dropped, since they can be embedded again.
        """
        skills, trajectories, passages = self._skills, self._trajectories, self.passages
        self._records.rebuild_use_keys()
        count = skills.index.rebuild(skills.versions, lambda row: version_words(skills.stored(row).version.content))
        count += trajectories.index.rebuild(trajectories.rows, lambda row: episode_words(trajectories.episode(row)))
        count += passages.index.rebuild(passages.rows, lambda row: passage_words(passages.rows.value(row)))
        self.vectors.rebuild()
        self._connection.run("DELETE FROM renderings")  # the caller renders again
        return count

    def verify(self, *, quick: bool = False) -> Iterator[Damage]:
        """Check every row, the audit chain, its anchor and the indexes; `quick` reads no rows but the newest links."""
        integrity = Integrity(self._connection, self._migrations)
        yield from integrity.quick_damages() if quick else integrity.damages()
        yield from self._check_anchor()

    def anchor(self) -> Anchor | None:
        """The anchor of this store outside its file, if any; raises if it cannot be read."""
        return next(iter(self._known_anchors()), None)

    def backup(self, path: Path) -> Manifest:
        """Write a consistent, verified copy while others go on writing, and a manifest next to it."""
        target, made = Path(path), list[Manifest]()

        def check(copy: Path) -> None:
            made.append(replace(self._verified_manifest(copy), path=str(target.resolve())))
            if not self._connection.read_only:
                self.add(made[0])  # before the copy appears: a purge must know every copy

        with self._connection.outside("a backup"):
            alone = self._connection.path == MEMORY or self._connection.read_only
            copy_store(self._connection.raw if alone else self._connection.path, target, check=check)
            write_manifest(target, made[0])
        return made[0]

    @reads
    def descent(self, *sources: Source) -> Descent:
        """Everything that came from these sources."""
        return self._purger().descent(sources)

    def purge(self, descent: Descent, *, by: str, at: datetime, reason: str = "") -> bool:
        """Remove it all for good; False if another process kept the log from being emptied."""
        with self._connection.writing():
            self._purger().remove(descent, Purge(by=by, at=at, reason=reason))
        return self.wipe()

    def wipe(self) -> bool:
        """Leave no trace of deleted rows in the file or its log; False if that must wait."""
        return self._connection.wipe()

    @writes
    def note_restored(self, *, by: str, at: datetime) -> None:
        """Note in the audit chain that this store was restored from a backup."""
        identity = identity_of(self._connection)
        note = AuditNote(action="restore", subject=identity, actor=by, at=at)
        self._audit.append(note, record=record_path("restored", identity), digest="")

    def _purger(self) -> Purger:
        return Purger(
            self._connection,
            self._audit,
            skills=self._skills,
            trajectories=self._trajectories,
            records=self._records,
            vectors=self.vectors,
            passages=self.passages,
            notes=self.notes,
        )

    def _with_versions(self, subject: str) -> frozenset[str]:
        try:
            versions = self._skills.of_skill(subject)
        except NotFound:
            return frozenset({subject})
        return frozenset({subject, *(stored.version.id for stored in versions)})

    def _verified_manifest(self, copy: Path) -> Manifest:
        connection = Connection(copy)
        try:
            for damage in Integrity(connection, self._migrations).damages():
                raise StoreDamaged(str(copy), damage.subject, damage.code or "bad_file", damage.problem)
            with connection.reading():
                return describe_copy(connection, copy, at=datetime.now(UTC))
        finally:
            connection.close()

    # --- the anchor of the audit chain --------------------------------------------------------------------------

    def _check_anchor(self) -> list[Damage]:
        """Whether the chain holds the link that was noted outside."""
        try:
            known = self._known_anchors()
            with self._connection.reading():
                fits = not known or any(holds_anchor(self._connection, anchor) for anchor in known)
        except StoreOutage as error:
            return [damage_of(ANCHORED, "anchor_unreadable", detail=error.message)]
        if fits:
            return []
        return [damage_of(ANCHORED, "chain_rewritten", detail=f"link {known[0].sequence}")]

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
        with suppress(StoreOutage):  # `verify` reports it
            known = () if first else self._known_anchors()
            with self._connection.reading():
                if not known or any(holds_anchor(self._connection, anchor) for anchor in known):
                    self._anchors.write(self._connection.path, anchor_of(self._connection, at=datetime.now(UTC)))
