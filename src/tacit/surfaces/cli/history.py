"""`tacit skills history` (for one skill also `skills show --history`): what happened, to whom, when and why."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import click
from rich.markup import escape
from rich.padding import Padding

from tacit.domain.identity import plain
from tacit.domain.stored import AuditEntry
from tacit.evidence.skill_history import HistoryEvent
from tacit.maintain.reason_text import stored_reason
from tacit.surfaces.cli.context import CommandContext, command_options, one_line
from tacit.surfaces.cli.report import Column, Columns, ReportPart, safe
from tacit.surfaces.cli.views import NAMESAKES, namesake_lines

_SHOWN_ID = 14
_SHOWN_HASH = len("sha256:") + 12
"""As many digits as `tacit store purge --source` needs."""
_AFTER_STYLE = {"trial": "cyan", "trusted": "green", "stale": "yellow", "retired": "red", "rejected": "red"}
_LIMIT = 50
_WIDE = 110
"""From this width on a history is a table; below, each event has two lines."""


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
