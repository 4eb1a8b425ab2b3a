"""A pattern → literals of which every match holds at least one, so that a search for them can stand in front of it.

Reads the part of the regular-expression language that our rules use. Where it sees no such literals it says so, and the
pattern is tried on every text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property

_MOST = 250
"""Literals; a pattern with more of them is no rule but a dictionary."""
_FLAGS = re.compile(r"\?[a-z-]{0,4}:")
Needles = tuple[str, ...]


def needles(pattern: str) -> Needles:
    """Literals in lower case, one of which stands in everything the pattern matches; empty where none is known."""
    found = _Reading(pattern).alternatives()
    return found if len(found) <= _MOST and all(len(needle) > 1 for needle in found) else ()


class Guarded:
    """A pattern behind its needles. Read and compiled when it is needed: there are hundreds, and most texts need few."""

    def __init__(self, pattern: str, flags: int = re.IGNORECASE) -> None:
        self._source, self._flags = pattern, flags

    @cached_property
    def needles(self) -> Needles:
        """Literals of which one stands wherever the pattern matches; empty where none is known."""
        return needles(self._source)

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """The pattern itself."""
        return re.compile(self._source, self._flags)

    def finditer(self, text: str, lowered: str) -> Iterator[re.Match[str]]:
        """Every match in a text, of which the lower-case form is given along."""
        if not self.needles or any(needle in lowered for needle in self.needles):
            yield from self.pattern.finditer(text)


class _Reading:
    """One pass over a pattern."""

    def __init__(self, pattern: str) -> None:
        self.pattern, self.at = pattern, 0

    def alternatives(self) -> Needles:
        """Up to the end of the pattern or group: what is needed if one of the branches matches."""
        branches = [self._branch()]
        while self._next() == "|":
            self.at += 1
            branches.append(self._branch())
        return tuple(dict.fromkeys(needle for branch in branches for needle in branch)) if all(branches) else ()

    def _branch(self) -> Needles:
        """The needles of a sequence: those of its part that says the most."""
        best: Needles = ()
        run = ""
        while self._next() not in ("", "|", ")"):
            literal, inner = self._item()
            optional, repeated = self._quantifier()
            if literal and not optional:
                run += literal
            if not literal or optional or repeated:
                best, run = _better(best, (run,) if run else ()), ""
            if inner and not optional:
                best = _better(best, inner)
        return _better(best, (run,) if run else ())

    def _item(self) -> tuple[str, Needles]:
        """The next item: a literal character, or what a group needs."""
        char = self._next()
        self.at += 1
        if char == "\\":
            escaped = self._next()
            self.at += 1
            return ("" if escaped.isalnum() else escaped, ())
        if char == "[":
            self.at += self.pattern[self.at] == "^"
            self.at += self.pattern[self.at] == "]"
            while self._next() != "]":
                self.at += 2 if self._next() == "\\" else 1
            self.at += 1
            return "", ()
        if char == "(":
            ahead = self.pattern.startswith(("?=", "?!", "?<"), self.at)
            if flags := _FLAGS.match(self.pattern, self.at):
                self.at = flags.end()
            inner = self.alternatives()
            self.at += 1
            return "", () if ahead else inner
        return ("" if char in ".^$" else char.lower(), ())

    def _quantifier(self) -> tuple[bool, bool]:
        """Whether the item before may be missing, and whether it may come again."""
        char = self._next()
        if char not in ("?", "*", "+", "{"):
            return False, False
        end = self.pattern.index("}", self.at) if char == "{" else self.at
        optional = char in "?*" or self.pattern.startswith(("{0", "{,"), self.at)
        self.at = end + 1
        self.at += self._next() == "?"
        return optional, True

    def _next(self) -> str:
        return self.pattern[self.at : self.at + 1]


def _better(one: Needles, other: Needles) -> Needles:
    """Of two sets the one whose shortest literal is longer; an empty set says nothing."""
    return max(one, other, key=lambda found: (min(map(len, found), default=0), -len(found)))
