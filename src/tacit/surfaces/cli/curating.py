"""`tacit undo`, `tacit skills pin` and `invalidate`: what a person does by hand about a skill that is there."""

from __future__ import annotations

from collections.abc import Sequence

import click
from rich.markup import escape

from tacit.domain.lifecycle import Transition
from tacit.surfaces.cli.session import Session, clean, command_options


@click.command()
@click.argument("reference", metavar="SKILL")
@click.option("--by", default="", help="Your name, kept with the decision.")
@command_options
def undo(session: Session, *, reference: str, by: str) -> None:
    """Take back the last change to a skill: an approval, a rejection, a retirement, an edit or a roll-back.

    `tacit history SKILL` shows what it was; `tacit skills rollback` goes back further, to any version.
    """
    session.caller.require_person("undo")
    name = session.loop.version(reference).version.name
    moves = session.loop.undo(reference, by=session.person(by))
    session.answer({"name": name, "moves": moves}, lambda: _show(session, name, moves))


@click.command()
@click.argument("reference", metavar="SKILL")
@click.option("--reason", required=True, help="What is wrong with it; kept, and shown to whoever wants it back.")
@click.option("--by", default="", help="Your name, kept with the decision.")
@command_options
def invalidate(session: Session, *, reference: str, reason: str, by: str) -> None:
    """Take a whole skill out of use because it is wrong: all its versions, those that wait too.

    Nothing is deleted: `tacit review SKILL --restore` brings a version back, `tacit undo SKILL` the last one.
    """
    session.caller.require_person("invalidate")
    name = session.loop.version(reference).version.name
    moves = session.loop.invalidate(reference, by=session.person(by), reason=reason)
    session.answer({"name": name, "moves": moves}, lambda: _show(session, name, moves))


@click.command()
@click.argument("reference", metavar="SKILL")
@click.option("--off", is_flag=True, help="No longer.")
@click.option("--reason", default="", help="Why, kept with it.")
@click.option("--by", default="", help="Your name, kept with it.")
@command_options
def pin(session: Session, *, reference: str, off: bool, reason: str, by: str) -> None:
    """Have a skill left alone by all that looks after the library by itself (`tacit tend`); evidence is still kept."""
    session.caller.require_person("pin")
    name = session.loop.version(reference).version.name
    remark = session.loop.pin(reference, by=session.person(by), reason=reason, off=off)
    told = "is no longer pinned" if off else "is pinned"
    session.answer(
        {"name": name, "pinned": not off, "remark": remark},
        lambda: session.console.print(f"[bold]{escape(clean(name))}[/bold] {told}"),
    )


def _show(session: Session, name: str, moves: Sequence[Transition]) -> None:
    for move in moves:
        told = f"[bold]{escape(clean(name))}[/bold] {move.version_id[:10]}: {move.before} → {move.after}"
        session.console.print(f"{told}  [dim]{escape(clean(move.reason))}[/dim]", soft_wrap=True)
