"""How much working memory holds and for how long: what lies there and what comes → yes, or a refusal that says what to do."""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from tacit.domain.errors import Mistake
from tacit.domain.origin import Origin
from tacit.domain.session import NoteKind, SessionNote
from tacit.features.sessions.shared_lessons import with_error
from tacit.text.safe_markdown import attribute, framed
from tacit.text.safe_markdown import shown as inert_text
from tacit.text.safe_markdown import shown_line
from tacit.text.redaction import redact
from tacit.text.words import estimate_tokens

if TYPE_CHECKING:
    from tacit.api import Tacit

LASTS = timedelta(hours=24)
"""How long something stays after it was last written."""
NAME_MAX = 200
"""Characters of the name of an agent or an artifact."""
SESSION_MAX = 1000
"""Characters of a session's id."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The most that is held, in bytes of text and in numbers of things."""

    item: int = 8 * 1024
    agent: int = 64 * 1024
    session: int = 256 * 1024
    items: int = 400
    queries: int = 30
    """Of the questions asked before; the oldest gives way, so that asking is never refused."""
    query: int = 500
    """Characters that are kept of one."""


def check_session(session_id: str) -> str:
    """The id as it is, for clients may mean anything by it; raises `Mistake` for one that is blank or too long."""
    if not session_id.strip():
        raise Mistake("the session has no id", hint="say which session it is")
    if len(session_id) > SESSION_MAX:
        raise Mistake(f"the id of the session is longer than {SESSION_MAX} characters", hint="use the client's own id")
    return session_id


def check_name(what: str, name: str, *, needed: bool = True) -> str:
    """The name as it is kept; raises `Mistake` for one that is empty where it is needed, or too long."""
    said = name.strip()
    if needed and not said:
        raise Mistake(f"the {what} has no name", hint=f"say which {what} it is")
    if len(said) > NAME_MAX:
        raise Mistake(f"the name of the {what} is longer than {NAME_MAX} characters", hint="give it a shorter name")
    return said


def check_room(held: Sequence[SessionNote], new: SessionNote, limits: Limits) -> None:
    """Raise `Mistake` unless there is room for one more beside what is held."""
    if _size(new) > limits.item:
        raise Mistake(
            f"this is {_size(new)} bytes, and one thing in working memory has at most {limits.item}",
            hint="keep it in a file, and register that with a line on what it holds",
        )
    counted = [each for each in held if each.kind is not NoteKind.QUERY]
    own = sum(_size(each) for each in counted if each.agent == new.agent)
    if own + _size(new) > limits.agent:
        raise Mistake(
            f"the agent {new.agent or 'without a name'!r} holds {own} of the {limits.agent} bytes that one has in a session",
            hint="write less, or `tacit session forget` drops what the session holds",
        )
    total = sum(map(_size, counted))
    if total + _size(new) > limits.session or len(counted) >= limits.items:
        raise Mistake(
            f"the working memory of this session is full ({len(counted)} things, {total} bytes)",
            hint="it empties by itself after a day; `tacit session forget` drops it now",
        )


def _size(jotting: SessionNote) -> int:
    return sum(len(text.encode("utf-8", "replace")) for text in (jotting.text, jotting.name))


