"""Forgetting by provenance: a source → all that descends from it, and the stones that keep it from coming back.

Values only. Which records descend from which is told in `memory.descending`, how they are removed by each store.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum


class SourceKind(StrEnum):
    """By what something is traced back."""

    SESSION = "session"
    """A client's session, with the sessions of its subagents."""
    TRAJECTORY = "trajectory"
    """One attempt, in all captures of it."""
    IMPORTED = "source"
    """The path or address that a log or a skill was read from, with all below it, or the hash of a skill's content."""
    PRINCIPAL = "made_by"
    """The name of a person, an agent or a program."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Where something that must go came from."""

    kind: SourceKind
    value: str
    root: str = ""
    """The folder that paths which are not whole are told from."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Descent:
    """Everything that descends from some sources, by id."""

    sources: tuple[Source, ...] = ()
    trajectories: tuple[str, ...] = ()
    versions: tuple[str, ...] = ()
    skills: tuple[str, ...] = ()
    """Those of which no version is left."""
    verdicts: tuple[str, ...] = ()
    approvals: tuple[str, ...] = ()
    uses: tuple[str, ...] = ()
    evidence: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()
    entries: tuple[str, ...] = ()
    jottings: tuple[str, ...] = ()
    hashes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Content hash of a version that goes → the attempts left over from which the very same may be learned again."""
    relearned: tuple[str, ...] = ()
    """Attempts that stay, and wait to be learned from again, since something made from them goes."""
    demoted: tuple[str, ...] = ()
    """Versions that stay, but wait for a person again: what made them recallable goes."""
    exposed: tuple[str, ...] = ()
    """Attempts that stay, though their sessions were shown a version that goes: they may repeat its text."""

    @property
    def is_empty(self) -> bool:
        """Whether nothing would go."""
        return not any(self.counts.values())

    @property
    def counts(self) -> dict[str, int]:
        """How much of each kind would go."""
        kinds = (
            "trajectories", "skills", "versions", "approvals", "verdicts", "uses", "evidence", "remarks", "entries", "jottings",
        )  # fmt: skip
        return {kind: len(getattr(self, kind)) for kind in kinds}


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
    """Id of a trajectory or version, hash of a content, or a session as `session_stone` names it."""
    by: str
    at: datetime
    survivors: tuple[str, ...] = ()
    """Of a content: attempts that were left over, from which the very same may be learned again."""
    reason: str = ""
    """Why it was purged, as far as somebody said."""


def session_stone(session_id: str) -> str:
    """The tombstone's id for a whole session."""
    return f"session:{session_id}"


def purge_stone(at: datetime) -> str:
    """The tombstone's id for a purge that leaves nothing else to set one on, so that its reason is kept."""
    return f"purge:{at.isoformat()}"


def is_purge_stone(identity: str) -> bool:
    """Whether a stone stands for a purge itself and not for something that went."""
    return identity.startswith("purge:")
