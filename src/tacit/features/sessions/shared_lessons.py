"""What the agents of a session shared → lesson candidates, where it tells how an error was mended that really occurred.

An agent's word alone teaches nothing: the error must stand in the attempt that is learned from. The words stay the agent's,
rest on nothing that was done, and so always wait for a person.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime

from tacit import render as application
from tacit.domain.candidate import Candidate
from tacit.domain.errors import InvalidSkill
from tacit.domain.origin import Origin
from tacit.domain.ports import Store
from tacit.domain.session import NoteKind, SessionNote
from tacit.domain.skill import Kind, Provenance
from tacit.domain.trajectory import Span, Step, Trajectory
from tacit.learn.wording import slug
from tacit.text.error_signatures import error_signature, tells
from tacit.text.words import STOP_WORDS

MADE_BY = "tacit.sessions/1"
_ERROR = "\n\nError: "
_CONNECTION = re.compile(r"\bmcp-[0-9a-f]{32}\b")
"""How a server calls a connection that is a session of its own."""
_SHARING = ("share", "artifact")
_NAME_WORDS = 6
_DESCRIPTION = 200


def with_error(text: str, error: str) -> str:
    """What was shared, with the error that it mends at its end."""
    return f"{text}{_ERROR}{error.strip()}" if error.strip() else text


def parted(text: str) -> tuple[str, str]:
    """What was shared, and the error that it mends; empty where it names none."""
    said, _, error = text.rpartition(_ERROR)
    return (said, error) if said else (text, "")


def lessons(store: Store, trajectory: Trajectory, *, at: datetime) -> list[Candidate]:
    """What the agents of the attempt's session said of errors that occurred in it."""
    shared = [
        each
        for session in sorted(sessions_of(trajectory))
        for each in store.notes.list(session, at=at, kind=NoteKind.CONTEXT)
    ]
    failed = {error_signature(step.observation): step for step in trajectory.actions if step.failed}
    return [made for each in shared if (made := _lesson(each, trajectory, failed)) is not None]


def sessions_of(trajectory: Trajectory) -> set[str]:
    """The sessions whose working memory an attempt took part in: its own, the one that started it, and connections."""
    own = {trajectory.session_id, trajectory.parent_session_id} - {""}
    return own | {found for step in trajectory.actions for found in _connections(step)}


def _connections(step: Step) -> Iterator[str]:
    """Sessions that our own server named in its answer to a call that shares something."""
    *_, server, verb = ("", "", *step.tool.casefold().split("__"))
    if server == "tacit" and verb in _SHARING:
        yield from _CONNECTION.findall(step.observation)


def _lesson(jotting: SessionNote, trajectory: Trajectory, failed: dict[str, Step]) -> Candidate | None:
    said, error = parted(jotting.text)
    signature = error_signature(error) if error else ""
    step = failed.get(signature)
    if step is None or not signature or not tells(signature):
        return None
    words = [word for word in re.findall(r"[a-z0-9]+", said.casefold()) if word not in STOP_WORDS and len(word) > 1]
    first = said.split("\n", 1)[0].strip()
    fields = {
        "kind": str(Kind.LESSON),
        "name": slug(list(dict.fromkeys(words))[:_NAME_WORDS]) or "shared-lesson",
        "description": first if len(first) <= _DESCRIPTION else f"{first[: _DESCRIPTION - 1].rstrip()}…",
        "body": said,
        "error": error,
    }
    with suppress(InvalidSkill):  # what the format does not take is no skill
        content = application.proposed(fields, source="working memory")
        seen = Span(trajectory.id, step.index, "observation")
        origins = dict.fromkeys(("name", "description", "body"), jotting.origin) | {"signature": Origin.EXTERNAL}
        provenance = Provenance(trajectory_ids=(trajectory.id,), grounding={"signature": (seen,)}, made_by=MADE_BY)
        by = jotting.agent or "agent"
        return Candidate(
            content=content, scope=trajectory.task.scope, origins=origins, provenance=provenance, by=f"agent {by}"
        )
    return None