SHOWN_TOKENS = 2000
_ORDER = (NoteKind.SCRATCH, NoteKind.CONTEXT, NoteKind.ARTIFACT, NoteKind.QUERY)
"""What is needed most comes first where not all has room."""
_WHOSE = {
    Origin.USER: "a person",
    Origin.OPERATOR: "the operator",
    Origin.EXTERNAL: "outside text",
    Origin.AGENT: "an agent",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A question asked before, and the names of what was found."""

    query: str
    found: tuple[str, ...]
    at: datetime


def written_query(query: str, found: Iterable[str]) -> str:
    """A question and what came of it, as it is kept."""
    return json.dumps({"query": query, "found": list(found)}, ensure_ascii=False)


def read_query(jotting: SessionNote) -> Asked:
    """The same, read back."""
    try:
        kept = json.loads(jotting.text)
        return Asked(query=str(kept["query"]), found=tuple(map(str, kept["found"])), at=jotting.at)
    except (ValueError, LookupError, TypeError):  # written by somebody else's hand
        return Asked(query=jotting.text, found=(), at=jotting.at)


def visible(jottings: Iterable[SessionNote], agent: str) -> list[SessionNote]:
    """What an agent may see: all that is shared, the last word on each artifact, and its own notes."""
    kept = [each for each in jottings if each.kind is not NoteKind.SCRATCH or (agent and each.agent == agent)]
    last = {each.name: each.id for each in kept if each.kind is NoteKind.ARTIFACT}
    return [each for each in kept if each.kind is not NoteKind.ARTIFACT or last[each.name] == each.id]


def shown(jottings: Sequence[SessionNote], *, agent: str = "", budget_tokens: int = SHOWN_TOKENS) -> str:
    """The text for an agent; empty where there is nothing to show."""
    seen = visible(jottings, agent)
    wanted = [each for kind in _ORDER for each in reversed(seen) if each.kind is kind and each.text]
    chosen, spent = set[str](), 0
    for each in wanted:
        cost = estimate_tokens(_block(each))
        if spent + cost <= budget_tokens:
            chosen.add(each.id)
            spent += cost
    blocks = [_block(each) for each in seen if each.id in chosen]
    missing = len(wanted) - len(chosen)
    return framed([*blocks, _left_out(missing) if missing else ""], number=secrets.token_hex(8))


def _block(jotting: SessionNote) -> str:
    by = f' by="{attribute(shown_line(jotting.agent))}"' if jotting.agent else ""
    whose = f'{by} from="{_WHOSE[jotting.origin]}"'
    if jotting.kind is NoteKind.QUERY:
        asked = read_query(jotting)
        found = ", ".join(shown_line(name) for name in asked.found) or "nothing"
        return f"<tacit-asked>{shown_line(asked.query)} → {found}</tacit-asked>"
    tag = {NoteKind.CONTEXT: "tacit-shared", NoteKind.SCRATCH: "tacit-scratch"}.get(jotting.kind, "tacit-artifact")
    name = f' name="{attribute(shown_line(jotting.name))}"' if jotting.kind is NoteKind.ARTIFACT else ""
    return f"<{tag}{name}{whose}>\n{inert_text(jotting.text)}\n</{tag}>"


def _left_out(number: int) -> str:
    return f"[{number} not shown here, for want of room]"


class WorkingMemory:
    """What the agents of one session share while it lasts."""

    def __init__(
        self,
        memory: Tacit,
        session_id: str,
        *,
        lasts: timedelta = LASTS,
        limits: Limits | None = None,
    ) -> None:
        self.id = check_session(session_id)
        self._store, self._now = memory.context.store, memory.context.now
        self._require_running = memory.context.require_running
        self._lasts, self._limits = lasts, limits or Limits()

    def contribute(self, text: str, *, agent: str = "", error: str = "", origin: Origin = Origin.AGENT) -> SessionNote:
        """Share something with the agents of the session; with `error` it tells how that error was mended."""
        said = with_error(_said(text), error)
        return self._keep(NoteKind.CONTEXT, said, agent=agent, origin=origin)

    def register(self, name: str, text: str = "", *, agent: str = "", origin: Origin = Origin.AGENT) -> SessionNote:
        """Tell of something that was made: where it is, and what it is. The last word on a name holds."""
        named = check_name("artifact", redact(name).text)
        return self._keep(NoteKind.ARTIFACT, text.strip() or named, agent=agent, name=named, origin=origin)

    def scratch(self, agent: str) -> Scratch:
        """An agent's own notes, which no other agent is shown."""
        return Scratch(self, check_name("agent", agent))

    def asked(self, query: str, found: Iterable[str] = ()) -> None:
        """Note what was asked, and the names of what was found; the oldest question gives way."""
        said = " ".join(redact(query).text[: self._limits.query].split())
        if not said:
            return
        names = [redact(name).text[:100] for name in found][:10]
        self._require_running()
        with self._store.transaction():
            before = self._held(NoteKind.QUERY)
            again = [each.name for each in before if read_query(each).query == said]
            full = len(before) >= self._limits.queries
            slot = again[0] if again else before[0].name if full else str(len(before))
            self._jot(NoteKind.QUERY, written_query(said, names), name=slot)

    def contributions(self) -> list[SessionNote]:
        """What was shared, oldest first."""
        return self._held(NoteKind.CONTEXT)

    def artifacts(self) -> list[SessionNote]:
        """What was made, the last word on each name."""
        return visible(self._held(NoteKind.ARTIFACT), "")

    def queries(self) -> list[Asked]:
        """What was asked before, oldest first."""
        return [read_query(each) for each in self._held(NoteKind.QUERY)]

    def shown(self, agent: str = "", *, budget_tokens: int = SHOWN_TOKENS) -> str:
        """What an agent of the session is shown, framed as background knowledge; empty where there is nothing."""
        return shown(self._held(), agent=agent.strip(), budget_tokens=budget_tokens)

    def forget(self) -> int:
        """Drop all of it; returns how much that was."""
        return self._store.notes.forget(session_id=self.id)

    def read(self, agent: str) -> str:
        """An agent's own notes as they were written; empty where it has none."""
        return next((each.text for each in self._held(NoteKind.SCRATCH) if each.agent == agent), "")

    def shown_scratch(self, agent: str) -> str:
        """The same as that agent is shown them."""
        return shown([each for each in self._held(NoteKind.SCRATCH) if each.text], agent=agent.strip())

    def write(self, agent: str, text: str, *, origin: Origin = Origin.AGENT) -> SessionNote:
        """Put these in place of an agent's notes."""
        return self._keep(NoteKind.SCRATCH, text, agent=agent, name="notes", origin=origin)

    def _held(self, kind: NoteKind | None = None) -> list[SessionNote]:
        return self._store.notes.list(self.id, at=self._now(), kind=kind)

    def _keep(self, kind: NoteKind, text: str, *, agent: str, origin: Origin, name: str = "") -> SessionNote:
        by = check_name("agent", redact(agent).text, needed=False)
        self._require_running()
        with self._store.transaction():
            self._store.notes.forget(at=self._now())
            return self._jot(kind, redact(text).text, agent=by, name=name, origin=origin)

    def _jot(
        self, kind: NoteKind, text: str, *, agent: str = "", name: str = "", origin: Origin = Origin.AGENT
    ) -> SessionNote:
        at = self._now()
        new = SessionNote(
            session_id=self.id,
            kind=kind,
            text=text,
            at=at,
            expires_at=at + self._lasts,
            agent=agent,
            name=name,
            origin=origin,
        )
        if kind is not NoteKind.QUERY:
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

    def write(self, text: str, *, origin: Origin = Origin.AGENT) -> SessionNote:
        """Put these in place of the notes before."""
        return self._memory.write(self._agent, text, origin=origin)


def _said(text: str) -> str:
    said = text.strip()
    if not said:
        raise Mistake("there is nothing to share", hint="say what the other agents should know")
    return said
