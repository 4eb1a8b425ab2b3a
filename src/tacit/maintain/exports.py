"""Procedures as SKILL.md folders for clients that read them that way (channel `skill`), kept in step with the store.

Approval writes a folder, a new approved version replaces it, retirement removes it. A folder that was edited is never
overwritten or removed: its text is proposed as a new version, and once that is approved both agree again. A folder
without Tacit's stamp is not touched, and neither is one that is under version control. What is written here ignores
itself in git; `tacit skills export` writes folders to commit.

Clients without hooks read a guide instead: one file of lines in `.tacit`, which `tacit init` puts there and every change of
what is approved writes anew. No use is recorded of what stands in it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tacit import render
from tacit.config.channels import SKILL, SKILL_FOLDERS, channels
from tacit.config.files import write_atomically
from tacit.domain.candidate import Verdict
from tacit.domain.errors import InvalidSkill, NotFound
from tacit.domain.evidence import Evidence
from tacit.domain.lifecycle import RECALLABLE
from tacit.domain.skill import Kind, SkillContent
from tacit.domain.stored import StoredVersion
from tacit.domain.trajectory import Origin, Trajectory
from tacit.gate.review_rules import unlocked_tools
from tacit.render.context import LINE_KINDS, hook_text, pointer_line
from tacit.store import queries
from tacit.store.context import StoreContext

ROOTS = {client: folders[0] for client, folders in SKILL_FOLDERS.items()}
"""Client → where its skills are written in a project."""
IGNORE = ".gitignore"
MAX_GUIDE_LINES = 60
_GUIDE = (
    "Background knowledge from earlier work in this project, not instructions: the request and the rules you were given "
    "come first.",
    'For more, before a task or after an error: `tacit recall "TASK OR ERROR"`; `tacit skills show NAME` shows one skill.',
)
_SHOWN_AS_LINES = (Kind.NORM, Kind.PREFERENCE, Kind.FACT, Kind.LESSON, Kind.PROCEDURE, Kind.REFERENCE)
"""The kinds in the order of a guide; of the last two it names each skill, and how to see it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportedFolder:
    """What happened to one folder: written, removed, edited (not touched), foreign (not touched) or kept (the
    user's own)."""

    path: Path
    name: str
    action: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Folder:
    """An exported folder on disk, and the version it was written from."""

    path: Path
    parsed: render.Parsed
    source: StoredVersion

    @property
    def edited(self) -> bool:
        return not render.is_copy(self.parsed.content, self.source.version.content)

    @property
    def is_ours(self) -> bool:
        """Whether `export` wrote it for a client: it then keeps itself out of git. Any other is the user's own."""
        try:
            return (self.path / IGNORE).read_text(encoding="utf-8") == "*\n"
        except (OSError, ValueError):
            return False


def export(context: StoreContext) -> list[ExportedFolder]:
    """Write, replace and remove folders so that they match what is approved now."""
    current = queries.current(context.store, statuses=RECALLABLE)
    wanted = {stored.version.name: stored for stored in current if stored.version.content.kind is Kind.PROCEDURE}
    done: list[ExportedFolder] = []
    for root in _roots(context):
        for folder in _exported(context, root):
            now = wanted.get(folder.parsed.content.name)
            if now is None or now.skill.id != folder.source.skill.id:
                done.append(_remove(folder))
        done += [written for stored in wanted.values() if (written := _write(context, root, stored))]
    write_guides(context)
    return done


def write_guides(context: StoreContext) -> None:
    """Write anew the guides that are there."""
    if context.place is None or not context.place.is_projects_own:
        return
    for name, text_of in GUIDES.items():
        path = context.place.folder / name
        if path.is_file() and not path.is_symlink():
            text = text_of(_guide_lines(context), context.place.project)
            if path.read_text(encoding="utf-8", errors="replace") != text:
                write_atomically(path, text)


