"""Scopes as text (``project:invoices``): which is visible from which, and which is narrower; and whose a preference is.

For hooks too, which must answer at once: no imports and no errors; an unknown level is visible nowhere.
"""

from __future__ import annotations

CARD = "project-commands"
"""The name of the one card of facts that every session of a project begins with; other facts are single notes."""
WITHIN = " in "
"""Between a session's team and what is around it: from `team:SESSION in project:invoices` the agents of a session ask."""
LEVELS = ("team", "session", "project", "organisation", "global")
"""Narrow to broad."""


def reaches(kept: str, asked: str) -> bool:
    """Whether something stored at one scope is visible from the other.

    The agents of a session see what is kept for it and for its teams (`team:SESSION`, `team:SESSION/NAME`), and what is
    visible from around it.
    """
    level, _, key = kept.partition(":")
    session, _, around = asked.partition(WITHIN)
    if around and asked.startswith("team:"):
        if level in ("team", "session"):
            return (key.partition("/")[0] if level == "team" else key) == session.partition(":")[2]
        asked = around
    asked_level, _, asked_key = asked.partition(":")
    if level not in LEVELS or asked_level not in LEVELS:
        return False
    if level == "global":
        return True
    if level == asked_level:
        return not key or not asked_key or key == asked_key
    return LEVELS.index(level) > LEVELS.index(asked_level)


def is_anothers(whose: str, who: str) -> bool:
    """Whether a preference belongs to another person; one without an owner belongs to everyone."""
    return bool(whose) and whose != who


def breadth(scope: str) -> tuple[int, bool]:
    """Return a sort key for scopes: the narrowest level first, and within a level those with a name."""
    level, _, key = scope.partition(":")
    return (LEVELS.index(level) if level in LEVELS else len(LEVELS)), not key
