"""Connects session memory to a memory: lessons that agents shared, and the questions a session asked."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, suppress
from datetime import datetime
from typing import TYPE_CHECKING

from tacit.domain.candidate import Candidate
from tacit.domain.errors import Mistake
from tacit.domain.extension import Extension
from tacit.domain.selection import Selection
from tacit.domain.trajectory import Trajectory
from tacit.features.sessions.shared_lessons import lessons
from tacit.features.sessions.working_memory import WorkingMemory

if TYPE_CHECKING:
    from tacit.api import Tacit


class SessionsExtension(Extension):
    """Offers what agents shared in a session as candidates, and notes what the session recalled."""

    def candidates(self, trajectory: Trajectory, *, at: datetime) -> Iterable[Candidate]:
        """Return the lessons that the agents of the trajectory's session shared about its errors."""
        return lessons(self.memory.context.store, trajectory, at=at)

    def on_recall(self, session_id: str, selection: Selection) -> None:
        """Note the question in its session."""
        with suppress(Mistake):  # a session id that working memory refuses is no reason to recall nothing
            WorkingMemory(self.memory, session_id).asked(selection.query.text, [item.name for item in selection.items])

    @classmethod
    def mcp_tools(
        cls, open_memory: Callable[..., AbstractContextManager[Tacit]], session_id: str
    ) -> Sequence[Callable[..., str]]:
        """Return the tools `share`, `artifact`, `scratch` and `shared`."""
        from tacit.features.sessions.mcp_tools import WorkingTools  # only a server needs them

        return WorkingTools(open_memory, session_id).tools
