"""Split a skill's content into the segments of text that checks examine, each with its language and position.

Every field is one segment, every code block of Markdown one more. Bundled archives are unpacked in memory, within limits. A
segment knows its position in the field, so that a finding can point at the exact characters.

A rule on segments is data: patterns, a severity and a sentence for the reviewer. Every pattern runs in linear time: no
repetition inside a repetition, and every gap has a limit.
"""

from __future__ import annotations

import bz2
import io
import json
import lzma
import re
import tarfile
import zipfile
import zlib
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import PurePosixPath
from typing import IO, NamedTuple

from tacit.domain.candidate import Finding, Severity
from tacit.domain.identity import plain
from tacit.domain.skill import SkillContent, SkillFile
from tacit.domain.skill_fields import FieldRole, fields_with
from tacit.text.bundled_files import FileKind, bytes_of, file_kind, read_as_text, text_of

MEMBERS_MAX = 200
BYTES_MAX = 4 << 20
"""Unpacked bytes of one archive and all archives inside it."""
_DEPTH = 2
_MAGIC = (b"PK\x03\x04", b"PK\x05\x06", b"\x1f\x8b", b"BZh", b"\xfd7zXZ")
_CLOSED = (b"Rar!", b"7z\xbc\xaf")
_FAULTS = (
    *(zipfile.BadZipFile, tarfile.TarError, zlib.error, lzma.LZMAError, OSError, EOFError, ValueError),
    *(RuntimeError, NotImplementedError),  # encrypted, or an unknown compression
)


@dataclass(slots=True)
class ArchiveContents:
    """The files of an archive, as far as they were read."""

    files: list[tuple[str, bytes]] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    """Members that are code, text or archives and were not read; an empty name is the archive itself."""
    bytes_left: int = BYTES_MAX


def is_packed(data: bytes) -> bool:
    """Whether these bytes begin like an archive."""
    return data.startswith((*_MAGIC, *_CLOSED)) or data[257:262] == b"ustar"


def unpacked(data: bytes) -> ArchiveContents:
    """Unpack an archive and the archives inside it."""
    found = ArchiveContents()
    if is_packed(data):
        _open(data, "", found, depth=_DEPTH)
    return found


def _open(data: bytes, name: str, found: ArchiveContents, *, depth: int) -> None:
    if not depth:
        found.skipped.append(name)
        return
    try:
        for inner, content in _inside(data, found, name):
            path = f"{name}/{inner}" if name and inner else name or inner
            if is_packed(content):
                _open(content, path, found, depth=depth - 1)
            else:
                found.files.append((path, content))
    except _FAULTS:
        found.skipped.append(name)


def _inside(data: bytes, found: ArchiveContents, name: str) -> Iterator[tuple[str, bytes]]:
    if data.startswith(b"PK"):
        yield from _zipped(data, found)
    elif data.startswith(_CLOSED):
        found.skipped.append(name)
    elif data[257:262] == b"ustar":
        yield from _tarred(data, found)
    else:
        plain = _unpacked(data, found)
        if plain[257:262] == b"ustar":
            yield from _tarred(plain, found)
        elif plain:
            yield "", plain


def _zipped(data: bytes, found: ArchiveContents) -> Iterator[tuple[str, bytes]]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        for number, member in enumerate(archive.infolist()):
            if member.is_dir():
                continue
            if number >= MEMBERS_MAX or member.flag_bits & 1 or found.bytes_left <= 0:
                _skip(member.filename, found)
                continue
            with archive.open(member) as file:
                yield member.filename, _read(file, member.filename, found)


def _tarred(data: bytes, found: ArchiveContents) -> Iterator[tuple[str, bytes]]:
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        for number in range(10 * MEMBERS_MAX):
            member = archive.next()
            if member is None:
                return
            if number >= MEMBERS_MAX or found.bytes_left <= 0:
                _skip(member.name, found)
            elif member.isfile() and (file := archive.extractfile(member)):
                yield member.name, _read(file, member.name, found)
        found.skipped.append("")


def _read(file: IO[bytes], name: str, found: ArchiveContents) -> bytes:
    """Read a member within the limit; what is longer is noted as not read."""
    content = file.read(found.bytes_left)
    if file.read(1):
        _skip(name, found)
    found.bytes_left -= len(content)
    return content


def _skip(name: str, found: ArchiveContents) -> None:
    if file_kind(name) is not FileKind.DATA:
        found.skipped.append(name)


