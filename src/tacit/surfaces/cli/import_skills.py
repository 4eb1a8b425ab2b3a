"""`tacit skills import`: SKILL.md folders and archives of them → candidates that wait for review, through the gate."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import click
from rich.markup import escape

from tacit import render as application
from tacit.domain.candidate import Decision, Finding, Relation, Severity, Verdict
from tacit.domain.errors import GateRefusal, InvalidSkill, Mistake, NotFound, Refusal
from tacit.domain.lifecycle import Status
from tacit.domain.origin import Origin
from tacit.domain.ports import Stored
from tacit.domain.skill import Provenance, SkillContent
from tacit.gate import admission as intake
from tacit.gate.examination import WEIGHT
from tacit.surfaces.cli.context import CommandContext, clean, command_options
from tacit.surfaces.cli.review_page import finding_documents, place, show_findings
from tacit.surfaces.cli.views import STANDING

_Found = tuple[str, Callable[[], application.Parsed]]
"""Where a skill lies, and how to read it."""
_TURNED_DOWN = frozenset({Status.REJECTED, Status.RETIRED})
_WAITS = frozenset({Status.CANDIDATE, Status.QUARANTINED})


@dataclass(frozen=True, slots=True, kw_only=True)
class _Way:
    """How skills are brought in, or only tried."""

    by: str
    origin: Origin
    dry_run: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class _Result:
    """What became of one skill."""

    path: str
    problems: tuple[str, ...] = ()
    """Why it could not be read, or was refused."""
    content: SkillContent | None = None
    warnings: tuple[str, ...] = ()
    verdict: Verdict | None = None
    held: Stored | None = None
    """The version as it stands in the store."""
    why: str = ""
    """Why a person turned this very text down before."""

    @property
    def taken(self) -> bool:
        """Whether it may ever be recalled without a further word of its author's."""
        refused = self.verdict is None or self.verdict.decision is Decision.REJECT
        return not refused and not (self.held and self.held.status in _TURNED_DOWN)

    @property
    def findings(self) -> list[Finding]:
        """What the gate found, the heaviest first."""
        return sorted(self.verdict.findings if self.verdict else (), key=lambda finding: -WEIGHT[finding.severity])


@click.command("import")
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--by", default="", help="Who brings them in.")
@click.option("--own", is_flag=True, help="You wrote every word of them: nothing in them counts as somebody else's.")
@click.option(
    "--dry-run", is_flag=True, help="Store nothing: list every problem and finding, and what the gate would say."
)
@command_options
def import_(ctx: CommandContext, *, paths: tuple[Path, ...], by: str, own: bool, dry_run: bool) -> None:
    """Bring SKILL.md folders in through the gate; they wait for review. An edited export becomes a new version.

    A path is a skill's folder, its SKILL.md, a folder of such folders, or an archive of them (.zip, .skill, .tar, .tar.gz),
    which is read in memory and refused as a whole if anything in it is out of bounds. Ends with 3 if any of them was not
    taken; the others are brought in all the same.
    """
    ctx.may_create = not dry_run
    if dry_run and not Path(ctx.place.database).exists():
        ctx.place = ctx.place.in_memory()
    if own:
        ctx.caller.require_person("import --own")
    # Who wrote a file does not show, and a file from the web does not become one's own by being saved.
    origin = Origin.USER if own else Origin.EXTERNAL
    way = _Way(by=by or ctx.environment.user or "import", origin=origin, dry_run=dry_run)
    results = [_result(ctx, path, load, way=way) for path, load in _skills_at(paths)]
    document = {"results": [_document(result, dry_run=dry_run) for result in results]}
    ctx.answer(document, lambda: _show_imported(ctx, results, dry_run=dry_run))
    _end(ctx, results)


def _end(ctx: CommandContext, results: Sequence[_Result]) -> None:
    """Say by the exit code whether all that was asked for was taken."""
    left = [result for result in results if not result.taken]
    if not any(result.content for result in results):
        ctx.end_with(Mistake("no skill could be imported", hint="mend the problems listed above, then import again"))
    if left:
        named = ", ".join(clean(each.content.name if each.content else each.path) for each in left[:3])
        more = f" and {len(left) - 3} more" if len(left) > 3 else ""
        told = f"not taken, {len(left)} of {len(results)}: {named}{more}"
        ctx.end_with(Refusal(told, hint="the reasons stand above; what else was named is not affected"))


def _skills_at(paths: tuple[Path, ...]) -> Iterator[_Found]:
    """Each path is a skill's folder, its SKILL.md, a folder of such folders, or an archive of them."""
    from tacit.render.archive import is_archive

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
    from tacit.render.archive import open_archive

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


def _result(ctx: CommandContext, path: str, load: Callable[[], application.Parsed], *, way: _Way) -> _Result:
    try:
        parsed = load()
    except InvalidSkill as error:
        return _Result(path=path, problems=error.problems or (error.message,))
    warnings = tuple(str(warning) for warning in parsed.warnings)
    result = _Result(path=path, content=parsed.content, warnings=warnings)
    try:
        verdict = _bring_in(ctx, parsed, source=str(Path(path).resolve()), way=way)
    except GateRefusal as refusal:  # it was purged
        return dataclasses.replace(result, problems=(refusal.message,))
    store = ctx.memory.store
    known = bool(verdict.version_id) and verdict.version_id in store.resolve(verdict.version_id)
    held = store.version(verdict.version_id) if known else None
    if held and way.dry_run:
        verdict = dataclasses.replace(verdict, relation=Relation.REINFORCE)
    return dataclasses.replace(result, verdict=verdict, held=held, why=_why_turned_down(ctx, held))


