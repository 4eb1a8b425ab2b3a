"""`tacit config`: every setting with its source, and a person's token."""

from __future__ import annotations

import click

from tacit.config.settings import Setting
from tacit.surfaces.authority import new_token
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
        _make_token(ctx)
        return
    _, settings = ctx.settings
    place = ctx.place
    document = {
        "store": {"value": place.database, "source": place.chosen_by},
        "settings": {s.key: {"value": s.value, "source": s.source} for s in settings},
    }
    store = Setting(key="store", value=place.database, source=place.chosen_by)
    ctx.report(document, lambda: _SETTINGS.table([store, *settings]))


def _make_token(ctx: CommandContext) -> None:
    ctx.caller.require_person("token")
    made = new_token(ctx.environment.person_home)
    ctx.report({"token": made}, made, "Keep it from agents. Use it as TACIT_TOKEN.")
