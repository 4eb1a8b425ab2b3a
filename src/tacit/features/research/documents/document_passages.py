"""Passages: paragraphs → stretches of about 1,600 characters that begin and end with sentences; and how they are cited.

Neighbours on a page share about 320 characters, so that every thought is found whole. A long passage ends with its page,
so that it is cited by one page. None goes over a heading, and none is part of another. The work is linear in the text length.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby

from tacit.domain.stored import Passage
from tacit.features.research.documents.document_sections import Paragraph

SIZE = 1600
OVERLAP = 320
PAGES = 2
"""A passage goes over so many pages at most, unless a single sentence does."""
_END = re.compile(r"(?<![.!?。！？])[.!?。！？]++[\"'”’)\]]*+(?:\s+|$)|\n+")
_ABBREVIATED = re.compile(
    r"(?:\b(?:e\.g|i\.e|cf|al|fig|figs|eq|eqs|sec|vol|no|pp|vs|dr|prof|resp|approx|etc)|\b[A-Z])\.$", re.I
)


@dataclass
class _Text:
    """The text of one section, with where each page and line begins in it."""

    parts: list[str] = field(default_factory=list)
    length: int = 0
    starts: list[int] = field(default_factory=list)
    places: list[Paragraph] = field(default_factory=list)

    def add(self, paragraph: Paragraph) -> None:
        """Append a paragraph; one that goes on with the sentence before it stays in that sentence."""
        if self.parts:
            last = self.parts[-1]
            if paragraph.continues and re.search(r"[^\W\d_]-\Z", last[-2:]) and paragraph.text[:1].islower():
                self.parts[-1] = last[:-1]
                self.length -= 1
            else:
                self._put(" " if paragraph.continues else "\n")
        self.starts.append(self.length)
        self.places.append(paragraph)
        self._put(paragraph.text)

    def _put(self, text: str) -> None:
        self.parts.append(text)
        self.length += len(text)

    def at(self, offset: int) -> Paragraph:
        """The paragraph that holds this character."""
        return self.places[max(0, bisect_right(self.starts, offset) - 1)]


def passages_of(paragraphs: Sequence[Paragraph]) -> tuple[Passage, ...]:
    """All passages of a document, numbered from 0."""
    found: list[Passage] = []
    for section, group in groupby(paragraphs, key=lambda each: each.section):
        whole = _Text()
        for paragraph in group:
            whole.add(paragraph)
        text = "".join(whole.parts)
        for start, end in _cuts(whole, text):
            first, last = whole.at(start), whole.at(end - 1)
            found.append(
                Passage(
                    index=len(found),
                    text=text[start:end],
                    section=section,
                    first_page=first.page,
                    last_page=last.page,
                    line=first.line,
                )
            )
    return tuple(found)


def _cuts(whole: _Text, text: str) -> Iterator[tuple[int, int]]:
    """Where passages begin and end; none goes over more pages than can be cited with some precision."""
    sentences = [(start, end) for start, end in _sentences(text) if text[start:end].strip()]
    first = 0
    while first < len(sentences):
        start, after = sentences[first][0], first + 1
        while after < len(sentences) and _goes_on(whole, start, sentences[after]):
            after += 1
        yield start, start + len(text[start : sentences[after - 1][1]].rstrip())
        if after == len(sentences):
            return
        ends_a_page = whole.at(sentences[after - 1][0]).page != whole.at(sentences[after][0]).page
        first = after if ends_a_page else _step_back(whole, sentences, first, after)


def _goes_on(whole: _Text, start: int, sentence: tuple[int, int]) -> bool:
    """Whether a passage takes one more sentence: within its size and pages, and past a page's end only while it is short."""
    length, first_page = sentence[1] - start, whole.at(start).page
    if length > SIZE or whole.at(sentence[1] - 1).page >= first_page + PAGES:
        return False
    return whole.at(sentence[0]).page == first_page or sentence[0] - start < SIZE // 2


def _step_back(whole: _Text, sentences: Sequence[tuple[int, int]], first: int, after: int) -> int:
    """The sentence that the next passage begins with: among the last ones of this, as long as it takes a further one too."""
    back = after
    while back - 1 > first and sentences[after - 1][1] - sentences[back - 1][0] <= OVERLAP:
        if not _goes_on(whole, sentences[back - 1][0], sentences[after]):
            break
        back -= 1
    return back


def _sentences(text: str) -> Iterator[tuple[int, int]]:
    """Begin and end of each sentence; one without an end is cut at a blank, or anywhere."""
    start = 0
    for found in _END.finditer(text):
        if "\n" not in found[0] and _ABBREVIATED.search(text[max(start, found.start() - 8) : found.start() + 1]):
            continue
        yield from _pieces(text, start, found.end())
        start = found.end()
    if start < len(text):
        yield from _pieces(text, start, len(text))


def _pieces(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    while end - start > SIZE:
        blank = text.rfind(" ", start + SIZE // 2, start + SIZE)
        cut = blank + 1 if blank > 0 else start + SIZE
        yield start, cut
        start = cut
    if end > start:
        yield start, end


_NAMED = 3
"""Authors that a citation names; of more the first alone."""
_SENTENCE = re.compile(r".+?[.!?](?=\s+[A-Z“\"(\[]|\s*$)", re.DOTALL)


def cited(title: str, *, authors: Sequence[str] = (), year: int = 0, passage: Passage | None = None) -> str:
    """Authors (year), title, page and section, as far as they are known."""
    named = f"{authors[0]} et al." if len(authors) > _NAMED else _listed(authors)
    if year:
        named = f"{named} ({year})" if named else f"({year})"
    parts = [part for part in (named, title) if part]
    if passage is not None:
        parts += [part for part in (_pages(passage), f"§ {passage.section}" if passage.section else "") if part]
    return ", ".join(parts)


def opening_sentences(text: str, *, most: int = 300) -> str:
    """The first sentences of a text that fit; of a very long one its beginning."""
    line = " ".join(text.split())
    taken = ""
    for found in _SENTENCE.finditer(line[: 4 * most]):
        longer = f"{taken} {found[0].strip()}".strip()
        if taken and len(longer) > most:
            break
        taken = longer
    taken = taken or line
    return taken if len(taken) <= most else taken[: most - 1].rsplit(" ", 1)[0] + "…"


def _listed(authors: Sequence[str]) -> str:
    return ", ".join(authors[:-1]) + f" and {authors[-1]}" if len(authors) > 1 else "".join(authors)


def _pages(passage: Passage) -> str:
    if passage.first_page and passage.last_page > passage.first_page:
        return f"pp. {passage.first_page}–{passage.last_page}"
    if passage.first_page:
        return f"p. {passage.first_page}"
    return f"line {passage.line}" if passage.line else ""
