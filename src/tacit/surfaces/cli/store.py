"""`tacit store …`: verify, back up, restore, index and purge the store."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from textwrap import shorten

import click
from rich.markup import escape

from tacit.domain.archive import Descent, Source, SourceKind
from tacit.domain.errors import Mistake, NotFound, StoreOutage
from tacit.domain.stored import Damage
from tacit.ingest import journal
from tacit.maintain import exports
from tacit.maintain.mirroring import purged_but_at_home
from tacit.maintain.portability import home_database
from tacit.store import restore as purge_plan
from tacit.store import restore as restore_backups
from tacit.store.connection import StoreDamaged
from tacit.surfaces.cli.context import CommandContext, by_option, clean, command_options, counted, progress_bar
from tacit.surfaces.cli.report import ReportPart, fields, pairs, print_parts, safe
from tacit.surfaces.cli.table import SuggestingGroup

_INDEXES = ("vector", "version_words", "episode_words")
"""Subjects of damage that begin so are indexes, which can be rebuilt from the records."""
_RESTORE_HINT = (
    "restore a backup: tacit store restore FILE (--without-tombstones if the list of purged items cannot be read)"
)
_SHOWN = 12
_TASK_WIDTH = 80
_NOUNS = {
    "trajectories": ("trajectory", "trajectories"),
    "evidence": ("piece of evidence", "pieces of evidence"),
    "entries": ("ledger entry", "ledger entries"),
    "jottings": ("session note", "session notes"),
}
"""How kinds of records are counted that are not called as their key is."""


@click.group(cls=SuggestingGroup)
def store() -> None:
    """Verify, back up, restore, index and purge the store."""


@store.command(short_help="Check that the store, or a backup, is intact")
@click.argument("file", required=False, type=click.Path(dir_okay=False, path_type=Path))
@command_options
def verify(ctx: CommandContext, *, file: Path | None) -> None:
    """Check that the store is intact: every row, every hash, the audit chain, the indexes. Exit 0 means intact.

    With FILE, check a backup instead: against its manifest and as a whole. Nothing is changed.
    """
    if file is not None:
        looked = restore_backups.check_backup(file)
        manifest, age = looked.manifest, "without a manifest"
        if manifest is not None:
            since = f"; purged {manifest.purged_at:%Y-%m-%d %H:%M:%S} UTC" if manifest.purged_at else ""
            age = f"of {manifest.at:%Y-%m-%d %H:%M:%S} UTC{since}"
        document = {"intact": not looked.damage, "damage": looked.damage, "backup": str(file), "manifest": manifest}
        intact = f"[green]intact[/green] ({age})" if not looked.damage else None
        ctx.report(document, intact, *_damage_lines(looked.damage))
        if looked.damage:
            ctx.end_with(StoreOutage("the backup is damaged", code="backup_damaged", hint="choose another backup"))
        return
    try:
        damage = ctx.memory.archive.verify()
    except StoreDamaged as error:  # its own hint is to run this command
        raise StoreOutage(error.message, code=error.code, hint=_RESTORE_HINT) from error
    anchor = None if damage else ctx.memory.archive.anchor()
    document = {"intact": not damage, "damage": damage, "store": ctx.place.database, "anchor": anchor}
    note = f"anchored up to entry {anchor.sequence}" if anchor else "no anchor: this home has not seen the store before"
    ctx.report(document, f"[green]intact[/green] ({note})" if not damage else None, *_damage_lines(damage))
    if damage:
        only_indexes = all(item.subject.startswith(_INDEXES) for item in damage)
        hint = "run `tacit store index --rebuild`" if only_indexes else _RESTORE_HINT
        ctx.end_with(StoreOutage("the store is damaged", code="store_damaged", hint=hint))


def _damage_lines(damage: Sequence[Damage]) -> Iterator[str]:
    for item in damage:
        yield f"[red]damaged[/red] {safe(item.subject)}: {safe(item.problem)}"


@store.command(short_help="Write a verified copy of the store")
@click.argument("path", type=click.Path(dir_okay=False))
@command_options
def backup(ctx: CommandContext, *, path: str) -> None:
    """Write a verified copy of the store to PATH, and PATH.manifest.json. Other processes can go on working.

    `tacit store verify PATH` checks it, `tacit store restore PATH` restores it.
    """
    target = Path(path)
    if path.endswith((os.sep, os.altsep or os.sep)):
        raise Mistake(f"{path} names a folder", code="not_a_file", hint=f"name the file, e.g. {path}tacit-backup.db")
    if not target.parent.is_dir():
        hint = "create it first, or choose another"
        raise Mistake(f"there is no folder {target.parent}", code="no_folder", hint=hint)
    manifest = ctx.memory.archive.backup(target)
    ctx.report({"backup": path, "manifest": manifest}, f"wrote {safe(path)}")


@store.command(short_help="Replace the store by a backup")
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@by_option()
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.option("--without-manifest", is_flag=True, help="Accept a backup that has no manifest next to it.")
@click.option("--without-tombstones", is_flag=True, help="Give up the list of purged items if it cannot be read.")
@command_options
def restore(ctx: CommandContext, *, file: Path, by: str, yes: bool, **options: bool) -> None:
    """Replace the store by the backup FILE, after checking its manifest, its schema and everything in it.

    What was purged from the present store is purged from the backup first. The present store is kept under a dated name.
    Only a person can restore.
    """
    ctx.caller.require_person("restore")
    name = ctx.person(by)
    database = ctx.place.database
    ctx.require_yes(f"Replace {clean(database)} by {clean(str(file))}?", yes=yes)
    ctx.place.prepare()
    chosen = [key.replace("_", "-") for key, given in options.items() if given]
    looked, done = restore_backups.restore_backup(
        file, database, by=name, at=datetime.now(UTC), home=ctx.environment.person_home, options=chosen
    )
    document = {
        "restored": str(file), "store": database, "aside": str(done.aside) if done.aside else None,
        "manifest": looked.manifest, "purged": done.descent.counts,
    }  # fmt: skip
    ctx.report(
        document,
        f"restored {safe(str(file))}",
        None if done.descent.is_empty else f"purged again before restoring: {_amounts(done.descent)}",
        f"the previous store is kept as {safe(str(done.aside))}" if done.aside else None,
        _relearn_line(done.descent),
    )


@store.command(short_help="Compute missing vectors, or rebuild every index")
@click.option("--rebuild", is_flag=True, help="Rebuild the full-text indexes and all vectors from the records.")
@command_options
def index(ctx: CommandContext, *, rebuild: bool) -> None:
    """Compute missing vectors for search by meaning; with --rebuild every index.

    Skills get their vectors when they become recallable. This command is for the rest: a store older than the embedder,
    another embedder in the settings, one that did not answer, a damaged index. Vectors of an embedder that is no longer used
    are deleted once the present one has embedded everything.
    """
    ctx.caller.require_person("index")
    with progress_bar(ctx, "embedding") as advance:
        done = ctx.memory.library.index(rebuild=rebuild, progress=advance)

    def lines() -> Iterator[str]:
        if rebuild:
            yield f"rebuilt the indexes of {counted(done.rows, 'row')}"
        if not done.space:
            yield "keyword search only: no embedder is set up (see recall.embedder in `tacit config`)"
            return
        yield f"embedded {counted(done.embedded, 'skill')} with {safe(done.space)}"
        if done.waiting:
            yield f"[yellow]{counted(done.waiting, 'skill')} still without vectors[/yellow]; run it again"
        for space in done.dropped:
            yield f"deleted the vectors of {safe(space)}"

    ctx.report(dataclasses.asdict(done), lines)


@store.command(short_help="Remove for good what came from a source")
@click.option("--session", "session_id", default="", metavar="ID", help="An agent's session, with its subagents.")
@click.option("--trajectory", default="", metavar="ID", help="One attempt, in all captures of it.")
@click.option(
    "--source", default="", metavar="PATH|HASH", help="A log, skill, folder or archive that was read, or a hash."
)
@click.option(
    "--made-by", default="", metavar="NAME", help="Everything that a person, agent or program made or approved."
)
@click.option("--backups", is_flag=True, help="Purge it from the known backups too.")
@click.option("--reason", default="", help="Why, stored in the history.")
@by_option()
@click.option("--yes", is_flag=True, help="Do not ask.")
@command_options
def purge(ctx: CommandContext, *, backups: bool, reason: str, by: str, yes: bool, **asked: str) -> None:
    """Remove for good everything that came from one source, and refuse it when it comes back.

    Without --yes it shows what would be removed, and asks at a terminal. Skills that also have other sources are removed as
    well; what remains of their attempts is learned from again. Only a person can purge.
    """
    plan = ctx.memory.archive.descent(*_sources(ctx, **asked))
    if plan.descent.is_empty and not any(copy.holds for copy in plan.copies):
        hint = "see `tacit skills history` and `tacit skills --all`"
        raise NotFound("nothing in the store came from that", code="nothing_to_purge", hint=hint)
    if not ctx.as_json:
        print_parts(ctx.console, _plan_parts(ctx, plan))
    if yes or ctx.can_ask:
        ctx.caller.require_person("purge")
        if not yes and not click.confirm("Remove all of this for good?"):
            ctx.console.print("Nothing was removed.")
            return
    else:
        ctx.report({"purged": False, **_plan_document(ctx, plan)}, "Nothing was removed; pass --yes to remove it.")
        return
    _purge(ctx, plan, by=ctx.person(by), reason=reason, backups=backups)


def _purge(ctx: CommandContext, plan: purge_plan.PurgePlan, *, by: str, reason: str, backups: bool) -> None:
    document = _plan_document(ctx, plan)
    folders = exports.remove_exports_of(ctx.memory.context, plan.descent.versions)
    journals = _remove_journals(ctx, plan.descent)
    erased, copies = ctx.memory.archive.purge(plan, by=by, reason=reason, backups=backups)
    at_home = purged_but_at_home(ctx.memory.context)
    notices = [notice for extension in ctx.memory.context.extensions for notice in extension.notices]
    document |= {
        "purged": True,
        "copies": copies,
        "erased": erased,
        "folders": [{"path": str(kept.path), "what": kept.action} for kept in folders],
        "journals": journals,
        "at_home": [held.version.hash for held in at_home],
        "adapters": notices,
    }

    def lines() -> Iterator[ReportPart]:
        yield f"[green]purged[/green] {_amounts(plan.descent)}"
        if not erased:
            yield "[yellow]another process has the store open[/yellow]: traces stay in its log until it ends"
        for kept in folders:
            left = "was edited and is kept: look at it" if kept.action == "edited" else "removed"
            yield f"folder {safe(str(kept.path))}: {left}"
        yield from _copy_lines(copies, done=backups)
        yield _relearn_line(plan.descent)
        for each in notices:
            yield f"[yellow]{safe(each)}[/yellow]"
        for held in at_home:
            home = home_database(ctx.memory.context.place)
            command = f"tacit store purge --source {held.version.hash} --store {home}"
            warning = f"your own store still has a copy of {held.version.name}:"
            yield f"[yellow]{safe(warning)}[/yellow] {safe(command)}"

    ctx.report(document, lines)


def _sources(ctx: CommandContext, *, session_id: str, trajectory: str, source: str, made_by: str) -> list[Source]:
    if trajectory:
        found = ctx.memory.archive.resolve(trajectory, "t_")
        if len(found) > 1:
            message = f"{trajectory!r} is the beginning of several ids"
            raise Mistake(message, code="ambiguous_reference", hint=", ".join(found))
        trajectory = found[0] if found else trajectory  # one that is gone here may still be in a backup
    given = {
        SourceKind.SESSION: session_id,
        SourceKind.TRAJECTORY: trajectory,
        SourceKind.IMPORTED: source,
        SourceKind.PRINCIPAL: made_by,
    }
    sources = [Source(kind=kind, value=value) for kind, value in given.items() if value]
    if len(sources) != 1:
        hint = "--session ID, --trajectory ID, --source PATH or HASH, or --made-by NAME (--by is your own name)"
        raise Mistake("name one source", code="one_source", hint=hint)
    if not source:
        return sources
    # A path was stored as it was typed then: relative to the project, or to the current folder.
    roots = dict.fromkeys((str(ctx.place.project), str(Path.cwd())))
    asked = (str(Path(source).expanduser().absolute()), str(Path(source).expanduser().resolve()))
    paths = [Source(kind=SourceKind.IMPORTED, value=path, root=root) for root in roots for path in dict.fromkeys(asked)]
    return [*sources, *paths]


def _remove_journals(ctx: CommandContext, descent: Descent) -> list[str]:
    """Remove the hooks' journals of purged sessions: they contain ids and would bring uses back."""
    asked = {source.value for source in descent.sources if source.kind is SourceKind.SESSION}
    folder = ctx.place.folder / journal.FOLDER
    if not asked or ctx.place.database == ":memory:" or folder.is_symlink() or not folder.is_dir():
        return []
    ends = tuple(f"-{journal.word(name)}{journal.SUFFIX}" for name in asked)
    removed = []
    for path in sorted(folder.iterdir()):
        if path.name.endswith(ends) and path.is_file() and not path.is_symlink():
            path.unlink(missing_ok=True)
            removed.append(path.name)
    return removed


