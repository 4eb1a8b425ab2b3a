"""Skill folders on disk and learned skills → one catalogue. Reads folders, writes none, and ranks nothing.

`scan` reads the skills below the known roots, project before user; the first of a name counts, the others are reported
as shadowed. `merge` puts learned skills beside them. A skill that `extends` another is attached to it as
an overlay and leaves its file alone; where there is nothing to extend, it stands alone and is reported.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from tacit.domain.errors import InvalidSkill
from tacit.domain.evidence import Reliability
from tacit.domain.lifecycle import Status
from tacit.domain.skill import SkillContent
from tacit.render.frontmatter import Problem
from tacit.render.safe_files import is_folder, is_link, is_there
from tacit.render.skill_folder import find_skill_md, is_copy, load
from tacit.render.validation import SKIPPED_NAMES

PROJECT_ROOTS = (".agents/skills", ".claude/skills", ".codex/skills", ".github/skills", ".gemini/skills")
USER_ROOTS = (".agents/skills", ".claude/skills", ".codex/skills", ".copilot/skills", ".gemini/skills")
DEPTH_MAX = 5
DIRECTORIES_MAX = 2000


@dataclass(frozen=True, slots=True, kw_only=True)
class StaticSkill:
    """A skill that somebody keeps as a folder. `path` is its SKILL.md, `root` the skills folder it was found in."""

    name: str
    description: str
    path: Path
    content: SkillContent
    warnings: tuple[Problem, ...]
    root: Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Shadowed:
    """A skill that another one of the same name hides; `by` is the path (or version id) of that other one."""

    name: str
    path: str
    by: str
    identical: bool
    """Whether both say the same, as copies for several clients do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Skipped:
    """A place that could not be read as a skill, and why."""

    path: Path
    code: str
    """`too_many_folders`, `unreadable`, `dead_link`, or the rule that the skill breaks first."""
    reason: str
    hint: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scan:
    """What was found on disk, sorted by name."""

    skills: tuple[StaticSkill, ...]
    shadowed: tuple[Shadowed, ...]
    skipped: tuple[Skipped, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class LearnedSkill:
    """A learned version as the catalogue needs it."""

    content: SkillContent
    version_id: str
    status: Status
    reliability: Reliability = Reliability()
    source: str = ""
    """Where it came from, in words (see `context.source_line`)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One skill of the catalogue, static or learned, with the overlays that extend it."""

    content: SkillContent
    origin: Literal["static", "learned"]
    path: Path | None = None
    """The SKILL.md, for a static skill."""
    version_id: str = ""
    status: Status | None = None
    reliability: Reliability = Reliability()
    source: str = ""
    overlays: tuple[Entry, ...] = ()

    @property
    def name(self) -> str:
        """The skill's name."""
        return self.content.name

    @property
    def description(self) -> str:
        """What it does and when to use it."""
        return self.content.description

    @property
    def extends(self) -> str:
        """The name of the skill it overlays."""
        return self.content.extends

    @property
    def tools(self) -> tuple[str, ...]:
        """The tools that it and its overlays declare."""
        overlaid = (tool for overlay in self.overlays for tool in overlay.tools)
        return tuple(dict.fromkeys((*self.content.allowed_tools, *overlaid)))

    @property
    def hidden(self) -> bool:
        """Whether its author keeps it from being offered to a model."""
        return self.content.metadata.get("disable-model-invocation", "").casefold() == "true"


@dataclass(frozen=True, slots=True, kw_only=True)
class Catalogue:
    """Static and learned skills in one list, sorted by name."""

    entries: tuple[Entry, ...]
    shadowed: tuple[Shadowed, ...] = ()
    orphans: tuple[Entry, ...] = ()
    """Overlays without the skill they extend; they are entries too."""


def roots(*, project: Path | None, home: Path | None) -> list[Path]:
    """The folders that clients read skills from, in order of precedence."""
    places = [project / root for root in PROJECT_ROOTS] if project else []
    return places + ([home / root for root in USER_ROOTS] if home else [])


def scan(*, project: Path | None, home: Path | None) -> Scan:
    """Find the static skills of a project and a user."""
    skills: dict[str, StaticSkill] = {}
    shadowed: list[Shadowed] = []
    skipped: list[Skipped] = []
    visited: set[Path] = set()
    for root in dict.fromkeys(roots(project=project, home=home)):
        for folder in _skill_folders(root, visited, skipped=skipped):
            found = _load(folder, root, skipped=skipped)
            if found is None:
                continue
            first = skills.setdefault(found.name, found)
            if first is not found:
                identical = first.content == found.content
                both = {"path": str(found.path), "by": str(first.path)}
                shadowed.append(Shadowed(name=found.name, identical=identical, **both))
    ordered = tuple(skills[name] for name in sorted(skills))
    return Scan(skills=ordered, shadowed=tuple(shadowed), skipped=tuple(skipped))


def _skill_folders(root: Path, visited: set[Path], *, skipped: list[Skipped]) -> Iterator[Path]:
    """Walk breadth-first, so that the limit cuts the deepest folders; never twice into one place."""
    level, seen = [root], 0
    for depth in range(DEPTH_MAX + 1):
        below: list[Path] = []
        for folder in level:
            real = Path(os.path.realpath(folder))
            if real in visited:
                continue
            visited.add(real)
            seen += 1
            if seen > DIRECTORIES_MAX:
                skipped.append(
                    Skipped(
                        path=root,
                        code="too_many_folders",
                        reason=f"more than {DIRECTORIES_MAX} folders; the rest is not searched",
                    )
                )
                return
            if depth and find_skill_md(folder):
                yield folder
            elif depth < DEPTH_MAX:
                below.extend(_folders_in(folder, skipped=skipped))
        level = below


def _folders_in(folder: Path, *, skipped: list[Skipped]) -> list[Path]:
    try:
        inside = sorted(folder.iterdir())
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        skipped.append(_unreadable(folder, error.strerror))
        return []
    if inside and not os.access(folder, os.X_OK):
        skipped.append(_unreadable(folder, "Permission denied"))
    for path in inside:
        if is_link(path) and not is_there(path):
            hint = "remove it or restore its target"
            skipped.append(Skipped(path=path, code="dead_link", reason="the link leads nowhere", hint=hint))
    return [path for path in inside if path.name not in SKIPPED_NAMES and is_folder(path)]


def _unreadable(folder: Path, problem: str | None) -> Skipped:
    return Skipped(path=folder, code="unreadable", reason=f"cannot be read: {problem}", hint="check its permissions")


def _load(folder: Path, root: Path, *, skipped: list[Skipped]) -> StaticSkill | None:
    path = find_skill_md(folder)
    if path is None:  # it went away meanwhile
        return None
    try:
        parsed = load(path, with_files=False)
    except InvalidSkill as error:
        skipped.append(Skipped(path=path, code=error.rules[0], reason=error.message, hint=error.hint))
        return None
    content = parsed.content
    return StaticSkill(
        name=content.name,
        description=content.description,
        path=path,
        content=content,
        warnings=parsed.warnings,
        root=root,
    )


def merge(static: Iterable[StaticSkill], learned: Iterable[LearnedSkill]) -> Catalogue:
    """Put static and learned skills into one list.

    A static skill hides a learned one of its name, for a person keeps that file; if both say the same, the file is an
    export and the learned one stands, with its evidence.
    """
    entries: dict[str, Entry] = {}
    shadowed: list[Shadowed] = []
    for skill in static:
        entries.setdefault(skill.name, Entry(content=skill.content, origin="static", path=skill.path))
    for version in learned:
        entry = Entry(
            content=version.content,
            origin="learned",
            version_id=version.version_id,
            status=version.status,
            reliability=version.reliability,
            source=version.source,
        )
        present = entries.get(entry.name)
        if present is None or _same(present, entry):
            entries[entry.name] = entry if present is None else replace(entry, path=present.path)
        else:
            by = str(present.path or present.version_id)
            shadowed.append(Shadowed(name=entry.name, path=entry.version_id, by=by, identical=False))
    return _attach(entries, shadowed)


def _same(present: Entry, entry: Entry) -> bool:
    """A static entry is loaded without its files, so those do not count."""
    return present.origin == "static" and is_copy(present.content, replace(entry.content, files=()))


def _attach(entries: Mapping[str, Entry], shadowed: list[Shadowed]) -> Catalogue:
    overlays: dict[str, list[Entry]] = {}
    orphans: list[Entry] = []
    standing: list[Entry] = []
    for name in sorted(entries):
        entry = entries[name]
        extended = _extended(entry, entries)
        if extended:
            overlays.setdefault(extended, []).append(entry)
            continue
        standing.append(entry)
        if entry.extends:
            orphans.append(entry)
    done = tuple(replace(entry, overlays=tuple(overlays.get(entry.name, ()))) for entry in standing)
    return Catalogue(entries=done, shadowed=tuple(shadowed), orphans=tuple(orphans))


def _extended(entry: Entry, entries: Mapping[str, Entry]) -> str:
    """The name of the skill at the end of the chain that this overlay extends; empty if it hangs in the air."""
    passed = {entry.name}
    name = entry.extends
    while name and name in entries and name not in passed:
        passed.add(name)
        if entry.origin == "static" and entries[name].origin == "learned":
            return ""  # a file that nobody reviewed adds nothing to what somebody approved
        if not entries[name].extends or entries[name].extends not in entries:
            return name
        name = entries[name].extends
    return ""
