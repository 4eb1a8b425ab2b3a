"""Procedures as SKILL.md folders for the clients that read them so (channel `skill`), kept in step with the store.

The store is the truth and a folder its projection: approval writes it, a new approved version replaces it, retirement
removes it. A folder that somebody edited is never overwritten or removed; its text comes back as a new version that
waits for review, and once that is approved both agree again. A folder without Tacit's stamp is somebody else's. What is
written keeps itself out of version control, as the store does; `tacit skills export` writes what is to be committed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from tacit import render as application
from tacit.api import Tacit
from tacit.config.channels import SKILL, channels
from tacit.domain.candidate import Verdict
from tacit.domain.errors import InvalidSkill, NotFound
from tacit.domain.evidence import Evidence
from tacit.domain.lifecycle import RECALLABLE
from tacit.domain.origin import Origin
from tacit.domain.ports import Stored
from tacit.domain.skill import Kind

ROOTS = {"claude-code": ".claude/skills", "codex": ".agents/skills"}
"""Client → where it looks for skills in a project."""
IGNORE = ".gitignore"


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """What became of one folder: written, removed, edited (left as it is) or foreign (left as it is)."""

    path: Path
    name: str
    what: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Folder:
    """An exported folder that is still there, and the version it was written from."""

    path: Path
    parsed: application.Parsed
    source: Stored

    @property
    def edited(self) -> bool:
        return not application.is_copy(self.parsed.content, self.source.version.content)


def export(loop: Tacit) -> list[Kept]:
    """Bring the folders in step with what is approved now."""
    wanted = {stored.version.name: stored for stored in loop.skills(statuses=RECALLABLE) if _is_exported(stored)}
    done: list[Kept] = []
    for root in _roots(loop):
        for folder in _exported(loop, root):
            current = wanted.get(folder.parsed.content.name)
            if current is None or current.skill.id != folder.source.skill.id:
                done.append(_remove(folder))
        done += [kept for stored in wanted.values() if (kept := _write(loop, root, stored))]
    return done


def follow(loop: Tacit, evidence: Iterable[Evidence]) -> list[Kept]:
    """Bring the folders in step where results have moved something out of use."""
    gone = any(loop.store.version(item.version_id).status not in RECALLABLE for item in evidence)
    return export(loop) if gone else []


def withdraw(loop: Tacit) -> list[Kept]:
    """Remove what was exported, for every client, as far as nobody edited it."""
    if loop.place is None:
        return []
    roots = _inside(loop.place.project, ROOTS.values())
    return [_remove(folder) for root in roots for folder in _exported(loop, root)]


def forget(loop: Tacit, version_ids: Collection[str]) -> list[Kept]:
    """Remove what was exported of these versions, for every client, as far as nobody edited it."""
    if loop.place is None:
        return []
    folders = [f for root in _inside(loop.place.project, ROOTS.values()) for f in _exported(loop, root)]
    return [_remove(folder) for folder in folders if folder.source.version.id in version_ids]


def take_back(loop: Tacit, *, by: str) -> list[Verdict]:
    """Propose the text of every folder that was edited since it was written; what was proposed before is not again.

    Who edited a file does not show, so its origin is the lowest, whoever asks.
    """
    verdicts: list[Verdict] = []
    for root in _roots(loop):
        for folder in _exported(loop, root):
            versions = loop.store.versions(folder.source.skill.id)
            known = {stored.version.hash for stored in versions}
            if folder.edited and folder.parsed.content.hash() not in known:
                path = str(folder.path / "SKILL.md")
                content = folder.parsed.content
                verdicts.append(loop.propose(content, by=by, origin=Origin.EXTERNAL, revises=versions[-1], source=path))
    return verdicts


def _is_exported(stored: Stored) -> bool:
    """Procedures only: the rest must come at its moment, which a folder cannot."""
    return stored.version.content.kind is Kind.PROCEDURE


def _roots(loop: Tacit) -> Iterator[Path]:
    """The skill folders that this project's clients read, as far as their channel is `skill`."""
    if loop.place is None or not loop.place.is_projects_own:
        return
    chosen = channels(str(loop.place.folder))
    yield from _inside(loop.place.project, [root for client, root in ROOTS.items() if chosen.get(client) == SKILL])


def _inside(project: Path, roots: Iterable[str]) -> Iterator[Path]:
    """The folders that really lie in the project: a link may lead anywhere, and nothing is written or removed there."""
    for root in roots:
        if (project / root).resolve() == project.resolve() / root:
            yield project / root


def _exported(loop: Tacit, root: Path) -> Iterator[_Folder]:
    """The folders below a root that carry Tacit's stamp and can be read."""
    if not root.is_dir():
        return
    for path in sorted(each for each in root.iterdir() if each.is_dir() and not each.is_symlink()):
        try:
            parsed = application.load(path)
            source = loop.store.version(parsed.stamp.get("version-id", ""))
        except (InvalidSkill, NotFound):
            continue
        yield _Folder(path=path, parsed=parsed, source=source)


def _write(loop: Tacit, root: Path, stored: Stored) -> Kept | None:
    path = root / stored.version.name
    there = next((folder for folder in _exported(loop, root) if folder.path == path), None)
    if there is None and application.find_skill_md(path):
        return Kept(path=path, name=stored.version.name, what="foreign")
    if there is not None and application.is_copy(there.parsed.content, stored.version.content):
        if there.source.version.id == stored.version.id:
            return None
    elif there is not None and there.edited:
        return Kept(path=path, name=stored.version.name, what="edited")
    if there is not None:
        _clear(there)
    stamp = {"skill-id": stored.skill.id, "version-id": stored.version.id}
    application.save(stored.version.content, root, stamp=stamp)
    if not (path / IGNORE).exists():
        (path / IGNORE).write_text("*\n", encoding="utf-8")
    return Kept(path=path, name=stored.version.name, what="written")


def _remove(folder: _Folder) -> Kept:
    name = folder.source.version.name
    if folder.edited:
        return Kept(path=folder.path, name=name, what="edited")
    _clear(folder)
    return Kept(path=folder.path, name=name, what="removed")


def _clear(folder: _Folder) -> None:
    """Take away what was written, and the folders that this leaves empty; anything else stays."""
    for name in ("SKILL.md", IGNORE, *(file.path for file in folder.source.version.content.files)):
        (folder.path / name).unlink(missing_ok=True)
    below = sorted((each for each in folder.path.rglob("*") if each.is_dir() and not each.is_symlink()), reverse=True)
    for each in (*below, folder.path):
        if not any(each.iterdir()):
            each.rmdir()
