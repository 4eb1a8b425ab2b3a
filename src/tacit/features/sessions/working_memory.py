"""Working memory of a running session: notes that its agents share, within limits, for a day.

Each write is one transaction: expired notes are removed, the limits are checked, and the note is stored or refused. Secrets
are redacted. An agent sees shared notes, artifacts, earlier questions and its own scratch notes, never another agent's.
"""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from tacit.domain.errors import Mistake
from tacit.domain.stored import NoteKind, SessionNote
from tacit.domain.trajectory import Origin, Trajectory
from tacit.evidence.capture import running_attempts, squeezed
from tacit.features.sessions.shared_lessons import with_error
from tacit.ingest.journal import mark_notes
from tacit.learn.origin_limits import attempt_texts, copied_spans
from tacit.store.connection import MEMORY
from tacit.text.context_frame import framed
from tacit.text.redaction import redact
from tacit.text.safe_markdown import attribute, shown_line
from tacit.text.safe_markdown import shown as inert_text
from tacit.text.text_sources import texts_in
from tacit.text.words import estimate_tokens

if TYPE_CHECKING:
    from tacit.api import Tacit
    from tacit.store.context import StoreContext

LASTS = timedelta(hours=24)
"""How long a note stays after it was last written."""
NAME_MAX = 200
"""Characters of the name of an agent or an artifact."""
SESSION_MAX = 1000
"""Characters of a session id."""
COPIED_MIN = 40
"""Bytes of a sentence that is looked for whole in what tools returned."""
SHOWN_TOKENS = 2000
_ORDER = (NoteKind.SCRATCH, NoteKind.CONTEXT, NoteKind.ARTIFACT, NoteKind.QUERY)
"""What is needed most comes first where the budget is too small."""
_AUTHORS = {
    Origin.USER: "a person",
    Origin.OPERATOR: "the operator",
    Origin.EXTERNAL: "outside text",
    Origin.AGENT: "an agent",
}
_TAGS = {NoteKind.CONTEXT: "tacit-shared", NoteKind.SCRATCH: "tacit-scratch", NoteKind.ARTIFACT: "tacit-artifact"}


