"""Joining: lines → the text of a paragraph. A word that was parted at the end of a line is whole again. Pure.

Whether a hyphen at a line's end belongs to the word is told by the document itself: how the word is written elsewhere.
Only where it says nothing is the hyphen taken for one of the typesetter's. Linear in the length of the lines.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

_WORD = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")
_PARTED = re.compile(r"(?<![^\W\d_])([^\W\d_]+(?:-[^\W\d_]+)*)-$")
_REST = re.compile(r"^[^\W\d_]+")
_LONGEST_WORD = 100
"""A parted word is looked for in so many characters at the end of a line."""
_COMPOUNDS = frozenset("all cross ex half high long low mid multi non pre post quasi real self semi short well".split())
"""First parts that are seldom parted from their word by a typesetter alone."""


def vocabulary(lines: Iterable[str]) -> set[str]:
    """Every word of a document that does not stand at the end of a line with a hyphen, in lower case."""
    return {word for line in lines for word in _WORD.findall(_whole_words(line.lower()))}


def joined(lines: Sequence[str], known: set[str]) -> str:
    """The lines as one text."""
    parts: list[str] = []
    tail = ""
    for line in lines:
        parted = _PARTED.search(tail) if tail.endswith("-") else None
        rest = _REST.match(line[:_LONGEST_WORD])
        if parted and rest and line[0].islower():
            if _is_one_word(parted[1], rest[0], known):
                parts[-1], tail = parts[-1][:-1], tail[:-1]
        elif parts:
            parts.append(" ")
            tail += " "
        parts.append(line)
        tail = f"{tail}{line[-_LONGEST_WORD:]}"[-_LONGEST_WORD:]
    return "".join(parts)


def _whole_words(line: str) -> str:
    """A line without the word that it ends with, where that is parted."""
    return line[:-_LONGEST_WORD] + _PARTED.sub("", line[-_LONGEST_WORD:]) if line.endswith("-") else line


def _is_one_word(first: str, rest: str, known: set[str]) -> bool:
    whole, apart = f"{first}{rest}".lower(), f"{first}-{rest}".lower()
    if whole in known or apart in known:
        return whole in known
    return first.lower() not in _COMPOUNDS and "-" not in first
