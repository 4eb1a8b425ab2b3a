"""HTML and Markdown: a text → paragraphs under their headings, with line numbers and what it declares of itself.

Invisible content is left out: scripts, styles, comments, hidden elements; so are menus, headers and footers of a page.
Links stay as they are written and are never followed. The work is linear in the length of the text.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from html.parser import HTMLParser

from tacit.features.research.documents.document_sections import Paragraph, section_name
from tacit.features.research.documents.pdf import clean

_LEFT_OUT = frozenset(
    "script style noscript template svg math canvas iframe object embed audio video nav footer aside form button select "
    "textarea dialog".split()
)
_EMPTY = frozenset("area base br col embed hr img input link meta source track wbr".split())
_BLOCKS = frozenset(
    "address article blockquote dd div dl dt fieldset figcaption figure header hr li main ol p pre section table tbody tfoot "
    "thead tr ul body html".split()
)
_HEADINGS = frozenset({"h1", "h2", "h3", "h4", "h5", "h6"})
_CELLS = frozenset({"td", "th"})
_MAX_VALUES = 50
"""Values that are kept of each thing that a page says of itself."""
_UNSEEN = re.compile(
    r"display\s*:\s*none|visibility\s*:\s*(?:hidden|collapse)|opacity\s*:\s*0?(?:\.0\d*)?(?=\s*(?:[;!%]|$))"
    r"|(?:text-indent|left|right|top|bottom)\s*:\s*-\d{3,}|clip\s*:\s*rect\(\s*[01]",
    re.IGNORECASE,
)
_SIZE = re.compile(r"font-size\s*:\s*(\d{0,4}(?:\.\d{1,4})?)\s*(em|rem|%)?", re.IGNORECASE)
_SMALLEST = {"em": 0.1, "rem": 0.1, "%": 10.0, "": 1.5}
"""Letters up to this size are seen by nobody; without a unit, in points."""
_FLAT = re.compile(
    r"(?<![\w-])(?:max-)?(?:height|width)\s*:\s*[01]?(?:\.\d*)?(?:px|pt)?(?=\s*(?:[;!]|$))", re.IGNORECASE
)
"""Of no extent: then nothing is seen of what does not flow over."""
_SAYING = {
    "citation_title": "title",
    "citation_author": "author",
    "citation_publication_date": "date",
    "citation_date": "date",
    "citation_doi": "doi",
    "citation_arxiv_id": "arxiv",
    "author": "author",
    "dc.title": "title",
    "dc.creator": "author",
    "og:title": "title",
    "article:published_time": "date",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class HtmlPage:
    """A page as it was read."""

    paragraphs: tuple[Paragraph, ...]
    title: str = ""
    declared: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """What its head says: title, author, date, doi, arxiv."""


def read_html(text: str) -> HtmlPage:
    """Read a page."""
    parser = _Parser()
    parser.feed(text)
    parser.close()
    parser.end_block()
    declared = {name: tuple(values) for name, values in parser.declared.items()}
    title = next(iter(declared.get("title", ())), "") or clean(parser.title) or parser.first_heading
    return HtmlPage(paragraphs=tuple(parser.found), title=title, declared=declared)


class _Parser(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.found: list[Paragraph] = []
        self.declared: dict[str, list[str]] = {}
        self.title = ""
        self.first_heading = ""
        self._section = ""
        self._open: list[tuple[str, bool]] = []
        """Elements that are open, and whether each one hides what is in it."""
        self._hidden = 0
        self._words: list[str] = []
        self._has_text = False
        """Whether there is more than blanks in these words."""
        self._line = 0
        self._heading = ""
        self._in_title = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if tag == "meta":
            self._note(given)
        if tag in _EMPTY:
            if tag in ("br", "hr"):
                self._words.append("\n" if tag == "br" else " ")
            return
        hides = tag in _LEFT_OUT or "hidden" in given or given.get("aria-hidden") == "true"
        hides = hides or _is_unseen(given.get("style", ""))
        self._open.append((tag, hides))
        self._hidden += hides
        if tag == "title":
            self._in_title = True
        elif tag in _HEADINGS:
            self.end_block()
            self._heading = tag
        elif tag in _BLOCKS:
            self.end_block()
        elif tag in _CELLS and self._has_text:
            self._words.append(" | ")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in _EMPTY:
            self.handle_endtag(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag == "title":
            self._in_title = False
        if tag in _HEADINGS or tag in _BLOCKS:
            self.end_block()
        for place in range(len(self._open) - 1, max(-1, len(self._open) - 50), -1):
            if self._open[place][0] == tag:
                self._hidden -= sum(hides for _, hides in self._open[place:])
                del self._open[place:]
                return

    def handle_data(self, data: str) -> None:
        if self._in_title:
            self.title += data if len(self.title) < 500 else ""
        elif not self._hidden:
            if not self._words:
                self._line = self.getpos()[0] + len(data) - len(data.lstrip("\n"))
            self._words.append(data)
            self._has_text = self._has_text or not data.isspace()

    def end_block(self) -> None:
        """End the paragraph or heading that is being read."""
        text = clean(" ".join("".join(self._words).split()))
        self._words, self._has_text = [], False
        if self._heading:
            self._heading = ""
            if text and not self._hidden:
                self._section = section_name(text)
                self.first_heading = self.first_heading or text
        elif text:
            self.found.append(Paragraph(text=text, section=self._section, line=self._line))

    def _note(self, given: dict[str, str]) -> None:
        name = _SAYING.get((given.get("name") or given.get("property") or "").lower())
        content = clean(given.get("content", ""))[:500]
        if name and content:
            known = self.declared.setdefault(name, [])
            if len(known) < _MAX_VALUES and content not in known:
                known.append(content)


def _is_unseen(style: str) -> bool:
    """Whether nobody sees what is drawn in this way."""
    flat = "overflow" in style.lower() and _FLAT.search(style)
    small = any(size and float(size) <= _SMALLEST[unit.lower()] for size, unit in _SIZE.findall(style))
    return bool(_UNSEEN.search(style) or flat or small)


_HEADING = re.compile(r"^ {0,3}(#{1,6})[ \t]+(\S.*)$")
_UNDERLINE = re.compile(r"^ {0,3}(=+|-+)[ \t]*$")
_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})")
_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_FRONT_MATTER_LINES = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkdownText:
    """A text as it was read."""

    paragraphs: tuple[Paragraph, ...]
    title: str = ""


def read_markdown(text: str) -> MarkdownText:
    """Read a text. Its title is its first heading."""
    visible = _COMMENT.sub(lambda found: "\n" * found[0].count("\n"), text)
    reader = _Reader()
    for number, line in enumerate(_without_front_matter(visible.splitlines()), 1):
        reader.take(number, line)
    reader.close()
    return MarkdownText(paragraphs=tuple(reader.found), title=reader.title)


@dataclass
class _Reader:
    """Where the reading of lines stands."""

    found: list[Paragraph] = field(default_factory=list)
    title: str = ""
    _section: str = ""
    _fence: str = ""
    _waiting: list[str] = field(default_factory=list)
    _begun: int = 0

    def take(self, number: int, line: str) -> None:
        """Read one more line."""
        opening, heading = _FENCE.match(line), _HEADING.match(line)
        if self._fence:
            self._inside_code(line)
        elif heading:
            self._head(clean(heading[2].rstrip().rstrip("#")))
        elif len(self._waiting) == 1 and _UNDERLINE.match(line):
            self._head(clean(self._waiting.pop()))
        elif opening or not line.strip():
            self.close()
            self._fence, self._begun = (opening[1] if opening else ""), number + 1
        else:
            self._begun = self._begun if self._waiting else number
            self._waiting.append(line.strip())

    def close(self) -> None:
        """End the paragraph that is being read; the lines of code stay lines."""
        words = "\n".join(self._waiting) if self._fence else clean(" ".join(self._waiting))
        if words.strip():
            self.found.append(Paragraph(text=words, section=self._section, line=self._begun))
        self._waiting = []

    def _inside_code(self, line: str) -> None:
        if line.strip().startswith(self._fence) and not line.strip().strip(self._fence[0]):
            self.close()
            self._fence = ""
        else:
            self._waiting.append(line.rstrip())

    def _head(self, name: str) -> None:
        self.close()
        self._section, self.title = section_name(name), self.title or name


def _without_front_matter(lines: list[str]) -> list[str]:
    """The same lines with the block of settings on top made empty, so that the others keep their numbers."""
    if not lines or lines[0].rstrip() != "---":
        return lines
    for number, line in enumerate(lines[1:_FRONT_MATTER_LINES], 1):
        if line.rstrip() in ("---", "..."):
            return [""] * (number + 1) + lines[number + 1 :]
    return lines
