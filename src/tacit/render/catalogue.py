"""Skill folders on disk and learned skills → one catalogue. Reads folders, writes none, and ranks nothing.

`scan` reads the skills below the known roots, project before user; the first of a name counts, the others are reported
as shadowed, and what cannot be read is passed over. `merge` puts learned skills beside them. A skill that `extends`
another is attached to it as an overlay and leaves its file alone; where there is nothing to extend, it stands alone.
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
from tacit.render.safe_files import folder_entries, is_folder
from tacit.render.skill_folder import find_skill_md, is_copy, load
from tacit.render.validation import SKIPPED_NAMES

PROJECT_ROOTS = (
    ".agents/skills",
    ".claude/skills",
    ".codex/skills",
    ".github/skills",
    ".gemini/skills",
    ".qwen/skills",
    ".opencode/skills",
    ".skills",
)
USER_ROOTS = (
    ".agents/skills",
    ".claude/skills",
    ".codex/skills",
    ".copilot/skills",
    ".gemini/skills",
    ".letta/skills",
    ".qwen/skills",
    ".config/opencode/skills",
)
DEPTH_MAX = 5
DIRECTORIES_MAX = 2000
"""Levels and folders that are searched for skills: a home folder may hold anything."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One skill of the catalogue, learned or kept by somebody as a folder (static), with the overlays that extend it."""

    content: SkillContent
    origin: Literal["static", "learned"] = "learned"
    path: Path | None = None
    """The SKILL.md, for a static skill or an export."""
    warnings: tuple[Problem, ...] = ()
    version_id: str = ""
    status: Status | None = None
    reliability: Reliability = Reliability()
    source: str = ""
    """Where it came from, in words (see `context.source_line`)."""
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
    def tools(self) -> tuple[str, ...]:
        """The tools that it and its overlays declare."""
        overlaid = (tool for overlay in self.overlays for tool in overlay.tools)
        return tuple(dict.fromkeys((*self.content.allowed_tools, *overlaid)))

    @property
    def hidden(self) -> bool:
        """Whether its author keeps it from being offered to a model."""
        return self.content.metadata.get("disable-model-invocation", "").casefold() == "true"


@dataclass(frozen=True, slots=True, kw_only=True)
class Shadowed:
    """A skill that another one of the same name hides; `by` is the path (or version id) of that other one."""

    name: str
    path: str
    by: str
    identical: bool
    """Whether both say the same, as copies for several clients do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Catalogue:
    """Skills in one list, sorted by name, and those that are hidden by one of them."""

    entries: tuple[Entry, ...]
    shadowed: tuple[Shadowed, ...] = ()


def roots(*, project: Path | None, home: Path | None) -> list[Path]:
    """The folders that clients read skills from, in order of precedence."""
    places = [project / root for root in PROJECT_ROOTS] if project else []
    return places + ([home / root for root in USER_ROOTS] if home else [])


def scan(*, project: Path | None, home: Path | None) -> Catalogue:
    """Find the static skills of a project and a user."""
    skills: dict[str, Entry] = {}
    shadowed: list[Shadowed] = []
    visited: set[Path] = set()
    for root in dict.fromkeys(roots(project=project, home=home)):
        for path in _skill_files(root, visited):
            try:
                parsed = load(path, with_files=False)
            except InvalidSkill:
                continue
            found = Entry(content=parsed.content, origin="static", path=path, warnings=parsed.warnings)
            first = skills.setdefault(found.name, found)
            if first is not found:
                identical = first.content == found.content
                shadowed.append(Shadowed(name=found.name, path=str(path), by=str(first.path), identical=identical))
    return Catalogue(entries=tuple(skills[name] for name in sorted(skills)), shadowed=tuple(shadowed))


def _skill_files(root: Path, visited: set[Path]) -> Iterator[Path]:
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
                return
            if depth and (path := find_skill_md(folder)):
                yield path
            elif depth < DEPTH_MAX:
                inside = folder_entries(folder)
                below += (path for path in inside if path.name not in SKIPPED_NAMES and is_folder(path))
        level = below


def merge(static: Iterable[Entry], learned: Iterable[Entry]) -> Catalogue:
    """Put static and learned skills into one list.

    A static skill hides a learned one of its name, for a person keeps that file; if both say the same, the file is an
    export and the learned one stands, with its evidence.
    """
    entries: dict[str, Entry] = {}
    shadowed: list[Shadowed] = []
    for entry in static:
        entries.setdefault(entry.name, entry)
    for entry in learned:
        present = entries.get(entry.name)
        if present is None or _same(present, entry):
            entries[entry.name] = entry if present is None else replace(entry, path=present.path)
        else:
            by = str(present.path or present.version_id)
            shadowed.append(Shadowed(name=entry.name, path=entry.version_id, by=by, identical=False))
    return Catalogue(entries=tuple(_with_overlays(entries)), shadowed=tuple(shadowed))


def _same(present: Entry, entry: Entry) -> bool:
    """A static entry is loaded without its files, so those do not count."""
    return present.origin == "static" and is_copy(present.content, replace(entry.content, files=()))


def _with_overlays(entries: Mapping[str, Entry]) -> Iterator[Entry]:
    extended = {name: _extended(entries[name], entries) for name in sorted(entries)}
    for name, base in extended.items():
        if not base:
            overlays = tuple(entries[overlay] for overlay, its_base in extended.items() if its_base == name)
            yield replace(entries[name], overlays=overlays)


def _extended(entry: Entry, entries: Mapping[str, Entry]) -> str:
    """The name of the skill at the end of the chain that this overlay extends; empty if it hangs in the air."""
    passed = {entry.name}
    name = entry.content.extends
    while name and name in entries and name not in passed:
        passed.add(name)
        if entry.origin == "static" and entries[name].origin == "learned":
            return ""  # a file that nobody reviewed adds nothing to what somebody approved
        following = entries[name].content.extends
        if not following or following not in entries:
            return name
        name = following
    return ""
