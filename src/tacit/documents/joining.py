"""Joining: lines → the text of a paragraph. A word that was parted at the end of a line is whole again. Pure.

Whether a hyphen at a line's end belongs to the word is told by the document itself: how the word is written elsewhere.
Only where it says nothing is the hyphen taken for one of the typesetter's.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

_WORD = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")
_PARTED = re.compile(r"([^\W\d_]+(?:-[^\W\d_]+)*)-$")
_REST = re.compile(r"^[^\W\d_]+")
_COMPOUNDS = frozenset("all cross ex half high long low mid multi non pre post quasi real self semi short well".split())
"""First parts that are seldom parted from their word by a typesetter alone."""


def vocabulary(lines: Iterable[str]) -> set[str]:
    """Every word of a document that does not stand at the end of a line with a hyphen, in lower case."""
    return {word for line in lines for word in _WORD.findall(_PARTED.sub("", line.lower()))}


def joined(lines: Sequence[str], known: set[str]) -> str:
    """The lines as one text."""
    text = ""
    for line in lines:
        parted = _PARTED.search(text)
        rest = _REST.match(line)
        if parted and rest and line[0].islower():
            text = text[:-1] + line if _is_one_word(parted[1], rest[0], known) else text + line
        else:
            text = f"{text} {line}" if text else line
    return text


def _is_one_word(first: str, rest: str, known: set[str]) -> bool:
    whole, apart = f"{first}{rest}".lower(), f"{first}-{rest}".lower()
    if whole in known or apart in known:
        return whole in known
    return first.lower() not in _COMPOUNDS and "-" not in first
