"""A text of a skill → its sentences, each with its place: prose, list items, cells of tables, comments in code.

Code itself is left out; what a comment says is said to the agent as much as a paragraph is. Marks of Markdown at the
beginning are left out of a sentence. Nothing here judges.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

MAX_SENTENCE = 1_500
_FENCE = re.compile(r"[ \t>]{0,12}(?P<mark>`{3,}|~{3,})[ \t]*(?P<language>[^\s`]*)")
_MARKS = re.compile(
    r"(?:[\s>*_#|+•·\-]+|\[[ xX]\]|\d{1,3}[.)](?=\s)|[a-zA-Z][.)](?=\s)|<!--|//|/\*|--|\"\"\"|rem\b)*", re.IGNORECASE
)
_WIDTH_MAX = 140
_BROKEN = re.compile(r"^(?![ \t>]*(?:[#|]|```|~~~))(?=.{50}).*[\w,`)\"'*—–-]$")
"""A line that may have been broken at its width."""
_GOES_ON = re.compile(r"[ \t>]{0,12}(?!```)[a-z`(\"][^:|]{0,200}$")
"""A line that goes on with the one before."""
_ITEM = re.compile(r"[\s>]*(?:[-*+•]|\d{1,3}[.)])\s")
_COMMENT = re.compile(r"^\s*(?:#(?!!)|//|--|;|/\*|\*|<!--|rem\b)|\s(?:#|//)\s", re.IGNORECASE)
_END = re.compile(r"(?<=[.!?])[)\"'*_`]{0,3}\s+(?=[\"'*_`(\[]{0,3}[A-Z0-9$/\[])|(?<=\S)\s+[—–]\s+(?=[A-Z])")
_ABBREVIATION = re.compile(
    r"(?:\b(?:e\.g|i\.e|etc|vs|cf|no|fig|approx|incl|mr|mrs|dr|st)\.|\b[A-Z]\.)[)\"'*_`]{0,3}$", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Sentence:
    """What is said in one breath, and where."""

    text: str
    start: int
    end: int
    kind: str = "prose"
    """`prose`, `item` of a list, `heading`, `cell`, `comment` in code, or `hidden` in a comment that a page does not show."""


def sentences(text: str, *, code: bool = False) -> Iterator[Sentence]:
    """The sentences of a text in order; of code only what its comments say."""
    at = 0
    fence = ""
    hidden = False
    for line in _unwrapped(text, code=code):
        start, at = at, at + len(line) + 1
        opened = None if code else _FENCE.match(line)
        if opened and not fence:
            fence = opened["mark"]
            continue
        if opened and opened["mark"].startswith(fence) and not opened["language"]:
            fence = ""
            continue
        if code or fence:
            comment = _COMMENT.search(line)
            if comment is None:
                continue
            yield from _of_line(line[comment.end() :], start + comment.end(), "comment")
            continue
        kind = "prose"
        if hidden or "<!--" in line:
            hidden = "-->" not in line.rpartition("<!--")[2]
            kind = "hidden"
        elif line.lstrip(" >").startswith("#"):
            kind = "heading"
        elif line.lstrip().startswith("|"):
            kind = "cell"
        elif _ITEM.match(line):
            kind = "item"
        yield from _of_line(line, start, kind)


def _unwrapped(text: str, *, code: bool) -> Iterator[str]:
    """The lines of a text, each with those that go on with it: a line that was broken at its width is no end of a sentence."""
    held = ""
    for line in text.split("\n"):
        if held and not code and _GOES_ON.match(line):
            held = f"{held} {line}"
            continue
        if held:
            yield held
            held = ""
        if _BROKEN.search(line) and len(line) < _WIDTH_MAX and not code:
            held = line
        else:
            yield line
    if held:
        yield held


def _of_line(line: str, start: int, kind: str) -> Iterator[Sentence]:
    if kind == "cell":
        at = 0
        for cell in line.split("|"):
            yield from _split(cell, start + at, kind)
            at += len(cell) + 1
    else:
        yield from _split(line, start, kind)


def _split(line: str, start: int, kind: str) -> Iterator[Sentence]:
    at = 0
    for end in _END.finditer(line):
        if not _ABBREVIATION.search(line, max(0, end.start() - 12), end.start()):
            yield from _sentence(line, at, end.start(), (start, kind))
            at = end.end()
    yield from _sentence(line, at, len(line), (start, kind))


def _sentence(line: str, begin: int, end: int, placed: tuple[int, str]) -> Iterator[Sentence]:
    start, kind = placed
    marks = _MARKS.match(line, begin, end)
    begin = marks.end() if marks else begin
    said = line[begin:end].rstrip(" \t\r*_|").removesuffix("-->").rstrip()
    if len(said) >= 8 and any(c.isalpha() for c in said):
        for cut in range(0, len(said), MAX_SENTENCE):
            part = said[cut : cut + MAX_SENTENCE]
            yield Sentence(part, start + begin + cut, start + begin + cut + len(part), kind)
