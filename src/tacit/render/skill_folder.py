"""A skill's folder on disk ↔ `SkillContent` with its bundled files. The format of SKILL.md itself is `skill_md`.

Reads at most a few hundred files of a few megabytes; what is left out (links, hidden and oversized files) is a warning,
version control not even that. Writing replaces files one by one and never follows a link; it removes nothing.
"""

from __future__ import annotations

import base64
import os
import stat
from collections.abc import Collection, Iterator, Mapping
from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from tacit.config.files import open_plain
from tacit.domain.errors import InvalidSkill
from tacit.domain.skill import SkillContent, SkillFile
from tacit.render.frontmatter import BYTES_MAX, Problem, invalid, too_large
from tacit.render.safe_files import is_file, is_folder, is_link, place, shown
from tacit.render.skill_md import Parsed, examine, parse, render
from tacit.render.validation import SKIPPED_NAMES, check_content, path_fault
from tacit.text.bundled_files import bytes_of
from tacit.text.safe_markdown import inert, inert_line

T = TypeVar("T")
_MARKDOWN = (".md", ".markdown", ".mdx")
_KEPT = frozenset(
    "kind name category tags signature cues after sub_skills surroundings extends capabilities allowed_tools license "
    "metadata tool arguments type example reading key relation when step files".split()
)


def outward(content: SkillContent) -> SkillContent:
    """Give the form in which a content is written for others."""
    return replace(_calmed(content), files=tuple(_file(file) for file in content.files))


def is_copy(found: SkillContent, of: SkillContent) -> bool:
    """Whether a content that was read is another one, as it is or as it was written for others."""
    return found.hash() == of.hash() or found.hash() == outward(of).hash()


def _calmed(value: T) -> T:
    if not is_dataclass(value) or isinstance(value, type):
        return value
    changed = {}
    for field in fields(value):
        before = getattr(value, field.name)
        after = before if field.name in _KEPT else _text(before)
        if after != before:
            changed[field.name] = after
    return replace(value, **changed) if changed else value


def _text(value: Any) -> Any:
    if isinstance(value, str):
        return inert(value) if "\n" in value else inert_line(value)
    return tuple(map(_text, value)) if isinstance(value, tuple) else _calmed(value)


def _file(file: SkillFile) -> SkillFile:
    if file.encoding != "utf-8" or not file.path.lower().endswith(_MARKDOWN):
        return file
    calm = inert(file.content)
    return file if calm == file.content else replace(file, content=calm)


FILE_NAMES = ("SKILL.md", "skill.md")
FILES_MAX = 500
FILE_BYTES_MAX = 5 << 20
FOLDER_BYTES_MAX = 20 << 20
DEPTH_MAX = 8


def find_skill_md(folder: Path) -> Path | None:
    """The skill's file in this folder; the upper-case name is preferred."""
    return next((folder / name for name in FILE_NAMES if is_file(folder / name)), None)


def load(path: Path, *, strict: bool = False, with_files: bool = True) -> Parsed:
    """Read a skill from its folder or its SKILL.md; raises `InvalidSkill` that names the file, line and next step."""
    found = _locate(path)
    source = shown(found)
    try:
        with found.open("rb") as file:
            text = _decode(file.read(BYTES_MAX + 1), source)
    except OSError as error:
        raise _unreadable(found, error) from error
    parsed = parse(text, strict=strict, directory=_folder_name(found), source=source)
    if not with_files:
        return parsed
    try:
        files, executable, left_out = _gather(found.parent, leaving=found.name)
    except OSError as error:
        raise _unreadable(found.parent, error) from error
    content = replace(parsed.content, files=_skill_files(files, parsed.files, executable=executable))
    return replace(parsed, content=content, warnings=(*parsed.warnings, *left_out))


def files(
    content: SkillContent, *, stamp: Mapping[str, str] | None = None, unlocked: Collection[str] | None = None
) -> dict[str, bytes]:
    """Give the folder of a skill as path → bytes, SKILL.md first; raises `InvalidSkill` where the format cannot hold it.

    Executable bits are not part of it. `unlocked` as for `render`.
    """
    problems = check_content(content)
    text = render(content, stamp=stamp, unlocked=unlocked)
    problems += [problem for problem in examine(text)[1] if problem.fatal and problem.rule in ("size", "encoding")]
    if any(problem.severity == "error" for problem in problems):
        raise invalid(content.name or "skill", problems)
    return {FILE_NAMES[0]: text.encode("utf-8")} | {file.path: bytes_of(file) for file in content.files}


def unpack(
    folder: Mapping[str, bytes],
    *,
    strict: bool,
    executable: Collection[str] = (),
    directory: str = "",
    source: str = "",
) -> Parsed:
    """Read a skill from path → bytes, the counterpart of `files`; `directory` and `source` as for `parse`."""
    name = next((name for name in FILE_NAMES if name in folder), None)
    if name is None:
        raise invalid(source or "skill", [_NO_FILE])
    text = _decode(folder[name], source or name)
    parsed = parse(text, strict=strict, directory=directory, source=source or name)
    bundled = {path: data for path, data in folder.items() if path != name}
    listed = _skill_files(bundled, parsed.files, executable=executable)
    return replace(parsed, content=replace(parsed.content, files=listed))


