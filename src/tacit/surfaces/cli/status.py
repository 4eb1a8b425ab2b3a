"""`tacit status`, and `tacit` alone: how things stand on one screen, and the next command."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

import click

from tacit.domain.errors import TacitError
from tacit.domain.stored import Damage
from tacit.maintain import session_log
from tacit.surfaces.cli.context import CommandContext, command_options, counted, one_line
from tacit.surfaces.cli.report import ReportPart, fields, pairs, safe
from tacit.surfaces.clients.connections import CLIENTS, Audience, files_of, find_client_folders, find_launcher
from tacit.surfaces.clients.installation import is_connected
from tacit.surfaces.hook import log, waiting

_WEEK = timedelta(days=7)


class _Problem(NamedTuple):
    """Something that is wrong, and the command that helps."""

    message: str
    remedy: str


@click.command()
@command_options
def status(ctx: CommandContext) -> None:
    """Show on one screen: which agents are connected, the last session, what waits, what helped this week, what is wrong.

    Exit 0 whatever it finds; `tacit doctor` runs the real checks.
    """
    connected = _connected(ctx)
    problems: list[_Problem] = []
    document: dict[str, Any] = {"store": ctx.place.database, "connected": connected}
    database = Path(ctx.place.database)
    shown_path = database.relative_to(Path.cwd()) if database.is_relative_to(Path.cwd()) else database
    rows = {"store": safe(str(shown_path)), "connected": ", ".join(connected) or "[yellow]no agent[/yellow]"}
    has_store = database.exists()
    if not has_store:
        rows["store"] = "none in this project yet"
    else:
        try:
            problems += (_Problem(f"{each.subject}: {each.problem}", "tacit store verify") for each in _damage(ctx))
            found, shown = _contents(ctx)
            document |= found
            rows |= shown
        except TacitError as error:
            problems.append(_Problem(error.message, error.hint or "tacit doctor"))
    if ctx.place.paused_until is not None:
        problems.append(_Problem("paused: hooks do nothing", "tacit pause --resume"))
    faults = log.recent(str(ctx.environment.home), 1)
    if faults:
        problems.append(_Problem(f"a hook failed: {faults[0]}", "tacit doctor"))
    next_command = _next(connected, document, problems, has_store=has_store)
    document |= {"problems": [fields(each, "message", "remedy") for each in problems], "next": next_command}

    def parts() -> Iterator[ReportPart]:
        yield pairs(rows)
        for problem in problems:
            yield f"[red]![/red] {safe(one_line(problem.message, 200))}\n  [cyan]→ {safe(problem.remedy)}[/cyan]"
        yield f"\nNext: [bold]{safe(next_command)}[/bold]   [dim](all commands: tacit --help)[/dim]"

    ctx.report(document, parts)


def _connected(ctx: CommandContext) -> list[str]:
    places = find_client_folders(ctx.environment, Path.cwd())
    launcher = find_launcher(places.project, places.user_home)
    found = []
    for client in CLIENTS.values():
        try:
            if any(is_connected(files_of(client, places, audience, launcher=launcher)) for audience in Audience):
                found.append(client.title)
        except TacitError:
            continue  # its settings cannot be read, which `tacit doctor` reports
    return found


def _damage(ctx: CommandContext) -> list[Damage]:
    return ctx.memory.archive.verify(quick=True)[:1]


def _contents(ctx: CommandContext) -> tuple[dict[str, Any], dict[str, str]]:
    """Return what the store says, as a document and as rows for people."""
    context, now = ctx.memory.context, datetime.now(UTC)
    latest = session_log.latest_sessions(context, 1)
    last = session_log.log_of(context, latest[0]) if latest else None
    waits = len(ctx.visible(ctx.memory.reviews.waiting(folded=False)))
    _, suggestions = waiting.read(str(ctx.place.folder))
    week = session_log.activity(context, since=now - _WEEK)
    document = {
        "last_session": {"session": last.session_id, "client": last.client, "ended": last.ended} if last else None,
        "to_review": waits,
        "suggestions": suggestions,
        "week": fields(week, "sessions", "shown", "followed", "worked", "failed"),
    }
    when = (
        f"{last.ended.astimezone():%Y-%m-%d %H:%M}, {safe(last.client)} {safe(last.session_id[:8])}" if last else "none"
    )
    review = [f"[yellow]{waits} to review[/yellow]"] if waits else []
    review += [counted(suggestions, "suggestion")] if suggestions else []
    worked = f", {week.worked} verified to work, {week.failed} to fail" if week.worked or week.failed else ""
    shown = (
        f"{counted(week.shown, 'skill')} shown in {counted(week.sessions, 'session')}, {week.followed} followed{worked}"
    )
    rows = {
        "last session": when,
        "waiting": ", ".join(review) or "nothing",
        "this week": shown if week.shown else "nothing shown",
    }
    return document, rows


def _next(connected: list[str], document: dict[str, Any], problems: list[_Problem], *, has_store: bool) -> str:
    """Return the command that is worth most now."""
    if problems:
        return problems[0].remedy
    if not has_store:
        return "tacit learn"
    if document.get("to_review") or document.get("suggestions"):
        return "tacit review"
    return "tacit log" if connected else "tacit init"
