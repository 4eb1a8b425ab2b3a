"""Words by what they mean for safety: a class of words is a sort of deed, of thing, of place or of manner.

`delete` and `send` are deeds; `secret` and `result` things; `outside` and `public` places; `quiet` and `always`
manners. One word alone proves nothing. Patterns for text in lower case, each in linear time; `meaning` reads sentences
with them.
"""

from __future__ import annotations

import re
from functools import cache

from tacit.text.prefilter import first_letters, word_starts
from tacit.text.touches.lexicon.deeds import DEEDS as _DEEDS
from tacit.text.touches.lexicon.manners import MANNERS
from tacit.text.touches.lexicon.things import PLACES, THINGS

__all__ = ["BITS", "DEEDS", "pattern", "possible"]

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
BITS = {name: 1 << number for number, name in enumerate(_WORDS)}
"""Class → its bit in a set of classes."""


@cache  # half a second for all of them: most commands look at no text
def pattern(name: str) -> re.Pattern[str]:
    """How the words of a class look."""
    return re.compile(rf"(?<![\w-]){_SOURCES if name == 'outside' else ''}(?:{_WORDS[name]})(?!\w)")


@cache
def _by_beginning() -> tuple[dict[str, int], int]:
    """First letters → the classes with words that begin so; and the classes whose words may begin with any."""
    found: dict[str, int] = {}
    anywhere = 0
    for name, words in _WORDS.items():
        letters = first_letters(words)
        if letters is None:
            anywhere |= BITS[name]
        for start in letters or ():
            found[start] = found.get(start, 0) | BITS[name]
    return found, anywhere


def possible(text: str) -> int:
    """The classes that may stand in a text in lower case, by the first letters of its words."""
    known, found = _by_beginning()
    for start in word_starts(text):
        found |= known.get(start, 0)
    return found
