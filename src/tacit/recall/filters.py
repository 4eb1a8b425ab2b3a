"""Filters before ranking: which versions may be considered at all, and why the others may not. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from fnmatch import fnmatchcase

from tacit.domain.ports import Stored
from tacit.domain.reach import is_anothers
from tacit.domain.selection import LeftOut, Query
from tacit.domain.skill import Capabilities, Kind, SkillVersion
from tacit.text.allowance import Keyed, beyond, needed, told

ANOTHERS = "is another person's preference"
NOT_FOR = "not-for-models"
"""Key of a skill's metadata that names language models to be spared it, as patterns (`*-mini gpt-4*`)."""


def current_only(stored: Iterable[Stored]) -> list[Stored]:
    """Keep the newest version of each skill."""
    newest: dict[str, Stored] = {}
    for item in stored:
        held = newest.get(item.skill.id)
        if held is None or item.sequence > held.sequence:
            newest[item.skill.id] = item
    return list(newest.values())


def unshadowed(stored: Iterable[Stored]) -> tuple[list[Stored], list[LeftOut]]:
    """Of skills with one name, keep those of the narrowest scope; within one scope nothing shadows."""
    narrowest: dict[tuple[str, str], Stored] = {}
    kept: list[Stored] = []
    hidden: list[LeftOut] = []
    for item in sorted(stored, key=lambda s: (s.skill.scope.level.breadth, not s.skill.scope.key, -s.sequence)):
        key = (item.version.content.kind, item.version.name)
        winner = narrowest.setdefault(key, item)
        if winner.skill.scope == item.skill.scope:
            kept.append(item)
        else:
            reason = f"shadowed by the {winner.skill.scope} version"
            hidden.append(LeftOut(version_id=item.version.id, name=item.version.name, reason=reason))
    return kept, hidden


def obstacle(stored: Stored, query: Query) -> str:
    """Say why a version may not be given for this query; empty if it may."""
    content = stored.version.content
    if not stored.skill.scope.contains(query.scope):
        return f"belongs to {stored.skill.scope}"
    if query.kinds is not None and content.kind not in query.kinds:
        return f"is a {content.kind}"
    if content.kind is Kind.PREFERENCE and is_anothers(content.person, query.person):
        return ANOTHERS
    if query.category and content.category != query.category:
        return f"category is {content.category or 'not set'}"
    if {stored.version.id, stored.skill.id, stored.version.name} & set(query.without):
        return "was to be left away"
    if query.model and _excludes(stored.version, query.model):
        return f"is not for {query.model}"
    missing = _missing_tools(stored.version, query.tools)
    if missing:
        return f"needs {', '.join(missing)}, not at hand"
    more = beyond_allowance(stored.version, query)
    return f"touches what is not allowed here: {more}" if more else ""


def beyond_allowance(version: SkillVersion, query: Query) -> str:
    """What a version touches beyond what the caller may, in words; empty where nothing."""
    if query.allowed is None:
        return ""
    more = beyond(needed(Keyed(version.content, version.hash)), query.allowed)
    return told(more) if more != Capabilities() else ""


def _excludes(version: SkillVersion, model: str) -> bool:
    """Whether a skill says of itself that a language model does better without it."""
    patterns = version.content.metadata.get(NOT_FOR, "").replace(",", " ").split()
    return any(fnmatchcase(model, pattern) for pattern in patterns)


def _missing_tools(version: SkillVersion, tools: tuple[str, ...] | None) -> list[str]:
    if tools is None:
        return []
    needed = {step.tool for step in version.content.steps if step.tool and not step.optional}
    return sorted(needed - set(tools))
