"""`tacit undo`, `tacit skills pin` and `invalidate`: what a person does by hand about a skill that is there."""

from __future__ import annotations

from collections.abc import Sequence

import click
from rich.markup import escape

from tacit.domain.lifecycle import Transition
from tacit.surfaces.cli.context import CommandContext, clean, command_options


@click.command()
@click.argument("reference", metavar="SKILL")
@click.option("--by", default="", help="Your name, kept with the decision.")
@command_options
def undo(ctx: CommandContext, *, reference: str, by: str) -> None:
    """Take back the last change to a skill: an approval, a rejection, a retirement, an edit or a roll-back.

    `tacit history SKILL` shows what it was; `tacit skills rollback` goes back further, to any version.
    """
    ctx.caller.require_person("undo")
    name = ctx.memory.version(reference).version.name
    moves = ctx.memory.undo(reference, by=ctx.person(by))
    ctx.answer({"name": name, "moves": moves}, lambda: _show(ctx, name, moves))


@click.command()
@click.argument("reference", metavar="SKILL")
@click.option("--reason", required=True, help="What is wrong with it; kept, and shown to whoever wants it back.")
@click.option("--by", default="", help="Your name, kept with the decision.")
@command_options
def invalidate(ctx: CommandContext, *, reference: str, reason: str, by: str) -> None:
    """Take a whole skill out of use because it is wrong: all its versions, those that wait too.

    Nothing is deleted: `tacit review SKILL --restore` brings a version back, `tacit undo SKILL` the last one.
    """
    ctx.caller.require_person("invalidate")
    name = ctx.memory.version(reference).version.name
    moves = ctx.memory.invalidate(reference, by=ctx.person(by), reason=reason)
    ctx.answer({"name": name, "moves": moves}, lambda: _show(ctx, name, moves))


@click.command()
@click.argument("reference", metavar="SKILL")
@click.option("--off", is_flag=True, help="No longer.")
@click.option("--reason", default="", help="Why, kept with it.")
@click.option("--by", default="", help="Your name, kept with it.")
@command_options
def pin(ctx: CommandContext, *, reference: str, off: bool, reason: str, by: str) -> None:
    """Have a skill left alone by all that looks after the library by itself (`tacit tend`); evidence is still kept."""
    ctx.caller.require_person("pin")
    name = ctx.memory.version(reference).version.name
    remark = ctx.memory.pin(reference, by=ctx.person(by), reason=reason, off=off)
    told = "is no longer pinned" if off else "is pinned"
    ctx.answer(
        {"name": name, "pinned": not off, "remark": remark},
        lambda: ctx.console.print(f"[bold]{escape(clean(name))}[/bold] {told}"),
    )


def _show(ctx: CommandContext, name: str, moves: Sequence[Transition]) -> None:
    for move in moves:
        told = f"[bold]{escape(clean(name))}[/bold] {move.version_id[:10]}: {move.before} → {move.after}"
        ctx.console.print(f"{told}  [dim]{escape(clean(move.reason))}[/dim]", soft_wrap=True)
