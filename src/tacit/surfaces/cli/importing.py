"""`tacit skills import`: SKILL.md folders and archives of them → candidates that wait for review, through the gate."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import click
from rich.markup import escape

from tacit import application
from tacit.domain.candidate import Relation, Verdict
from tacit.domain.errors import InvalidSkill, Mistake, NotFound
from tacit.domain.origin import Origin
from tacit.surfaces.cli.session import Session, clean, command_options
from tacit.surfaces.cli.show import STANDING

_Found = tuple[str, Callable[[], application.Parsed]]
"""Where a skill lies, and how to read it."""


@click.command("import")
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--by", default="", help="Who brings them in.")
@click.option("--own", is_flag=True, help="You wrote every word of them: nothing in them counts as somebody else's.")
@click.option("--dry-run", is_flag=True, help="Only check: list every problem, store nothing.")
@command_options
def import_(session: Session, *, paths: tuple[Path, ...], by: str, own: bool, dry_run: bool) -> None:
    """Bring SKILL.md folders in through the gate; they wait for review. An edited export becomes a new version.

    A path is a skill's folder, its SKILL.md, a folder of such folders, or an archive of them (.zip, .skill, .tar, .tar.gz),
    which is read in memory and refused as a whole if anything in it is out of bounds.
    """
    session.may_create = not dry_run
    by = by or session.surroundings.user or "import"
    if own:
        session.caller.require_person("import --own")
    # Who wrote a file does not show, and a file from the web does not become one's own by being saved.
    origin = Origin.USER if own else Origin.EXTERNAL
    results: list[dict[str, Any]] = []
    for path, load in _skills_at(paths):
        try:
            parsed = load()
        except InvalidSkill as error:
            results.append({"path": path, "imported": False, "problems": error.problems or (error.message,)})
            continue
        warnings = [str(warning) for warning in parsed.warnings]
        result: dict[str, Any] = {"path": path, "name": parsed.content.name, "imported": not dry_run}
        result |= {"warnings": warnings} if warnings else {}
        if not dry_run:
            verdict = _bring_in(session, parsed, by=by, origin=origin, source=path)
            result |= {"decision": verdict.decision, "relation": verdict.relation, "version_id": verdict.version_id}
        results.append(result)
    session.answer({"results": results}, lambda: _show_imported(session, results))
    if not any(result.get("name") for result in results):
        session.end_with(
            Mistake("no skill could be imported", hint="mend the problems listed above, then import again")
        )


def _skills_at(paths: tuple[Path, ...]) -> Iterator[_Found]:
    """Each path is a skill's folder, its SKILL.md, a folder of such folders, or an archive of them."""
    from tacit.application.archive import is_archive

    for path in paths:
        if not path.exists():
            raise NotFound(f"no such file or folder: {path}", hint="check the path")
        if is_archive(path):
            yield from _skills_in(path)
            continue
        inner = (
            sorted(p for p in path.iterdir() if p.is_dir() and application.find_skill_md(p)) if path.is_dir() else []
        )
        folders = inner if inner and not application.find_skill_md(path) else [path]
        yield from ((str(folder), partial(application.load, folder)) for folder in folders)


def _skills_in(path: Path) -> Iterator[_Found]:
    """The skills of an archive; of one that is not sound, the one error that says why."""
    from tacit.application.archive import open_archive

    archive = open_archive(path)
    try:
        archive.require_sound()
    except InvalidSkill as error:
        yield str(path), _raising(error)
        return
    for folder in archive.folders:
        source = f"{path}/{folder.root}" if folder.root else str(path)
        yield source, partial(folder.load, source=source)


def _raising(error: InvalidSkill) -> Callable[[], application.Parsed]:
    def load() -> application.Parsed:
        raise error

    return load


def _bring_in(session: Session, parsed: application.Parsed, *, by: str, origin: Origin, source: str) -> Verdict:
    """Propose an imported content: as a revision of the skill it was exported from, or of the one with its name."""
    content, store = parsed.content, session.loop.store
    same = [s for s in store.catalogue(name=content.name, kinds={content.kind}) if s.skill.scope == session.loop.scope]
    stamped = parsed.stamp.get("skill-id", "")
    if stamped and stamped in store.resolve(stamped):
        same = store.versions(stamped)
    revises = same[-1] if same else None
    copied = next((s.version.content for s in reversed(same) if application.is_copy(content, s.version.content)), None)
    content = copied or content  # what left in its outward form comes back as what it was
    return session.loop.propose(content, by=by, origin=origin, revises=revises, source=source)


def _show_imported(session: Session, results: list[dict[str, Any]]) -> None:
    for result in results:
        if "problems" in result:
            session.console.print(f"[red]not imported[/red] {escape(clean(result['path']))}")
            for problem in result["problems"]:
                session.console.print(f"  - {escape(clean(problem))}")
        elif result.get("relation") == Relation.REINFORCE:
            session.console.print(f"[dim]unchanged[/dim]    {escape(clean(result['name']))}")
        else:
            told = STANDING[result["decision"]] if "decision" in result else "valid"
            session.console.print(f"[green]{told}[/green]  {escape(clean(result['name']))}")
