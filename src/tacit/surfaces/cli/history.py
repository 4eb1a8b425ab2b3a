"""`tacit skills history` (for one skill also `skills show --history`) and `tacit skills stats`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import click
from rich.markup import escape
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from tacit.domain.errors import Mistake
from tacit.domain.evidence import Following
from tacit.domain.identity import plain
from tacit.domain.stored import AuditEntry, Counts
from tacit.evidence.skill_history import HistoryEvent, SkillRecord
from tacit.maintain.reason_text import stored_reason
from tacit.surfaces.cli import charts
from tacit.surfaces.cli.charts import in_points, known_reliability, lift_fields
from tacit.surfaces.cli.context import CommandContext, command_options, counted, one_line
from tacit.surfaces.cli.lift import report_lift
from tacit.surfaces.cli.report import Column, Columns, ReportPart, pairs, safe
from tacit.surfaces.cli.views import NAMESAKES, STATUS_STYLE, namesake_lines, reliability_text

_SHOWN_ID = 14
_SHOWN_HASH = len("sha256:") + 12
"""As many digits as `tacit store purge --source` needs."""
_AFTER_STYLE = {"trial": "cyan", "trusted": "green", "stale": "yellow", "retired": "red", "rejected": "red"}
_NAME_WIDTH = 32
_WIDE = 110
_LIMIT = 50
"""From this width on a history is a table; below, each event has two lines."""
_ROWS = 15
"""How many skills `tacit skills stats` shows without --all."""
_AXIS = charts.Axis(
    title="share that worked, later results weigh more (95 % one-sided bounds)",
    written="{:.0%}".format,
    reference=0.7,
)


@click.command(hidden=True)
@click.argument("subject", required=False, default="")
@click.option("--limit", type=click.IntRange(min=1), default=_LIMIT, show_default=True, help="Only the last entries.")
@click.option("--chain", is_flag=True, help="Show the entries of the audit chain, for a skill too.")
@click.option("--session", default="", metavar="ID", help="Show what was learned in this agent session.")
@command_options
def history(ctx: CommandContext, *, subject: str, limit: int, chain: bool, session: str) -> None:
    """Show the history of a skill: versions, status changes with reasons, results, remarks. SUBJECT is a name or an id.

    For anything else, and without SUBJECT, it shows the audit chain: what happened to everything, to one trajectory or use.
    """
    show_history(ctx, subject, limit=limit, chain=chain, session=session)


def show_history(
    ctx: CommandContext, subject: str, *, limit: int = _LIMIT, chain: bool = False, session: str = ""
) -> None:
    """Report what happened to a skill, in a session, or to everything."""
    archive = ctx.memory.archive
    if session:
        events = archive.session_life(session)[-limit:]
        ctx.report({"session": session, "events": EVENTS.documents(events)}, lambda: _event_parts(ctx, session, events))
        return
    found = archive.find(subject) if subject else ""
    if found.startswith(("s_", "v_")) and not chain:
        skill = ctx.version(found)
        events = archive.life(found)[-limit:]
        others = archive.namesakes(skill)
        document = {
            "subject": skill.skill.id,
            "name": skill.version.name,
            "events": EVENTS.documents(events),
            "others": NAMESAKES.documents(others),
            "entries": _entries(ctx, archive.history(found)[-limit:]),
        }
        ctx.report(document, lambda: _event_parts(ctx, skill.version.name, events), lambda: namesake_lines(others))
        return
    entries = archive.history(found)[-limit:]
    rows = _entries(ctx, entries)
    ctx.report({"subject": found, "entries": rows}, _ENTRIES.table(rows) if rows else "Nothing has happened yet.")


def _what_cell(event: HistoryEvent) -> str:
    times = f"{event.count} × " if event.count > 1 else ""
    style = _AFTER_STYLE.get(event.what.rpartition("→ ")[2].partition(" ")[0], "default")
    return f"[{style}]{times}{safe(event.what)}[/{style}]"


def _why_cell(event: HistoryEvent) -> str:
    return f"[dim]{escape(one_line(stored_reason(event.why), 160))}[/dim]"


EVENTS: Columns[HistoryEvent] = Columns(
    Column("at", lambda event: event.at, "when", lambda event: f"{event.at:%Y-%m-%d %H:%M}"),
    Column("version_id", lambda event: event.version_id, "version", lambda event: event.version_id[:10]),
    Column("what", lambda event: event.what, "what", _what_cell),
    Column("by", lambda event: event.by, "by"),
    Column("why", lambda event: stored_reason(event.why), "why", _why_cell),
    Column("count", lambda event: event.count),
)
_ENTRIES: Columns[dict[str, object]] = Columns(
    Column("", lambda entry: entry["sequence"], "#"),
    Column("", lambda entry: str(entry["at"])[:19].replace("T", " "), "when"),
    Column("", lambda entry: entry["action"], "what"),
    Column("", lambda entry: _short(str(entry["subject"])), "of"),
    Column("", lambda entry: entry.get("actor", ""), "by"),
    Column("", lambda entry: entry["reason"], "why"),
)


def _entries(ctx: CommandContext, entries: Sequence[AuditEntry]) -> list[dict[str, object]]:
    """Return entries of the audit chain; those of a purge have its reason."""
    purged = any(entry.action in ("purge", "tombstone") for entry in entries)
    reasons = ctx.memory.archive.purge_reasons() if purged else {}
    return [
        plain(entry)
        | {"reason": reasons.get(entry.at, "") if entry.action in ("purge", "tombstone") else "", "actor": entry.actor}
        for entry in entries
    ]


def _short(subject: str) -> str:
    return subject[: _SHOWN_HASH if subject.startswith("sha256:") else _SHOWN_ID]


def _event_parts(ctx: CommandContext, name: str, events: Sequence[HistoryEvent]) -> Iterator[ReportPart]:
    """Yield a table, or in a narrow terminal two lines for each event, so that nothing is cut off."""
    yield f"[bold]{safe(name)}[/bold]"
    if ctx.console.width >= _WIDE:
        yield EVENTS.table(events)
        return
    for event in events:
        by = f"  by {safe(event.by)}" if event.by else ""
        yield f"{event.at:%Y-%m-%d %H:%M}  {event.version_id[:10]}  {_what_cell(event)}{by}"
        if event.why:
            yield Padding(_why_cell(event), (0, 0, 0, 18))


@click.command(short_help="Count what is stored, and how each skill does")
@click.argument("skills", nargs=-1, metavar="[SKILL]...")
@click.option("--all", "everything", is_flag=True, help="Every recallable skill, not only the most used.")
@click.option("--lift", is_flag=True, help="Show what skills add, compared with control runs.")
@click.option("--model", default="", help="With --lift: only runs of this language model.")
@click.option(
    "--plot", metavar="FILE", type=click.Path(dir_okay=False, path_type=Path), help="Draw it as .png or .svg."
)
@command_options
def stats(
    ctx: CommandContext, *, skills: tuple[str, ...], everything: bool, lift: bool, model: str, plot: Path | None
) -> None:
    """Count what is stored, and show how each skill does: uses, verified results, reliability, lift.

    Reliability is an interval over verified results of runs that followed the skill; later results weigh more. "Unknown" is a
    normal answer. If nobody recorded what was followed, a result is shared by all skills that were shown.
    """
    if lift:
        if len(skills) > 1:
            raise Mistake("--lift takes one skill, or none for all", code="one_skill", hint="name one")
        report_lift(ctx, skills[0] if skills else "", model=model, plot=plot)
        return
    archive = ctx.memory.archive
    counts = archive.stats()
    asked = [ctx.version(each).version.id for each in skills]
    records = [each for each in archive.records(asked) if ctx.may_show(each.stored)]
    document = plain(counts) | {"store": ctx.place.database, "records": _RECORDS.documents(records)}
    drawn = [each for each in records if each.reliability.known]
    missing = len(records) - len(drawn)
    undrawn = f"not drawn: {counted(missing, 'skill')} with too few verified results" if missing else ""
    if plot is not None:
        if not drawn:
            raise Mistake(
                "no skill has enough verified results to be drawn",
                code="nothing_to_draw",
                hint="see `tacit skills stats`",
            )
        heading = f"Reliability of skills{f' ({undrawn})' if undrawn else ''}"
        charts.draw([(_AXIS, [_chart_row(each) for each in drawn])], plot, heading=heading)

    def parts() -> Iterator[ReportPart]:
        if not skills:
            yield _counts_table(ctx, counts)
        kept = records if everything or skills else records[:_ROWS]
        if kept:
            yield ""
            yield from _record_lines(kept)
        if len(kept) < len(records):
            yield f"[dim]and {len(records) - len(kept)} more: tacit skills stats --all[/dim]"
        if drawn:
            yield ""
            yield _bars(ctx, [_chart_row(each) for each in drawn[:_ROWS]])
            yield f"[dim]{_AXIS.title}[/dim]"
            yield f"[dim]{undrawn}[/dim]" if undrawn else None
        yield f"wrote {safe(str(plot))}" if plot is not None else None

    ctx.report(document, parts)


_RECORDS: Columns[SkillRecord] = Columns(
    Column("name", lambda record: record.stored.version.name),
    Column("version_id", lambda record: record.stored.version.id),
    Column("status", lambda record: record.stored.status),
    Column("pinned", lambda record: record.pinned),
    Column("shown", lambda record: record.shown),
    Column("held_back", lambda record: record.held_back),
    Column("followed", lambda record: {str(kind): n for kind, n in record.followed.items()}),
    Column("worked", lambda record: record.worked),
    Column("failed", lambda record: record.failed),
    Column("claimed", lambda record: record.claimed),
    Column("reliability", lambda record: known_reliability(record.reliability)),
    Column("models", lambda record: {model: known_reliability(known) for model, known in record.models.items()}),
    Column("lift", lambda record: lift_fields(record.lift)),
    Column("used_at", lambda record: record.used_at),
)


def _chart_row(record: SkillRecord) -> charts.ChartRow:
    """Return one bar: weighted as the interval is; the note counts every result once."""
    known = record.reliability
    note = f"{known.worked:g} of {known.votes} results"
    share = known.successes / known.trials
    return charts.ChartRow(label=record.stored.version.name, value=share, low=known.low, high=known.high, note=note)


def _bars(ctx: CommandContext, rows: Sequence[charts.ChartRow]) -> Table:
    names = min(_NAME_WIDTH, max(len(row.label) for row in rows))
    notes = max(len(row.note) for row in rows)
    scale = charts.Scale(rows, _AXIS, width=min(60, ctx.console.width - names - notes - 6))
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    for row in rows:
        bar = charts.line(row, _AXIS, scale, plain=ctx.console.options.ascii_only)
        table.add_row(escape(one_line(row.label, names)), bar, Text(row.note, "dim"))
    table.add_row("", charts.ruler(_AXIS, scale), "")
    return table


def _record_lines(records: Sequence[SkillRecord]) -> Iterator[str]:
    """Yield two lines for each skill: its whole name, with its scope if several have that name, and its figures."""
    names = Counter(record.stored.version.name for record in records)
    for record in records:
        stored = record.stored
        pin = "  [blue]pinned[/blue]" if record.pinned else ""
        scope = f" ({safe(str(stored.skill.scope))})" if names[stored.version.name] > 1 else ""
        yield (
            f"[bold]{safe(stored.version.name)}[/bold]{scope}  "
            f"[{STATUS_STYLE[stored.status]}]{stored.status}[/]{pin}  [dim]{reliability_text(record.reliability)}[/dim]"
        )
        yield f"  {_figures_text(record)}"


def _figures_text(record: SkillRecord) -> str:
    """Return how often a skill was shown, followed and verified, and what it adds."""
    followed = record.followed.get(Following.FOLLOWED, 0) if record.followed else "?"
    counts = f"shown {record.shown}, followed {followed}, worked {record.worked}, failed {record.failed}"
    gain = record.lift.success
    if gain is None:
        return f"{counts}, lift unknown"
    value, low, high = (in_points(each) for each in (gain.value, gain.low, gain.high))
    return f"{counts}, lift {value} points \\[{low}, {high}]"


def _counts_table(ctx: CommandContext, counts: Counts) -> Table:
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
    return pairs(rows)
