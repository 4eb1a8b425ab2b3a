"""Words by what they mean for safety: a class of words is a sort of deed, of thing, of place or of manner.

`delete` and `send` are deeds; `secret` and `result` things; `outside` and `public` places; `quiet` and `always`
manners. One word alone proves nothing. Patterns for text in lower case, each in linear time; `meaning` reads sentences
with them.
"""

from __future__ import annotations

import re

from tacit.text.touches.lexicon.beginnings import beginnings, word_starts
from tacit.text.touches.lexicon.deeds import DEEDS as _DEEDS
from tacit.text.touches.lexicon.manners import MANNERS
from tacit.text.touches.lexicon.things import PLACES, THINGS

__all__ = ["BITS", "DEEDS", "PATTERNS", "possible"]

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


def _joined(words: str) -> str:
    return re.sub(r"\s*\n\s*", "", words)


DEEDS = frozenset(_DEEDS)
_WORDS = {name: _joined(_verbs(words)) for name, words in _DEEDS.items()} | {
    name: _joined(words) for table in (THINGS, MANNERS, PLACES) for name, words in table.items()
}
PATTERNS = {
    name: re.compile(rf"(?<![\w-]){_SOURCES if name == 'outside' else ''}(?:{words})(?!\w)")
    for name, words in _WORDS.items()
}
"""Class → how its words look."""
BITS = {name: 1 << number for number, name in enumerate(_WORDS)}
"""Class → its bit in a set of classes."""
_BEGINNINGS: dict[str, int] = {}
_ANYWHERE = 0
for _name, _text in _WORDS.items():
    _letters = beginnings(_text)
    if _letters is None:
        _ANYWHERE |= BITS[_name]
    for _start in _letters or ():
        _BEGINNINGS[_start] = _BEGINNINGS.get(_start, 0) | BITS[_name]


def possible(text: str) -> int:
    """The classes that may stand in a text in lower case, by the first letters of its words."""
    found = _ANYWHERE
    for start in word_starts(text):
        found |= _BEGINNINGS.get(start, 0)
    return found
