"""Working memory as MCP tools: what the agents of one session share while it lasts. Registered by `mcp`.

Without a session's id, all that is asked on one connection is one session: the agents of one client, with their subagents.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from tacit.api import Tacit
from tacit.config.environment import UserEnvironment
from tacit.domain.trajectory import Origin
from tacit.features.sessions.working_memory import WorkingMemory, origin_of_note
from tacit.ingest.sources import client_homes

Memory = Callable[..., AbstractContextManager[Tacit]]
"""Opens the memory for one call; `create=True` where something is to be kept."""


class WorkingTools:
    """The verbs as an agent calls them. Docstrings are what the model reads."""

    def __init__(self, memory: Memory, session: str) -> None:
        self._memory, self._session = memory, session

    @property
    def tools(self) -> tuple[Callable[..., Any], ...]:
        """All of them."""
        return self.share, self.artifact, self.scratch, self.shared

    def share(self, text: str, *, error: str = "", agent: str = "", session: str = "") -> str:
        """Tell the other agents of this session something they should know now, such as what you found out. It lasts a day.

        Args:
            text: one finding, in a few sentences.
            error: the error as it was printed, if the text says how it was mended: it may then become a lesson.
            agent: your name or role, so that the others know who says it.
            session: id of your session, if agents of several clients share one.
        """
        with self._working(session, create=True) as working:
            working.contribute(text, agent=agent, error=error, origin=_origin(working, text))
        return f"Shared with this session ({working.id})."

    def artifact(self, name: str, text: str = "", *, agent: str = "", session: str = "") -> str:
        """Tell the other agents of this session of something you made: a file, a branch, a running server.

        Args:
            name: where it is: a path, an address. Telling of the same name again replaces what was told.
            text: what it is, in a sentence.
            agent: your name or role.
            session: id of your session, if agents of several clients share one.
        """
        with self._working(session, create=True) as working:
            working.register(name, text, agent=agent, origin=_origin(working, f"{name}\n{text}"))
        return f"Registered in this session ({working.id})."

    def scratch(self, agent: str, text: str | None = None, *, session: str = "") -> str:
        """Read your own notes of this session, or put others in their place. No other agent is shown them.

        Args:
            agent: your name or role; the notes are kept under it.
            text: the whole of the new notes; leave it out to read them.
            session: id of your session, if agents of several clients share one.
        """
        with self._working(session, create=text is not None) as working:
            if text is not None:
                working.scratch(agent).write(text)
                return "Kept."
            working.scratch(agent)  # says so if there is no name
            return working.shown_scratch(agent) or "There are no notes under this name."

    def shared(self, *, agent: str = "", session: str = "") -> str:
        """See what the agents of this session shared, what they made, and what was asked before. Look before you begin.

        Args:
            agent: your name or role, to see your own notes too.
            session: id of your session, if agents of several clients share one.
        """
        with self._working(session) as working:
            return working.shown(agent) or "Nothing was shared in this session yet."

    @contextmanager
    def _working(self, session: str, *, create: bool = False) -> Iterator[WorkingMemory]:
        with self._memory(create=create) as loop:
            yield WorkingMemory(loop, session.strip() or self._session)


def _origin(working: WorkingMemory, text: str) -> Origin:
    return origin_of_note(working.context, working.id, text, client_homes(UserEnvironment.read()))