def _why_turned_down(ctx: CommandContext, held: Stored | None) -> str:
    if held is None or held.status not in _TURNED_DOWN:
        return ""
    last = ctx.memory.store.transitions(held.version.id)[-1]
    again = "--reopen" if held.status is Status.REJECTED else "--restore"
    said = f"{last.by} {held.status} this very text on {last.at:%Y-%m-%d} ({last.reason})"
    return f"{said}; to decide again: tacit review {held.version.id[:10]} {again}"


def _bring_in(ctx: CommandContext, parsed: application.Parsed, *, source: str, way: _Way) -> Verdict:
    """Propose an imported content: as a revision of the skill it was exported from, or of the one with its name."""
    content, loop, store = parsed.content, ctx.memory, ctx.memory.store
    same = [s for s in store.catalogue(name=content.name, kinds={content.kind}) if s.skill.scope == loop.scope]
    stamped = parsed.stamp.get("skill-id", "")
    if stamped and stamped in store.resolve(stamped):
        same = store.versions(stamped)
    revises = same[-1] if same else None
    copied = next((s.version.content for s in reversed(same) if application.is_copy(content, s.version.content)), None)
    content = copied or content  # what left in its outward form comes back as what it was
    if not way.dry_run:
        return loop.propose(content, by=way.by, origin=way.origin, revises=revises, source=source)
    if store.is_purged(content.hash()):
        raise GateRefusal(f"`{content.name}` was purged and is refused", hint="see `tacit history`")
    made = Provenance(made_by=way.by, source=source)
    candidate = intake.proposed(store, content, made=made, origin=way.origin, revises=revises, scope=loop.scope)
    return intake.judged(store, candidate, policy=loop.config.policy, at=datetime.now(UTC)).verdict


def _document(result: _Result, *, dry_run: bool) -> dict[str, Any]:
    document: dict[str, Any] = {"path": result.path, "imported": result.taken and not dry_run}
    if result.problems:
        document |= {"problems": result.problems}
    if result.content is None:
        return document
    document |= {"name": result.content.name} | ({"warnings": result.warnings} if result.warnings else {})
    verdict = result.verdict
    if verdict is None:
        return document
    version_id = verdict.version_id if result.held else ""  # of a dry run nothing stays that it could name
    return document | {
        "decision": verdict.decision,
        "relation": verdict.relation,
        "version_id": version_id,
        "status": result.held.status if result.held else "",
        "why": result.why,
        "findings": list(finding_documents(result.findings, result.content)),
    }


def _show_imported(ctx: CommandContext, results: Sequence[_Result], *, dry_run: bool) -> None:
    for result in results:
        _show_one(ctx, result, dry_run=dry_run)
    waits = [each.content.name for each in results if each.content and each.held and each.held.status in _WAITS]
    if dry_run:
        ctx.console.print("Nothing was stored.")
    elif waits:
        ctx.console.print(f"Next: [bold]tacit review{f' {clean(waits[0])}' if len(waits) == 1 else ''}[/bold]")


def _show_one(ctx: CommandContext, result: _Result, *, dry_run: bool) -> None:
    console, verdict = ctx.console, result.verdict
    if result.content is None or verdict is None:
        console.print(f"[red]not imported[/red] {escape(clean(result.path))}")
        for problem in result.problems:
            console.print(f"  - {escape(clean(problem))}")
        return
    name = escape(clean(result.content.name))
    if result.why:
        console.print(f"[red]not taken[/red]    {name}\n  {escape(clean(result.why))}", soft_wrap=True)
    elif verdict.relation is Relation.REINFORCE:
        status = f"  [dim]{result.held.status}[/dim]" if result.held else ""
        console.print(f"[dim]unchanged[/dim]    {name}{status}")
    else:
        told = (
            f"valid form; the gate would say: {STANDING[verdict.decision]}" if dry_run else STANDING[verdict.decision]
        )
        colour = {Decision.QUARANTINE: "red", Decision.REJECT: "red"}.get(verdict.decision, "green")
        console.print(f"[{colour}]{told}[/{colour}]  {name}", soft_wrap=True)
        _show_reasons(ctx, result, every=dry_run)
    for warning in result.warnings if dry_run else ():
        console.print(f"  [dim]{escape(clean(warning))}[/dim]")


def _show_reasons(ctx: CommandContext, result: _Result, *, every: bool) -> None:
    """The heaviest reason, with how many more there are; or all that weigh anything."""
    assert result.content is not None
    if every:
        show_findings(ctx.console, [f for f in result.findings if f.severity is not Severity.INFO], result.content)
        return
    for first in result.findings[:1]:
        where = f" ({place(first, result.content)})" if first.field else ""
        more = f"; and {len(result.findings) - 1} more" if len(result.findings) > 1 else ""
        told = f"{first.severity}: {first.message}{where}{more}"
        ctx.console.print(f"  [dim]{escape(clean(told))}[/dim]", soft_wrap=True)
