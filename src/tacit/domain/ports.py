"""What Tacit needs from the world: a store, readers of agents' logs. Each port declares what its callers use.

A store fetches and keeps; it decides nothing about ranking, budgets or admission. A missing id raises `NotFound`, a damaged
row raises `StoreOutage` naming it. The values it returns are frozen domain types.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from pathlib import Path
from typing import Protocol

from tacit.domain.archive import Anchor, Descent, Manifest, Source, Tombstone
from tacit.domain.candidate import Verdict
from tacit.domain.document import Passage
from tacit.domain.evidence import Assessment, Evidence, Outcome, Use
from tacit.domain.ledger import About, E, LedgerEntry, Remark
from tacit.domain.lifecycle import Status, Transition
from tacit.domain.outline import Outline
from tacit.domain.scope import Scope
from tacit.domain.session import Bookmark, Mark, NoteKind, SessionNote
from tacit.domain.skill import Kind, Skill, SkillVersion
from tacit.domain.stored import (
    AuditEntry,
    Counts,
    Damage,
    Episode,
    FoundEpisode,
    FoundPassage,
    Hit,
    Rendering,
    StoredVersion,
)
from tacit.domain.trajectory import Trajectory
from tacit.domain.trust import Approval

Record = Verdict | Approval | Use | Evidence | Remark | LedgerEntry | Tombstone | Manifest
"""What a store appends and never changes."""


class Store(Protocol):
    """What survives. One writer at a time; every change is audited in the same transaction.

    Tables that can be rebuilt or expire are not part of the audit chain; they are the attributes.
    """

    @property
    def outlines(self) -> OutlineTable:
        """Trajectories in outline, for mining."""

    @property
    def bookmarks(self) -> BookmarkTable:
        """How far each growing file has been read."""

    @property
    def renderings(self) -> RenderingTable:
        """Recallable versions as agents see them."""

    @property
    def vectors(self) -> VectorTable:
        """Embeddings of recallable versions."""

    @property
    def passages(self) -> PassageTable:
        """Passages of documents (these are audited)."""

    @property
    def notes(self) -> NoteTable:
        """Notes of running sessions."""

    def transaction(self) -> AbstractContextManager[None]:
        """Make several writes one: all or none. Nested use joins the outer one."""

    def close(self) -> None:
        """Release the file."""

    # --- trajectories -------------------------------------------------------------------------------------------

    def add_trajectory(self, trajectory: Trajectory, assessment: Assessment, *, at: datetime) -> bool:
        """Keep a trajectory; False if its content is known. A longer one of the same session supersedes it."""

    def vouch(self, trajectory_id: str, assessment: Assessment, *, at: datetime) -> bool:
        """Replace an unverified assessment by a verified one, so that the trajectory waits to be learned from again.

        False where that changes nothing: neither or both are verified, or the trajectory is superseded or pruned.
        """

    def mark_learned(self, trajectory_id: str, *, at: datetime) -> None:
        """Note that a trajectory has been learned from."""

    def trajectory(self, trajectory_id: str) -> Trajectory:
        """Fetch one whole trajectory."""

    def episode(self, trajectory_id: str) -> Episode:
        """Fetch the summary of one trajectory."""

    def episodes(
        self, *, unlearned: bool = False, outcome: Outcome | None = None, limit: int | None = None
    ) -> list[Episode]:
        """Summaries of trajectories, oldest first; `unlearned` leaves out learned, superseded and pruned ones."""

    def search_episodes(self, query: str | Sequence[str], *, limit: int = 10) -> list[FoundEpisode]:
        """Find trajectories by the words of task and files, best first, newer first among equals.

        A text is searched with every spelling of its compound words; a list of terms is searched as it is.
        """

    def prune(self, *, keep_days: int | None, cap_bytes: int | None, at: datetime) -> int:
        """Drop the steps of old trajectories beyond retention or cap; returns how many."""

    # --- skills -------------------------------------------------------------------------------------------------

    def add_version(self, skill: Skill, version: SkillVersion, transition: Transition) -> bool:
        """Keep a version with its first transition (and its skill, if new); False if this exact version is known."""

    def add_transition(self, transition: Transition) -> None:
        """Change a status; raises `IllegalTransition`, or `StaleVersion` if status or content is not as expected."""

    def version(self, version_id: str) -> StoredVersion:
        """Fetch one version."""

    def versions(self, skill_id: str) -> list[StoredVersion]:
        """All versions of a skill, oldest first."""

    def transitions(self, version_id: str) -> list[Transition]:
        """All transitions of a version, oldest first."""

    def catalogue(
        self, *, statuses: Collection[Status] | None = None, kinds: Collection[Kind] | None = None, name: str = ""
    ) -> list[StoredVersion]:
        """All versions in these statuses, by name and then arrival."""

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

    def document_frequency(self, terms: Sequence[str]) -> tuple[dict[str, int], int]:
        """In how many recallable versions each term occurs, and how many of them there are."""

    def resolve(self, prefix: str) -> list[str]:
        """Ids of versions, skills, trajectories and uses that begin with `prefix`, at most ten."""

    # --- records that are appended once and never changed -------------------------------------------------------

    def add(self, record: Record) -> bool:
        """Append a record; False if this very one is known.

        Raises `StaleVersion` for an approval of other content than the version has, `GateRefusal` for a ledger entry that
        was purged. A tombstone keeps what was purged elsewhere out of this store too.
        """

    def verdicts(self, *, trajectory_id: str = "", version_id: str = "", limit: int | None = None) -> list[Verdict]:
        """The gate's verdicts, newest first."""

    def approvals(self, version_id: str) -> list[Approval]:
        """All approvals of a version, oldest first."""

    def use(self, use_id: str) -> Use:
        """Fetch one use."""

    def uses(self, *, session_id: str = "", version_id: str = "") -> list[Use]:
        """What was shown or held back, oldest first: in one session, of one version, or everything."""

    def evidence(self, version_ids: Iterable[str]) -> dict[str, list[Evidence]]:
        """Evidence by version, oldest first."""

    def remarks(self, *subjects: str, about: About | None = None) -> list[Remark]:
        """Remarks, oldest first: on these skills and versions, or on everything; of one sort if given."""

    def entries(self, sort: type[E], *, key: str = "", session_id: str = "") -> list[E]:
        """Ledger entries of one sort, oldest first: of one key, or of one session."""

    def tombstones(self, *identities: str) -> list[Tombstone]:
        """What stays of purged ids and content hashes: of these, or all, oldest first."""

    def backups(self) -> list[Manifest]:
        """The backups that were made, oldest first; of several at one place the last."""

    # --- the store as a whole -----------------------------------------------------------------------------------

    def history(self, subject: str = "", *, limit: int | None = None) -> list[AuditEntry]:
        """Links of the audit chain, oldest first; of one subject if given."""

    def counts(self) -> Counts:
        """How much there is."""

    def reindex(self) -> int:
        """Rebuild the full-text indexes from the stored versions and episodes; returns how many rows they cover."""

    def verify(self, *, quick: bool = False) -> Iterator[Damage]:
        """Check every row, the audit chain, its anchor and the indexes; yields nothing when all is intact.

        `quick` checks the file, the newest links and the anchor, without reading every row.
        """

    def anchor(self) -> Anchor | None:
        """What was noted of this store's audit chain outside its file; nothing if it is unknown here."""

    def backup(self, path: Path) -> Manifest:
        """Write a consistent, verified copy while others go on writing, and a manifest next to it."""

    def descent(self, *sources: Source) -> Descent:
        """Everything that came from these sources, by provenance."""

    def purge(self, descent: Descent, *, by: str, at: datetime, reason: str = "") -> bool:
        """Remove all of it for good and add tombstones, so that it is refused (`GateRefusal`) when it comes back.

        Trajectories that remain wait to be learned from again. False if traces stay until another process is done.
        """


