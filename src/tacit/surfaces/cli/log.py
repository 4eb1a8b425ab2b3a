"""`tacit log` and `tacit why`: what Tacit showed in a session and why, what the agent did with it, and what was learned."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from datetime import datetime
from typing import Any

import click

from tacit.domain.evidence import Outcome
from tacit.domain.identity import plain
from tacit.domain.reason_code import ReasonCode
from tacit.maintain import session_log
from tacit.maintain.session_log import NotShown, SessionEvent, SessionLog, ShownSkill
from tacit.surfaces.cli.context import CommandContext, command_options, counted, one_line
from tacit.surfaces.cli.report import ReportPart, safe
from tacit.surfaces.cli.views import STATUS_STYLE
from tacit.text.words import terms

_SESSIONS = 3
_SHOWINGS = 3
_SILENT_LISTED = 2
_MOMENTS = {
    "start": "session start",
    "prompt": "prompt",
    "before": "before a call",
    "call": "after a call",
    "batch": "after calls",
    "denied": "call denied",
    "hook": "by a hook",
    "cli": "tacit recall",
}
OBJECTIONS = {"said": "you objected", "denied": "you denied a call"}
_WHY_AT = {
    "start": "always shown at the start",
    "before": "this call mostly fails here",
    "call": "extends the skill that was loaded",
    "hook": "why is not on record any more",
    "cli": "asked for in a terminal",
}
"""Why something was shown at a moment at which no words were compared."""
_NOT_SHOWN = {
    ReasonCode.BELOW_THRESHOLD: "not relevant enough",
    ReasonCode.ALREADY_SHOWN: "already shown in this session",
    ReasonCode.OVER_BUDGET: "no space left",
    ReasonCode.OVER_LIMIT: "enough others were better",
    ReasonCode.HELD_BACK: "held back to measure what it adds",
    ReasonCode.OTHER_MOMENT: "waits for its own moment",
    ReasonCode.SHADOWED: "a narrower skill has its name",
    ReasonCode.NO_SHARED_WORDS: "no skill shares a word with it",
    ReasonCode.ONLY_COMMON_WORDS: "skills share only common words with it",
    ReasonCode.NOTHING_APPROVED: "nothing is approved",
}
_OUTCOMES = {
    Outcome.SUCCESS: "[green]worked[/green]",
    Outcome.PARTIAL: "[yellow]partly worked[/yellow]",
    Outcome.FAILURE: "[red]failed[/red]",
}


@click.command()
@click.option("--session", default="", metavar="ID", help="This session, or the one whose id begins so.")
@click.option(
    "--limit", type=click.IntRange(min=1), default=_SESSIONS, show_default=True, help="How many of the latest sessions."
)
@command_options
def log(ctx: CommandContext, *, session: str, limit: int) -> None:
    """Show what Tacit did in the latest sessions: what it showed and why, what the agent did with it, what was learned.

    A moment at which it stayed silent is shown with the reason, for two weeks. Newest session first.
    """
    context = ctx.memory.context
    latest = session_log.latest_sessions(context, session_log.LATEST if session else limit)
    if session:
        latest = [each for each in latest if each.startswith(session)][:1] or [session]
    logs = [session_log.log_of(context, each, whole=ctx.can_ask) for each in latest]
    document = {"sessions": [session_document(ctx, each) for each in logs]}

    def parts() -> Iterator[ReportPart]:
        if not logs:
            yield "No sessions yet. Run [bold]tacit init[/bold] to connect your agent, or [bold]tacit learn[/bold]."
        for number, each in enumerate(logs):
            yield "" if number else None
            yield from _session_parts(ctx, each)

    ctx.report(document, parts)


@click.command()
@click.argument("name")
@click.option("--limit", type=click.IntRange(min=1), default=_SHOWINGS, show_default=True, help="How many showings.")
@command_options
def why(ctx: CommandContext, *, name: str, limit: int) -> None:
    """Show why a skill was shown, the latest time first, and what the agent did with it. NAME is a name or an id."""
    stored = ctx.version(name)
    archive = ctx.memory.archive
    versions = [each.version.id for each in archive.versions(stored.skill.id)]
    found = session_log.showings(ctx.memory.context, versions, limit=limit, whole=ctx.can_ask)
    content = stored.version.content
    subject = set(terms(" ".join((content.name.replace("-", " "), content.description, *content.example_queries))))
    rows = []
    for session_id, event in found:
        shown = next(each for each in event.shown if each.version_id in versions)
        words = [word for word in dict.fromkeys(terms(event.task)) if word in subject]
        rows.append((session_id, event, shown, words))
    document = {
        "name": stored.version.name,
        "version_id": stored.version.id,
        "showings": [
            {"session": session_id, "shared_words": words, **_event_document(event)}
            for session_id, event, _, words in rows
        ],
    }

    def parts() -> Iterator[ReportPart]:
        yield f"[bold]{safe(stored.version.name)}[/bold]  {safe(content.description)}"
        if not rows:
            yield "It was never shown. See whether a task brings it: [bold]tacit recall TASK --explain[/bold]"
        for session_id, event, shown, words in rows:
            of = f" of session {safe(session_id[:8])}" if session_id else ""
            yield f"{_time(event.at)}  {moment_text(event)}{of}"
            if event.task:
                yield f"  task: {safe(one_line(event.task, max(40, ctx.console.width - 10)))}"
            yield f"  why: {why_text(event, shown)}"
            if words:
                yield f"  words in common: {safe(', '.join(words))}"
            yield f"  then: {_then(shown)}"

    ctx.report(document, parts)


def session_document(ctx: CommandContext, each: SessionLog) -> dict[str, Any]:
    """Return what happened in a session, for programs."""
    return {
        "session": each.session_id,
        "client": each.client,
        "model": each.model,
        "began": each.began,
        "ended": each.ended,
        "has_journal": each.has_journal,
        "events": [_event_document(event) for event in each.events],
        "attempts": [
            {"id": attempt.id, "task": attempt.task, "outcome": attempt.assessment.outcome} for attempt in each.attempts
        ],
        "learned": [
            {"name": stored.version.name, "version_id": stored.version.id, "status": stored.status}
            for stored in ctx.visible(each.learned)
        ],
    }


def _event_document(event: SessionEvent) -> dict[str, Any]:
    document: dict[str, Any] = plain(event)
    return document


def _session_parts(ctx: CommandContext, each: SessionLog) -> Iterator[ReportPart]:
    minutes = round((each.ended - each.began).total_seconds() / 60)
    facts = [each.client, each.model, f"{_time(each.began)}, {minutes} min"]
    yield f"[bold]Session {safe(each.session_id[:8])}[/bold]  [dim]{safe(' · '.join(filter(None, facts)))}[/dim]"
    for attempt in each.attempts:
        yield f"  [dim]task[/dim]  {safe(one_line(attempt.task, max(40, ctx.console.width - 10)))}"
    silent: Counter[str] = Counter()
    for event in each.events:
        lines = list(_event_lines(event))
        if not lines and event.silent:
            silent[event.silent] += 1
        yield from lines
    yield from (f"  [dim]silent {counted(count, 'time')}: {reason_text(code)}[/dim]" for code, count in silent.items())
    if not each.events:
        text = "nothing was shown" if each.has_journal else "its hooks noted nothing: it ran before or without them"
        yield f"  [dim]{text}[/dim]"
    learned = ctx.visible(each.learned)
    if learned:
        listed = (f"{safe(one.version.name)} [{STATUS_STYLE[one.status]}]{one.status}[/]" for one in learned)
        yield f"  [dim]learned[/dim]  {', '.join(listed)}"
    elif each.attempts:
        yield "  [dim]learned  nothing[/dim]"


def _event_lines(event: SessionEvent) -> Iterator[str]:
    """Yield the lines of an event; nothing for plain silence, which is summed up."""
    head = f"  {event.at.astimezone():%H:%M}  [cyan]{moment_text(event)}[/cyan]  "
    indent = " " * (9 + len(moment_text(event)) + 2)
    lines = [f"[bold]{safe(each.name)}[/bold]: {why_text(event, each)} → {_then(each)}" for each in event.shown]
    if event.shown or event.not_shown:
        lines += [_not_shown_line(each) for each in event.not_shown[:_SILENT_LISTED]]
    if event.objection:
        lines.append(OBJECTIONS.get(event.objection, safe(event.objection)))
    if event.warned:
        lines.append(f"warned that it repeats itself ({counted(event.warned, 'time')})")
    if event.notes:
        lines.append(f"read {counted(event.notes, 'note')} of other agents")
    yield from ((head if number == 0 else indent) + line for number, line in enumerate(lines))


def _not_shown_line(each: NotShown) -> str:
    near = f" ({each.relevance:.2f})" if each.relevance is not None else ""
    return f"[dim]not shown: {safe(each.name)}, {reason_text(each.code)}{near}[/dim]"


def moment_text(event: SessionEvent) -> str:
    """Return when in a session something happened, in words."""
    moment = _MOMENTS.get(event.moment, event.moment)
    return safe(f"{moment} ({event.tool})" if event.tool and event.shown else moment)


def why_text(event: SessionEvent, shown: ShownSkill) -> str:
    """Return why a skill was shown, in words."""
    signals = shown.why
    if signals.get("signature"):
        return "answers this very error"
    parts = [
        text
        for name, text in (
            ("names", "names what the task names"),
            ("words", "shares rare words"),
            ("example", "like an example of its use"),
            ("meaning", "close in meaning"),
        )
        if signals.get(name)
    ]
    if event.moment in ("prompt",) and parts:
        return f"{', '.join(parts)} (relevance {signals.get('relevance', 0.0):.2f})"
    if event.moment in _WHY_AT and (event.moment != "call" or signals):
        return _WHY_AT[event.moment]
    return "fitted the task" if event.moment == "prompt" else f"asked for by {safe(event.moment)}"


def _then(shown: ShownSkill) -> str:
    """Return what the agent did with it."""
    parts = [str(shown.following)] if shown.following else []
    if shown.outcome in _OUTCOMES:
        parts.append(_OUTCOMES[shown.outcome] + (f" ({shown.grade})" if shown.grade else ""))
    return ", ".join(parts) or "[dim]not known whether it was followed[/dim]"


def reason_text(code: str) -> str:
    """Return why something was not shown, in words."""
    try:
        return _NOT_SHOWN[ReasonCode(code)]
    except (KeyError, ValueError):
        return safe(code.replace("_", " "))


def _time(at: datetime) -> str:
    return f"{at.astimezone():%Y-%m-%d %H:%M}"
