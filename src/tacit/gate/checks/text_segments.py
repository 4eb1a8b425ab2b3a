"""Split a skill's content into the segments of text that checks examine, each with its language and position.

Every field is one segment, every code block of Markdown one more, and every text in a bundled archive. A segment knows its
position in the field, so that a finding can point at the exact characters.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import PurePosixPath
from typing import NamedTuple

from tacit.domain.candidate import Finding, Severity
from tacit.domain.skill import SkillContent, SkillFile
from tacit.gate.checks.bundled_archives import ArchiveContents, unpacked
from tacit.text.bundled_files import FileKind, bytes_of, file_kind, read_as_text, text_of
from tacit.text.field_texts import field_texts

EXCERPT_MAX = 120
TEXT_MAX = 1 << 20
"""Characters of one field that are examined; the `files` check reports longer ones."""
TOTAL_MAX = 6 << 20
"""Characters of all files together that are examined; the `files` check reports the rest."""

_LANGUAGES = {
    **dict.fromkeys(("py", "pyw", "pyi", "python", "python3", "ipython"), "python"),
    **dict.fromkeys(("sh", "bash", "zsh", "ksh", "fish", "command", "shell", "console", "terminal", "env"), "shell"),
    **dict.fromkeys(
        ("js", "mjs", "cjs", "ts", "tsx", "jsx", "javascript", "typescript", "node", "mts", "cts"), "javascript"
    ),
    **dict.fromkeys(("ps1", "psm1", "psd1", "powershell", "pwsh", "bat", "cmd", "batch"), "powershell"),
    **dict.fromkeys(("rb", "ruby", "pl", "perl", "php", "lua", "go", "rs", "applescript", "scpt", "osascript"), "code"),
    **dict.fromkeys(("md", "markdown", "mdx", "rst", "txt"), "markdown"),
    **dict.fromkeys(("json", "yaml", "yml", "toml", "ini", "cfg", "plist", "service", "xml"), "data"),
    **dict.fromkeys(("html", "htm", "svg"), "page"),
}
_SHEBANG = re.compile(r"#![^\n]{0,80}?\b(python|bash|zsh|sh|node|pwsh|deno|bun|ruby|perl)[\d.]*\b")
_PYTHON = re.compile(r"^(?:import \w|from [\w.]+ import |def \w+\(|class \w+[(:])", re.MULTILINE)
_FENCE = re.compile(
    r"^[ \t>]{0,12}(?:(?:[-*+]|\d{1,9}[.)])[ \t]{1,4}){0,3}(`{3,}|~{3,})[ \t]*\{?\.?([\w+#.-]{0,20})[^\n]*$",
    re.MULTILINE,
)
_CODE = frozenset({"python", "shell", "javascript", "powershell", "code"})


class DecodedRange(NamedTuple):
    """Maps a part of a decoded text to the characters of the field that it was decoded from."""

    at: int
    start: int
    end: int


@dataclass(frozen=True)
class TextSegment:
    """A text to examine, and its position in the content."""

    field: str
    text: str
    whole: str
    """The field's whole text."""
    language: str = "markdown"
    path: str = ""
    """Path of a bundled file below the skill's folder."""
    start: int = 0
    """Where the text begins in the whole."""
    decoded_ranges: tuple[DecodedRange, ...] = ()
    """For a decoded text: where each of its parts was in the field."""
    encoding: str = ""
    """What it was decoded from, such as `base64`; empty for plain text."""

    @cached_property
    def _lines(self) -> list[int]:
        return [0, *(match.end() for match in re.finditer("\n", self.whole))]

    @property
    def is_code(self) -> bool:
        """Whether it is code."""
        return self.language in _CODE

    @property
    def is_hidden(self) -> bool:
        """Whether its text was encoded to hide it."""
        return bool(self.encoding) and self.encoding not in ("an archive", "text put together", "variables")

    @property
    def is_block(self) -> bool:
        """Whether it is a code block of another segment."""
        return not self.encoding and len(self.text) < len(self.whole) and self.is_code and (self.start > 0)

    def finding(self, rule: str, severity: Severity, *, reason: str, span: tuple[int, int]) -> Finding:
        """Make a finding on these characters."""
        start, end = self.place(span)
        shown = self.text[span[0] : span[1]]
        message = f"{reason} (decoded from {self.encoding})" if self.encoding else reason
        return Finding(
            rule=rule,
            message=message,
            severity=severity,
            field=self.field,
            line=self.line(start) if end else 0,
            start=start,
            end=end,
            excerpt=excerpt(shown),
        )

    def place(self, span: tuple[int, int]) -> tuple[int, int]:
        """Return the position of these characters in the field, before decoding if they were decoded."""
        if not self.decoded_ranges:
            return self.start + span[0], self.start + span[1]
        spot = self.decoded_ranges[max(0, bisect_right(self.decoded_ranges, span[0], key=lambda spot: spot.at) - 1)]
        return spot.start, spot.end

    def line(self, at: int) -> int:
        """Return the line of a character in the field, from 1."""
        return bisect_right(self._lines, at)