class OutlineTable(Protocol):
    """Outlines of trajectories."""

    def put(self, outline: Outline) -> None:
        """Keep an outline, in place of the trajectory's previous one; it then waits to be mined."""

    def all(self) -> list[Outline]:
        """The outlines of all trajectories that are neither superseded nor pruned, oldest first."""

    def missing(self) -> list[str]:
        """Ids of learned trajectories without a readable outline of the present version."""

    def unmined(self) -> list[str]:
        """Ids of trajectories whose outlines wait to be mined, oldest first."""

    def mark_mined(self, trajectory_ids: Iterable[str]) -> None:
        """Note that these outlines have been mined."""


class BookmarkTable(Protocol):
    """How far files have been read."""

    def get(self, path: str) -> Bookmark | None:
        """The bookmark of a file, if there is one."""

    def put(self, bookmark: Bookmark) -> None:
        """Keep a bookmark, in place of the file's previous one."""


class RenderingTable(Protocol):
    """Recallable versions as agents see them. A rendering ends when the status or evidence of its version changes."""

    def put(self, rendering: Rendering) -> None:
        """Keep a rendering, in place of the version's previous one."""

    def get(self, version_ids: Iterable[str]) -> dict[str, Rendering]:
        """Renderings by version id; without versions that are not recallable, or not rendered since they changed."""

    def missing(self) -> list[str]:
        """Ids of recallable versions that wait to be rendered, oldest first."""

    def norms(self, scope: Scope, *, limit: int = 20, named: int = 0) -> list[Hit]:
        """Rendered norms that may be seen from a scope, the highest ranked first, then the freshest.

        Beyond `limit`, so many more are `named`: they come without their words.
        """


