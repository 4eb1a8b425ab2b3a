"""`tacit moments`: state assumptions before the work, check them at milestones, and see how they came out.

An agent may state and settle assumptions, as its own word. Only a person may run a stored check: whoever stated the assumption
chose the command.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any, NoReturn

import click
from rich.markup import escape
from rich.table import Table

from tacit.config.checkout import workspace
from tacit.config.environment import SESSION_VARIABLES
from tacit.domain.errors import Mistake
from tacit.domain.ledger import LedgerEntry
from tacit.domain.trajectory import Origin
from tacit.evidence.credit import BY_AGENT
from tacit.evidence.verifiers.checks import Command
from tacit.features.people.commands import forecast
from tacit.features.people.intake_commands import intake
from tacit.features.people.ledger_entries import Aspect, Assumption, Held, Moment, Phase
from tacit.features.people.moments import MomentList, Moments
from tacit.features.people.session_assumptions import Speaker
from tacit.gate.quarantine import attempts_with_external_text
from tacit.surfaces.cli.context import CommandContext, clean, command_options, counted, one_line
from tacit.surfaces.cli.table import SuggestingGroup

_SHOWN_KEY = 10
_SHOWN_SESSION = 12
_LEAST_TEXT = 16
_STYLE = {Held.OPEN: "cyan", Held.HELD: "green", Held.WRONG: "red", Held.UNKNOWN: "dim"}
_SESSION = click.option(
    "--session",
    "run",
    default="",
    envvar=SESSION_VARIABLES,
    metavar="ID",
    help="The agent's session, as its client names it; TACIT_SESSION names it too.",
)


@click.group(cls=SuggestingGroup, invoke_without_command=True)
@command_options
def moments(ctx: CommandContext) -> None:
    """Show what was assumed, asked and forecast before the work, and how it came out.

    Without a command: list what sessions assumed, what was refused in them, and how it came out, the same as `list`.
    """
    context = click.get_current_context()
    if context.invoked_subcommand is None:
        context.invoke(list_, as_json=ctx.as_json, store=ctx.store, run="", phase=None, held=None, limit=50)


for command in (forecast, intake):
    moments.add_command(command)


@moments.command(hidden=True)
@click.argument("text")
@click.option(
    "--aspect",
    type=click.Choice([each.value for each in Aspect]),
    default=Aspect.APPROACH.value,
    show_default=True,
    help="What it is about.",
)
@click.option(
    "--check", default="", metavar="COMMAND", help="A command that shows whether it holds; kept, never run by itself."
)
@click.option("--task", default="", help="What the work is.")
@_SESSION
@click.option("--by", default="", help="Your name.")
@command_options
def assume(ctx: CommandContext, *, text: str, run: str, by: str, **options: str) -> None:
    """State an assumption before or during the work.

    When the run is learned from, the assumption is compared with what happened. One that was wrong becomes a lesson that
    waits for review.
    """
    ctx.may_create = True
    made = Moments(ctx.memory).assume(text, session=run, by=_speaker(ctx, by), **options)
    ctx.report({"assumption": _whole(made)}, lambda: _show_assumptions(ctx, [made]))


@moments.command(hidden=True)
@click.option("--risk", "risks", multiple=True, metavar="TEXT", help="What may go wrong (may be repeated).")
@click.option(
    "--assume", "assumptions", multiple=True, metavar="TEXT", help="What is taken for granted (may be repeated)."
)
@click.option("--task", default="", help="What the work is.")
@_SESSION
@click.option("--by", default="", help="Your name.")
@command_options
def premortem(
    ctx: CommandContext, *, risks: Sequence[str], assumptions: Sequence[str], run: str, **options: str
) -> None:
    """State before the work what may go wrong. An error in `backquotes` is looked for in what fails."""
    ctx.may_create = True
    moments_of_store, who = Moments(ctx.memory), _speaker(ctx, options["by"])
    moment = moments_of_store.premortem(risks, assumptions=assumptions, session=run, task=options["task"], by=who)
    stated = [moments_of_store.find(key) for key in moment.assumptions]
    document = {"moment": _whole(moment), "assumptions": list(map(_whole, stated))}
    ctx.report(document, lambda: _show_assumptions(ctx, stated))


@moments.command(hidden=True)
@_SESSION
@click.option("--milestone", default="", help="What was just reached.")
@click.option("--holds", multiple=True, metavar="KEY", help="An assumption that still holds (may be repeated).")
@click.option(
    "--wrong", multiple=True, metavar="KEY=INSTEAD", help="One that does not, and what is the case (may be repeated)."
)
@click.option("--by", default="", help="Your name.")
@command_options
def checkpoint(ctx: CommandContext, *, run: str, milestone: str, by: str, **given: Sequence[str]) -> None:
    """List the open assumptions of a session, and say which of them hold."""
    ctx.may_create = bool(milestone or given["holds"] or given["wrong"])
    pairs = [each.partition("=") for each in given["wrong"]]
    if unfit := [each for each in given["wrong"] if "=" not in each]:
        raise Mistake(f"what is true instead of {', '.join(unfit)}?", code="no_correction", hint="--wrong KEY=INSTEAD")
    wrong = {key.strip(): instead for key, _, instead in pairs}
    who, moments_of_store = _speaker(ctx, by), Moments(ctx.memory)
    looked = moments_of_store.checkpoint(run, milestone=milestone, holds=given["holds"], wrong=wrong, by=who)

    def show() -> None:
        _show_assumptions(ctx, [*looked.settled, *looked.open])
        ctx.console.print(f"{counted(len(looked.open), 'assumption')} open")

    document = {"open": list(map(_whole, looked.open)), "settled": list(map(_whole, looked.settled))}
    ctx.report(document | {"moment": _whole(looked.moment) if looked.moment else None}, show)


@moments.command(hidden=True)
@click.argument("key")
@click.option("--run", "to_run", is_flag=True, help="Have its check run in the project now, and keep what it shows.")
@click.option("--yes", is_flag=True, help="Do not ask before running it.")
@click.option("--by", default="", help="Your name.")
@command_options
def check(ctx: CommandContext, *, key: str, to_run: bool, yes: bool, by: str) -> None:
    """Show one assumption with its check; with --run, which is for a person, run the check.

    Exit status 0 means that the assumption holds, 1 that it does not or that this is not known.
    """
    moments_of_store = Moments(ctx.memory)
    found = moments_of_store.find(key)
    if not to_run:
        ctx.report({"assumption": _whole(found)}, lambda: _show_whole(ctx, found))
        _end(found)
    ctx.caller.require_person("moments check --run")
    if not found.check:
        raise Mistake(f"{found.key} has no check", code="no_check", hint="settle it yourself: tacit moments checkpoint")
    if not yes and not ctx.as_json:
        ctx.console.print(f"written by {escape(clean(found.by))}:  {escape(clean(found.check))}")
        click.confirm("Run this here?", abort=True)
    result = Command(found.check, cwd=workspace(ctx.place.project)).verify()
    who = Speaker(ctx.person(by), Origin.USER)
    reason = f"`{found.check}` {'passed' if result.passed else 'failed'} when {who.name} ran it"
    kept = moments_of_store.settled_by(found.key, held=result.passed, reason=reason, by=who)
    ctx.report({"assumption": _whole(kept), "passed": result.passed}, lambda: _show_whole(ctx, kept))
    _end(kept)


def _end(found: Assumption) -> NoReturn:
    raise click.exceptions.Exit(0 if found.held is Held.HELD else 1)


@moments.command("list", hidden=True)
@click.option("--session", "run", default="", metavar="ID", help="Only of this session.")
@click.option("--phase", type=click.Choice([each.value for each in Phase]), help="Only of this phase.")
@click.option("--held", type=click.Choice([each.value for each in Held]), help="Only assumptions that came out so.")
@click.option("--limit", type=click.IntRange(min=1), default=50, show_default=True, help="The last so many of each.")
@command_options
def list_(ctx: CommandContext, *, run: str, phase: str | None, held: str | None, limit: int) -> None:
    """List moments and assumptions, oldest first."""
    found = Moments(ctx.memory).list(session=run, phase=phase, held=held)
    kept = _as_shown(ctx, MomentList(moments=found.moments[-limit:], assumptions=found.assumptions[-limit:]))
    ctx.report(_document(kept), lambda: _show(ctx, kept))


@moments.command(hidden=True)
@click.option("--session", "run", required=True, metavar="ID", help="The agent's session, as its client names it.")
@command_options
def show(ctx: CommandContext, *, run: str) -> None:
    """Show one session: what was assumed, what happened, and how it came out, with the steps that show it."""
    found = _as_shown(ctx, Moments(ctx.memory).list(session=run))

    def tell() -> None:
        for moment in found.moments:
            _show_moment(ctx, moment, of_one=True)
        for each in found.assumptions:
            _show_whole(ctx, each)
        if not found.moments and not found.assumptions:
            ctx.console.print("No assumptions or moments in this session.")

    ctx.report({"session": run} | _document(found), tell)


def _whole(entry: LedgerEntry) -> dict[str, Any]:
    """Return an entry with all its fields, also empty ones."""
    return {each.name: getattr(entry, each.name) for each in dataclasses.fields(entry)}


def _as_shown(ctx: CommandContext, found: MomentList) -> MomentList:
    """Return moments as the caller may see them: agents get no task that no person wrote."""
    if ctx.can_ask:
        return found
    sources = {each for moment in found.moments for each in moment.sources[:1] if moment.task}
    tainted = attempts_with_external_text(ctx.memory.context.store, sources)
    moments = [dataclasses.replace(m, task="") if tainted.intersection(m.sources[:1]) else m for m in found.moments]
    return dataclasses.replace(found, moments=tuple(moments))


def _document(found: MomentList) -> dict[str, Any]:
    return {"moments": list(map(_whole, found.moments)), "assumptions": list(map(_whole, found.assumptions))}


def _speaker(ctx: CommandContext, name: str) -> Speaker:
    """Return who speaks: a person at a terminal; anybody else is taken for an agent."""
    if ctx.caller.is_person:
        return Speaker(ctx.person(name), Origin.USER)
    return Speaker(BY_AGENT if ctx.environment.agent_markers else name or BY_AGENT)


def _show(ctx: CommandContext, found: MomentList) -> None:
    for moment in found.moments:
        _show_moment(ctx, moment)
    if found.assumptions:
        _show_assumptions(ctx, found.assumptions)
    if not found.moments and not found.assumptions:
        ctx.console.print("No assumptions yet. State one: tacit moments assume TEXT --session ID")


def _show_moment(ctx: CommandContext, moment: Moment, *, of_one: bool = False) -> None:
    """Print a moment on one line; of several sessions also the beginning of the session id."""
    head = f"{moment.at:%Y-%m-%d %H:%M}  {moment.phase}  "
    named = clean(moment.what)
    which = f"  {one_line(moment.session_id, _SHOWN_SESSION)}" if moment.session_id and not of_one else ""
    moments_of_store = ctx.console.width - len(head) - len(named) - len(which) - 2
    text = f": {escape(one_line(moment.text, max(_LEAST_TEXT, moments_of_store)))}" if moment.text else ""
    ctx.console.print(f"{head}[bold]{escape(named)}[/bold]{text}[dim]{escape(which)}[/dim]", soft_wrap=True)


def _show_assumptions(ctx: CommandContext, assumptions: Sequence[Assumption]) -> None:
    table = Table(box=None, padding=(0, 2, 0, 0))
    for column in ("key", "stands", "about"):
        table.add_column(column, no_wrap=True)
    table.add_column("assumed", ratio=1, overflow="fold")
    for each in assumptions:
        why = f"\n[dim]{escape(one_line(each.reason, 160))}[/dim]" if each.reason else ""
        style = _STYLE[each.held]
        given = f"{escape(one_line(each.text, 200))}{why}"
        table.add_row(each.key[:_SHOWN_KEY], f"[{style}]{each.held}[/{style}]", str(each.aspect), given)
    ctx.console.print(table)


def _show_whole(ctx: CommandContext, each: Assumption) -> None:
    style = _STYLE[each.held]
    ctx.console.print(
        f"[{style}]{each.held}[/{style}]  {escape(clean(each.text))}  [dim]{each.key[:_SHOWN_KEY]}[/dim]",
        soft_wrap=True,
    )
    rows = {
        "about": f"{each.aspect}, stated {each.phase}{f' by {each.by}' if each.by else ''}",
        "why": f"{each.reason}{_steps(each)}" if each.reason else "",
        "in fact": each.instead,
        "check": each.check,
        "skill": each.version_id,
        "lesson": f"{each.lesson} (tacit review)" if each.lesson else "",
    }
    for name, value in rows.items():
        if value:
            ctx.console.print(f"    [dim]{name}:[/dim] {escape(clean(value))}", soft_wrap=True)


def _steps(each: Assumption) -> str:
    """Return the steps that show how an assumption came out, unless its reason names them."""
    missing = [str(step) for step in each.steps if f"step {step})" not in each.reason]
    return f" (step{'s' if len(missing) > 1 else ''} {', '.join(missing)})" if missing else ""
