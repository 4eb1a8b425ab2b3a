"""Names in the card workflow: a person's account → the name of their folder; the words for a skill → one skill's name."""

from __future__ import annotations

import re

UNKNOWN = "unknown"
NOBODY = "default"
_LONGEST = 64
_NOT_IN_A_FOLDER = re.compile(r"[^a-zA-Z0-9_.-]+")
_BETWEEN_SKILLS = re.compile(r"[+,;|]")


def user_slug(account: str) -> str:
    """The folder of a person's stream of cards: no address behind an `@`, nothing a file system could mind."""
    name = account.strip().partition("@")[0].strip() or NOBODY
    slug = _NOT_IN_A_FOLDER.sub("_", name)[:_LONGEST]
    return NOBODY if slug in (".", "..") else slug


def skill_name(said: object) -> str:
    """One skill's name, so that filters work: the first of several, its first word; `unknown` where nothing is said."""
    if not isinstance(said, str):
        return UNKNOWN
    words = _BETWEEN_SKILLS.split(said, maxsplit=1)[0].split()
    return words[0] if words else UNKNOWN
