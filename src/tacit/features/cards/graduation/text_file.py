"""Bytes of a Markdown file → its text, with what has to be kept when something is added: byte order mark, line ends, last line.

Nothing is rewritten that was there: the text keeps its own line ends, and only what is added is written in them.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from tacit.domain.errors import Mistake

MOST_BYTES = 4 << 20
"""A larger target is no instruction or reference file."""
_MARK = "\N{ZERO WIDTH NO-BREAK SPACE}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One file before and after; nothing stands for no file."""

    path: str
    before: bytes | None
    after: bytes | None


@dataclass(frozen=True, slots=True)
class TextFile:
    """A text as it stands in a file."""

    text: str = ""
    has_mark: bool = False
    """Whether a byte order mark goes before it."""

    @property
    def newline(self) -> str:
        """How most of its lines end."""
        windows = self.text.count("\r\n")
        return "\r\n" if windows * 2 > self.text.count("\n") else "\n"

    @property
    def lacks_end(self) -> bool:
        """Whether its last line does not end."""
        return bool(self.text) and not self.text.endswith("\n")

    def native(self, added: str) -> str:
        """Write an addition in the line ends of the file."""
        return added.replace("\n", self.newline)

    def with_text(self, text: str) -> TextFile:
        """The same file with another text."""
        return TextFile(text, self.has_mark)

    def data(self) -> bytes:
        """The bytes of the file."""
        return ((_MARK if self.has_mark else "") + self.text).encode()


def fingerprint(data: bytes | None) -> str:
    """What a file's content is known by; empty for no file."""
    return "" if data is None else f"sha256:{hashlib.sha256(data).hexdigest()}"


def too_large(path: str) -> Mistake:
    """The error for a file that is no text of instructions any more."""
    return Mistake(f"{path} is too large for a target", hint=f"at most {MOST_BYTES} bytes are read")


def read_text(data: bytes | None, *, path: str) -> TextFile:
    """Read a file's bytes; no file is an empty text."""
    if data is None:
        return TextFile()
    if len(data) > MOST_BYTES:
        raise too_large(path)
    try:
        text = data.decode()
    except UnicodeDecodeError:
        raise Mistake(f"{path} is not UTF-8 text", hint="convert it, or choose another target") from None
    if "\0" in text:
        raise Mistake(f"{path} holds a NUL character, so it is no text", hint="choose another target")
    return TextFile(text.removeprefix(_MARK), text.startswith(_MARK))


def joined(file: TextFile, addition: str) -> TextFile:
    """Put an addition, written with plain line ends and ending in one, behind a text with one blank line between.

    A text whose last line did not end still does not end.
    """
    before = file.text
    gap = "" if not before or before.endswith(("\n\n", "\n\r\n")) else "\n" if before.endswith("\n") else "\n\n"
    whole = before + file.native(gap + addition)
    return file.with_text(whole.removesuffix("\n").removesuffix("\r") if file.lacks_end else whole)