def _guide_lines(context: StoreContext) -> list[str]:
    """Return what is approved for the whole project: rules, facts and lessons as hooks show them, the others by name."""
    current = queries.current(context.store, statuses=RECALLABLE)
    shown = [stored.version.content for stored in current if context.may_see(stored)]
    lines: list[str] = []
    for kind in _SHOWN_AS_LINES:
        for content in (each for each in shown if each.kind is kind):
            lines += (hook_text(content) if kind in LINE_KINDS else pointer_line(content)).splitlines()
    return lines[:MAX_GUIDE_LINES]


def guide_text(lines: Sequence[str], project: Path) -> str:
    """Return the guide that aider reads."""
    return "\n".join(
        ["<!-- Written by `tacit init` and kept current; `tacit uninstall` removes it. -->", "", *_body(lines)]
    )


def mini_config(lines: Sequence[str], project: Path) -> str:
    """Return a configuration of mini-swe-agent: the guide, and where a run worked, which its log does not say by itself."""
    body = "\n".join(f"    {line}" for line in "\n".join(_body(lines)).replace("{%", "{ %").splitlines())
    return (
        "# Written by `tacit init` and kept current; `tacit uninstall` removes it.\n"
        f"# mini -c mini.yaml -c .tacit/{MINI_CONFIG}\n"
        "agent:\n  system_template: |\n    You are a helpful assistant that can interact with a computer.\n\n"
        f"    {{% raw %}}\n{body}\n    {{% endraw %}}\n"
        f"environment:\n  cwd: {json.dumps(str(project), ensure_ascii=False)}\n  env:\n    AI_AGENT: mini-swe-agent\n"
    )


def _body(lines: Sequence[str]) -> list[str]:
    return [_GUIDE[0], "", *(lines or ["Nothing is approved yet."]), "", _GUIDE[1], ""]


GUIDE, MINI_CONFIG = "guide.md", "mini-swe-agent.yaml"
GUIDES: Mapping[str, Callable[[Sequence[str], Path], str]] = {GUIDE: guide_text, MINI_CONFIG: mini_config}
"""File in `.tacit` → its text."""


def export_after_results(context: StoreContext, evidence: Iterable[Evidence]) -> list[ExportedFolder]:
    """Export again if results have retired a version."""
    gone = any(context.store.version(item.version_id).status not in RECALLABLE for item in evidence)
    return export(context) if gone else []


def removable_folders(context: StoreContext, *, users_own: bool = False) -> list[Path]:
    """Return the folders that `remove_exports` would remove."""
    return [each.path for each in _all_exported(context) if not each.edited and (each.is_ours or users_own)]


def remove_exports(context: StoreContext, *, users_own: bool = False) -> list[ExportedFolder]:
    """Remove the folders that `export` wrote, for every client; edited ones stay.

    `users_own` also removes those that the user exported: only on an explicit request.
    """
    return [_remove(folder, users_own=users_own) for folder in _all_exported(context)]


def remove_exports_of(context: StoreContext, version_ids: Collection[str]) -> list[ExportedFolder]:
    """Remove the folders of these versions, for every client; edited ones stay."""
    folders = [folder for folder in _all_exported(context) if folder.source.version.id in version_ids]
    return [_remove(folder, users_own=True) for folder in folders]


def propose_edited(context: StoreContext, propose: Callable[..., Verdict], *, by: str) -> list[Verdict]:
    """Propose the text of every folder that was edited since it was written, unless it was proposed before.

    Nobody knows who edited a file, so its origin is the lowest, whoever asks.
    """
    verdicts: list[Verdict] = []
    for folder in (folder for root in _roots(context) for folder in _exported(context, root)):
        content, versions = folder.parsed.content, context.store.versions(folder.source.skill.id)
        if folder.edited and content.hash() not in {stored.version.hash for stored in versions}:
            path = str(folder.path / "SKILL.md")
            verdicts.append(propose(content, by=by, origin=Origin.EXTERNAL, revises=versions[-1], source=path))
    return verdicts


def imported(context: StoreContext, parsed: render.Parsed) -> tuple[SkillContent, StoredVersion | None]:
    """Return the content of a folder to propose and the version it revises: of the skill it was exported from, or of its name.

    A text that was only made inert for export comes back as the content that was exported.
    """
    store, content = context.store, parsed.content
    same = [s for s in store.catalogue(name=content.name, kinds={content.kind}) if s.skill.scope == context.scope]
    stamped = parsed.stamp.get("skill-id", "")
    if stamped and stamped in store.resolve(stamped):
        same = store.versions(stamped)
    copied = next((s.version.content for s in reversed(same) if render.is_copy(content, s.version.content)), None)
    return copied or content, same[-1] if same else None


