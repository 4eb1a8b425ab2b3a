"""Bytes of a Markdown file → its text, with what has to be kept when something is added: byte order mark, line ends, last line.

Nothing is rewritten that was there: the text keeps its own line ends, and only what is added is written in them.
"""

from __future__ import annotations

import errno
import hashlib
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from tacit.domain.errors import Mistake, NotFound, NotPermitted, StoreOutage
from tacit.features.cards.backport.markers import REFERENCE
from tacit.render.safe_files import is_file, is_folder, read_plain, shown

MOST_BYTES = 4 << 20
"""A larger target is no instruction or reference file."""
_MARK = "\N{ZERO WIDTH NO-BREAK SPACE}"


@dataclass(frozen=True, slots=True, kw_only=True)
class FileChange:
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


INSTRUCTIONS = frozenset({"agents.md", "claude.md", "gemini.md", "copilot-instructions.md", "claude.local.md"})
_PAGES = (".md", ".markdown")
_NOT_OURS = frozenset({".git", ".tacit", ".agent-skills"})
_SKILL = "SKILL.md"
_NO_FILE = frozenset({errno.EINVAL, errno.ENXIO, errno.ENODEV, errno.EOPNOTSUPP})
"""What opening a pipe, a device or a socket fails with."""


class TargetKind(StrEnum):
    """What proven knowledge is written into."""

    SKILL = "skill"
    INSTRUCTIONS = "instructions"
    PAGE = "page"


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """Where knowledge goes: the file that holds the block, and for a skill its reference file."""

    kind: TargetKind
    name: str
    path: str
    """The skill's folder, or the file."""
    main: str
    reference: str = ""

    @property
    def host(self) -> str:
        """The file that holds the pieces themselves."""
        return self.reference or self.main

    @property
    def files(self) -> tuple[str, ...]:
        """The files that may change, in the order in which they are written."""
        return (self.reference, self.main) if self.reference else (self.main,)


def find_target(root: Path, named: Path) -> Target:
    """Tell what a path means as a target."""
    place = _inside(root, named)
    if place.name == _SKILL and is_file(place):
        return _skill(root, place.parent, place)
    if is_folder(place):
        main = place / _SKILL
        if not is_file(main):
            hint = "name a skill's folder, AGENTS.md, CLAUDE.md, copilot-instructions.md or a Markdown page"
            raise Mistake(f"{_shown_path(root, place)} holds no SKILL.md", hint=hint)
        return _skill(root, place, _inside(root, main))
    if place.suffix.lower() not in _PAGES:
        raise Mistake(
            f"{_shown_path(root, place)} is no target",
            hint="name a skill's folder, AGENTS.md, CLAUDE.md, copilot-instructions.md or a page ending in .md",
        )
    if not is_folder(place.parent):
        raise NotFound(f"there is no folder {_shown_path(root, place.parent)}", hint="make it, or correct the path")
    # A link's own name says what it is for, though its text lies elsewhere.
    is_read_always = INSTRUCTIONS & {place.name.lower(), named.name.lower()}
    kind = TargetKind.INSTRUCTIONS if is_read_always else TargetKind.PAGE
    path = _below(root, place)
    return Target(kind=kind, name=place.name, path=path, main=path)


def read_files(root: Path, target: Target) -> dict[str, bytes | None]:
    """The bytes of a target's files; nothing for one that is not there."""
    return {path: read_file(root, path) for path in target.files}


def read_file(root: Path, path: str) -> bytes | None:
    """The bytes of a file below the root, never of one that lies elsewhere; nothing if there is none.

    One that is no plain file, or too large for a target, is refused before it is read.
    """
    place = _inside(root, root / path)
    if is_folder(place):
        raise Mistake(f"{path} is a folder, not a file", hint="move it away, or choose another target")
    try:
        data = read_plain(place, limit=MOST_BYTES)
    except FileNotFoundError:
        return None
    except OSError as error:
        if error.errno in _NO_FILE:
            raise Mistake(f"{path} is no ordinary file", hint="move it away, or choose another target") from error
        raise StoreOutage(f"cannot read {path}: {error.strerror}", hint="check its permissions") from error
    if len(data) > MOST_BYTES:
        raise too_large(path)
    return data


def _skill(root: Path, folder: Path, main: Path) -> Target:
    reference = _inside(root, folder / REFERENCE)
    return Target(
        kind=TargetKind.SKILL,
        name=folder.name,
        path=_below(root, folder),
        main=_below(root, main),
        reference=_below(root, reference),
    )


def _inside(root: Path, named: Path) -> Path:
    """The place that a path leads to, if that is in the repository and not in a part that belongs to a tool."""
    try:
        str(named).encode()  # a name that is no text can be told in no manifest
        place, top = named.resolve(), root.resolve()
    except (OSError, RuntimeError, ValueError) as error:
        raise Mistake(f"{shown(named)} is no possible path", hint="correct it") from error
    if place != top and top not in place.parents:
        raise NotPermitted(
            f"{shown(named)} lies outside the repository", hint="only files of this repository are written"
        )
    if _NOT_OURS & set(place.relative_to(top).parts):
        raise NotPermitted(f"{_shown_path(root, place)} belongs to a tool", hint="choose another target")
    return place


def _below(root: Path, place: Path) -> str:
    return place.relative_to(root.resolve()).as_posix()


def _shown_path(root: Path, place: Path) -> str:
    return shown(_below(root, place))
