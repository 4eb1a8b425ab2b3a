"""What a store returns: versions with their status, search hits, renderings, episodes, links of the audit chain, counts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from tacit.domain.document import Passage
from tacit.domain.evidence import Assessment
from tacit.domain.lifecycle import Status, Transition
from tacit.domain.skill import Skill, SkillVersion


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredVersion:
    """A stored version with its skill and present status."""

    skill: Skill
    version: SkillVersion
    status: Status
    sequence: int
    """Order of arrival; the newest recallable version of a skill is its current one."""

    def transition_to(
        self, after: Status, reason: str, *, by: str, at: datetime, evidence_ids: Sequence[str] = ()
    ) -> Transition:
        """Return the transition from the present status to another one; the store checks whether it is legal."""
        return Transition(
            version_id=self.version.id,
            content_hash=self.version.hash,
            before=self.status,
            after=after,
            reason=reason,
            by=by,
            at=at,
            evidence_ids=tuple(evidence_ids),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """A search hit: the version, how well its words match (higher is better), and how similar its meaning is."""

    stored: StoredVersion
    lexical: float = 0.0
    semantic: float | None = None
    """Cosine of the query's vector and the version's nearest one; nothing where vectors were not searched."""
    words: tuple[Sequence[str], ...] = ()
    """The stored index terms of name, description, body and the rest; empty where they were not asked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rendering:
    """A recallable version as an agent sees it, stored for hooks, which must answer at once."""

    version_id: str
    text: str
    brief: str = ""
    """The same in a few lines; empty where the text is that short."""
    tokens: int
    """Of the text."""
    rank: float
    """How reliable it has been, 0 to 1."""
    fresh_at: datetime
    """When it was last used, or else made."""
    reinforced: int = 0
    """How often verified attempts have confirmed it."""
    unproven: float = 0.0
    """How much control runs without it would teach, 0 to 1; 0: it has no control runs (see `evidence.control_runs`)."""
    person: str = ""
    """Whose preference it is; empty: everybody's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundPassage:
    """A passage that a search found, with the version it belongs to."""

    stored: StoredVersion
    passage: Passage
    lexical: float
    """How well its words match (higher is better)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Episode:
    """The summary of a trajectory, searchable by task."""

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
    """A trajectory that a search found."""

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
    """Verified outcome → how many; an unverified outcome counts as unknown."""
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
    """A damaged part of the store."""

    subject: str
    problem: str
    """In English, to be read after the subject."""
    code: str = ""
