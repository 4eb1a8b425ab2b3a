"""How assumptions and moments are named and put in order: plain values → entries whose keys follow from what they say. Pure.

The same statement in the same session has one key, so that saying, folding or settling it again adds nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tacit.domain.errors import Mistake
from tacit.domain.identity import content_id
from tacit.domain.moment import Aspect, Assumption, Held
from tacit.domain.origin import Origin
from tacit.text.redaction import redact

BY = "tacit.moments"
"""Who writes what is found by comparing."""
CONNECTION = "mcp-"
"""Begins the session of what was said over MCP, where no client tells its own."""
TEXT_MAX = 500
CHECK_MAX = 500


@dataclass(frozen=True, slots=True)
class Speaker:
    """Who states or says something, and as whose word it is kept."""

    name: str
    origin: Origin = Origin.AGENT


AN_AGENT = Speaker("agent")


def assumption_key(session: str, text: str, aspect: Aspect, *, task: str = "") -> str:
    """The name of an assumption: what is said, about what, and in which session or, without one, for which task."""
    return content_id("a", [session or task, " ".join(text.split()).casefold(), str(aspect)])


def moment_key(*parts: str) -> str:
    """The name of a moment by what it is made of."""
    return content_id("m", list(parts))


def clean_text(text: str) -> str:
    """A statement without secrets, on one line."""
    return " ".join(redact(text).text.split())


def check_stated(text: str, check: str, aspect: Aspect | str) -> Aspect:
    """The aspect, or an error that tells everything that is wrong with a statement."""
    problems: list[str] = []
    if not text.strip():
        problems.append("it says nothing")
    if len(text) > TEXT_MAX:
        problems.append(f"it has {len(text)} characters, and {TEXT_MAX} are the most")
    if len(check) > CHECK_MAX or "\n" in check:
        problems.append(f"its check is no single line of at most {CHECK_MAX} characters")
    if aspect not in set(Aspect):
        problems.append(f"there is no aspect {str(aspect)!r}: {', '.join(Aspect)}")
    if problems:
        raise Mistake(f"this assumption cannot be kept: {'; '.join(problems)}", hint="say one thing, in one sentence")
    return Aspect(aspect)


def last_of(entries: Iterable[Assumption]) -> dict[str, Assumption]:
    """Key → how each assumption stands, as it was last said."""
    return {entry.key: entry for entry in entries}


def stated_in(entries: Sequence[Assumption]) -> Assumption:
    """Of all versions of one assumption, the one in which it was last stated."""
    stated = [entry for entry in entries if entry.held is Held.OPEN]
    return (stated or list(entries))[-1]
