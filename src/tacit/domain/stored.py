"""What a store keeps and returns besides skills: passages, bookmarks, notes, search hits, renderings, episodes, audit."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from tacit.domain.evidence import Assessment
from tacit.domain.identity import STORED_AS, content_id
from tacit.domain.lifecycle import Status, Transition
from tacit.domain.skill import Skill, SkillVersion
from tacit.domain.trajectory import Origin

TEXT_DIGEST = "document.text_digest"
"""Key of the metadata that only documents have: the digest of their passages."""
ABSTRACT = "Abstract"
"""The section of a summary, whatever the document calls it."""
REFERENCES = "References"
"""The section that lists other works; stored, but not content of the document."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """A stretch of a document's text, with its place."""

    index: int
    text: str
    section: str = ""
    first_page: int = 0
    last_page: int = 0
    """From 1; 0 where the document has no pages."""
    line: int = 0
    """Of the file, from 1, where it has lines and no pages."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """A position in a growing file: everything before it has been read."""

    offset: int = 0
    """In bytes, at the beginning of a line."""
    line: int = 0
    """How many lines come before it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bookmark:
    """How far a growing file has been read."""

    path: str
    size: int
    modified_ns: int
    """Size and modification time of the file when it was read: the same again means that there is nothing new."""
    mark: Mark = Mark()


class NoteKind(StrEnum):
    """What a session note is for."""

    CONTEXT = "context"
    """What an agent found out that the others should know."""
    ARTIFACT = "artifact"
    """Something that was made: `name` is where it is, the text describes it."""
    SCRATCH = "scratch"
    """An agent's own notes; the other agents are not shown them."""
    QUERY = "query"
    """An earlier question and its result."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionNote:
    """One note; another one of the same session, kind, agent and name replaces it. It expires, and is no evidence."""

    session_id: str
    kind: NoteKind = field(metadata={STORED_AS: "drawer"})
    text: str
    at: datetime
    expires_at: datetime
    agent: str = ""
    name: str = ""
    origin: Origin = Origin.AGENT
    id: str = ""

    def __post_init__(self) -> None:
        if not self.id:
            object.__setattr__(self, "id", self.content_id())

    def content_id(self) -> str:
        """Compute the id from what the note replaces: its place, and its text where it has no name."""
        key = self.name or self.text
        return content_id("j", (self.session_id, self.kind, self.agent, bool(self.name), key))


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
    tokens: int
    """Of the text."""
    reliability: float
    """How reliable it has been, 0 to 1; stored in the column `rank`."""
    fresh_at: datetime
    """When it was last used, or else made."""
    reinforced: int = 0
    """How often verified attempts have confirmed it."""
    unproven: float = 0.0
    """How much control runs without it would teach, 0 to 1; 0: it has no control runs (see `evidence.control_runs`)."""
    person: str = ""
    """Whose preference it is; empty: everybody's."""
    importance: float = 0.5
    """How much it matters, 0 to 1: as a person set it, or else as it was learned."""


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


def current_only(stored: Iterable[StoredVersion]) -> list[StoredVersion]:
    """Keep the newest version of each skill."""
    newest: dict[str, StoredVersion] = {}
    for item in stored:
        previous = newest.get(item.skill.id)
        if previous is None or item.sequence > previous.sequence:
            newest[item.skill.id] = item
    return list(newest.values())
