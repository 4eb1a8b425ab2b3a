"""The seams of Tacit: what a stage needs from the world; each has a second implementation or a shipped fake.

`Store` fetches and keeps; it decides nothing about ranking, budgets or admission. A missing id raises `NotFound`; a
damaged row raises `StoreOutage` that names it. Values handed out are frozen domain types.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Protocol

from tacit.domain.candidate import Verdict
from tacit.domain.evidence import Assessment, Evidence, Outcome, Use
from tacit.domain.lifecycle import Status, Transition
from tacit.domain.outline import Outline
from tacit.domain.skill import Kind, Skill, SkillVersion
from tacit.domain.trajectory import Trajectory


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """A version as the store holds it: with its identity and present status."""

    skill: Skill
    version: SkillVersion
    status: Status
    sequence: int
    """Order of arrival; the newest recallable version of a skill is its current one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """A search hit: the stored version and how well its words matched (higher is better)."""

    stored: Stored
    lexical: float
    words: tuple[Sequence[str], ...] = ()
    """The index terms of name, description, body and the rest, as they are kept; empty where nobody kept them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rendering:
    """A recallable version as an agent sees it, kept for readers that must answer at once."""

    version_id: str
    text: str
    brief: str = ""
    """The same in a few lines; empty where the text is that short."""
    tokens: int
    """Of the text."""
    rank: float
    """How well it has served, 0 to 1."""
    fresh_at: datetime
    """When it was last used, or else made."""


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """A place in a file that grows: everything before it has been read for good."""

    offset: int = 0
    """In bytes, at the beginning of a line."""
    line: int = 0
    """How many lines stand before it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bookmark:
    """How far a growing file has been taken in."""

    path: str
    size: int
    modified_ns: int
    """Size and time of the file when it was read: the same again means that there is nothing new."""
    mark: Mark = Mark()


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

    def search_episodes(self, terms: Sequence[str], *, limit: int = 10) -> list[Episode]:
        """Find past trajectories whose task or files share words with the query, best first."""

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
    ) -> list[Hit]:
        """Find skills by the words of name, description and body, best first: of each its newest version in `statuses`."""

    def document_frequency(self, terms: Sequence[str]) -> tuple[dict[str, int], int]:
        """In how many stored versions each term occurs, and how many versions there are."""

    def put_rendering(self, rendering: Rendering) -> None:
        """Keep a recallable version as agents see it. It ends when the status or the evidence of that version changes."""

    def rendering(self, version_id: str) -> Rendering | None:
        """Fetch a version as agents see it; nothing if it is not recallable, or was not rendered since it changed."""

    def unrendered(self) -> list[str]:
        """Ids of recallable versions that wait to be rendered, oldest first."""

    def resolve(self, prefix: str) -> list[str]:
        """Ids of versions, skills, trajectories and uses that begin with `prefix`, at most ten."""

    def add_use(self, use: Use) -> None:
        """Keep what was shown."""

    def use(self, use_id: str) -> Use:
        """Fetch one use."""

    def add_evidence(self, evidence: Evidence) -> bool:
        """Keep a result; False if this very one is known."""

    def evidence(self, version_ids: Iterable[str]) -> dict[str, list[Evidence]]:
        """Results by version, oldest first."""

    def history(self, subject: str = "", *, limit: int | None = None) -> list[AuditEntry]:
        """Links of the audit chain, oldest first; of one subject if given."""

    def counts(self) -> Counts:
        """How much there is."""

    def verify(self) -> Iterator[Damage]:
        """Check every row, the audit chain and the indexes; yields nothing when all is as written."""

    def prune(self, *, keep_days: int | None, cap_bytes: int | None, at: datetime) -> int:
        """Drop the steps of old trajectories beyond retention or cap; returns how many."""

    def backup(self, path: Path) -> None:
        """Write a consistent, verified copy while others go on."""

    def close(self) -> None:
        """Release the file."""


class TrajectoryReader(Protocol):
    """Turns one client's log into trajectories."""

    name: str

    def recognises(self, head: bytes, path: Path | None) -> bool:
        """Whether this looks like the reader's format, judged by its first bytes and its path."""

    def read(self, path: Path) -> Iterator[Trajectory]:
        """Yield trajectories; raises `InvalidTrajectory` naming file and line for a part that cannot be read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """What a verifier found when it ran."""

    passed: bool
    verifier: str
    detail: str = ""


class Verifier(Protocol):
    """Runs a check that the agent did not write; raises `VerifierOutage` if it could not be run."""

    def verify(self) -> Check:
        """Run it."""


_FRAME_TOKENS = 256
"""What the frame of the messages around a prompt may take."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """One question: our own instructions apart from the quoted material, and the form of the answer."""

    instructions: str
    material: str
    """Text of others, quoted as data."""
    schema: Mapping[str, Any]
    """JSON schema of the answer, an object."""
    max_output_tokens: int = 1200

    @property
    def tokens_at_most(self) -> int:
        """More than the prompt can take: no token is shorter than a byte, and messages have a frame."""
        written = len(f"{self.instructions}{self.material}".encode("utf-8", "replace"))
        return written + len(str(self.schema)) + _FRAME_TOKENS


@dataclass(frozen=True, slots=True, kw_only=True)
class Spending:
    """What was spent."""

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    usd: float = 0.0

    @property
    def tokens(self) -> int:
        """Read and written together."""
        return self.input_tokens + self.output_tokens

    def __add__(self, other: Spending) -> Spending:
        return Spending(
            calls=self.calls + other.calls,
            input_tokens=self.input_tokens + other.input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            usd=self.usd + other.usd,
        )

    def __sub__(self, other: Spending) -> Spending:
        return Spending(
            calls=self.calls - other.calls,
            input_tokens=self.input_tokens - other.input_tokens,
            output_tokens=self.output_tokens - other.output_tokens,
            usd=self.usd - other.usd,
        )


class LanguageModel(Protocol):
    """Answers prompts within a budget. Whoever implements it keeps that: no call without room for it."""

    @property
    def name(self) -> str:
        """The model as a person would name it, such as `openai:gpt-5-mini`."""

    @property
    def spent(self) -> Spending:
        """All that was spent on it since it was opened; what a call has cost is never less than this says."""

    def ask(self, prompt: Prompt) -> Mapping[str, Any]:
        """Give the answer as an object, its fields unchecked.

        Raises `OverBudget` before a call that might pass a limit, `ModelOutage` where no object came back.
        """
