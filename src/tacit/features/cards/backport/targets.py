"""Backport targets: which files of the repository a path means, and their text with line ends and byte order mark.

A target is in the repository: links are followed first, and what they lead to must be in it too. Paths are relative to the
repository's root, so that nothing that is stored names a folder of the machine. Existing text keeps its own line ends.
"""

from __future__ import annotations

import errno
import hashlib
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from tacit.config.files import read_plain
from tacit.domain.errors import Mistake, NotFound, NotPermitted, StoreOutage
from tacit.features.cards.backport.markers import REFERENCE
from tacit.render.safe_files import is_file, is_folder, shown

MAX_BYTES = 4 << 20
"""A larger file is no instruction or reference file."""
INSTRUCTIONS = frozenset({"agents.md", "claude.md", "gemini.md", "copilot-instructions.md", "claude.local.md"})
_MARK = "\N{ZERO WIDTH NO-BREAK SPACE}"
_PAGES = (".md", ".markdown")
_TOOL_FOLDERS = frozenset({".git", ".tacit", ".agent-skills"})
_SKILL = "SKILL.md"
_NOT_REGULAR = frozenset({errno.EINVAL, errno.ENXIO, errno.ENODEV, errno.EOPNOTSUPP})
"""Errors of opening a pipe, a device or a socket."""
_TARGET_HINT = "name a skill's folder, AGENTS.md, CLAUDE.md, copilot-instructions.md or a Markdown page"


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetChange:
    """One file before and after; None means no file."""

    path: str
    before: bytes | None
    after: bytes | None


@dataclass(frozen=True, slots=True)
class TextFile:
    """The text of a file."""

    text: str = ""
    has_mark: bool = False
    """Whether the file begins with a byte order mark."""

    @property
    def newline(self) -> str:
        """The line end of most lines."""
        windows = self.text.count("\r\n")
        return "\r\n" if windows * 2 > self.text.count("\n") else "\n"

    @property
    def lacks_end(self) -> bool:
        """Whether the last line has no line end."""
        return bool(self.text) and not self.text.endswith("\n")

    def native(self, added: str) -> str:
        """Return an addition with the line ends of the file."""
        return added.replace("\n", self.newline)

    def with_text(self, text: str) -> TextFile:
        """Return the same file with another text."""
        return TextFile(text, self.has_mark)

    def data(self) -> bytes:
        """Return the bytes of the file."""
        return ((_MARK if self.has_mark else "") + self.text).encode()


class TargetKind(StrEnum):
    """What kind of file knowledge is written into."""

    SKILL = "skill"
    INSTRUCTIONS = "instructions"
    PAGE = "page"


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """Where knowledge is written: the file with the block, and for a skill its reference file."""

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


def fingerprint(data: bytes | None) -> str:
    """Return the hash of a file's content; empty for no file."""
    return "" if data is None else f"sha256:{hashlib.sha256(data).hexdigest()}"


def too_large(path: str) -> Mistake:
    """Return the error for a file that is too large for a target."""
    hint = f"at most {MAX_BYTES} bytes are read"
    return Mistake(f"{path} is too large for a target", code="target_too_large", hint=hint)


def read_text(data: bytes | None, *, path: str) -> TextFile:
    """Decode a file; no file is an empty text."""
    if data is None:
        return TextFile()
    if len(data) > MAX_BYTES:
        raise too_large(path)
    try:
        text = data.decode()
    except UnicodeDecodeError:
        hint = "convert it, or choose another target"
        raise Mistake(f"{path} is not UTF-8 text", code="not_text", hint=hint) from None
    if "\0" in text:
        raise Mistake(f"{path} contains a NUL character", code="not_text", hint="choose another target")
    return TextFile(text.removeprefix(_MARK), text.startswith(_MARK))


