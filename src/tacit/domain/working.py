"""Working memory of a running session: what its agents share while it lasts. It expires, and is no skill and no evidence."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from tacit.domain.identity import content_id
from tacit.domain.origin import Origin


class Drawer(StrEnum):
    """Where in working memory something lies."""

    CONTEXT = "context"
    """What an agent found out that the others should know."""
    ARTIFACT = "artifact"
    """Something that was made: `name` says where it is, the text what it is."""
    SCRATCH = "scratch"
    """An agent's own notes; the other agents are not shown them."""
    QUERY = "query"
    """What was asked before, and what came of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Jotting:
    """One thing in working memory; another one of the same session, drawer, agent and name takes its place."""

    session_id: str
    drawer: Drawer
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
        """Named by where it lies; without a name by what it says, too."""
        said = self.name or self.text
        return content_id("j", (self.session_id, self.drawer, self.agent, bool(self.name), said))
