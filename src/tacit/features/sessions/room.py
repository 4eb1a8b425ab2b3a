"""How much working memory holds and for how long: what lies there and what comes → yes, or a refusal that says what to do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from tacit.domain.errors import Mistake
from tacit.domain.working import Drawer, Jotting

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


def check_room(held: Sequence[Jotting], new: Jotting, limits: Limits) -> None:
    """Raise `Mistake` unless there is room for one more beside what is held."""
    if _size(new) > limits.item:
        raise Mistake(
            f"this is {_size(new)} bytes, and one thing in working memory has at most {limits.item}",
            hint="keep it in a file, and register that with a line on what it holds",
        )
    counted = [each for each in held if each.drawer is not Drawer.QUERY]
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


def _size(jotting: Jotting) -> int:
    return sum(len(text.encode("utf-8", "replace")) for text in (jotting.text, jotting.name))
