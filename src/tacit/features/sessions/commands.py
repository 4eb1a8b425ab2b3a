"""`tacit session`: the working memory of a running session, for its agents and for people."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import click
from rich.markup import escape
from rich.table import Table

from tacit.config.environment import SESSION_VARIABLES, UserEnvironment
from tacit.domain.stored import NoteKind, SessionNote
from tacit.domain.trajectory import Origin
from tacit.features.sessions.working_memory import WorkingMemory, origin_of_note
from tacit.ingest.sources import client_homes
from tacit.surfaces.cli.context import CommandContext, clean, command_options, counted, one_line
from tacit.surfaces.cli.table import SuggestingGroup

F = TypeVar("F", bound=Callable[..., Any])
_SHOWN = 100


def _session_option(function: F) -> F:
    """Add the option for the session id."""
    return click.option(
        "--session", "session_id", required=True, envvar=SESSION_VARIABLES, metavar="ID",
        help="The client's id of the session; also TACIT_SESSION.",
    )(function)  # fmt: skip


def _agent_option(function: F) -> F:
    return click.option("--agent", default="", metavar="NAME", help="The agent's name or role.")(function)


@click.group(cls=SuggestingGroup)
def session() -> None:
    """Share notes between the agents of one running session; they expire after a day."""


@session.command(short_help="Share a note with the agents of a session")
@click.argument("text")
@click.option("--error", default="", metavar="TEXT", help="The error that the note fixes, as it was printed.")
@_agent_option
@_session_option
@command_options
def note(ctx: CommandContext, *, text: str, error: str, agent: str, session_id: str) -> None:
    """Share a note with the agents of the session; TEXT may be - to read it from standard input.

    With --error it may become a lesson when the session is learned from, if that error occurred; a person decides.
    """
    working = _opened(ctx, session_id, writes=True)
    text = _text(text)
    kept = working.contribute(text, agent=agent, error=error, origin=_origin(ctx, working, text))
    _answer(ctx, kept, "shared")


@session.command(hidden=True)
@click.argument("name")
@click.argument("text", default="")
@_agent_option
@_session_option
@command_options
def artifact(ctx: CommandContext, *, name: str, text: str, agent: str, session_id: str) -> None:
    """Register something that was made: NAME is where it is (a path, an address), TEXT what it is."""
    working = _opened(ctx, session_id, writes=True)
    text = _text(text)
    _answer(ctx, working.register(name, text, agent=agent, origin=_origin(ctx, working, name, text)), "registered")


@session.command(hidden=True)
@click.argument("text", required=False)
@click.option("--agent", required=True, metavar="NAME", help="Whose notes: a name or a role.")
@_session_option
@command_options
def scratch(ctx: CommandContext, *, text: str | None, agent: str, session_id: str) -> None:
    """Print an agent's own notes, or replace them by TEXT (- reads standard input). Other agents do not see them."""
    working = _opened(ctx, session_id, writes=text is not None)
    if text is not None:
        text = _text(text)
        _answer(ctx, working.scratch(agent).write(text, origin=_origin(ctx, working, text)), "kept")
        return
    written = working.scratch(agent).read()
    document = {"session": working.id, "agent": agent, "text": written}
    ctx.report(document, lambda: click.echo(working.shown_scratch(agent) or "There are no notes under this name."))


@session.command(hidden=True)
@_session_option
@command_options
def queries(ctx: CommandContext, *, session_id: str) -> None:
    """List the earlier questions of the session, and what was found."""
    working = _opened(ctx, session_id)
    asked = working.queries()

    def show() -> None:
        for each in asked:
            found = ", ".join(each.found) or "nothing"
            line = f"{escape(one_line(each.query, _SHOWN))} [dim]→[/dim] {escape(clean(found))}"
            ctx.console.print(f"{each.at:%H:%M} {line}", soft_wrap=True)
        if not asked:
            ctx.console.print("Nothing was asked in this session yet.")

    ctx.report({"session": working.id, "queries": asked}, show)


@session.command(short_help="Show what an agent of a session sees")
@click.option("--list", "listed", is_flag=True, help="Print a table instead of the agent's text.")
@_agent_option
@_session_option
@command_options
def show(ctx: CommandContext, *, listed: bool, agent: str, session_id: str) -> None:
    """Print what an agent of the session sees: shared notes, artifacts, earlier questions, and its own notes."""
    working = _opened(ctx, session_id)
    kept = [*working.contributions(), *working.artifacts()]
    text = working.shown(agent)
    document = {
        "session": working.id,
        "shared": [_document(each) for each in kept if each.kind is NoteKind.CONTEXT],
        "artifacts": [_document(each) for each in kept if each.kind is NoteKind.ARTIFACT],
        "queries": working.queries(),
        "text": text,
    }

    def tell() -> None:
        if not text:
            ctx.console.print("Nothing was shared in this session yet.")
        elif listed:
            _table(ctx, kept)
        else:
            click.echo(clean(text))

    ctx.report(document, tell)


@session.command(hidden=True)
@_session_option
@command_options
def forget(ctx: CommandContext, *, session_id: str) -> None:
    """Delete all notes of the session."""
    working = _opened(ctx, session_id)
    gone = working.forget()
    message = f"deleted {counted(gone, 'note')}" if gone else "there were no notes"
    ctx.report({"session": working.id, "forgotten": gone}, lambda: ctx.console.print(message))


def _opened(ctx: CommandContext, session_id: str, *, writes: bool = False) -> WorkingMemory:
    ctx.may_create = ctx.may_create or writes
    return WorkingMemory(ctx.memory, session_id)


def _origin(ctx: CommandContext, working: WorkingMemory, *texts: str) -> Origin:
    """Return the lowest origin: what a person types at a terminal is theirs, all else is an agent's or what it copied."""
    is_person, homes = ctx.caller.is_person, client_homes(UserEnvironment.read())
    found = [origin_of_note(working.context, working.id, each, homes, is_typed=not is_person) for each in texts if each]
    return Origin.EXTERNAL if Origin.EXTERNAL in found else Origin.USER if is_person else Origin.AGENT


def _text(text: str) -> str:
    return sys.stdin.read() if text == "-" else text


def _answer(ctx: CommandContext, kept: SessionNote, message: str) -> None:
    until = f"[dim]until {kept.expires_at:%Y-%m-%d %H:%M} UTC[/dim]"
    ctx.report(_document(kept), lambda: ctx.console.print(f"{message} {until}"))


def _document(kept: SessionNote) -> dict[str, Any]:
    return {
        "session": kept.session_id,
        "drawer": kept.kind,
        "name": kept.name,
        "agent": kept.agent,
        "origin": kept.origin,
        "text": kept.text,
        "at": kept.at,
        "expires_at": kept.expires_at,
    }


def _table(ctx: CommandContext, kept: Sequence[SessionNote]) -> None:
    table = Table(box=None, pad_edge=False)
    for heading in ("when", "who", "what", "text"):
        table.add_column(heading, overflow="fold")
    for each in kept:
        what = each.name if each.kind is NoteKind.ARTIFACT else str(each.kind)
        texts = (f"{each.at:%H:%M}", each.agent or str(each.origin), what, one_line(each.text, _SHOWN))
        table.add_row(*(escape(clean(text)) for text in texts))
    ctx.console.print(table)
