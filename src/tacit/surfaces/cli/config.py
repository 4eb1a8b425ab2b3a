"""`tacit config`: every setting with its source, and a person's token. `tacit pause`: do nothing here for a while."""

from __future__ import annotations

import math
import re
from datetime import UTC, datetime

import click

from tacit.config.settings import Setting
from tacit.domain.errors import Mistake
from tacit.surfaces.authority import new_token as make_token
from tacit.surfaces.cli.context import CommandContext, command_options
from tacit.surfaces.cli.report import Column, Columns

_SETTINGS: Columns[Setting] = Columns(
    Column("key", lambda setting: setting.key, "setting"),
    Column("value", lambda setting: setting.value, "value"),
    Column("source", lambda setting: setting.source, "from"),
)


@click.command()
@click.option("--new-token", is_flag=True, help="Make a person's token for reviews outside a terminal.")
@command_options
def config(ctx: CommandContext, *, new_token: bool) -> None:
    """Print every setting and its source. Settings are read from tacit.toml in the project or in ~/.tacit.

    With --new-token it makes a token that stands for a person, as TACIT_TOKEN. It is shown once and replaces the old one.
    """
    if new_token:
        ctx.caller.require_person("token")
        made = make_token(ctx.environment.person_home)
        ctx.report({"token": made}, made, "Keep it from agents. Use it as TACIT_TOKEN.")
        return
    _, settings = ctx.settings
    place = ctx.place
    document = {
        "store": {"value": place.database, "source": place.chosen_by},
        "settings": {s.key: {"value": s.value, "source": s.source} for s in settings},
    }
    store = Setting(key="store", value=place.database, source=place.chosen_by)
    ctx.report(document, lambda: _SETTINGS.table([store, *settings]))


_LONGEST_S = 366 * 86_400
_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}


@click.command()
@click.option("--for", "duration", metavar="TIME", help="Pause for this long, e.g. 30m, 2h, 1d.")
@click.option("--resume", is_flag=True, help="End the pause.")
@click.option("--status", is_flag=True, help="Only show whether Tacit is paused.")
@command_options
def pause(ctx: CommandContext, *, duration: str | None, resume: bool, status: bool) -> None:
    """Pause capturing, learning and recalling in this project, for a while or until `tacit pause --resume`."""
    if resume:
        ctx.place.resume()
    elif not status:
        seconds = None
        if duration:
            match = re.fullmatch(r"(\d+(?:\.\d+)?)([smhd])", duration.strip())
            if not match:
                hint = "write a number and a unit: 45s, 30m, 2h, 1d"
                raise Mistake(f"{duration!r} is not a duration", code="not_a_duration", hint=hint)
            seconds = float(match[1]) * _UNITS[match[2]]
            if seconds > _LONGEST_S:
                hint = "leave --for out to pause until resumed"
                raise Mistake(f"{duration!r} is too long", code="duration_too_long", hint=hint)
        ctx.place.pause(seconds)
    until = ctx.place.paused_until
    end = None if until is None or math.isinf(until) else datetime.fromtimestamp(until, UTC)
    if until is None:
        line = "Not paused."
    else:
        line = f"Paused until {end:%Y-%m-%d %H:%M} UTC." if end else "Paused. Run `tacit pause --resume` to end it."
    ctx.report({"paused": until is not None, "until": end}, line)
