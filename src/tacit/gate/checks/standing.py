"""How much a sentence weighs by where it stands: piece and sentence → levels to take off a finding. Judges no words.

SKILL.md and its description are instructions to the agent. A reference is read on demand, an example is shown, a readme,
a test or a comment in a script is read by nobody in particular; what the same words weigh there is less. A call that was
made once and a person's request are no orders at all.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache

from tacit.domain.candidate import Severity
from tacit.domain.skill import SkillContent
from tacit.gate.checks.pieces import Piece, pieces
from tacit.text.touches.sentences import Sentence, sentences

INSTRUCTION, READ, ASIDE = 0, 1, 2
"""Levels to take off: what the agent follows, what it may read, what is not meant for it."""
PROSE_MAX = 200_000
"""Characters of one text whose sentences are read; more is data, or hides something."""
FILES_MAX = 600_000
"""Characters of all files together whose sentences are read."""

REQUESTS = frozenset({"example_queries", "cases", "cues", "tags"})
"""Fields that hold a person's words or circumstances: they say when a skill is wanted, not what to do."""
_TOLD = frozenset({"pitfalls", "parameters", "preconditions", "postconditions", "signature"})
"""Fields that tell of what was seen."""
_LIGHTER = {Severity.CRITICAL: Severity.HIGH, Severity.HIGH: Severity.MEDIUM, Severity.MEDIUM: Severity.LOW}
_ASIDE = re.compile(
    r"(?:^|/)(?:readme|changelog|licen[cs]e|notice|contributing|authors|security|code_of_conduct|third_party)[\w-]*(?:\.\w+)?$"
    r"|(?:^|/)(?:tests?|fixtures?|examples?|expected\w*|samples?|evals?|evaluations?|data|assets|node_modules|dist)/"
    r"|(?:^|/)test_|[._-](?:test|spec|example)s?\.\w+$",
    re.IGNORECASE,
)
_PROSE = frozenset({"markdown", "text"})
_NOT_PROSE = (
    ".csv",
    ".tsv",
    ".json",
    ".jsonl",
    ".lock",
    ".log",
    ".css",
    ".sty",
    ".tex",
    ".bib",
    ".sql",
    ".xsd",
    ".dockerfile",
)
_QUOTES = ('"', "“", "‘", '("', "(“")
_CLOSING = tuple(f"{mark}{end}" for mark in '"”’' for end in ("", ".", ",", ")", "!", ":", ";"))


def lighter(severity: Severity, levels: int) -> Severity:
    """A weight with so many levels taken off; low is the least."""
    for _ in range(levels):
        severity = _LIGHTER.get(severity, severity)
    return severity


def standing(piece: Piece, content: SkillContent) -> int:
    """Levels to take off all that a piece says."""
    if not piece.path:
        list_of, _, number = piece.field.partition(".")
        made = list_of == "steps" and bool(content.steps[int(number)].tool)
        return ASIDE if made or list_of in REQUESTS else READ if list_of in _TOLD else INSTRUCTION
    if piece.language not in _PROSE or _ASIDE.search(piece.path) or piece.path.lower().endswith(_NOT_PROSE):
        return ASIDE
    return READ


def is_shown(sentence: Sentence) -> bool:
    """Whether a sentence is an example of what is said rather than said: a quotation, or a comment in a block of code."""
    return sentence.kind == "comment" or is_quoted(sentence.text)


def is_quoted(text: str) -> bool:
    """Whether a sentence is a quotation as a whole, or the first of several in one."""
    return text.startswith(_QUOTES) and (text.endswith(_CLOSING) or not any(mark in text[1:] for mark in '"”’'))


def spoken(content: SkillContent) -> Iterator[tuple[Piece, int]]:
    """The pieces of a content that are read as words, with the levels to take off."""
    room = FILES_MAX
    for piece in pieces(content):
        if piece.start or piece.way:  # a code block is read where its whole text is
            continue
        if piece.path:
            room -= min(len(piece.text), PROSE_MAX)
            if room < 0:
                continue
        yield piece, standing(piece, content)


@lru_cache(maxsize=64)
def said(text: str, *, code: bool = False) -> tuple[Sentence, ...]:
    """The sentences of a text, kept for the next check that asks."""
    return tuple(sentences(text[:PROSE_MAX], code=code))


def unread(content: SkillContent) -> Iterable[Piece]:
    """Pieces whose sentences are not all read for their length."""
    room = FILES_MAX
    for piece in pieces(content):
        if piece.start or piece.way:
            continue
        if piece.path:
            room -= min(len(piece.text), PROSE_MAX)
        if len(piece.text) > PROSE_MAX or (piece.path and room < 0):
            yield piece
