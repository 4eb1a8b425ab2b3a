"""The seams of Tacit: what a stage needs from the world; each has a second implementation or a shipped fake.

`Store` fetches and keeps; it decides nothing about ranking, budgets or admission. A missing id raises `NotFound`; a
damaged row raises `StoreOutage` that names it. Values handed out are frozen domain types.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Protocol

from tacit.domain.bookmark import Bookmark
from tacit.domain.candidate import Verdict
from tacit.domain.document import Passage
from tacit.domain.entry import E, Entry
from tacit.domain.evidence import Assessment, Evidence, Outcome, Use
from tacit.domain.lifecycle import Status, Transition
from tacit.domain.outline import Outline
from tacit.domain.purging import Descent, Source, Tombstone
from tacit.domain.remark import About, Remark
from tacit.domain.safekeeping import Anchor, Manifest
from tacit.domain.scope import Scope
from tacit.domain.skill import Kind, Skill, SkillVersion
from tacit.domain.stored import FoundPassage, Hit, Rendering, Stored
from tacit.domain.trajectory import Trajectory
from tacit.domain.trust import Approval
from tacit.domain.working import Drawer, Jotting

__all__ = [
    "AuditEntry",
    "Counts",
    "Damage",
    "Episode",
    "FoundEpisode",
    "FoundPassage",
    "Hit",
    "Rendering",
    "Store",
    "Stored",
    "TrajectoryReader",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Episode:
    """A past trajectory in brief, searchable by task."""

    id: str
    task: str
    project: str
    client: str
    session_id: str
    parent_session_id: str
    assessment: Assessment
    files: tuple[str, ...]
    steps: int
    started_at: datetime | None
    captured_at: datetime
    learned_at: datetime | None
    superseded: bool
    pruned: bool
    """Whether retention has dropped its steps; the summary and its hash stay."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundEpisode(Episode):
    """A past attempt as a search found it."""

    lexical: float
    """How well its words match (higher is better)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditEntry:
    """One link of the audit chain: hashes and ids, never content."""

    sequence: int
    at: datetime
    actor: str
    action: str
    subject: str
    digest: str
    hash: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """How much the store holds."""

    trajectories: int
    learned: int
    outcomes: dict[str, int]
    """Verified outcome → how many; what nobody but the agent vouches for counts as unknown."""
    skills: dict[str, int]
    """Current status of each skill → how many."""
    kinds: dict[str, int]
    versions: int
    uses: int
    evidence: dict[str, int]
    """Grade → how many."""
    audit: int
    bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Damage:
    """Something in the store that is not as it was written."""

    subject: str
    problem: str


class Store(Protocol):
    """What survives. One writer at a time; every change is audited in the same transaction."""

    def transaction(self) -> AbstractContextManager[None]:
        """Make several writes one: all or none. Nested use joins the outer one."""

    def add_trajectory(self, trajectory: Trajectory, assessment: Assessment, *, at: datetime) -> bool:
        """Keep a trajectory; False if its content is already known. A longer one of the same session supersedes."""

    def vouch(self, trajectory_id: str, assessment: Assessment, *, at: datetime) -> bool:
        """Put a verified assessment in place of one that is not, so that the trajectory waits to be learned from again.

        False where that changes nothing: nobody vouches, somebody did before, or it is superseded or pruned.
        """

    def trajectory(self, trajectory_id: str) -> Trajectory:
        """Fetch one whole trajectory."""

    def episodes(
        self, *, unlearned: bool = False, outcome: Outcome | None = None, limit: int | None = None
    ) -> list[Episode]:
        """List past trajectories in brief, oldest first; `unlearned` leaves out learned, superseded and pruned ones."""

    def episode(self, trajectory_id: str) -> Episode:
        """Fetch one past trajectory in brief."""

    def search_episodes(self, asked: str | Sequence[str], *, limit: int = 10) -> list[FoundEpisode]:
        """Find past trajectories by words of task and files, best first, newer first among equals.

        A request is searched however its compounds are written; terms are searched as they are.
        """

    def bookmark(self, path: str) -> Bookmark | None:
        """How far a file has been taken in; nothing if it never was."""

    def keep_bookmark(self, bookmark: Bookmark) -> None:
        """Note how far a file has been taken in, in place of what was noted before; not part of the audit chain."""

    def mark_learned(self, trajectory_id: str, *, at: datetime) -> None:
        """Note that a trajectory has been distilled."""

    def keep_outline(self, outline: Outline) -> None:
        """Keep the outline of a trajectory, in place of the one before; it waits to be mined. Not part of the audit chain."""

    def outlines(self) -> list[Outline]:
        """The outlines of all trajectories that count, oldest first: not those of superseded or pruned ones."""

    def unoutlined(self) -> list[str]:
        """Ids of learned trajectories that count and have no outline of the present kind, oldest first."""

    def unmined(self) -> list[str]:
        """Ids of trajectories whose outlines wait to be mined, oldest first."""

    def mark_mined(self, trajectory_ids: Iterable[str]) -> None:
        """Note that these outlines have been mined together."""

    def add_verdict(self, verdict: Verdict) -> None:
        """Keep the gate's answer."""

    def verdicts(self, *, trajectory_id: str = "", version_id: str = "", limit: int | None = None) -> list[Verdict]:
        """The gate's answers, newest first."""

    def add_version(self, skill: Skill, version: SkillVersion, transition: Transition) -> bool:
        """Keep a version with its birth transition (and its skill, if new); False if this exact version is known."""

    def add_transition(self, transition: Transition) -> None:
        """Change a status; raises `IllegalTransition`, or `StaleVersion` if status or content is not as expected."""

    def add_approval(self, approval: Approval) -> None:
        """Keep a person's yes; raises `StaleVersion` if the version has another content than the approved one."""

    def approvals(self, version_id: str) -> list[Approval]:
        """All approvals of a version, oldest first."""

    def version(self, version_id: str) -> Stored:
        """Fetch one version."""

    def versions(self, skill_id: str) -> list[Stored]:
        """All versions of a skill, oldest first."""

    def transitions(self, version_id: str) -> list[Transition]:
        """The life of a version, oldest first."""

    def catalogue(
        self, *, statuses: Collection[Status] | None = None, kinds: Collection[Kind] | None = None, name: str = ""
    ) -> list[Stored]:
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

    def put_rendering(self, rendering: Rendering) -> None:
        """Keep a recallable version as agents see it. It ends when the status or the evidence of that version changes."""

    def renderings(self, version_ids: Iterable[str]) -> dict[str, Rendering]:
        """Versions as agents see them, by id; without those that are not recallable, or not rendered since they changed."""

    def unrendered(self) -> list[str]:
        """Ids of recallable versions that wait to be rendered, oldest first."""

    def norms(self, scope: Scope, *, limit: int = 20, named: int = 0) -> list[Hit]:
        """Rendered norms that may be seen from a scope, the best served first, then the freshest.

        Beyond `limit` so many more are `named`: they come without their words.
        """

    def put_vectors(self, version_id: str, vectors: Sequence[bytes], *, space: str) -> None:
        """Keep the vectors of a recallable version in one embedder's space, in place of those before.

        They end when the version stops being recallable. Not part of the audit chain.
        """

    def unembedded(self, space: str, *, limit: int | None = None) -> list[str]:
        """Ids of recallable versions without vectors in this space, oldest first."""

    def nearest(
        self, vector: bytes, *, space: str, kinds: Collection[Kind] | None = None, limit: int = 50
    ) -> list[Hit]:
        """The recallable versions nearest in meaning, exactly, best first: of each skill its newest one."""

    def similarities(self, vector: bytes, version_ids: Iterable[str], *, space: str) -> dict[str, float]:
        """How near these versions are; those without vectors in this space are left out."""

    def spaces(self) -> dict[str, int]:
        """Embedders' spaces with vectors → how many versions have some in each."""

    def drop_space(self, space: str) -> None:
        """Forget all vectors of one space."""

    def reindex(self) -> int:
        """Build the full-text indexes anew from the stored versions and episodes; returns how many rows they cover."""

    def resolve(self, prefix: str) -> list[str]:
        """Ids of versions, skills, trajectories and uses that begin with `prefix`, at most ten."""

    def add_use(self, use: Use) -> None:
        """Keep what was shown."""

    def use(self, use_id: str) -> Use:
        """Fetch one use."""

    def uses(self, *, session_id: str = "", version_id: str = "") -> list[Use]:
        """What was shown or held back, oldest first: in one session, or of one version; of everything if neither is given."""

    def add_evidence(self, evidence: Evidence) -> bool:
        """Keep a result; False if this very one is known."""

    def evidence(self, version_ids: Iterable[str]) -> dict[str, list[Evidence]]:
        """Results by version, oldest first."""

    def add_remark(self, remark: Remark) -> bool:
        """Keep what was noted of a skill or version; False if this very remark is known."""

    def remarks(self, *subjects: str, about: About | None = None) -> list[Remark]:
        """What was noted, oldest first: of these skills and versions, or of everything; of one sort."""

    def add_entry(self, entry: Entry) -> bool:
        """Append to the ledger; False if this very entry is known."""

    def entries(self, sort: type[E], *, key: str = "", session_id: str = "") -> list[E]:
        """What the ledger holds of one sort, oldest first: of one key, or of one session."""

    def put_passages(self, version_id: str, passages: Sequence[Passage]) -> None:
        """Keep the passages of a document's version, once and for good; they go with it."""

    def passages(self, version_id: str) -> list[Passage]:
        """The passages of a version, in order; empty where it has none."""

    def search_passages(self, terms: Sequence[str], *, limit: int = 20) -> list[FoundPassage]:
        """Find passages of recallable versions by their words, best first."""

    def jot(self, jotting: Jotting) -> None:
        """Keep something in working memory, in place of what lay there. Not part of the audit chain."""

    def jottings(
        self, session_id: str, *, at: datetime, drawer: Drawer | None = None, agent: str | None = None
    ) -> list[Jotting]:
        """What working memory of a session holds and has not expired, oldest first."""

    def forget_jottings(self, *, session_id: str = "", at: datetime | None = None) -> int:
        """Drop working memory of one session, or all that had expired at that time; returns how much that was."""

    def history(self, subject: str = "", *, limit: int | None = None) -> list[AuditEntry]:
        """Links of the audit chain, oldest first; of one subject if given."""

    def counts(self) -> Counts:
        """How much there is."""

    def verify(self) -> Iterator[Damage]:
        """Check every row, the audit chain and the indexes; yields nothing when all is as written."""

    def prune(self, *, keep_days: int | None, cap_bytes: int | None, at: datetime) -> int:
        """Drop the steps of old trajectories beyond retention or cap; returns how many."""

    def descent(self, *sources: Source) -> Descent:
        """Everything that came from these sources, by provenance."""

    def purge(self, descent: Descent, *, by: str, at: datetime, reason: str = "") -> bool:
        """Remove all of it for good and set tombstones, so that it is refused (`GateRefusal`) when it comes back.

        What is left of its sources waits to be learned from again. False if traces stay until another process is done.
        """

    def is_purged(self, identity: str) -> bool:
        """Whether the trajectory, version or content hash named was purged."""

    def tombstones(self) -> list[Tombstone]:
        """What stays of everything purged, oldest first."""

    def bury(self, stones: Sequence[Tombstone]) -> None:
        """Take over tombstones, so that what another store purged is refused here too."""

    def backup(self, path: Path) -> Manifest:
        """Write a consistent, verified copy while others go on, with its manifest beside it."""

    def backups(self) -> list[Manifest]:
        """The backups that were made, oldest first; of several at one place the last."""

    def keep_manifest(self, manifest: Manifest) -> None:
        """Note a backup that was made or changed by somebody else."""

    def check_quickly(self) -> list[Damage]:
        """Check the file without reading every row, and the anchor; what this misses, `verify` finds."""

    def check_anchor(self) -> list[Damage]:
        """Whether the audit chain still holds what was noted of it outside; `verify` asks this too."""

    def anchored(self) -> Anchor | None:
        """What was noted of this store's audit chain outside its file; nothing if it is unknown here."""

    def close(self) -> None:
        """Release the file."""


class TrajectoryReader(Protocol):
    """Turns one client's log into trajectories."""

    name: str

    def recognises(self, head: bytes, path: Path | None) -> bool:
        """Whether this looks like the reader's format, judged by its first bytes and its path."""

    def read(self, path: Path) -> Iterator[Trajectory]:
        """Yield trajectories; raises `InvalidTrajectory` naming file and line for a part that cannot be read."""
