"""Any path → the skills in it, read as far as they can be read, for a scanner to look at. Refuses nothing that is there.

A skill's folder or file, a folder of such folders, an archive. Unlike an import it takes hidden files too, and a skill that
breaks the format is still given with its text: malware does not keep to the rules. What could not be taken is listed.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

from tacit.config.files import open_plain
from tacit.domain.errors import NotFound
from tacit.domain.skill import Kind, SkillContent, SkillFile
from tacit.render.archive import PackedFolder, SkillArchive, is_archive, open_archive
from tacit.render.frontmatter import Problem
from tacit.render.safe_files import folder_entries, is_file, is_folder, is_link, shown
from tacit.render.skill_folder import FILE_NAMES, find_skill_md, skill_file
from tacit.render.skill_md import examine
from tacit.text.bundled_files import FileKind, file_kind, read_as_text

FILES_MAX = 2000
FILE_BYTES_MAX = 8 << 20
TOTAL_BYTES_MAX = 64 << 20
_DEPTH_MAX = 16
ENTRIES_MAX = 20_000
_HEAD = 8
_OUT_OF_SIGHT = frozenset({".git", ".hg", ".svn", ".venv", "node_modules", "__MACOSX", "__pycache__"})
"""Folders that an import leaves out and people overlook; what lies there can be run all the same."""
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
        yield _of_file(path)
    elif is_folder(path):
        inner = [] if find_skill_md(path) else [p for p in folder_entries(path) if is_folder(p) and find_skill_md(p)]
        for folder in inner or [path]:
            yield _of_folder(folder)
    else:
        raise NotFound(
            f"no such file or folder: {shown(path)}",
            code="no_such_file",
            hint="give a skill's folder, its SKILL.md or an archive",
        )


def _of_file(path: Path) -> Inspected:
    alone = path.name not in FILE_NAMES
    data = _read(path, FILE_BYTES_MAX)
    files = {path.name if alone else FILE_NAMES[0]: data or b""}
    found = _inspected(files, name=path.stem if alone else path.absolute().parent.name, source=shown(path))
    left = _left([(path.name, FileKind.TEXT)]) if data is None else ()
    return replace(found, problems=(*left, *found.problems))


def _of_archive(archive: SkillArchive) -> Iterator[Inspected]:
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
    left: list[tuple[str, FileKind]] = []
    room = TOTAL_BYTES_MAX
    for sort, name, path in _in_order(folder, problems):
        data = _read(path, min(FILE_BYTES_MAX, room)) if len(files) < FILES_MAX else None
        if data is None:
            left.append((name, sort))
            continue
        files[name] = data
        room -= len(data)
        if _may_run(path):
            executable.add(name)
    found = _inspected(files, name=folder.absolute().name, source=shown(folder), executable=frozenset(executable))
    return replace(found, problems=(*problems, *_left(left), *found.problems))


def _in_order(folder: Path, problems: list[Problem]) -> list[tuple[FileKind, str, Path]]:
    """What to look at, first what matters most: its own SKILL.md, scripts, texts, data; what lies out of sight behind each."""
    found = []
    for path in islice(_walk(folder, _DEPTH_MAX), ENTRIES_MAX):
        name = path.relative_to(folder).as_posix()
        if is_link(path):
            problems.append(_link(path, name, folder))
        else:
            found.append(
                (file_kind(name, _read(path, _HEAD, whole=False) or b"", executable=_may_run(path)), name, path)
            )
    if len(found) + len(problems) >= ENTRIES_MAX:
        message = f"it holds more than {ENTRIES_MAX} files; the rest is not even listed"
        problems.append(Problem(rule="not-looked-at", message=message, field="files"))
    out_of_sight = {path: not _OUT_OF_SIGHT.isdisjoint(path.relative_to(folder).parts) for _, _, path in found}
    return sorted(found, key=lambda each: (each[1] not in FILE_NAMES, each[0], out_of_sight[each[2]], each[1]))


def _walk(folder: Path, depth: int) -> Iterator[Path]:
    try:
        inside = sorted(folder.iterdir())
    except OSError:
        yield folder  # as something that could not be looked at
        return
    for path in inside:
        if is_folder(path) and not is_link(path):
            yield from _walk(path, depth - 1) if depth else (path,)
        else:
            yield path


def _left(files: Sequence[tuple[str, FileKind]]) -> Iterator[Problem]:
    """One problem for what could run or be read, and one for plain data, which weighs little."""
    for rule, kept in (
        ("not-looked-at", [name for name, sort in files if sort is not FileKind.DATA]),
        ("file-left-out", [name for name, sort in files if sort is FileKind.DATA]),
    ):
        if kept:
            many = f"{', '.join(map(shown, kept[:3]))}{f' and {len(kept) - 3} more' if len(kept) > 3 else ''}"
            what = "are not looked at: they are no plain files, unreadable," if len(kept) > 1 else "is not looked at:"
            reason = f"{what} {'' if len(kept) > 1 else 'it is no plain file, unreadable, '}or beyond the limits"
            yield Problem(rule=rule, message=f"{many} {reason}", field="files", severity="warning")


def _link(path: Path, name: str, folder: Path) -> Problem:
    try:
        target = path.readlink().as_posix()
        inside = (path.parent / target).resolve().is_relative_to(folder.resolve())
    except (OSError, RuntimeError) as error:  # Python 3.11 calls a ring of links a RuntimeError
        why = getattr(error, "strerror", None) or "it leads back to itself"
        return Problem(
            rule="link-broken", message=f"{shown(name)} is a link that cannot be followed: {why}", field="files"
        )
    message = f"{shown(name)} is a link to {shown(target)}" + ("" if inside else ", outside the skill")
    rule = "link" if inside else "link-outside"
    return Problem(rule=rule, message=message, field="files", severity="warning" if inside else "error")


def _may_run(path: Path) -> bool:
    try:
        return bool(path.stat().st_mode & 0o100)
    except OSError:
        return False


def _read(path: Path, most: int, *, whole: bool = True) -> bytes | None:
    """A plain file's bytes; nothing where it is none, or larger than that and wanted as a whole."""
    try:
        with os.fdopen(open_plain(path, os.O_RDONLY, follow=True), "rb") as file:
            return None if whole and os.fstat(file.fileno()).st_size > most else file.read(most)
    except (OSError, ValueError):
        return None


def _inspected(
    files: Mapping[str, bytes], *, name: str, source: str, executable: frozenset[str] = frozenset()
) -> Inspected:
    own = next((each for each in FILE_NAMES if each in files), "")
    text = (read_as_text(files[own], own) or "") if own else ""
    parsed, problems = examine(text, directory=name) if own else (None, [])
    if not own:
        problems = [Problem(rule="file-missing", message="there is no SKILL.md", severity="warning")]
    content = parsed.content if parsed else SkillContent(kind=Kind.PROCEDURE, name=name, description="", body=text)
    listed = [skill_file(path, data, executable=path in executable) for path, data in files.items() if path != own]
    front = _FRONT.match(text)
    if parsed and front and "#" in front[1]:  # comments there are no part of any field, and agents may read them
        listed.append(SkillFile(path="SKILL.md (front matter)", content=front[1]))
    return Inspected(
        path=source, content=replace(content, files=tuple(listed)), text=text, problems=tuple(_kept(problems))
    )


def _kept(problems: list[Problem]) -> Iterator[Problem]:
    """Faults of the format that say something about the skill; a name unlike its folder's does not."""
    return (problem for problem in problems if problem.rule not in ("name-directory", "body-size"))