def _plan_document(ctx: CommandContext, plan: purge_plan.PurgePlan) -> dict[str, object]:
    descent = plan.descent
    return {
        "sources": list({source.kind: source for source in reversed(descent.sources)}.values()),
        "counts": descent.counts,
        "skills": ctx.memory.archive.names(descent.versions),
        **fields(descent, "trajectories", "versions", "relearned", "demoted", "exposed"),
        "copies": plan.copies,
    }


def _amounts(descent: Descent) -> str:
    """Return how many of each kind are removed."""
    nouns = {kind: _NOUNS.get(kind, (kind.removesuffix("s"), kind)) for kind in descent.counts}
    return ", ".join(counted(n, nouns[kind][0], plural=nouns[kind][1]) for kind, n in descent.counts.items() if n)


def _plan_parts(ctx: CommandContext, plan: purge_plan.PurgePlan) -> Iterator[ReportPart]:
    descent, archive = plan.descent, ctx.memory.archive
    yield f"[bold]would remove:[/bold] {_amounts(descent) or 'nothing here'}"
    for name in archive.names(descent.versions)[:_SHOWN]:
        yield f"  skill  {safe(name)}"
    tasks = {identity: archive.task(identity) for identity in descent.trajectories[:_SHOWN]}
    yield pairs({key[:14]: escape(shorten(clean(task), _TASK_WIDTH, placeholder=" …")) for key, task in tasks.items()})
    if descent.relearned:
        yield f"{counted(len(descent.relearned), 'attempt')} will be learned from again"
    if descent.demoted:
        yield f"{counted(len(descent.demoted), 'skill')} will wait for review again"
    if descent.exposed:
        exposed = ", ".join(identity[:14] for identity in descent.exposed[:_SHOWN])
        yield f"[yellow]may repeat its text[/yellow], because their sessions were shown it: {exposed}"
    yield from _copy_lines(plan.copies, done=False)


def _relearn_line(descent: Descent) -> str | None:
    """Return what to do about attempts that wait to be learned from again."""
    if not descent.relearned:
        return None
    return f"{counted(len(descent.relearned), 'attempt')} to learn from again. Next: [bold]tacit learn[/bold]"


def _copy_lines(copies: Iterable[purge_plan.BackupCopy], *, done: bool) -> Iterator[str]:
    for copy in copies:
        path = safe(copy.path)
        if copy.purged:
            yield f"purged the copy {path}"
        elif copy.problem:
            yield f"[red]cannot be purged[/red] {path}: {safe(copy.problem)}"
        elif copy.holds:
            hint = "" if done else " (--backups purges it too)"
            yield f"[yellow]a copy still contains it:[/yellow] {path}{hint}"
