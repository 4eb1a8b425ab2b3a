"""`tacit purge`: remove for good what came from a session, an attempt, an import or a name; shows first what would go."""

from __future__ import annotations

from pathlib import Path
from textwrap import shorten

import click
from rich.markup import escape
from rich.table import Table

from tacit.domain.errors import Mistake, NotFound
from tacit.domain.purging import Descent, Source, SourceKind
from tacit.maintain import promotion as promoting
from tacit.store import purge_plan as custody
from tacit.surfaces import exports
from tacit.surfaces.cli.context import CommandContext, clean, command_options, counted
from tacit.surfaces.hook import journal

_SHOWN = 12
_TASK = 80


@click.command()
@click.option("--session", "session_id", default="", metavar="ID", help="A client's session, with its subagents.")
@click.option("--trajectory", default="", metavar="ID", help="One attempt, in all captures of it.")
@click.option(
    "--source", default="", metavar="PATH|HASH",
    help="A log or skill that was read, all below a folder or in an archive, or a content's hash.",
)  # fmt: skip
@click.option("--made-by", default="", metavar="NAME", help="All that a person, agent or program made or vouched for.")
@click.option("--backups", is_flag=True, help="Purge the known backups that hold it too.")
@click.option("--reason", default="", help="Why, kept in the history.")
@click.option("--by", default="", help="Your name, kept in the history.")
@click.option("--yes", is_flag=True, help="Do it without being asked.")
@command_options
def purge(ctx: CommandContext, *, backups: bool, reason: str, by: str, yes: bool, **asked: str) -> None:
    """Remove everything that descends from a source, and refuse it when it comes back.

    Without --yes it shows what would go, and asks at a terminal. Skills with other sources too go as well; what is left of
    their attempts is learned from again. Purging belongs to a person, as reviewing does.
    """
    sources = _sources(ctx, **asked)
    plan = ctx.memory.descent(*sources)
    if plan.descent.is_empty and not any(copy.holds for copy in plan.copies):
        raise NotFound("nothing here descends from that", hint=_known(ctx, asked["source"]))
    if not ctx.as_json:
        _show_plan(ctx, plan)
    if yes or (ctx.caller.is_person and ctx.caller.at_terminal and not ctx.as_json):
        ctx.caller.require_person("purge")
        if not yes and not click.confirm("Remove all of this for good?"):
            ctx.console.print("Nothing was removed.")
            return
    else:
        document = {"purged": False, **_document(ctx, plan.descent, plan.copies)}
        ctx.answer(document, lambda: ctx.console.print("Nothing was removed; --yes removes it."))
        return
    _carry_out(ctx, plan, by=ctx.person(by), reason=reason, backups=backups)


def _carry_out(ctx: CommandContext, plan: custody.Plan, *, by: str, reason: str, backups: bool) -> None:
    names = _names(ctx, plan.descent)
    folders = exports.forget(ctx.memory, plan.descent.versions)
    journals = _forget_journals(ctx, plan.descent)
    erased, copies = ctx.memory.purge(plan, by=by, reason=reason, backups=backups)
    at_home = promoting.left_at_home(ctx.memory)
    document = {
        "purged": True,
        **_document(ctx, plan.descent, copies, names=names),
        "erased": erased,
        "folders": [{"path": str(kept.path), "what": kept.what} for kept in folders],
        "journals": journals,
        "at_home": [held.version.hash for held in at_home],
        "adapters": ctx.memory.adapters.told,
    }

    def show() -> None:
        ctx.console.print(f"[green]purged[/green] {told(plan.descent)}")
        if not erased:
            ctx.console.print(
                "[yellow]another process has the store open[/yellow]: traces stay in its log until that ends"
            )
        for kept in folders:
            left = "was edited and is left: look at it" if kept.what == "edited" else "removed"
            ctx.console.print(f"folder {escape(clean(str(kept.path)))}: {left}", soft_wrap=True)
        _show_copies(ctx, copies, done=backups)
        show_relearned(ctx, plan.descent)
        for each in ctx.memory.adapters.told:
            ctx.console.print(f"[yellow]{escape(clean(each))}[/yellow]", soft_wrap=True)
        for held in at_home:
            where = f"tacit purge --source {held.version.hash} --store {promoting.home_database(ctx.memory.place)}"
            told_of = f"your own store still has a copy of {held.version.name}:"
            ctx.console.print(f"[yellow]{escape(clean(told_of))}[/yellow] {escape(clean(where))}", soft_wrap=True)

    ctx.answer(document, show)


def _known(ctx: CommandContext, source: str) -> str:
    """What to look at when nothing was found: where things came from, or what there is."""
    near = custody.nearest_sources(ctx.memory.store, source) if source else []
    if not near:
        return "see `tacit history` and `tacit skills list --all`"
    return f"known sources: {', '.join(near)}"