@dataclass(frozen=True, slots=True, kw_only=True)
class NoteLimits:
    """The limits of a session, in bytes of text and in numbers of notes."""

    item: int = 8 * 1024
    agent: int = 64 * 1024
    session: int = 256 * 1024
    items: int = 400
    queries: int = 30
    """Earlier questions; the oldest is replaced, so that a question is never refused."""
    query: int = 500
    """Characters stored of one question."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PastQuery:
    """An earlier question, and the names of what was found."""

    query: str
    found: tuple[str, ...]
    at: datetime


class WorkingMemory:
    """The notes of one session."""

    def __init__(
        self, memory: Tacit, session_id: str, *, lasts: timedelta = LASTS, limits: NoteLimits | None = None
    ) -> None:
        self.id = check_session(session_id)
        self.context = memory.context
        self._store, self._now = memory.context.store, memory.context.now
        self._require_running = memory.context.require_running
        self._lasts, self._limits = lasts, limits or NoteLimits()

    def contribute(self, text: str, *, agent: str = "", error: str = "", origin: Origin = Origin.AGENT) -> SessionNote:
        """Share a note with the agents of the session; `error` is the error that the note says how to fix."""
        if not text.strip():
            raise Mistake("there is nothing to share", code="empty_note", hint="say what the other agents should know")
        return self._add(NoteKind.CONTEXT, with_error(text.strip(), error), agent=agent, origin=origin)

    def register(self, name: str, text: str = "", *, agent: str = "", origin: Origin = Origin.AGENT) -> SessionNote:
        """Register something that was made: where it is, and what it is. The latest note of a name counts."""
        clean_name = check_name("artifact", redact(name).text)
        return self._add(NoteKind.ARTIFACT, text.strip() or clean_name, agent=agent, name=clean_name, origin=origin)

    def scratch(self, agent: str) -> Scratch:
        """Return an agent's own notes, which no other agent sees."""
        return Scratch(self, check_name("agent", agent))

    def asked(self, query: str, found: Iterable[str] = ()) -> None:
        """Store a question and the names of what was found; replaces the oldest question if there are too many."""
        text = " ".join(redact(query).text[: self._limits.query].split())
        if not text:
            return
        names = [redact(name).text[:100] for name in found][:10]
        self._require_running()
        with self._store.transaction():
            before = self._notes(NoteKind.QUERY)
            again = [each.name for each in before if parse_query(each).query == text]
            is_full = len(before) >= self._limits.queries
            slot = again[0] if again else before[0].name if is_full else str(len(before))
            self._put(NoteKind.QUERY, format_query(text, names), name=slot)

    def contributions(self) -> list[SessionNote]:
        """Return the shared notes, oldest first."""
        return self._notes(NoteKind.CONTEXT)

    def artifacts(self) -> list[SessionNote]:
        """Return the latest note on each artifact."""
        return visible_notes(self._notes(NoteKind.ARTIFACT), "")

    def queries(self) -> list[PastQuery]:
        """Return the earlier questions, oldest first."""
        return [parse_query(each) for each in self._notes(NoteKind.QUERY)]

    def shown(self, agent: str = "", *, budget_tokens: int = SHOWN_TOKENS) -> str:
        """Return what an agent of the session sees, framed as background knowledge; empty where there is nothing."""
        return render_notes(self._notes(), agent=agent.strip(), budget_tokens=budget_tokens)

    def forget(self) -> int:
        """Delete all notes of the session; return how many there were."""
        return self._store.notes.forget(session_id=self.id)

    def read(self, agent: str) -> str:
        """Return an agent's own notes as written; empty where it has none."""
        return next((each.text for each in self._notes(NoteKind.SCRATCH) if each.agent == agent), "")

    def shown_scratch(self, agent: str) -> str:
        """Return an agent's own notes as that agent sees them."""
        return render_notes([each for each in self._notes(NoteKind.SCRATCH) if each.text], agent=agent.strip())

    def write(self, agent: str, text: str, *, origin: Origin = Origin.AGENT) -> SessionNote:
        """Replace an agent's own notes."""
        return self._add(NoteKind.SCRATCH, text, agent=agent, name="notes", origin=origin)

    def _notes(self, kind: NoteKind | None = None) -> list[SessionNote]:
        return self._store.notes.list(self.id, at=self._now(), kind=kind)

    def _add(self, kind: NoteKind, text: str, *, agent: str, origin: Origin, name: str = "") -> SessionNote:
        author = check_name("agent", redact(agent).text, needed=False)
        self._require_running()
        with self._store.transaction():
            self._store.notes.forget(at=self._now())
            return self._put(kind, redact(text).text, agent=author, name=name, origin=origin)

    def _put(
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
            check_limits([each for each in self._notes() if each.id != new.id], new, self._limits)
        self._store.notes.put(new)
        if kind in (NoteKind.CONTEXT, NoteKind.ARTIFACT) and self._store.path != MEMORY:
            with suppress(OSError):  # the note is kept; other agents find it when they look
                mark_notes(str(Path(self._store.path).parent), self.id)
        return new


class Scratch:
    """One agent's own notes in a session."""

    def __init__(self, memory: WorkingMemory, agent: str) -> None:
        self._memory, self._agent = memory, agent

    def read(self) -> str:
        """Return the notes as written; empty where there are none."""
        return self._memory.read(self._agent)

    def write(self, text: str, *, origin: Origin = Origin.AGENT) -> SessionNote:
        """Replace the notes."""
        return self._memory.write(self._agent, text, origin=origin)


def origin_of_note(
    context: StoreContext, session_id: str, text: str, homes: Mapping[str, Path], *, is_typed: bool = False
) -> Origin:
    """Return the origin of what an agent shares: external where a tool returned it before anybody said it.

    `is_typed`: the agent gave the text in a command, which can also fill it in from a file; then its words must stand there.
    """
    text = redact(text).text
    attempts = running_attempts(context, homes, session_id=session_id)
    own = [each for each in attempts if is_typed and session_id in (each.session_id, each.parent_session_id)]
    if own and not any(_is_typed(text, each) for each in own):
        return Origin.EXTERNAL
    # A subagent was told its task by an agent of the same session, whose own texts are compared too.
    attempts = [replace(each, parent_session_id="") for each in attempts]
    return Origin.EXTERNAL if any(_is_copied(text, each) for each in attempts) else Origin.AGENT


def _is_typed(text: str, attempt: Trajectory) -> bool:
    """Whether the words of a text stand in a call of the attempt."""
    words = squeezed(" ".join(re.findall(r"\w+", text)))
    given = (" ".join(texts_in(step.arguments)) for step in attempt.actions)
    return any(words in squeezed(" ".join(re.findall(r"\w+", each))) for each in given)


def _is_copied(text: str, attempt: Trajectory) -> bool:
    """Whether the attempt was shown the text before it said it."""
    if any(copied_spans("description", text, [attempt_texts(attempt)])):
        return True
    for sentence in map(
        squeezed, re.split(r"(?<=[.!?])\s+|\n", text)
    ):  # scripts without blanks have no words to compare
        bare = sentence.strip(".!?")
        for step in attempt.steps if len(bare.encode()) >= COPIED_MIN else ():
            if bare in squeezed(" ".join([step.text, *texts_in(step.arguments)])):
                break
            if bare in squeezed(step.observation):
                return True
    return False


def check_session(session_id: str) -> str:
    """Return the id unchanged; raise `Mistake` for one that is blank or too long."""
    if not session_id.strip():
        raise Mistake("the session has no id", code="no_session", hint="say which session it is")
    if len(session_id) > SESSION_MAX:
        message = f"the session id is longer than {SESSION_MAX} characters"
        raise Mistake(message, code="session_id_too_long", hint="use the client's own id")
    return session_id


def check_name(what: str, name: str, *, needed: bool = True) -> str:
    """Return the name as it is stored; raise `Mistake` for one that is empty where it is needed, or too long."""
    stripped = name.strip()
    if needed and not stripped:
        raise Mistake(f"the {what} has no name", code="no_name", hint=f"say which {what} it is")
    if len(stripped) > NAME_MAX:
        message = f"the name of the {what} is longer than {NAME_MAX} characters"
        raise Mistake(message, code="name_too_long", hint="give it a shorter name")
    return stripped


def check_limits(notes: Sequence[SessionNote], new: SessionNote, limits: NoteLimits) -> None:
    """Raise `Mistake` if a new note would exceed a limit."""
    if _bytes(new) > limits.item:
        message = f"this note has {_bytes(new)} bytes; at most {limits.item} are allowed"
        hint = "write it to a file, and register that with a line on what it holds"
        raise Mistake(message, code="note_too_large", hint=hint)
    counted = [each for each in notes if each.kind is not NoteKind.QUERY]
    own = sum(_bytes(each) for each in counted if each.agent == new.agent)
    if own + _bytes(new) > limits.agent:
        who = repr(new.agent) if new.agent else "without a name"
        message = f"the agent {who} has used {own} of its {limits.agent} bytes in this session"
        hint = "write less, or `tacit session forget` deletes the notes of the session"
        raise Mistake(message, code="agent_notes_full", hint=hint)
    total = sum(map(_bytes, counted))
    if total + _bytes(new) > limits.session or len(counted) >= limits.items:
        message = f"the working memory of this session is full ({len(counted)} notes, {total} bytes)"
        hint = "notes expire after a day; `tacit session forget` deletes them now"
        raise Mistake(message, code="session_notes_full", hint=hint)


def _bytes(note: SessionNote) -> int:
    return sum(len(text.encode("utf-8", "replace")) for text in (note.text, note.name))


def format_query(query: str, found: Iterable[str]) -> str:
    """Return a question and what was found, as it is stored."""
    return json.dumps({"query": query, "found": list(found)}, ensure_ascii=False)


def parse_query(note: SessionNote) -> PastQuery:
    """Parse a stored question; a text in another form is the question itself."""
    try:
        kept = json.loads(note.text)
        return PastQuery(query=str(kept["query"]), found=tuple(map(str, kept["found"])), at=note.at)
    except (ValueError, LookupError, TypeError):
        return PastQuery(query=note.text, found=(), at=note.at)


def visible_notes(notes: Iterable[SessionNote], agent: str) -> list[SessionNote]:
    """Return what an agent may see: shared notes, the latest note on each artifact, and its own notes."""
    kept = [each for each in notes if each.kind is not NoteKind.SCRATCH or (agent and each.agent == agent)]
    latest = {each.name: each.id for each in kept if each.kind is NoteKind.ARTIFACT}
    return [each for each in kept if each.kind is not NoteKind.ARTIFACT or latest[each.name] == each.id]


def render_notes(notes: Sequence[SessionNote], *, agent: str = "", budget_tokens: int = SHOWN_TOKENS) -> str:
    """Return the text for an agent, without effects; where the budget is too small, the newest of each kind are kept."""
    visible = visible_notes(notes, agent)
    wanted = [each for kind in _ORDER for each in reversed(visible) if each.kind is kind and each.text]
    chosen, spent = set[str](), 0
    for each in wanted:
        cost = estimate_tokens(_render_note(each))
        if spent + cost <= budget_tokens:
            chosen.add(each.id)
            spent += cost
    blocks = [_render_note(each) for each in visible if each.id in chosen]
    missing = len(wanted) - len(chosen)
    more = f"[{missing} more not shown: the token budget is used up]" if missing else ""
    return framed([*blocks, more], number=secrets.token_hex(8))


def _render_note(note: SessionNote) -> str:
    if note.kind is NoteKind.QUERY:
        asked = parse_query(note)
        found = ", ".join(shown_line(name) for name in asked.found) or "nothing"
        return f"<tacit-asked>{shown_line(asked.query)} → {found}</tacit-asked>"
    name = f' name="{attribute(shown_line(note.name))}"' if note.kind is NoteKind.ARTIFACT else ""
    by = f' by="{attribute(shown_line(note.agent))}"' if note.agent else ""
    tag = _TAGS[note.kind]
    return f'<{tag}{name}{by} from="{_AUTHORS[note.origin]}">\n{inert_text(note.text)}\n</{tag}>'
