"""Cheap tests that run before a regular expression: which literals must a match contain, and how can it begin?

One small parser reads the part of the regular-expression language that our rules use. What it does not understand counts
as "anything", so a prefilter may let a text through in vain but never stops one that matches.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

PREFIX_LENGTH = 3
"""Letters of a beginning that are compared."""
_LITERALS_MAX = 250
"""A pattern with more required literals than this is tried on every text."""
_GROUP_HEAD = re.compile(r"\?(?:[a-z-]{0,4}:|(<?[=!])|P<\w+>)")
_OPEN_CLASS = re.compile(r"[\\^]|.-.")
_WORD_START = re.compile(r"(?<![\w-])\S")
_Prefixes = frozenset[tuple[str, bool]]
"""Beginnings so far, each with whether it is complete."""


def required_literals(pattern: str) -> tuple[str, ...]:
    """Return lower-case literals of which every match contains at least one; empty where none are known."""
    found = _required_by_any(_parse(pattern))
    return found if len(found) <= _LITERALS_MAX and all(len(literal) > 1 for literal in found) else ()


def first_letters(pattern: str) -> frozenset[str] | None:
    """Return how the matches of a pattern can begin, at most three letters each; None where a match may begin anyhow."""
    found = _prefixes_of_any(_parse(pattern), frozenset({("", False)}))
    letters = frozenset(text for text, _ in found)
    return None if "" in letters else letters


def word_starts(text: str) -> frozenset[str]:
    """Return the first one, two and three letters of each word in a text."""
    found: set[str] = set()
    for match in _WORD_START.finditer(text):
        at = match.start()
        found.update((text[at : at + 1], text[at : at + 2], text[at : at + PREFIX_LENGTH]))
    return frozenset(found)


class GuardedPattern:
    """A pattern that is tried only on texts with one of its literals. Compiled on first use: most texts need few of them."""

    def __init__(self, pattern: str, flags: int = re.IGNORECASE) -> None:
        self._source, self._flags = pattern, flags

    @cached_property
    def literals(self) -> tuple[str, ...]:
        """Literals of which every match contains one; empty where none are known."""
        return required_literals(self._source)

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """The compiled pattern."""
        return re.compile(self._source, self._flags)

    def finditer(self, text: str, lowered: str) -> Iterator[re.Match[str]]:
        """Yield every match in a text; `lowered` is the same text in lower case."""
        if not self.literals or any(literal in lowered for literal in self.literals):
            yield from self.pattern.finditer(text)


@dataclass(frozen=True, slots=True)
class _Item:
    """One item of a pattern with its quantifier."""

    chars: str = ""
    """The characters it can be; empty for a group and for what cannot be listed."""
    branches: tuple[tuple[_Item, ...], ...] = ()
    """The alternatives of a group."""
    is_zero_width: bool = False
    """An anchor, a word boundary or a lookaround."""
    is_optional: bool = False
    is_repeated: bool = False


_Branches = Sequence[Sequence[_Item]]


def _parse(pattern: str) -> _Branches:
    return _Parser(pattern).alternatives()


class _Parser:
    def __init__(self, pattern: str) -> None:
        self.pattern, self.at = pattern, 0

    def alternatives(self) -> tuple[tuple[_Item, ...], ...]:
        """Read up to the end of the pattern or group."""
        branches = [self._branch()]
        while self._next() == "|":
            self.at += 1
            branches.append(self._branch())
        return tuple(branches)

    def _branch(self) -> tuple[_Item, ...]:
        items: list[_Item] = []
        while self._next() not in ("", "|", ")"):
            items.append(self._item())
        return tuple(items)

    def _item(self) -> _Item:
        chars, branches, is_zero_width = self._atom()
        is_optional, is_repeated = self._quantifier()
        return _Item(chars, branches, is_zero_width, is_optional, is_repeated)

    def _atom(self) -> tuple[str, tuple[tuple[_Item, ...], ...], bool]:
        char = self._next()
        self.at += 1
        if char == "\\":
            escaped = self._next()
            self.at += 1
            return ("" if escaped.isalnum() else escaped), (), escaped in "bBAZ"
        if char == "[":
            return self._class(), (), False
        if char == "(":
            head = _GROUP_HEAD.match(self.pattern, self.at)
            self.at = head.end() if head else self.at
            branches = self.alternatives()
            self.at += 1
            return "", branches, bool(head and head[1])
        return ("" if char in ".^$" else char), (), char in "^$"

    def _class(self) -> str:
        start = self.at
        self.at += self._next() == "^"
        self.at += self._next() == "]"
        while self._next() != "]":
            self.at += 2 if self._next() == "\\" else 1
        members = self.pattern[start : self.at]
        self.at += 1
        return "" if _OPEN_CLASS.search(members) else members

    def _quantifier(self) -> tuple[bool, bool]:
        """Whether the item may be missing, and whether it may come again."""
        char = self._next()
        if char not in ("?", "*", "+", "{"):
            return False, False
        end = self.pattern.index("}", self.at) if char == "{" else self.at
        is_optional = char in "?*" or self.pattern.startswith(("{0", "{,"), self.at)
        self.at = end + 1
        self.at += self._next() == "?"
        return is_optional, char != "?"

    def _next(self) -> str:
        return self.pattern[self.at : self.at + 1]


def _required_by_any(branches: _Branches) -> tuple[str, ...]:
    """What one of the branches requires; empty if any of them requires nothing."""
    found = [_required_by(branch) for branch in branches]
    return tuple(dict.fromkeys(literal for each in found for literal in each)) if all(found) else ()


def _required_by(branch: Sequence[_Item]) -> tuple[str, ...]:
    """The most telling literals of a sequence."""
    best: tuple[str, ...] = ()
    run = ""
    for item in branch:
        literal = item.chars.lower() if len(item.chars) == 1 else ""
        if literal and not item.is_optional:
            run += literal
        if not literal or item.is_optional or item.is_repeated:
            best, run = _more_telling(best, (run,) if run else ()), ""
        if item.branches and not item.is_optional and not item.is_zero_width:
            best = _more_telling(best, _required_by_any(item.branches))
    return _more_telling(best, (run,) if run else ())


def _more_telling(one: tuple[str, ...], other: tuple[str, ...]) -> tuple[str, ...]:
    """Of two sets the one whose shortest literal is longer."""
    return max(one, other, key=lambda found: (min(map(len, found), default=0), -len(found)))


def _prefixes_of_any(branches: _Branches, before: _Prefixes) -> _Prefixes:
    return frozenset(prefix for branch in branches for prefix in _prefixes_of(branch, before))


def _prefixes_of(branch: Sequence[_Item], before: _Prefixes) -> _Prefixes:
    for item in branch:
        if item.is_zero_width:
            continue
        if item.branches:
            after = _prefixes_of_any(item.branches, before)
        else:
            after = _extended(before, item.chars) if item.chars else _completed(before)
        if item.is_repeated:
            after = _completed(after)
        before = after | before if item.is_optional else after
    return before


def _completed(found: _Prefixes) -> _Prefixes:
    return frozenset((text, True) for text, _ in found)


def _extended(found: _Prefixes, chars: str) -> _Prefixes:
    """Every beginning that is not complete, with one more letter."""
    return frozenset(
        (text, True) if is_complete else (text + char, len(text) + 1 == PREFIX_LENGTH)
        for text, is_complete in found
        for char in chars
    )