def joined(file: TextFile, addition: str) -> TextFile:
    """Append an addition, which ends with a line end, with one blank line between.

    A text without a last line end still has none.
    """
    before = file.text
    gap = "" if not before or before.endswith(("\n\n", "\n\r\n")) else "\n" if before.endswith("\n") else "\n\n"
    text = before + file.native(gap + addition)
    return file.with_text(text.removesuffix("\n").removesuffix("\r") if file.lacks_end else text)


def find_target(root: Path, named: Path) -> Target:
    """Return the target that a path means."""
    place = _inside(root, named)
    if place.name == _SKILL and is_file(place):
        return _skill_target(root, place.parent, place)
    if is_folder(place):
        main = place / _SKILL
        if not is_file(main):
            message = f"{_shown_path(root, place)} has no SKILL.md"
            raise Mistake(message, code="no_skill_md", hint=_TARGET_HINT)
        return _skill_target(root, place, _inside(root, main))
    if place.suffix.lower() not in _PAGES:
        message = f"{_shown_path(root, place)} cannot be a target"
        raise Mistake(message, code="not_a_target", hint=_TARGET_HINT)
    if not is_folder(place.parent):
        message = f"there is no folder {_shown_path(root, place.parent)}"
        raise NotFound(message, code="no_folder", hint="make it, or correct the path")
    # The name of a link says what it is for, though its text is elsewhere.
    is_instructions = INSTRUCTIONS & {place.name.lower(), named.name.lower()}
    kind = TargetKind.INSTRUCTIONS if is_instructions else TargetKind.PAGE
    path = _relative(root, place)
    return Target(kind=kind, name=place.name, path=path, main=path)


def read_files(root: Path, target: Target) -> dict[str, bytes | None]:
    """Return the bytes of a target's files; None for one that does not exist."""
    return {path: read_file(root, path) for path in target.files}


def read_file(root: Path, path: str) -> bytes | None:
    """Return the bytes of a file in the repository; None if there is none.

    A file that is not regular, or too large, is refused before it is read.
    """
    place = _inside(root, root / path)
    hint = "move it away, or choose another target"
    if is_folder(place):
        raise Mistake(f"{path} is a folder, not a file", code="not_a_file", hint=hint)
    try:
        data = read_plain(place, limit=MAX_BYTES)
    except FileNotFoundError:
        return None
    except OSError as error:
        if error.errno in _NOT_REGULAR:
            raise Mistake(f"{path} is not a regular file", code="not_a_file", hint=hint) from error
        raise StoreOutage(f"cannot read {path}: {error.strerror}", hint="check its permissions") from error
    if len(data) > MAX_BYTES:
        raise too_large(path)
    return data


def _skill_target(root: Path, folder: Path, main: Path) -> Target:
    reference = _inside(root, folder / REFERENCE)
    return Target(
        kind=TargetKind.SKILL,
        name=folder.name,
        path=_relative(root, folder),
        main=_relative(root, main),
        reference=_relative(root, reference),
    )


def _inside(root: Path, named: Path) -> Path:
    """Return the resolved path, if it is in the repository and not in a folder of a tool."""
    try:
        str(named).encode()  # a name that is not valid text cannot be written into a manifest
        place, top = named.resolve(), root.resolve()
    except (OSError, RuntimeError, ValueError) as error:
        raise Mistake(f"{shown(named)} is not a valid path", code="invalid_path", hint="correct it") from error
    if place != top and top not in place.parents:
        message = f"{shown(named)} is outside the repository"
        raise NotPermitted(message, code="outside_repository", hint="only files of this repository are written")
    if _TOOL_FOLDERS & set(place.relative_to(top).parts):
        message = f"{_shown_path(root, place)} belongs to a tool"
        raise NotPermitted(message, code="tool_folder", hint="choose another target")
    return place


def _relative(root: Path, place: Path) -> str:
    return place.relative_to(root.resolve()).as_posix()


def _shown_path(root: Path, place: Path) -> str:
    return shown(_relative(root, place))
