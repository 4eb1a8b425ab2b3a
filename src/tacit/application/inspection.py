"""Any path → the skills in it, read as far as they can be read, for a scanner to look at. Refuses nothing that is there.

A skill's folder or file, a folder of such folders, an archive. Unlike an import it takes hidden files too, and a skill that
breaks the format is still given with its text: malware does not keep to the rules. What could not be taken is listed.
"""

from __future__ import annotations

import base64
import os
import re
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from tacit.application.archive import Archive, PackedFolder, is_archive, open_archive
from tacit.application.paths import is_file, is_folder, is_link, shown
from tacit.application.problems import Problem
from tacit.application.skill_folder import FILE_NAMES, find_skill_md
from tacit.application.skill_md import examine
from tacit.domain.errors import NotFound
from tacit.domain.skill import Kind, SkillContent, SkillFile

FILES_MAX = 2000
FILE_BYTES_MAX = 8 << 20
TOTAL_BYTES_MAX = 64 << 20
_DEPTH_MAX = 16
_NOT_ENTERED = frozenset({".git", ".hg", ".svn", "node_modules", "__MACOSX"})
_FRONT = re.compile(r"\A\ufeff?---[ \t]*\r?\n(.{0,200000}?)\n---[ \t]*\r?(?:\n|\Z)", re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Inspected:
    """One skill as far as it could be read."""

    path: str
    content: SkillContent
    text: str = ""
    """The whole SKILL.md."""
    problems: tuple[Problem, ...] = ()
    """Where it breaks the format, and what could not be taken."""


def inspect(path: Path) -> Iterator[Inspected]:
    """Every skill at a path; raises `NotFound` where there is nothing at all."""
    if is_archive(path):
        yield from _of_archive(open_archive(path))
    elif is_file(path):
        alone = path.name not in FILE_NAMES
        files = {path.name if alone else FILE_NAMES[0]: _read(path, FILE_BYTES_MAX) or b""}
        yield _inspected(files, name=path.stem if alone else path.absolute().parent.name, source=shown(path))
    elif is_folder(path):
        inner = [] if find_skill_md(path) else sorted(p for p in path.iterdir() if is_folder(p) and find_skill_md(p))
        for folder in inner or [path]:
            yield _of_folder(folder)
    else:
        raise NotFound(
            f"no such file or folder: {shown(path)}", hint="give a skill's folder, its SKILL.md or an archive"
        )


def _of_archive(archive: Archive) -> Iterator[Inspected]:
    strays = {f"(beside) {name}": data for name, data in archive.strays.items()}
    folders = archive.folders or (PackedFolder(root="", name=archive.path.stem, files={}),)
    for number, folder in enumerate(folders):
        files = dict(folder.files) | (strays if number == 0 else {})
        source = f"{shown(archive.path)}:{folder.root}" if folder.root else shown(archive.path)
        found = _inspected(files, name=folder.name, source=source, executable=folder.executable)
        yield replace(found, problems=(*archive.problems, *found.problems)) if number == 0 else found


def _of_folder(folder: Path) -> Inspected:
    files: dict[str, bytes] = {}
    executable: set[str] = set()
    problems: list[Problem] = []
    room = TOTAL_BYTES_MAX
    for path in _walk(folder, _DEPTH_MAX):
        name = path.relative_to(folder).as_posix()
        if is_link(path):
            problems.append(_link(path, name, folder))
            continue
        data = _read(path, min(FILE_BYTES_MAX, room)) if len(files) < FILES_MAX else None
        if data is None:
            message = f"{shown(name)} is not looked at: it is no plain file, or too large"
            problems.append(Problem(rule="file-left-out", message=message, field="files", severity="warning"))
            continue
        files[name] = data
        room -= len(data)
        if path.stat().st_mode & 0o100:
            executable.add(name)
    found = _inspected(files, name=folder.absolute().name, source=shown(folder), executable=frozenset(executable))
    return replace(found, problems=(*problems, *found.problems))


def _walk(folder: Path, depth: int) -> Iterator[Path]:
    try:
        inside = sorted(folder.iterdir())
    except OSError:
        yield folder
        return
    for path in inside:
        if is_folder(path) and not is_link(path):
            if path.name not in _NOT_ENTERED:
                yield from _walk(path, depth - 1) if depth else (path,)
        else:
            yield path


def _link(path: Path, name: str, folder: Path) -> Problem:
    target = path.readlink().as_posix()
    inside = (path.parent / target).resolve().is_relative_to(folder.resolve())
    message = f"{shown(name)} is a link to {shown(target)}" + ("" if inside else ", outside the skill")
    rule = "link" if inside else "link-outside"
    return Problem(rule=rule, message=message, field="files", severity="warning" if inside else "error")


def _read(path: Path, most: int) -> bytes | None:
    """A plain file's bytes; nothing where it is none, or larger than that."""
    try:  # neither follows a link nor waits for a pipe
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(handle, "rb") as file:
            known = os.fstat(handle)
            return file.read(most) if stat.S_ISREG(known.st_mode) and known.st_size <= most else None
    except OSError:
        return None


def _inspected(
    files: Mapping[str, bytes], *, name: str, source: str, executable: frozenset[str] = frozenset()
) -> Inspected:
    own = next((each for each in FILE_NAMES if each in files), "")
    text = files[own].decode("utf-8", "replace") if own else ""
    parsed, problems = examine(text, directory=name) if own else (None, [])
    if not own:
        problems = [Problem(rule="file-missing", message="there is no SKILL.md", severity="warning")]
    content = parsed.content if parsed else SkillContent(kind=Kind.PROCEDURE, name=name, description="", body=text)
    listed = [_file(path, data, executable=path in executable) for path, data in files.items() if path != own]
    front = _FRONT.match(text)
    if parsed and front and "#" in front[1]:  # comments there are no part of any field, and agents may read them
        listed.append(SkillFile(path="SKILL.md (front matter)", content=front[1]))
    return Inspected(
        path=source, content=replace(content, files=tuple(listed)), text=text, problems=tuple(_kept(problems))
    )


def _file(path: str, data: bytes, *, executable: bool) -> SkillFile:
    try:
        return SkillFile(path=path, content=data.decode("utf-8"), executable=executable)
    except UnicodeDecodeError:
        text = base64.b64encode(data).decode("ascii")
        return SkillFile(path=path, content=text, encoding="base64", executable=executable)


def _kept(problems: list[Problem]) -> Iterator[Problem]:
    """Faults of the format that say something about the skill; a name unlike its folder's does not."""
    return (problem for problem in problems if problem.rule not in ("name-directory", "body-size"))
