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
from tacit.domain.skill import Kind, Skill, SkillVersion
from tacit.domain.stored import AuditEntry, Counts, Damage, Episode, FoundEpisode, Hit, StoredVersion
from tacit.domain.trajectory import Trajectory
from tacit.domain.trust import Approval
from tacit.store import invariants
from tacit.store.audit import Anchors, AuditNote, anchor_of, holds_anchor, identity_of, record_path
from tacit.store.backup import copy_store, describe_copy, write_manifest
from tacit.store.connection import MEMORY, PATIENCE_S, Connection, StoreDamaged, damage_of, reads, writes
from tacit.store.counts import count_all, ids_with_prefix
from tacit.store.integrity import Integrity
from tacit.store.lexical_search import episode_words, passage_words, version_words
from tacit.store.purge import Purger
from tacit.store.record_log import Record
from tacit.store.schema import MIGRATIONS, Migration, check_triggers, migrate
from tacit.store.tables import Tables

ANCHORED = "the audit chain"


class Store:
    """Keeps everything in one file. `patience_s` bounds the wait for other writers."""

    def __init__(
        self,
        path: str | Path | Connection,
        *,
        patience_s: float = PATIENCE_S,
        migrations: Sequence[Migration] = MIGRATIONS,
        anchors: Anchors | None = None,
    ) -> None:
        is_new = anchors is not None and not isinstance(path, Connection) and not Path(path).exists()
        self.connection = path if isinstance(path, Connection) else Connection(path, patience_s=patience_s)
        self._connection = self.connection
        self._migrations = tuple(migrations)
        self._anchors = anchors
        try:
            migrate(self._connection, migrations, check=check_triggers)
        except BaseException:
            self._connection.close()
            raise
        tables = self._tables = Tables(self._connection, schema=len(self._migrations))
        self._audit, self._trajectories, self._skills, self._records = (
            tables.audit, tables.trajectories, tables.skills, tables.records,
        )  # fmt: skip
        self.outlines, self.bookmarks, self.notes = tables.outlines, tables.bookmarks, tables.notes
        self.renderings, self.vectors, self.passages = tables.renderings, tables.vectors, tables.passages
        if is_new:
            self._write_anchor(first=True)

    @property
    def path(self) -> str:
        """The file."""
        return self._connection.path

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

    # --- trajectories -------------------------------------------------------------------------------------------

    @writes
    def add_trajectory(self, trajectory: Trajectory, assessment: Assessment, *, at: datetime) -> bool:
        """Keep a trajectory; False if its content is known. A longer one of the same session supersedes it."""
        invariants.check_trajectory_not_purged(trajectory, self._records.tombstone)
        return self._trajectories.add(trajectory, assessment, at=at)

    @writes
    def vouch(self, trajectory_id: str, assessment: Assessment, *, at: datetime) -> bool:
        """Replace an unverified assessment by a verified one, so that the trajectory waits to be learned from again.

        False where that changes nothing: neither or both are verified, or the trajectory is superseded or pruned.
        """
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
        """Summaries of trajectories, oldest first; `unlearned` leaves out learned, superseded and pruned ones."""
        return self._trajectories.episodes(unlearned=unlearned, outcome=outcome, limit=limit)

    @reads
    def search_episodes(self, query: str | Sequence[str], *, limit: int = 10) -> list[FoundEpisode]:
        """Find trajectories by the words of task and files, best first, newer first among equals.

        A text is searched with every spelling of its compound words; a list of terms is searched as it is.
        """
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
        """Keep a version with its first transition (and its skill, if new); False if this exact version is known."""
        invariants.check_content_not_purged(version, self._records.tombstone)
        return self._skills.add(skill, version, transition)

    @writes
    def add_transition(self, transition: Transition) -> None:
        """Change a status; raises `IllegalTransition`, or `StaleVersion` if status or content is not as expected."""
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
        """Find skills by the words of name, description and body, best first: of each its newest version in `statuses`.

        Beyond `limit` those with cues follow, as far as they are among the first `cued_within`.
        """
        return self._skills.search(terms, statuses=statuses, kinds=kinds, limit=limit, cued_within=cued_within)

    @reads
    def document_frequency(self, terms: Sequence[str]) -> tuple[dict[str, int], int]:
        """In how many recallable versions each term occurs, and how many of them there are."""
        return self._skills.index.frequencies(terms, recallable=True, total=self._skills.count_recallable())

    @reads
    def resolve(self, prefix: str) -> list[str]:
        """Ids of versions, skills, trajectories and uses that begin with `prefix`, at most ten."""
        return ids_with_prefix(self._connection, prefix)

    # --- records ------------------------------------------------------------------------------------------------

    @writes
    def add(self, record: Record) -> bool:
        """Append a record; False if this very one is known.

        Raises `StaleVersion` for an approval of other content than the version has, `GateRefusal` for a ledger entry that
        was purged. A tombstone keeps what was purged elsewhere out of this store too.
        """
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
        """Links of the audit chain, oldest first; of one subject if given."""
        return self._audit.entries(self._with_versions(subject) if subject else None, limit=limit)

    @reads
    def counts(self) -> Counts:
        """How much there is."""
        return count_all(self._connection)

    @writes
    def reindex(self) -> int:
        """Rebuild the full-text indexes from the stored versions and episodes; returns how many rows they cover."""
        skills, trajectories, passages = self._skills, self._trajectories, self.passages
        self._records.rebuild_use_keys()
        count = skills.index.rebuild(skills.versions, lambda row: version_words(skills.stored(row).version.content))
        count += trajectories.index.rebuild(trajectories.rows, lambda row: episode_words(trajectories.episode(row)))
        count += passages.index.rebuild(passages.rows, lambda row: passage_words(passages.rows.value(row)))
        self.vectors.rebuild()
        self._connection.run("DELETE FROM renderings")  # the caller renders again
        return count

    def verify(self, *, quick: bool = False) -> Iterator[Damage]:
        """Check every row, the audit chain, its anchor and the indexes; yields nothing when all is intact.

        `quick` checks the file, the newest links and the anchor, without reading every row.
        """
        integrity = Integrity(self._tables, self._migrations)
        yield from integrity.quick_damages() if quick else integrity.damages()
        yield from self._check_anchor()

    def anchor(self) -> Anchor | None:
        """What was noted of this store's audit chain outside its file; nothing if it is unknown here."""
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
        self._audit.append(note, record=record_path("restored", identity), digest="")

    def _with_versions(self, subject: str) -> frozenset[str]:
        try:
            versions = self._skills.of_skill(subject)
        except NotFound:
            return frozenset({subject})
        return frozenset({subject, *(stored.version.id for stored in versions)})

    def _verified_manifest(self, copy: Path) -> Manifest:
        connection = Connection(copy)
        try:
            for damage in Integrity(Tables(connection), self._migrations).damages():
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