def save(
    content: SkillContent,
    root: Path,
    *,
    stamp: Mapping[str, str] | None = None,
    unlocked: Collection[str] | None = None,
    writable: bool = False,
) -> Path:
    """Write a skill as a folder of its name below `root`, over what is there; returns the SKILL.md.

    It is written in its outward form (see `outward`), and for reading only unless it is to be edited: an agent that a
    skill tells to change skills is then stopped once more.
    """
    executable = {file.path for file in content.files if file.executable}
    rights = 0o644 if writable else 0o444
    written = root / content.name
    folder = files(outward(content), stamp=stamp, unlocked=unlocked)
    for path, data in reversed(folder.items()):  # SKILL.md last: it makes the folder a skill
        written = place(root, Path(content.name, path), data, mode=rights | (0o111 if path in executable else 0))
    return written


_NO_FILE = Problem(
    rule="file-missing",
    message="the folder holds no SKILL.md",
    hint="create one with a name, a description and the instructions",
    fatal=True,
)


def _locate(path: Path) -> Path:
    """Return the SKILL.md; raises `InvalidSkill` where there is none."""
    rule, message = "path-missing", f"{shown(path)} does not exist"
    try:
        mode = path.stat().st_mode
        if stat.S_ISREG(mode) and path.name in FILE_NAMES:
            return path
        if stat.S_ISDIR(mode):
            if found := find_skill_md(path):
                return found
            if not os.access(path, os.R_OK | os.X_OK):
                raise PermissionError(0, "Permission denied")
            raise invalid(shown(path), [_NO_FILE])
        rule, message = "path-not-a-folder", f"{shown(path)} is not a folder"
    except (FileNotFoundError, NotADirectoryError):
        pass
    except (OSError, ValueError) as error:
        raise _unreadable(path, error) from error
    hint = "give the folder that holds the SKILL.md"
    raise invalid(shown(path), [Problem(rule=rule, message=message, hint=hint, fatal=True)])


def _unreadable(path: Path, error: OSError | ValueError) -> InvalidSkill:
    reason = getattr(error, "strerror", None) or "no possible path"
    hint = "check the path and its permissions"
    return invalid(
        shown(path), [Problem(rule="unreadable", message=f"cannot be opened: {reason}", hint=hint, fatal=True)]
    )


def _folder_name(skill_md: Path) -> str:
    """The folder's own name, for a relative path such as ``.`` too; a link keeps its name, which is what agents see."""
    folder = skill_md.absolute().parent
    name = folder.resolve().name if folder.name in ("", "..") else folder.name
    return name.encode("utf-8", "replace").decode()


def _decode(data: bytes, source: str) -> str:
    if len(data) > BYTES_MAX:
        raise invalid(source, [too_large("SKILL.md", BYTES_MAX)])
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        message = f"is not UTF-8: byte 0x{data[error.start]:02x} at offset {error.start}"
        problem = Problem(rule="encoding", message=message, line=line, hint="save the file as UTF-8", fatal=True)
        raise invalid(source, [problem]) from error


def _gather(folder: Path, *, leaving: str) -> tuple[dict[str, bytes], set[str], list[Problem]]:
    found: dict[str, bytes] = {}
    executable: set[str] = set()
    left_out: list[Problem] = []
    room = FOLDER_BYTES_MAX
    for path in _walk(folder, DEPTH_MAX):
        name = path.relative_to(folder).as_posix()
        if name == leaving:
            continue
        taken = _take(path, name, room=room) if len(found) < FILES_MAX else f"beyond {FILES_MAX} files"
        if isinstance(taken, str):
            message = f"{shown(name)} is left out: {taken}"
            left_out.append(Problem(rule="file-left-out", message=message, field="files", severity="warning"))
            continue
        found[name], may_run = taken
        room -= len(found[name])
        if may_run:
            executable.add(name)
    return found, executable, left_out


def _walk(folder: Path, depth: int) -> Iterator[Path]:
    """Every file, and in place of its files every folder that is hidden, too deep or not to be read."""
    for path in sorted(folder.iterdir()):
        if path.name in SKIPPED_NAMES:
            continue
        enter = depth and not path.name.startswith(".") and is_folder(path) and not is_link(path)
        if enter and os.access(path, os.R_OK | os.X_OK):
            yield from _walk(path, depth - 1)
        else:
            yield path


def _take(path: Path, name: str, *, room: int) -> tuple[bytes, bool] | str:
    """A file's bytes and whether it may run, or why it is left out."""
    if fault := path_fault(name):
        return f"it {fault}"
    if is_link(path):
        return "it is a link"
    try:
        with os.fdopen(open_plain(path, os.O_RDONLY), "rb") as file:
            known = os.fstat(file.fileno())
            if known.st_size > min(FILE_BYTES_MAX, room):
                return f"it has {known.st_size} bytes"
            return file.read(min(FILE_BYTES_MAX, room)), bool(known.st_mode & 0o100)
    except OSError:
        return "it is no readable file"


def _skill_files(
    data: Mapping[str, bytes], listed: tuple[tuple[str, str], ...], *, executable: Collection[str]
) -> tuple[SkillFile, ...]:
    encodings = {path: encoding for path, encoding in listed if path in data}
    ordered = [*encodings, *(path for path in sorted(data) if path not in encodings)]
    return tuple(
        skill_file(path, data[path], binary=encodings.get(path) == "base64", executable=path in executable)
        for path in ordered
    )


def skill_file(path: str, data: bytes, *, binary: bool = False, executable: bool = False) -> SkillFile:
    """Make a bundled file of bytes: as text if they are UTF-8 and not to be `binary`, else in base64."""
    if not binary:
        try:
            return SkillFile(path=path, content=data.decode("utf-8"), executable=executable)
        except UnicodeDecodeError:
            pass
    text = base64.b64encode(data).decode("ascii")
    return SkillFile(path=path, content=text, encoding="base64", executable=executable)
