"""A pattern → the letters its matches can begin with, so that a class of words is looked for only where one may stand.

Reads the part of the regular-expression language that the lexicon uses. Where the letters go beyond what it can list, a
beginning is cut short there; where nothing is known it says so.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

LENGTH = 3
_WORD_START = re.compile(r"(?<![\w-])\S")
_OPEN = frozenset("wdsSWDb")
_Set = frozenset[tuple[str, bool]]
"""Beginnings so far, each with whether it has ended."""


def beginnings(pattern: str) -> frozenset[str] | None:
    """The first letters of all that a pattern matches, at most three; nothing where a match may begin with any."""
    found = _Reading(pattern).alternatives(frozenset({("", False)}))
    letters = frozenset(text for text, _ in found)
    return None if "" in letters else letters


def word_starts(text: str) -> frozenset[str]:
    """The first one, two and three letters of each word in a text."""
    found: set[str] = set()
    for match in _WORD_START.finditer(text):
        at = match.start()
        found.update((text[at : at + 1], text[at : at + 2], text[at : at + LENGTH]))
    return frozenset(found)


class _Reading:
    """One pass over a pattern."""

    def __init__(self, pattern: str) -> None:
        self.pattern, self.at = pattern, 0

    def alternatives(self, before: _Set) -> _Set:
        """Up to the end of the pattern or group."""
        found = self._branch(before)
        while self._next() == "|":
            self.at += 1
            found |= self._branch(before)
        return found

    def _branch(self, before: _Set) -> _Set:
        while self._next() not in ("", "|", ")"):
            after = self._item(before)
            optional, repeated = self._quantifier()
            if repeated:
                after = _ended(after)
            before = after | before if optional else after
        return before

    def _item(self, before: _Set) -> _Set:
        char = self._next()
        self.at += 1
        if char == "\\":
            escaped = self._next()
            self.at += 1
            return before if escaped == "b" else _ended(before) if escaped in _OPEN else _with(before, escaped)
        if char == "[":
            end = self.pattern.index("]", self.at + 1)
            members, self.at = self.pattern[self.at : end], end + 1
            return _ended(before) if re.search(r"[\\^]|.-.", members) else _with(before, members)
        if char == "(":
            return self._group(before)
        return _ended(before) if char == "." else before if char in "^$" else _with(before, char)

    def _group(self, before: _Set) -> _Set:
        around = self.pattern.startswith(("?=", "?!", "?<"), self.at)
        self.at += 3 if self.pattern.startswith("?<", self.at) else 2
        found = self.alternatives(before)
        self.at += 1
        return before if around else found

    def _quantifier(self) -> tuple[bool, bool]:
        """Whether the item before may be missing, and whether it may come again."""
        char = self._next()
        if char not in ("?", "*", "+", "{") or not char:
            return False, False
        end = self.pattern.index("}", self.at) if char == "{" else self.at
        optional = char in "?*" or self.pattern.startswith(("{0", "{,"), self.at)
        self.at = end + 1
        self.at += self._next() == "?"
        return optional, char != "?"

    def _next(self) -> str:
        return self.pattern[self.at : self.at + 1]


def _ended(found: _Set) -> _Set:
    return frozenset((text, True) for text, _ in found)


def _with(found: _Set, chars: Iterable[str]) -> _Set:
    """Every beginning that has not ended, with one more letter."""
    chars = tuple(chars)
    return frozenset(
        (text + char, len(text) + 1 == LENGTH) if not ended else (text, True)
        for text, ended in found
        for char in (chars if not ended else ("",))
    )