def _sources(ctx: CommandContext, *, session_id: str, trajectory: str, source: str, made_by: str) -> list[Source]:
    given = {
        SourceKind.SESSION: session_id,
        SourceKind.TRAJECTORY: _resolved(ctx, trajectory),
        SourceKind.IMPORTED: source,
        SourceKind.PRINCIPAL: made_by,
    }
    sources = [Source(kind=kind, value=value) for kind, value in given.items() if value]
    if len(sources) != 1:
        raise Mistake(
            "name one source",
            hint="--session ID, --trajectory ID, --source PATH or HASH, or --made-by NAME (--by is your own name)",
        )
    if not source:
        return sources
    # What was typed when it was read was told from the project's folder, or from where one stands now.
    roots = dict.fromkeys((str(ctx.place.project), str(Path.cwd())))
    asked = (str(Path(source).expanduser().absolute()), str(Path(source).expanduser().resolve()))
    paths = [Source(kind=SourceKind.IMPORTED, value=path, root=root) for root in roots for path in dict.fromkeys(asked)]
    return [*sources, *paths]


def _resolved(ctx: CommandContext, reference: str) -> str:
    """A trajectory's whole id; one that is gone here may still lie in a backup."""
    found = [identity for identity in ctx.memory.store.resolve(reference) if identity.startswith("t_")]
    if reference and len(found) > 1:
        raise Mistake(f"{reference!r} is the beginning of several ids", hint=", ".join(found))
    return found[0] if reference and found else reference


def _forget_journals(ctx: CommandContext, descent: Descent) -> list[str]:
    """Remove the hooks' journals of purged sessions; they hold ids, and would bring uses back."""
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


def _names(ctx: CommandContext, descent: Descent) -> list[str]:
    gone = set(descent.versions)
    return sorted({s.version.name for s in ctx.memory.store.catalogue() if s.version.id in gone}) if gone else []


def _document(
    ctx: CommandContext, descent: Descent, copies: tuple[custody.Copy, ...], *, names: list[str] | None = None
) -> dict[str, object]:
    return {
        "sources": list({source.kind: source for source in reversed(descent.sources)}.values()),
        "counts": descent.counts,
        "skills": _names(ctx, descent) if names is None else names,
        "trajectories": descent.trajectories,
        "versions": descent.versions,
        "relearned": descent.relearned,
        "demoted": descent.demoted,
        "exposed": descent.exposed,
        "copies": copies,
    }


def told(descent: Descent) -> str:
    """How much of each kind goes."""
    kinds = {"trajectories": "trajectory", "skills": "skill", "versions": "version", "approvals": "approval"}
    kinds |= {"verdicts": "verdict", "uses": "use", "evidence": "piece of evidence", "remarks": "remark"}
    kinds |= {"entries": "entry of the ledger", "jottings": "note of a running session"}
    plurals = {"trajectories": "trajectories", "evidence": "pieces of evidence"}
    plurals |= {"entries": "entries of the ledger", "jottings": "notes of a running session"}
    counts = descent.counts.items()
    return ", ".join(counted(n, kinds[kind], plural=plurals.get(kind, f"{kinds[kind]}s")) for kind, n in counts if n)


def _show_plan(ctx: CommandContext, plan: custody.Plan) -> None:
    descent, console = plan.descent, ctx.console
    console.print(f"[bold]goes:[/bold] {told(descent) or 'nothing here'}")
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 2))
    for name in _names(ctx, descent)[:_SHOWN]:
        table.add_row("skill", escape(clean(name)))
    for episode in [ctx.memory.store.episode(identity) for identity in descent.trajectories[:_SHOWN]]:
        table.add_row(episode.id[:14], escape(shorten(clean(episode.task), _TASK, placeholder=" …")))
    console.print(table)
    if descent.relearned:
        console.print(f"{counted(len(descent.relearned), 'attempt')} left over will be learned from again")
    if descent.demoted:
        console.print(f"{counted(len(descent.demoted), 'skill')} will wait for a person again")
    if descent.exposed:
        exposed = ", ".join(identity[:14] for identity in descent.exposed[:_SHOWN])
        console.print(f"[yellow]may repeat its text[/yellow], since their sessions were shown it: {exposed}")
    _show_copies(ctx, plan.copies, done=False)


def show_relearned(ctx: CommandContext, descent: Descent) -> None:
    """Say what to do about the attempts that wait to be learned from again."""
    if descent.relearned:
        attempts = counted(len(descent.relearned), "attempt")
        ctx.console.print(f"{attempts} left over, to be learned from again. Next: [bold]tacit learn[/bold]")


def _show_copies(ctx: CommandContext, copies: tuple[custody.Copy, ...], *, done: bool) -> None:
    for copy in copies:
        path = escape(clean(copy.path))
        if copy.purged:
            ctx.console.print(f"purged the copy {path}", soft_wrap=True)
        elif copy.problem:
            ctx.console.print(f"[red]cannot be purged[/red] {path}: {escape(clean(copy.problem))}", soft_wrap=True)
        elif copy.holds:
            hint = "" if done else " (--backups purges it too)"
            ctx.console.print(f"[yellow]a copy still holds it:[/yellow] {path}{hint}", soft_wrap=True)
