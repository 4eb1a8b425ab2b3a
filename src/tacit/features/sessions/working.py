"""One session's working memory, as its agents use it: texts in, the same without secrets kept; a text to show out.

Each write is one transaction: what has expired goes, the limits are asked, and it is kept or refused as a whole.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime, timedelta

from tacit.domain.errors import Mistake
from tacit.domain.origin import Origin
from tacit.domain.ports import Store
from tacit.domain.working import Drawer, Jotting
from tacit.features.sessions.room import LASTS, Limits, check_name, check_room, check_session
from tacit.features.sessions.showing import SHOWN_TOKENS, Asked, read_query, shown, visible, written_query
from tacit.features.sessions.teaching import with_error
from tacit.text.redaction import redact


class WorkingMemory:
    """What the agents of one session share while it lasts."""

    def __init__(
        self,
        store: Store,
        session_id: str,
        *,
        now: Callable[[], datetime],
        may_write: Callable[[], None] = lambda: None,
        lasts: timedelta = LASTS,
        limits: Limits | None = None,
    ) -> None:
        """`may_write` raises where nothing may be kept now."""
        self.id = check_session(session_id)
        self._store, self._now, self._may_write = store, now, may_write
        self._lasts, self._limits = lasts, limits or Limits()

    def contribute(self, text: str, *, agent: str = "", error: str = "", origin: Origin = Origin.AGENT) -> Jotting:
        """Share something with the agents of the session; with `error` it tells how that error was mended."""
        said = with_error(_said(text), error)
        return self._keep(Drawer.CONTEXT, said, agent=agent, origin=origin)

    def register(self, name: str, text: str = "", *, agent: str = "", origin: Origin = Origin.AGENT) -> Jotting:
        """Tell of something that was made: where it is, and what it is. The last word on a name holds."""
        named = check_name("artifact", redact(name).text)
        return self._keep(Drawer.ARTIFACT, text.strip() or named, agent=agent, name=named, origin=origin)

    def scratch(self, agent: str) -> Scratch:
        """An agent's own notes, which no other agent is shown."""
        return Scratch(self, check_name("agent", agent))

    def asked(self, query: str, found: Iterable[str] = ()) -> None:
        """Note what was asked, and the names of what was found; the oldest question gives way."""
        said = " ".join(redact(query).text[: self._limits.query].split())
        if not said:
            return
        names = [redact(name).text[:100] for name in found][:10]
        self._may_write()
        with self._store.transaction():
            before = self._held(Drawer.QUERY)
            again = [each.name for each in before if read_query(each).query == said]
            full = len(before) >= self._limits.queries
            slot = again[0] if again else before[0].name if full else str(len(before))
            self._jot(Drawer.QUERY, written_query(said, names), name=slot)

    def contributions(self) -> list[Jotting]:
        """What was shared, oldest first."""
        return self._held(Drawer.CONTEXT)

    def artifacts(self) -> list[Jotting]:
        """What was made, the last word on each name."""
        return visible(self._held(Drawer.ARTIFACT), "")

    def queries(self) -> list[Asked]:
        """What was asked before, oldest first."""
        return [read_query(each) for each in self._held(Drawer.QUERY)]

    def shown(self, agent: str = "", *, budget_tokens: int = SHOWN_TOKENS) -> str:
        """What an agent of the session is shown, framed as background knowledge; empty where there is nothing."""
        return shown(self._held(), agent=agent.strip(), budget_tokens=budget_tokens)

    def forget(self) -> int:
        """Drop all of it; returns how much that was."""
        return self._store.forget_jottings(session_id=self.id)

    def read(self, agent: str) -> str:
        """An agent's own notes as they were written; empty where it has none."""
        return next((each.text for each in self._held(Drawer.SCRATCH) if each.agent == agent), "")

    def shown_scratch(self, agent: str) -> str:
        """The same as that agent is shown them."""
        return shown([each for each in self._held(Drawer.SCRATCH) if each.text], agent=agent.strip())

    def write(self, agent: str, text: str, *, origin: Origin = Origin.AGENT) -> Jotting:
        """Put these in place of an agent's notes."""
        return self._keep(Drawer.SCRATCH, text, agent=agent, name="notes", origin=origin)

    def _held(self, drawer: Drawer | None = None) -> list[Jotting]:
        return self._store.jottings(self.id, at=self._now(), drawer=drawer)

    def _keep(self, drawer: Drawer, text: str, *, agent: str, origin: Origin, name: str = "") -> Jotting:
        by = check_name("agent", redact(agent).text, needed=False)
        self._may_write()
        with self._store.transaction():
            self._store.forget_jottings(at=self._now())
            return self._jot(drawer, redact(text).text, agent=by, name=name, origin=origin)

    def _jot(
        self, drawer: Drawer, text: str, *, agent: str = "", name: str = "", origin: Origin = Origin.AGENT
    ) -> Jotting:
        at = self._now()
        new = Jotting(
            session_id=self.id,
            drawer=drawer,
            text=text,
            at=at,
            expires_at=at + self._lasts,
            agent=agent,
            name=name,
            origin=origin,
        )
        if drawer is not Drawer.QUERY:
            check_room([each for each in self._held() if each.id != new.id], new, self._limits)
        self._store.jot(new)
        return new


class Scratch:
    """One agent's own notes in a session."""

    def __init__(self, memory: WorkingMemory, agent: str) -> None:
        self._memory, self._agent = memory, agent

    def read(self) -> str:
        """The notes as they were written; empty where there are none."""
        return self._memory.read(self._agent)

    def write(self, text: str, *, origin: Origin = Origin.AGENT) -> Jotting:
        """Put these in place of the notes before."""
        return self._memory.write(self._agent, text, origin=origin)


def _said(text: str) -> str:
    said = text.strip()
    if not said:
        raise Mistake("there is nothing to share", hint="say what the other agents should know")
    return said