def excerpt(text: str) -> str:
    """Return a text as one short line of visible characters."""
    short = text[: EXCERPT_MAX * 2]
    visible = "".join(c if c.isprintable() else " " if c.isspace() else f"\\u{ord(c):04x}" for c in short)
    line = " ".join(visible.split())
    return line if len(line) <= EXCERPT_MAX else line[: EXCERPT_MAX - 1] + "…"


_last: tuple[SkillContent, tuple[TextSegment, ...]] | None = None


def text_segments(content: SkillContent) -> tuple[TextSegment, ...]:
    """Return every text of a skill: its fields, its files, and the code blocks in both."""
    global _last  # noqa: PLW0603 - several checks examine the same content in turn
    last = _last  # read once: another thread may replace it at any time
    if last is None or last[0] is not content:
        last = _last = (content, tuple(_split(content)))
    return last[1]


def _split(content: SkillContent) -> Iterator[TextSegment]:
    for path, text in field_texts(content, files=False):
        whole = TextSegment(path, text[:TEXT_MAX], text)
        yield whole
        yield from blocks(whole)
    for taken in files_within_limit(content.files)[0]:
        if taken.text is None:
            yield from _packed(taken)
            continue
        text, file = taken.text, taken.file
        segment = TextSegment(f"files.{taken.index}", text[:TEXT_MAX], text, language_of(file.path, text), file.path)
        yield segment
        if segment.language == "markdown":
            yield from blocks(segment)


@dataclass(frozen=True, slots=True)
class ExaminedFile:
    """A bundled file that is examined."""

    index: int
    file: SkillFile
    text: str | None
    packed: ArchiveContents
    """The contents, if it is an archive."""


def files_within_limit(files: Sequence[SkillFile]) -> tuple[list[ExaminedFile], list[SkillFile]]:
    """Return the files within the limit, scripts before texts before data, and the files beyond it."""
    characters_left = TOTAL_MAX
    taken: list[ExaminedFile] = []
    skipped: list[SkillFile] = []
    for index, file in sorted(enumerate(files), key=lambda each: (_kind_of(each[1]), each[0])):
        if characters_left < len(file.content):
            skipped.append(file)
            continue
        text = text_of(file)
        packed = ArchiveContents() if text is not None else unpacked(bytes_of(file))
        characters_left -= len(file.content) + sum(len(data) for _, data in packed.files)
        taken.append(ExaminedFile(index, file, text, packed))
    return sorted(taken, key=lambda each: each.index), skipped


def _kind_of(file: SkillFile) -> FileKind:
    head = file.content[:4].encode("utf-8", "replace") if file.encoding != "base64" else b""
    return file_kind(file.path, head, executable=file.executable)


def _packed(taken: ExaminedFile) -> Iterator[TextSegment]:
    """Yield the texts in an archive; their findings point at the archive as a whole."""
    file = taken.file
    for name, data in taken.packed.files:
        text = read_as_text(data[:TEXT_MAX], name or file.path)
        if text is None:
            continue
        path, language = f"{file.path}/{name}" if name else file.path, language_of(name, text)
        place = (DecodedRange(0, 0, 0),)
        yield TextSegment(f"files.{taken.index}", text, "", language, path, decoded_ranges=place, encoding="an archive")


def blocks(segment: TextSegment) -> Iterator[TextSegment]:
    """Yield the fenced code blocks of a Markdown text, also in lists and quotes; an open one extends to the end."""
    opened: re.Match[str] | None = None
    for fence in _FENCE.finditer(segment.text):
        if opened is None:
            opened = fence
        elif fence[1].startswith(opened[1]) and not fence[2]:
            yield from _block(segment, opened, fence.start())
            opened = None
    if opened is not None:
        yield from _block(segment, opened, len(segment.text))


def _block(segment: TextSegment, opened: re.Match[str], end: int) -> Iterator[TextSegment]:
    text = segment.text[opened.end() + 1 : end]
    language = _LANGUAGES.get(opened[2].lower(), "") or _guess(text)
    if text:
        yield TextSegment(segment.field, text, segment.whole, language, segment.path, segment.start + opened.end() + 1)


def language_of(path: str, text: str) -> str:
    """Return the language of a file by its first line, or else by its name."""
    if match := _SHEBANG.match(text):
        return {"sh": "shell", "bash": "shell", "zsh": "shell", "python": "python", "pwsh": "powershell"}.get(
            match[1], "javascript" if match[1] in ("node", "deno", "bun") else "code"
        )
    pure = PurePosixPath(path.lower())
    return _LANGUAGES.get(pure.suffix[1:] or pure.name.lstrip("."), "") or _guess(text)


def _guess(text: str) -> str:
    return "python" if _PYTHON.search(text[:4000]) else "text"
