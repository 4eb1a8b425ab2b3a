"""Markdown and plain text: lines → paragraphs under their headings, each with its line. Pure.

A heading is `# …`, or a line that is underlined; inside a code block nothing is. Comments, which nobody sees where the text is
shown, are left out. Links stay as they are written: they are quoted, never followed.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from tacit.features.research.documents.layout import clean
from tacit.features.research.documents.sections import Paragraph, section_name

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
