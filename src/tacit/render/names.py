"""The name rule of Agent Skills, and a valid name for any text. Knows nothing of files or folders.

A name has 1 to 64 characters after NFKC: lower-case letters and digits of any script, and single hyphens between them.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

NAME_LENGTH_MAX = 64
FALLBACK = "skill"

# Latin letters that carry no separable mark, so that decomposition alone does not bring them to ASCII.
_FOLDED = {"ß": "ss", "æ": "ae", "œ": "oe", "ø": "o", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "ı": "i"}


def normal_name(text: str) -> str:
    """The form in which names are compared: trimmed and NFKC."""
    return unicodedata.normalize("NFKC", text.strip())


def name_faults(name: str) -> Iterator[tuple[str, str, str]]:
    """Yield rule, message and next step for each way in which a normalised name breaks the rule."""
    fix = f"rename it to {skill_name(name)!r}, its folder too"
    if len(name) > NAME_LENGTH_MAX:
        yield "name-length", f"the name has {len(name)} characters, at most {NAME_LENGTH_MAX} are allowed", fix
    if name != name.lower():
        yield "name-case", f"the name {name!r} is not all lower case", fix
    if name.startswith("-") or name.endswith("-"):
        yield "name-edge", f"the name {name!r} starts or ends with a hyphen", fix
    if "--" in name:
        yield "name-hyphens", f"the name {name!r} has two hyphens in a row", fix
    if strange := sorted({c for c in name if not (c.isalnum() or c == "-")}):
        shown = " ".join(repr(c) for c in strange)
        yield "name-characters", f"the name {name!r} holds {shown}; letters, digits and hyphens are allowed", fix


def skill_name(text: str) -> str:
    """Make a valid name from free text: ASCII where its letters fold to it, cut between words, never empty."""
    words: list[str] = []
    length = 0
    for word in _words(text):
        length += len(word) + bool(words)
        if length > NAME_LENGTH_MAX:
            break
        words.append(word)
    if words:
        return "-".join(words)
    return next(_words(text), FALLBACK)[:NAME_LENGTH_MAX]


def _words(text: str) -> Iterator[str]:
    lowered = unicodedata.normalize("NFKC", text).casefold()
    folded = "".join(_fold(character) for character in unicodedata.normalize("NFC", lowered))
    kept = "".join(c if c.isalnum() and c == c.lower() else "-" for c in unicodedata.normalize("NFKC", folded))
    yield from (word for word in re.split("-+", kept) if word)


def _fold(character: str) -> str:
    if character in _FOLDED:
        return _FOLDED[character]
    bare = "".join(c for c in unicodedata.normalize("NFKD", character) if unicodedata.category(c) != "Mn")
    return bare if bare.isascii() else character