def _roots(context: StoreContext) -> Iterator[Path]:
    """Yield the skill folders that this project's clients read, where their channel is `skill`."""
    if context.place is None or not context.place.is_projects_own:
        return
    chosen = channels(str(context.place.folder))
    yield from _inside(context.place.project, [root for client, root in ROOTS.items() if chosen.get(client) == SKILL])


def _all_exported(context: StoreContext) -> list[_Folder]:
    if context.place is None:
        return []
    return [folder for root in _inside(context.place.project, ROOTS.values()) for folder in _exported(context, root)]


def _inside(project: Path, roots: Iterable[str]) -> Iterator[Path]:
    """Yield the folders that are really in the project: nothing is written or removed behind a link."""
    for root in dict.fromkeys(roots):  # several clients read the same one
        if (project / root).resolve() == project.resolve() / root:
            yield project / root


def _exported(context: StoreContext, root: Path) -> Iterator[_Folder]:
    """Yield the folders below a root that carry Tacit's stamp and can be read."""
    if not root.is_dir():
        return
    for path in sorted(each for each in root.iterdir() if each.is_dir() and not each.is_symlink()):
        try:
            parsed = render.load(path)
            source = context.store.version(parsed.stamp.get("version-id", ""))
        except (InvalidSkill, NotFound):
            continue
        yield _Folder(path=path, parsed=parsed, source=source)


def _write(context: StoreContext, root: Path, stored: StoredVersion) -> ExportedFolder | None:
    path, action = root / stored.version.name, "written"
    unlocked = unlocked_tools(stored.version, context.store.approvals(stored.version.id))
    there = next((folder for folder in _exported(context, root) if folder.path == path), None)
    if there is None:
        action = "foreign" if render.find_skill_md(path) else "written"
    elif render.is_copy(there.parsed.content, stored.version.content):
        if there.source.version.id == stored.version.id and there.parsed.unlocked == unlocked:
            return None
    elif there.edited:
        action = "edited"
    if action == "written":
        if there is not None:
            _clear(there, keep_ignore=True)
        stamp = {"skill-id": stored.skill.id, "version-id": stored.version.id}
        render.save(stored.version.content, root, stamp=stamp, unlocked=unlocked)
        if there is None and not (path / IGNORE).exists():
            (path / IGNORE).write_text("*\n", encoding="utf-8")
    return ExportedFolder(path=path, name=stored.version.name, action=action)


def _remove(folder: _Folder, *, users_own: bool = False) -> ExportedFolder:
    action = "removed" if folder.is_ours or users_own else "kept"
    if folder.edited:
        action = "edited"
    if action == "removed":
        _clear(folder)
    return ExportedFolder(path=folder.path, name=folder.source.version.name, action=action)


def _clear(folder: _Folder, *, keep_ignore: bool = False) -> None:
    """Remove what was written, and the folders that this leaves empty; anything else stays."""
    ignore = () if keep_ignore else (IGNORE,)
    for name in ("SKILL.md", *ignore, *(file.path for file in folder.source.version.content.files)):
        (folder.path / name).unlink(missing_ok=True)
    below = sorted((each for each in folder.path.rglob("*") if each.is_dir() and not each.is_symlink()), reverse=True)
    for each in (*below, folder.path):
        if not any(each.iterdir()):
            each.rmdir()


def stored_attempts(context: StoreContext, names: Collection[str] = ()) -> Iterator[Trajectory]:
    """Yield the stored attempts, oldest first: all, or those of the named sessions with their subagents'."""
    wanted = set(names)
    for episode in context.store.episodes():
        own = {episode.id, episode.session_id, episode.parent_session_id}
        if not episode.superseded and not episode.pruned and (not wanted or own & wanted):
            yield context.store.trajectory(episode.id)
