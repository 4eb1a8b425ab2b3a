"""Sessions: how far their logs have been read, and the notes that their agents share while they run."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from tacit.domain.identity import STORED_AS, content_id
from tacit.domain.origin import Origin


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
