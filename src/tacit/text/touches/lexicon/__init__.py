"""Words by what they mean for safety: a class of words is a sort of deed, of thing, of place or of manner.

`delete` and `send` are deeds; `secret` and `result` things; `outside` and `public` places; `quiet` and `always`
manners. One word alone proves nothing. Patterns for text in lower case, each in linear time; `meaning` reads sentences
with them.
"""

from __future__ import annotations

import re

from tacit.text.touches.lexicon.deeds import DEEDS as _DEEDS
from tacit.text.touches.lexicon.manners import MANNERS
from tacit.text.touches.lexicon.things import PLACES, THINGS

__all__ = ["DEEDS", "PATTERNS"]

_SOURCES = "".join(f"(?<!from {article})" for article in ("", "an ", "a ", "the ", "your "))
"""What comes from a place does not go there."""


def _forms(word: str) -> str:
    """The forms of a regular verb."""
    if word.endswith("+"):
        return f"{word[:-1]}(?:s|{word[-2]}ed|{word[-2]}ing)?"
    if word.endswith("e"):
        return f"{word[:-1]}(?:e|es|ed|ing)"
    if word.endswith("y") and word[-2] not in "aeiou":
        return f"{word[:-1]}(?:y|ies|ied|ying)"
    return f"{word}(?:s|es|ed|ing)?"


def _verbs(table: str) -> str:
    words, _, phrases = table.partition("|")
    return "|".join((*(_forms(word) for word in words.split()), *filter(None, [phrases])))


def _pattern(words: str, before: str = "") -> re.Pattern[str]:
    joined = re.sub(r"\s*\n\s*", "", words)
    return re.compile(rf"(?<![\w-]){before}(?:{joined})(?!\w)")


DEEDS = frozenset(_DEEDS)
PATTERNS = (
    {name: _pattern(_verbs(words)) for name, words in _DEEDS.items()}
    | {name: _pattern(words) for table in (THINGS, MANNERS) for name, words in table.items()}
    | {name: _pattern(words, _SOURCES if name == "outside" else "") for name, words in PLACES.items()}
)
"""Class → how its words look."""