def _unpacked(data: bytes, found: ArchiveContents) -> bytes:
    """Return the unpacked bytes up to the limit; a longer stream is noted as not read."""
    most = max(1, found.bytes_left)
    if data.startswith(b"\x1f\x8b"):
        plain = zlib.decompressobj(zlib.MAX_WBITS | 32).decompress(data, most)
    elif data.startswith(b"BZh"):
        plain = bz2.BZ2Decompressor().decompress(data, most)
    else:
        plain = lzma.LZMADecompressor().decompress(data, most)
    if len(plain) >= most:
        found.skipped.append("")
    if plain[257:262] != b"ustar":
        found.bytes_left -= len(plain)
    return plain


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
    for path, text in _fields(content):
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


def _fields(content: SkillContent) -> Iterator[tuple[str, str]]:
    for name in fields_with(FieldRole.SCANNED):
        value = getattr(content, name)
        if isinstance(value, Mapping):
            value = "\n".join(f"{key}: {item}" for key, item in value.items())
        if isinstance(value, str):
            yield from [(name, value)] if value else []
        else:
            yield from ((f"{name}.{index}", "\n".join(_strings(plain(item)))) for index, item in enumerate(value))


_BARE_KEYS = frozenset({"text", "check", "value", "example", "description", "term"})
"""Keys whose texts are read without their name."""


def _strings(value: object) -> Iterator[str]:
    if isinstance(value, str):
        if value:
            yield value
    elif isinstance(value, dict):
        for key, item in value.items():
            if isinstance(item, bool | int | float) or item is None:
                continue
            if isinstance(item, str) and key in _BARE_KEYS:
                yield from _strings(item)
            elif item:
                yield f"{key}: {item}" if isinstance(item, str) else json.dumps({key: item}, ensure_ascii=False)
    elif isinstance(value, list):
        for item in value:
            yield from _strings(item)


PER_RULE_MAX = 5
"""Findings of one rule in one segment; further ones add nothing."""


@dataclass(frozen=True, slots=True)
class Rule:
    """What to look for, how severe it is, and why."""

    id: str
    severity: Severity
    reason: str
    patterns: tuple[re.Pattern[str], ...]
    languages: frozenset[str] | None = None
    """Languages of the segments it applies to; None: all."""
    unless: re.Pattern[str] | None = None
    """A match in the same line that cancels the finding."""

    def matches(self, segment: TextSegment) -> Iterator[re.Match[str]]:
        """Yield its matches in a segment, at most `PER_RULE_MAX`."""
        if self.languages is not None and segment.language not in self.languages:
            return
        found = 0
        for pattern in self.patterns:
            for match in pattern.finditer(segment.text):
                if self.unless is not None and self.unless.search(_line(segment.text, match)):
                    continue
                yield match
                found += 1
                if found == PER_RULE_MAX:
                    return


def rules(table: Mapping[tuple[str, Severity, str], str], **parts: str) -> tuple[Rule, ...]:
    """Make rules of a table: name, severity and reason → patterns, one per line; any of them matches, ignoring case.

    A line may also say `unless: PATTERN` or `languages: NAMES`; `{shell}` in a pattern stands for the part of that name.
    """
    made: list[Rule] = []
    for (name, severity, reason), text in table.items():
        patterns: list[re.Pattern[str]] = []
        languages, unless = None, None
        for line in text.strip().splitlines():
            pattern = line.strip()
            for part, stands_for in parts.items():
                pattern = pattern.replace(f"{{{part}}}", stands_for)
            if pattern.startswith("languages: "):
                languages = frozenset(pattern.removeprefix("languages: ").split())
            elif pattern.startswith("unless: "):
                unless = re.compile(pattern.removeprefix("unless: "), re.IGNORECASE)
            else:
                patterns.append(re.compile(pattern, re.IGNORECASE))
        made.append(Rule(name, severity, reason, tuple(patterns), languages, unless))
    return tuple(made)


def apply(rules: Sequence[Rule], segments: Iterable[TextSegment]) -> Iterator[Finding]:
    """Apply rules to segments. A code block is part of its text too, so only rules for a language examine it again."""
    for segment in segments:
        for each in rules:
            if segment.is_block and each.languages is None:
                continue
            for match in each.matches(segment):
                yield segment.finding(each.id, each.severity, reason=each.reason, span=match.span())


def _line(text: str, match: re.Match[str]) -> str:
    start = text.rfind("\n", max(0, match.start() - 300), match.start()) + 1
    end = text.find("\n", match.end(), match.end() + 300)
    return text[start or max(0, match.start() - 300) : end if end >= 0 else match.end() + 300]
