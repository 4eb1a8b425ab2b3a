"""`tacit undo`, and the decisions about a whole skill: pin it, or take it out of use."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import click

from tacit.domain.errors import GateRefusal, Mistake
from tacit.domain.lifecycle import RECALLABLE, Transition
from tacit.domain.stored import StoredVersion
from tacit.maintain.reason_text import stored_reason
from tacit.surfaces.cli.context import CommandContext, by_option, command_options
from tacit.surfaces.cli.report import safe


@click.command()
@click.argument("reference", metavar="SKILL")
@click.option("--to", default="", metavar="VERSION", help="Make this earlier version current again.")
@click.option(
    "--rollback", is_flag=True, hidden=True, help="Make the version SKILL, or the one before it, current again."
)
@by_option()
@command_options
def undo(ctx: CommandContext, *, reference: str, to: str, rollback: bool, by: str) -> None:
    """Undo the last change to a skill: an approval, a rejection, a retirement, an edit or a rollback.

    `tacit skills show SKILL --history` shows what it was. With --to it goes back further, to any version that was in use: later
    versions are retired, not deleted.
    """
    if to or rollback:
        _roll_back(ctx, to or reference, by=by)
        return
    ctx.caller.require_person("undo")
    name = ctx.memory.version(reference).version.name
    moves = ctx.memory.reviews.undo(reference, by=ctx.person(by))
    ctx.report({"name": name, "moves": moves}, *_move_lines(name, moves))


def invalidate_skill(ctx: CommandContext, reference: str, *, by: str, reason: str) -> None:
    """Take all versions of a skill out of use, and report it."""
    ctx.caller.require_person("invalidate")
    name = ctx.memory.version(reference).version.name
    moves = ctx.memory.reviews.invalidate(reference, by=ctx.person(by), reason=reason)
    ctx.report({"name": name, "moves": moves}, *_move_lines(name, moves))


def pin_skill(ctx: CommandContext, reference: str, *, by: str, reason: str, off: bool) -> None:
    """Pin a skill or, with `off`, unpin it, and report it."""
    ctx.caller.require_person("pin")
    name = ctx.memory.version(reference).version.name
    remark = ctx.memory.reviews.pin(reference, by=ctx.person(by), reason=reason, off=off)
    state = "is no longer pinned" if off else "is pinned"
    ctx.report({"name": name, "pinned": not off, "remark": remark}, f"[bold]{safe(name)}[/bold] {state}")


def _roll_back(ctx: CommandContext, reference: str, *, by: str) -> None:
    ctx.caller.require_person("rollback")
    stored = ctx.memory.version(reference)
    if not stored.version.id.startswith(reference):
        versions = ctx.memory.archive.versions(stored.skill.id)
        earlier = [s for s in versions if s.sequence < stored.sequence and _was_in_use(ctx, s)]
        if not earlier:
            raise Mistake(
                f"`{stored.version.name}` has no earlier version that was in use",
                code="no_earlier_version",
                hint="`tacit skills show NAME` lists its versions",
            )
        stored = earlier[-1]
    if not _was_in_use(ctx, stored):
        raise GateRefusal(
            f"{stored.version.id[:10]} was never approved, so it cannot become current by a rollback",
            code="never_approved",
            hint=f"run `tacit review {stored.version.id[:10]}`",
        )
    moves = ctx.memory.reviews.rollback(stored.version.id, by=ctx.person(by))
    name, short = safe(stored.version.name), stored.version.id[:10]
    ctx.report({"current": stored.version.id, "moves": moves}, f"[bold]{name}[/bold] is back at {short}")


def _was_in_use(ctx: CommandContext, stored: StoredVersion) -> bool:
    return stored.status in RECALLABLE or any(
        move.after in RECALLABLE for move in ctx.memory.archive.transitions(stored.version.id)
    )


def _move_lines(name: str, moves: Sequence[Transition]) -> Iterator[str]:
    for move in moves:
        line = f"[bold]{safe(name)}[/bold] {move.version_id[:10]}: {move.before} → {move.after}"
        yield f"{line}  [dim]{safe(stored_reason(move.reason))}[/dim]"
