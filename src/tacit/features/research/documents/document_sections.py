"""Sections of a PDF: lines → paragraphs with heading and page, and the title.

A heading is a line of the outline, a larger or bolder line, or one of the usual names of a paper's parts. A word that was
split at the end of a line is joined; whether its hyphen stays is decided by how the document writes the word elsewhere.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from tacit.domain.stored import ABSTRACT, REFERENCES
from tacit.features.research.documents.pdf import TextLine

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


LONGEST_HEADING = 100
LONGEST_NAME = 60
"""What is told of a heading where a passage is cited."""
_NUMBERED = re.compile(r"^(?:\d{1,2}(?:\.\d{1,2}){0,3}\.?|[A-Z]\.|[IVX]{1,5}\.|Appendix [A-Z]\b[.:]?)\s+\S")
_NAMED = re.compile(
    r"^(?:(?:\d{1,2}|[IVX]{1,5})\.?\s+)?(abstract|summary|introduction|background|related work|methods?|materials and methods|"
    r"experiments?|evaluation|results?|discussion|limitations|conclusions?|acknowledge?ments?|references|bibliography|"
    r"works cited|appendix)\s*[:.]?$",
    re.IGNORECASE,
)
_RUN_IN = re.compile(r"^abstract\s*[:.—–-]+\s*(?=\S)", re.IGNORECASE)
_LISTS = re.compile(r"^(references|bibliography|works cited)\b", re.IGNORECASE)
_SUMS = re.compile(r"^(abstract|summary)\b", re.IGNORECASE)
_ENDS = (".", "!", "?", ":", "”", '"')
_NUMBER = re.compile(r"^(?:\d{1,2}(?:\.\d{1,2})*|[IVX]{1,5})\.?\s+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Paragraph:
    """Some text under one heading. A paragraph that goes over a page's end is two: the words know their page."""

    text: str
    section: str = ""
    page: int = 0
    line: int = 0
    continues: bool = False
    """Whether it goes on with the sentence before it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Body:
    """The text of a document under its headings."""

    paragraphs: tuple[Paragraph, ...]
    title: str = ""


@dataclass
class _Reader:
    """Where the reading of lines stands."""

    known: set[str]
    section: str = ""
    waiting: list[TextLine] = field(default_factory=list)
    found: list[Paragraph] = field(default_factory=list)
    tail: str = ""

    def close(self) -> None:
        """End the paragraph that is being read."""
        if self.waiting:
            text = _together(self.waiting, self.known)
            row = self.waiting[0].cells > 1
            continues = bool(self.tail) and not row and not self.tail.rstrip().endswith(_ENDS)
            self.found.append(
                Paragraph(text=text, section=self.section, page=self.waiting[0].page, continues=continues)
            )
            self.tail, self.waiting = "" if row else text, []

    def head(self, title: str) -> None:
        """Begin a section."""
        self.close()
        self.section, self.tail = title, ""


def body_of(lines: Sequence[TextLine], outline: Sequence[tuple[str, int]] = ()) -> Body:
    """Put lines together under their headings."""
    size = _body_size(lines)
    named = {(_plain(title), page) for title, page in outline}
    title = _title(lines, size)
    reader = _Reader(known=vocabulary(line.text for line in lines))
    for place, line in enumerate(lines):
        before = lines[place - 1] if place else None
        if line in title:
            continue
        if run_in := _RUN_IN.match(line.text):
            reader.head(ABSTRACT)
            line = replace(line, text=line.text[run_in.end() :])  # noqa: PLW2901
        elif _is_heading(line, before, size=size, named=named):
            reader.head(section_name(line.text))
            continue
        if before is not None and _starts_paragraph(before, line, size):
            reader.close()
        reader.waiting.append(line)
    reader.close()
    return Body(paragraphs=tuple(reader.found), title=" ".join(line.text for line in title))


def section_name(text: str) -> str:
    """What a section is called: its heading, and one name each for what sums up and for what only lists."""
    text = text.strip()[: 2 * LONGEST_HEADING].rstrip()
    bare = _NUMBER.sub("", text.strip(":."))
    if _LISTS.match(bare) and len(bare) < 40:
        return REFERENCES
    if _SUMS.match(bare) and len(bare) < 40:
        return ABSTRACT
    return text if len(text) <= LONGEST_NAME else text[: LONGEST_NAME - 1].rstrip() + "…"


def _body_size(lines: Sequence[TextLine]) -> float:
    sizes: Counter[float] = Counter()
    for line in lines:
        sizes[round(line.size * 2) / 2] += len(line.text)
    return sizes.most_common(1)[0][0] if sizes else 0.0


def _title(lines: Sequence[TextLine], size: float) -> list[TextLine]:
    """The largest lines of the first page that has text, where they are larger than the rest."""
    first = [line for line in lines if line.page == lines[0].page][:40]
    largest = max((line.size for line in first), default=0.0)
    if largest < 1.2 * size:
        return []
    found = [line for line in first if line.size >= 0.97 * largest]
    is_short = sum(len(line.text) for line in found) <= 300 and len(found) <= 5
    return found if is_short and not any(_NAMED.match(line.text) for line in found) else []


def _is_heading(line: TextLine, before: TextLine | None, *, size: float, named: set[tuple[str, int]]) -> bool:
    text = line.text
    if len(text) > LONGEST_HEADING or line.cells > 1 or not re.search(r"[^\W\d_]", text):
        return False
    if (_plain(text), line.page) in named or _NAMED.match(text):
        return True
    if text.endswith((".", ",", ";", "-")) and not _NUMBERED.match(text):
        return False
    larger = line.size >= 1.12 * size
    if larger or line.bold:
        alone = before is None or line.page != before.page or not (before.bold and not larger)
        return bool(_NUMBERED.match(text)) or larger or (alone and text[0].isupper())
    return False


def _plain(text: str) -> str:
    """A heading as the outline and the page may both write it."""
    return re.sub(r"\W+", " ", _NUMBER.sub("", text)).strip().lower()


def _starts_paragraph(before: TextLine, line: TextLine, size: float) -> bool:
    """Whether a paragraph ends between two lines: a page, a gap, an indent, rows of a table."""
    if line.page != before.page or line.cells > 1 or before.cells > 1:
        return True
    drop = before.y - line.y
    return drop > 1.9 * max(size, line.size) or drop < 0


def _together(lines: Sequence[TextLine], known: set[str]) -> str:
    return joined([line.text for line in lines], known)