class VectorTable(Protocol):
    """Vectors of recallable versions, by embedder (a space). They end when a version stops being recallable."""

    def put(self, version_id: str, vectors: Sequence[bytes], *, space: str) -> None:
        """Keep the vectors of a version in one embedder's space, in place of its previous ones."""

    def missing(self, space: str, *, limit: int | None = None) -> list[str]:
        """Ids of recallable versions without vectors in this space, oldest first."""

    def nearest(
        self, vector: bytes, *, space: str, kinds: Collection[Kind] | None = None, limit: int = 50
    ) -> list[Hit]:
        """The recallable versions nearest in meaning, exactly, best first: of each skill its newest one."""

    def similarities(self, vector: bytes, version_ids: Iterable[str], *, space: str) -> dict[str, float]:
        """How similar these versions are; those without vectors in this space are left out."""

    def spaces(self) -> dict[str, int]:
        """Embedders' spaces → how many versions have vectors in each."""

    def drop(self, space: str) -> None:
        """Delete all vectors of one space."""


class PassageTable(Protocol):
    """Passages of documents, by the version of the skill that stands for the document."""

    def put(self, version_id: str, passages: Sequence[Passage]) -> None:
        """Keep the passages of a version, once; they are purged with it."""

    def of(self, version_id: str) -> list[Passage]:
        """The passages of a version, in order; empty where it has none."""

    def search(self, terms: Sequence[str], *, limit: int = 20) -> list[FoundPassage]:
        """Find passages of recallable versions by their words, best first."""


class NoteTable(Protocol):
    """Notes that the agents of a session share."""

    def put(self, note: SessionNote) -> None:
        """Keep a note, in place of the one with its id."""

    def list(
        self, session_id: str, *, at: datetime, kind: NoteKind | None = None, agent: str | None = None
    ) -> list[SessionNote]:
        """The notes of a session that have not expired at a time, oldest first."""

    def forget(self, *, session_id: str = "", at: datetime | None = None) -> int:
        """Drop the notes of a session, or those that have expired, or both conditions together; returns how many."""


class TrajectoryStream(Protocol):
    """The trajectories of one file. `next` raises `InvalidTrajectory` for an unreadable part, and may be called again."""

    @property
    def mark(self) -> Mark | None:
        """Once everything is read: where the unfinished attempt begins, to resume there; `None` if the format does not grow."""

    def __iter__(self) -> Iterator[Trajectory]: ...

    def __next__(self) -> Trajectory: ...


class TrajectoryReader(Protocol):
    """Turns one client's log into trajectories."""

    name: str

    def recognises(self, head: bytes, path: Path | None) -> bool:
        """Whether this looks like the reader's format, judged by its first bytes and its path."""

    def session_file(self, path: Path) -> Path | None:
        """Return the session's file if reading that one also reads this one, as with a subagent's file; else `None`."""

    def read(self, path: Path, *, start: Mark | None = None) -> TrajectoryStream:
        """Read a file, from the mark of an earlier reading on; a reader that cannot resume reads all of it again."""
