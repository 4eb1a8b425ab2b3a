"""What a store hands out of skills: a version as it stands, as a search found it, as an agent sees it. Values only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from tacit.domain.document import Passage
from tacit.domain.lifecycle import Status, Transition
from tacit.domain.skill import Skill, SkillVersion


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """A version as the store holds it: with its identity and present status."""

    skill: Skill
    version: SkillVersion
    status: Status
    sequence: int
    """Order of arrival; the newest recallable version of a skill is its current one."""

    def moved(
        self, after: Status, reason: str, *, by: str, at: datetime, evidence_ids: Sequence[str] = ()
    ) -> Transition:
        """The step from where it stands to another status; whether the lifecycle has it is the store's to say."""
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
    """A search hit: the stored version, how well its words matched (higher is better), and how near its meaning is."""

    stored: Stored
    lexical: float = 0.0
    semantic: float | None = None
    """Cosine of the query's vector and the nearest of the version's own; nothing where meaning was not asked for."""
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
    reinforced: int = 0
    """How often verified attempts have confirmed it."""
    unproven: float = 0.0
    """How much a control would tell of it, 0 to 1; 0: it is never held back (see `outcome.withholding`)."""
    person: str = ""
    """Whose preference it is; empty: whoever works here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundPassage:
    """A passage as a search found it, with the version that it belongs to."""

    stored: Stored
    passage: Passage
    lexical: float
    """How well its words match (higher is better)."""
