"""`tacit verify`, `backup`, `pause`: looking after the store. See also `restoring` and `purging`."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import click
from rich.markup import escape

from tacit.domain.errors import Mistake, StoreOutage
from tacit.domain.ports import Damage
from tacit.domain.safekeeping import Manifest
from tacit.store import purge_plan as custody
from tacit.surfaces.cli.context import CommandContext, clean, command_options

_DERIVED = ("vector", "version_words", "episode_words")
"""How the subjects of damage to indexes begin: these can be made again from the records."""
_MEND = "put a backup back: tacit restore FILE (--without-tombstones where what was purged cannot be read)"
_LONGEST_PAUSE_S = 366 * 86_400
_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}


@click.command()
@click.argument("file", required=False, type=click.Path(dir_okay=False, path_type=Path))
@command_options
def verify(ctx: CommandContext, *, file: Path | None) -> None:
    """Check that the store is intact: every row, every hash, the audit chain, the indexes. Exit 0 means intact.

    With FILE, a backup is checked instead, against its manifest and as a whole; it is not changed.
    """
    if file is not None:
        _verify_backup(ctx, file)
        return
    try:
        damage = ctx.memory.verify()
    except StoreOutage as error:
        if "tacit verify" not in error.hint:
            raise
        raise StoreOutage(error.message, hint=_MEND) from error  # it was just run
    anchor = None if damage else ctx.memory.store.anchored()
    document = {"intact": not damage, "damage": damage, "store": ctx.place.database, "anchor": anchor}

    def show() -> None:
        if not damage:
            noted = f"anchored up to entry {anchor.sequence}" if anchor else "no anchor here: unknown to this home"
            ctx.console.print(f"[green]intact[/green] ({noted})")
        _show_damage(ctx, damage)

    ctx.answer(document, show)
    if damage:
        derived = all(item.subject.startswith(_DERIVED) for item in damage)
        hint = "`tacit index --rebuild` makes it anew" if derived else _MEND
        ctx.end_with(StoreOutage("the store is not as it was written", hint=hint))


def _verify_backup(ctx: CommandContext, file: Path) -> None:
    looked = custody.look(file)
    document = {
        "intact": not looked.damage, "damage": looked.damage, "backup": str(file), "manifest": looked.manifest,
    }  # fmt: skip

    def show() -> None:
        if not looked.damage:
            ctx.console.print(f"[green]intact[/green] ({_age(looked.manifest)})")
        _show_damage(ctx, looked.damage)

    ctx.answer(document, show)
    if looked.damage:
        ctx.end_with(StoreOutage("the backup is not as it was written", hint="choose another one"))


def _age(manifest: Manifest | None) -> str:
    if manifest is None:
        return "without a manifest"
    since = f"; purged {manifest.purged_at:%Y-%m-%d %H:%M:%S} UTC" if manifest.purged_at else ""
    return f"of {manifest.at:%Y-%m-%d %H:%M:%S} UTC{since}"


def _show_damage(ctx: CommandContext, damage: Sequence[Damage]) -> None:
    for item in damage:
        ctx.console.print(f"[red]damaged[/red] {escape(clean(item.subject))}: {escape(clean(item.problem))}")


@click.command()
@click.argument("path", type=click.Path(dir_okay=False))
@command_options
def backup(ctx: CommandContext, *, path: str) -> None:
    """Write a verified copy of the store to PATH, and PATH.manifest.json, while others go on working.

    `tacit verify PATH` checks it, `tacit restore PATH` puts it back.
    """
    target = Path(path)
    if path.endswith((os.sep, os.altsep or os.sep)):
        raise Mistake(f"{path} names a folder", hint=f"name the file, e.g. {path}tacit-backup.db")
    if not target.parent.is_dir():
        raise Mistake(f"there is no folder {target.parent}", hint="make it first, or choose another")
    manifest = ctx.memory.backup(target)
    document = {"backup": path, "manifest": manifest}
    ctx.answer(document, lambda: ctx.console.print(f"wrote {escape(clean(path))}", soft_wrap=True))


@click.command()
@click.option("--for", "duration", metavar="TIME", help="Only for so long, e.g. 30m, 2h, 1d.")
@click.option("--resume", is_flag=True, help="Go on again.")
@click.option("--status", "ask", is_flag=True, help="Only say whether it is paused.")
@command_options
def pause(ctx: CommandContext, *, duration: str | None, resume: bool, ask: bool) -> None:
    """Stop capturing, learning and recalling in this project, until resumed or for a while."""
    if resume:
        ctx.place.resume()
    elif not ask:
        ctx.place.pause(_seconds(duration) if duration else None)
    until = ctx.place.paused_until
    end = None if until is None or math.isinf(until) else datetime.fromtimestamp(until, UTC)
    told = (
        "not paused" if until is None else f"paused until {end:%Y-%m-%d %H:%M} UTC" if end else "paused until resumed"
    )
    ctx.answer({"paused": until is not None, "until": end}, lambda: ctx.console.print(told))


def _seconds(text: str) -> float:
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([smhd])", text.strip())
    if not match:
        raise Mistake(f"{text!r} is not a duration", hint="write a number and a unit: 45s, 30m, 2h, 1d")
    seconds = float(match[1]) * _UNITS[match[2]]
    if seconds > _LONGEST_PAUSE_S:
        raise Mistake(f"{text!r} is too long", hint="leave --for out to pause until resumed")
    return seconds
