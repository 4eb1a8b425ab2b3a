"""`tacit history` and `stats`: what happened, and what there is, of everything or of one skill."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import click
from rich.markup import escape
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from tacit.domain.errors import Mistake, NotFound
from tacit.domain.evidence import Following
from tacit.domain.identity import plain
from tacit.domain.ports import AuditEntry, Counts
from tacit.evidence.skill_history import Event, Record, session_life
from tacit.store import queries as shelf
from tacit.surfaces.cli import charts as plotting
from tacit.surfaces.cli.context import CommandContext, clean, command_options, counted, one_line
from tacit.surfaces.cli.charts import in_points, lift_told, reliability_told
from tacit.surfaces.cli.views import STATUS_STYLE, others_told, show_others, told_reliability
from tacit.surfaces.cli.visibility import may_tell, meant

_SHOWN_ID = 14
_SHOWN_HASH = len("sha256:") + 12
"""As many digits as `tacit purge --source` asks for."""
_TELLING = {"trial": "cyan", "trusted": "green", "stale": "yellow", "retired": "red", "rejected": "red"}
_NAME_WIDTH = 32
_WIDE = 110
"""Columns from which a life is told as a table."""
_ROWS = 15
"""Skills that `tacit stats` shows by itself."""
_ALONG = plotting.Axis(
    title="share that worked, later results weighing more (95 % one-sided bounds)",
    written="{:.0%}".format,
    reference=0.7,
)


@click.command()
@click.argument("subject", required=False, default="")
@click.option("--limit", type=click.IntRange(min=1), default=50, show_default=True, help="The last so many entries.")
@click.option("--chain", is_flag=True, help="The entries of the audit chain, for a skill too.")
@click.option(
    "--session", "run", default="", metavar="ID", help="What was learned in this session of an agent, as it went."
)
@command_options
def history(ctx: CommandContext, *, subject: str, limit: int, chain: bool, run: str) -> None:
    """Tell the life of a skill: versions, changes of status and why, results, remarks. SUBJECT is a name or an id.

    Of anything else, and without SUBJECT, the audit chain: what happened to everything, or to one trajectory or use.
    """
    loop = ctx.memory
    if run:
        told = session_life(loop.store, run)[-limit:]
        document = {"session": run, "events": [_event(each) for each in told]}
        ctx.answer(document, lambda: _tell(ctx, run, told))
        return
    found = _found(ctx, subject) if subject else ""
    if found.startswith(("s_", "v_")) and not chain:
        skill = meant(ctx, found)
        events = loop.life(found)[-limit:]
        others = shelf.namesakes(loop.store, skill)
        document = {
            "subject": skill.skill.id,
            "name": skill.version.name,
            "events": [_event(each) for each in events],
            "others": others_told(others),
        }

        def tell() -> None:
            _tell(ctx, skill.version.name, events)
            show_others(ctx.console, others)

        ctx.answer(document | {"entries": _entries(ctx, found, limit)}, tell)
        return
    entries = loop.history(found)[-limit:]
    reasons = _reasons(ctx, entries)
    document = {"subject": found, "entries": [plain(e) | {"reason": reasons.get(e.sequence, "")} for e in entries]}
    ctx.answer(document, lambda: _show_chain(ctx, entries, reasons))


def _found(ctx: CommandContext, subject: str) -> str:
    named = ctx.memory.store.catalogue(name=subject)
    found = [shelf.meant_by(named).skill.id] if named else ctx.memory.store.resolve(subject)
    if not found:
        raise NotFound(f"nothing has the name or id {subject!r}", hint="tacit skills list --all")
    return found[0]


def _entries(ctx: CommandContext, found: str, limit: int) -> list[dict[str, object]]:
    entries = ctx.memory.history(found)[-limit:]
    reasons = _reasons(ctx, entries)
    return [plain(entry) | {"reason": reasons.get(entry.sequence, "")} for entry in entries]


def _tell(ctx: CommandContext, name: str, events: Sequence[Event]) -> None:
    """A table, or in a narrow terminal two lines for each event: nothing is cut off for want of columns."""
    ctx.console.print(f"[bold]{escape(clean(name))}[/bold]")
    table = Table(box=None, padding=(0, 2, 0, 0))
    for column in ("when", "version", "what", "by"):
        table.add_column(column, no_wrap=column in ("when", "version"), overflow="fold")
    table.add_column("why", ratio=1)
    wide = ctx.console.width >= _WIDE
    for event in events:
        times = f"{event.count} × " if event.count > 1 else ""
        style = _TELLING.get(event.what.rpartition("→ ")[2].partition(" ")[0], "default")
        what = f"[{style}]{times}{escape(clean(event.what))}[/{style}]"
        when, by = f"{event.at:%Y-%m-%d %H:%M}", escape(clean(event.by))
        why = f"[dim]{escape(one_line(event.why, 160))}[/dim]"
        if wide:
            table.add_row(when, event.version_id[:10], what, by, why)
            continue
        ctx.console.print(f"{when}  {event.version_id[:10]}  {what}{by and f'  by {by}'}", soft_wrap=True)
        if event.why:
            ctx.console.print(Padding(why, (0, 0, 0, 18)))
    if wide:
        ctx.console.print(table)


def _event(event: Event) -> dict[str, object]:
    return {name: getattr(event, name) for name in ("at", "what", "why", "by", "version_id", "count")}


def _show_chain(ctx: CommandContext, entries: Sequence[AuditEntry], reasons: dict[int, str]) -> None:
    table = Table(box=None, padding=(0, 2, 0, 0))
    for column in ("#", "when", "what", "of", "by", *(["why"] if reasons else [])):
        table.add_column(column)
    for entry in entries:
        when = f"{entry.at:%Y-%m-%d %H:%M:%S}"
        of = escape(clean(entry.subject[: _SHOWN_HASH if entry.subject.startswith("sha256:") else _SHOWN_ID]))
        why = escape(clean(reasons.get(entry.sequence, "")))
        by = escape(clean(entry.actor))
        table.add_row(str(entry.sequence), when, escape(entry.action), of, by, *([why] if reasons else []))
    ctx.console.print(table if entries else "Nothing has happened yet.")


def _reasons(ctx: CommandContext, entries: Sequence[AuditEntry]) -> dict[int, str]:
    """Entry → why something was purged: told by the stones that were set at the same moment."""
    purged = [entry for entry in entries if entry.action in ("purge", "tombstone")]
    told = {stone.at: stone.reason for stone in ctx.memory.store.tombstones() if stone.reason} if purged else {}
    return {entry.sequence: told[entry.at] for entry in purged if entry.at in told}


@click.command()
@click.argument("skills", nargs=-1, metavar="[SKILL]...")
@click.option("--all", "everything", is_flag=True, help="Every skill that may be recalled, not only the most used.")
@click.option(
    "--plot",
    metavar="FILE",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Draw reliability to a .png or .svg.",
)
@command_options
def stats(ctx: CommandContext, *, skills: tuple[str, ...], everything: bool, plot: Path | None) -> None:
    """Count what there is, and show how each skill does: uses, verified results, reliability, lift.

    Reliability is an interval over verified results of runs that followed the skill, later ones weighing more; "not known
    yet" is a normal answer. Where nobody says what was followed, a result counts for all that was shown, a share for each.
    """
    counts = ctx.memory.stats()
    asked = [meant(ctx, each).version.id for each in skills]
    records = [each for each in ctx.memory.records(asked) if may_tell(ctx, each.stored)]
    document = plain(counts) | {"store": ctx.place.database, "records": [_figures(each) for each in records]}
    drawn = [each for each in records if each.reliability.known]
    undrawn = _not_drawn(len(records) - len(drawn))
    if plot is not None:
        if not drawn:
            raise Mistake(
                "no skill has enough verified results to be drawn", hint="see `tacit stats` for what is there"
            )
        heading = f"Reliability of skills{f' ({undrawn})' if undrawn else ''}"
        plotting.draw([(_ALONG, [_row(each) for each in drawn])], plot, heading=heading)

    def show() -> None:
        if not skills:
            _show_counts(ctx, counts)
        kept = records if everything or skills else records[:_ROWS]
        if kept:
            ctx.console.print()
            _show_records(ctx, kept)
        if len(kept) < len(records):
            ctx.console.print(f"[dim]and {len(records) - len(kept)} more: tacit stats --all[/dim]")
        if drawn:
            ctx.console.print()
            _show_bars(ctx, [_row(each) for each in drawn[:_ROWS]])
            if undrawn:
                ctx.console.print(f"[dim]{undrawn}[/dim]", soft_wrap=True)
        if plot is not None:
            ctx.console.print(f"wrote {escape(clean(str(plot)))}", soft_wrap=True)

    ctx.answer(document, show)


def _not_drawn(count: int) -> str:
    return f"not drawn: {counted(count, 'skill')} with too few verified results" if count else ""


def _row(record: Record) -> plotting.Row:
    """What is drawn is weighed as the interval is; the note counts every result once."""
    known = record.reliability
    share = known.successes / known.trials
    note = f"{known.worked:g} of {known.votes} results"
    return plotting.Row(label=record.stored.version.name, value=share, low=known.low, high=known.high, note=note)


def _show_bars(ctx: CommandContext, rows: Sequence[plotting.Row]) -> None:
    names = min(_NAME_WIDTH, max(len(row.label) for row in rows))
    notes = max(len(row.note) for row in rows)
    scale = plotting.Scale(rows, _ALONG, width=min(60, ctx.console.width - names - notes - 6))
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    for row in rows:
        bar = plotting.line(row, _ALONG, scale, plain=ctx.console.options.ascii_only)
        table.add_row(escape(one_line(row.label, names)), bar, Text(row.note, "dim"))
    table.add_row("", plotting.ruler(_ALONG, scale), "")
    ctx.console.print(table)
    ctx.console.print(f"[dim]{_ALONG.title}[/dim]", soft_wrap=True)


def _figures(record: Record) -> dict[str, object]:
    stored = record.stored
    return {
        "name": stored.version.name,
        "version_id": stored.version.id,
        "status": stored.status,
        "pinned": record.pinned,
        "shown": record.shown,
        "held_back": record.held_back,
        "followed": {str(stood): n for stood, n in record.followed.items()},
        "worked": record.worked,
        "failed": record.failed,
        "claimed": record.claimed,
        "reliability": reliability_told(record.reliability),
        "models": {model: reliability_told(known) for model, known in record.models.items()},
        "lift": lift_told(record.lift),
        "used_at": record.used_at,
    }


def _show_records(ctx: CommandContext, records: Sequence[Record]) -> None:
    """Two lines a skill: its name at full length, with its scope where several bear it, and its figures below."""
    names = Counter(record.stored.version.name for record in records)
    for record in records:
        status = record.stored.status
        pin = "  [blue]pinned[/blue]" if record.pinned else ""
        scope = f" ({escape(clean(str(record.stored.skill.scope)))})" if names[record.stored.version.name] > 1 else ""
        ctx.console.print(
            f"[bold]{escape(clean(record.stored.version.name))}[/bold]{scope}  [{STATUS_STYLE[status]}]{status}[/]{pin}  "
            f"[dim]{told_reliability(record.reliability)}[/dim]",
            soft_wrap=True,
        )
        ctx.console.print(f"  {_counted(record)}", soft_wrap=True)


def _counted(record: Record) -> str:
    """How often it was shown, followed and verified, and what it adds."""
    followed = record.followed.get(Following.FOLLOWED, 0) if record.followed else "?"
    told = f"shown {record.shown}, followed {followed}, worked {record.worked}, failed {record.failed}"
    gain = record.lift.success
    if gain is None:
        return f"{told}, lift not known yet"
    value, low, high = (in_points(each) for each in (gain.value, gain.low, gain.high))
    return f"{told}, lift {value} points \\[{low}, {high}]"


def _show_counts(ctx: CommandContext, counts: Counts) -> None:
    outcomes = ", ".join(f"{n} {outcome}" for outcome, n in counts.outcomes.items())
    statuses = ", ".join(f"[{STATUS_STYLE[s]}]{n} {s}[/]" for s, n in counts.skills.items())
    rows = {
        "trajectories": f"{counts.trajectories} ({outcomes})" if outcomes else str(counts.trajectories),
        "learned from": str(counts.learned),
        "skills": statuses or "none yet",
        "kinds": ", ".join(f"{n} {kind}" for kind, n in counts.kinds.items()) or "none yet",
        "versions": str(counts.versions),
        "uses": str(counts.uses),
        "evidence": ", ".join(f"{n} {grade}" for grade, n in counts.evidence.items()) or "none yet",
        "audit entries": str(counts.audit),
        "size": f"{counts.bytes / 1_048_576:.1f} MiB",
        "store": escape(ctx.place.database),
    }
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    for name, value in rows.items():
        table.add_row(f"[bold]{name}[/bold]", value)
    ctx.console.print(table)
