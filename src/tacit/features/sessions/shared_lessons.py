"""Lessons from what the agents of a session shared: notes that say how to fix an error that occurred.

An agent's word alone teaches nothing: the error must be in the attempt that is learned from. The words stay the agent's and
rest on no action, so the lesson always waits for a person.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime

from tacit import render
from tacit.domain.candidate import Candidate
from tacit.domain.errors import InvalidSkill
from tacit.domain.scope import Level, Scope
from tacit.domain.skill import Kind, Provenance
from tacit.domain.stored import NoteKind, SessionNote
from tacit.domain.trajectory import Origin, Span, Step, Trajectory
from tacit.ingest.journal import NOTE_ERROR
from tacit.learn.wording import slug
from tacit.store import Store
from tacit.text.error_signatures import error_signature, tells
from tacit.text.words import STOP_WORDS

MADE_BY = "tacit.sessions/1"
_CONNECTION = re.compile(r"\bmcp-[0-9a-f]{32}\b")
"""The session id of an MCP connection."""
_SHARING = ("share", "artifact")
_NAME_WORDS = 6
_MAX_DESCRIPTION = 200


def with_error(text: str, error: str) -> str:
    """Return a note with the error that it fixes appended."""
    return f"{text}{NOTE_ERROR}{error.strip()}" if error.strip() else text


def split_error(text: str) -> tuple[str, str]:
    """Return a note, and the error that it fixes; empty where it names none."""
    note, _, error = text.rpartition(NOTE_ERROR)
    return (note, error) if note else (text, "")


def lessons(store: Store, trajectory: Trajectory, *, at: datetime) -> list[Candidate]:
    """Return the lessons that the agents of the attempt's session shared about its errors."""
    shared = [
        each
        for session in sorted(sessions_of(trajectory))
        for each in store.notes.list(session, at=at, kind=NoteKind.CONTEXT)
    ]
    failed = {error_signature(step.observation): step for step in trajectory.actions if step.failed}
    return [made for each in shared if (made := _lesson(each, trajectory, failed)) is not None]


def sessions_of(trajectory: Trajectory) -> set[str]:
    """Return the sessions that an attempt took part in: its own, the one that started it, and MCP connections."""
    own = {trajectory.session_id, trajectory.parent_session_id} - {""}
    return own | {found for step in trajectory.actions for found in _connections(step)}


def _connections(step: Step) -> Iterator[str]:
    """Yield the sessions that our own server named in its answer to a call that shares something."""
    *_, server, verb = ("", "", *step.tool.casefold().split("__"))
    if server == "tacit" and verb in _SHARING:
        yield from _CONNECTION.findall(step.observation)


def _lesson(shared: SessionNote, trajectory: Trajectory, failed: dict[str, Step]) -> Candidate | None:
    note, error = split_error(shared.text)
    signature = error_signature(error) if error else ""
    step = failed.get(signature)
    if step is None or not signature or not tells(signature):
        return None
    words = [word for word in re.findall(r"[a-z0-9]+", note.casefold()) if word not in STOP_WORDS and len(word) > 1]
    first = note.split("\n", 1)[0].strip()
    fields = {
        "kind": str(Kind.LESSON),
        "name": slug(list(dict.fromkeys(words))[:_NAME_WORDS]) or "shared-lesson",
        "description": first if len(first) <= _MAX_DESCRIPTION else f"{first[: _MAX_DESCRIPTION - 1].rstrip()}…",
        "body": note,
        "error": error,
    }
    try:
        content = render.proposed(fields, source="working memory")
    except InvalidSkill:
        return None
    seen = Span(trajectory.id, step.index, "observation")
    origins = dict.fromkeys(("name", "description", "body"), shared.origin) | {"signature": Origin.EXTERNAL}
    provenance = Provenance(trajectory_ids=(trajectory.id,), grounding={"signature": (seen,)}, made_by=MADE_BY)
    by = f"agent {shared.agent or 'agent'}"
    # One session shows it, so it holds for that session; what several find moves up.
    session = trajectory.parent_session_id or trajectory.session_id
    scope = Scope(Level.SESSION, session) if session else trajectory.task.scope
    return Candidate(content=content, scope=scope, origins=origins, provenance=provenance, by=by)
