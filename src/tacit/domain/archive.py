"""Backups, anchors and purges: what vouches for a store from outside its file, and what stays of what was removed.

Values only. `store.purge` decides which records descend from which source, and removes them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from tacit.domain.identity import content_id


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """What a backup holds, so that it can be checked without the store it came from."""

    sha256: str
    bytes: int
    schema: int
    store_id: str
    sequence: int
    """Of the last link of the audit chain."""
    head: str
    """Hash of that link."""
    at: datetime
    counts: Mapping[str, int] = field(default_factory=dict)
    """Table → rows."""
    path: str = ""
    """Where it was written. Only the store keeps it; the manifest file next to the backup leaves it out."""
    purged_at: datetime | None = None
    """When something was purged from the backup, after it was made."""

    @property
    def id(self) -> str:
        """Names this backup at this path."""
        return content_id("b", (self.sha256, self.path))


@dataclass(frozen=True, slots=True, kw_only=True)
class Anchor:
    """A link of a store's audit chain, kept outside its file: a chain without it has been cut or rewritten."""

    store_id: str
    sequence: int
    head: str
    at: datetime


class SourceKind(StrEnum):
    """How a source is named."""

    SESSION = "session"
    """A client's session, with the sessions of its subagents."""
    TRAJECTORY = "trajectory"
    """One trajectory, in all captures of it."""
    IMPORTED = "source"
    """The path or address that a log or a skill was read from, with all below it, or the hash of a skill's content."""
    PRINCIPAL = "made_by"
    """The name of a person, an agent or a program."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Where something to be purged came from."""

    kind: SourceKind
    value: str
    root: str = ""
    """The folder that relative paths start from."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Descent:
    """Everything that descends from some sources, by id."""

    sources: tuple[Source, ...] = ()
    trajectories: tuple[str, ...] = ()
    versions: tuple[str, ...] = ()
    skills: tuple[str, ...] = ()
    """Those without any version left."""
    verdicts: tuple[str, ...] = ()
    approvals: tuple[str, ...] = ()
    uses: tuple[str, ...] = ()
    evidence: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()
    entries: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    hashes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Content hash of a purged version → the remaining trajectories from which the same may be learned again."""
    relearned: tuple[str, ...] = ()
    """Trajectories that remain and wait to be learned from again, since something made from them is purged."""
    demoted: tuple[str, ...] = ()
    """Versions that remain but wait for a person again: what made them recallable is purged."""
    exposed: tuple[str, ...] = ()
    """Trajectories that remain although their sessions were shown a purged version: they may repeat its text."""

    @property
    def is_empty(self) -> bool:
        """Whether nothing would be removed."""
        return not any(self.counts.values())

    @property
    def counts(self) -> dict[str, int]:
        """How many records of each kind would be removed."""
        kinds = (
            "trajectories", "skills", "versions", "approvals", "verdicts", "uses", "evidence", "remarks", "entries",
        )  # fmt: skip
        return {**{kind: len(getattr(self, kind)) for kind in kinds}, "jottings": len(self.notes)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Purge:
    """Who purges, when, and why."""

    by: str
    at: datetime
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tombstone:
    """What stays of something purged: its id or hash, so that it does not come back."""

    id: str
    """Id of a trajectory or version, hash of a content, or the id that `session_tombstone` gives a session."""
    by: str
    at: datetime
    survivors: tuple[str, ...] = ()
    """Of a content: remaining trajectories from which the same may be learned again."""
    reason: str = ""
    """Why it was purged, if a reason was given."""


def session_tombstone(session_id: str) -> str:
    """The tombstone's id for a whole session."""
    return f"session:{session_id}"


def purge_tombstone(at: datetime) -> str:
    """The tombstone's id for a purge that removes nothing with an id of its own, so that its reason is kept."""
    return f"purge:{at.isoformat()}"


def is_purge_tombstone(identity: str) -> bool:
    """Whether a tombstone stands for a purge itself and not for something that was removed."""
    return identity.startswith("purge:")
