"""Scopes as text (``project:invoices``): which may be seen from which, and which is narrower; and whose a preference is.

The law is that of `Scope`.

For readers that must answer at once: loads nothing, parses nothing, and refuses nothing; an unknown level reaches nobody.
"""

from __future__ import annotations

LEVELS = ("team", "session", "project", "organisation", "global")
"""Narrow to broad."""


def reaches(kept: str, asked: str) -> bool:
    """Whether something kept at one scope may be seen from the other."""
    level, _, key = kept.partition(":")
    asked_level, _, asked_key = asked.partition(":")
    if level not in LEVELS or asked_level not in LEVELS:
        return False
    if level == "global":
        return True
    if level == asked_level:
        return not key or not asked_key or key == asked_key
    return LEVELS.index(level) > LEVELS.index(asked_level)


def is_anothers(whose: str, who: str) -> bool:
    """Whether a preference is somebody else's: one that names nobody is everybody's, and who is not known is nobody's."""
    return bool(whose) and whose != who


def breadth(scope: str) -> tuple[int, bool]:
    """Sorts scopes: the narrowest level first, and in one level those with a name first."""
    level, _, key = scope.partition(":")
    return (LEVELS.index(level) if level in LEVELS else len(LEVELS)), not key
