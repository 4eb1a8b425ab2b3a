"""`tacit config`: every setting with where it came from, and a person's token."""

from __future__ import annotations

import click
from rich.markup import escape
from rich.table import Table

from tacit.surfaces.authority import new_token
from tacit.surfaces.cli.context import CommandContext, command_options


@click.group(invoke_without_command=True)
@command_options
def config(ctx: CommandContext) -> None:
    """Print every setting and where it came from. Settings are read from tacit.toml in the project or in ~/.tacit."""
    if click.get_current_context().invoked_subcommand:
        return
    _, settings = ctx.settings
    place = ctx.place
    document = {
        "store": {"value": place.database, "source": place.chosen_by},
        "settings": {s.key: {"value": s.value, "source": s.source} for s in settings},
    }

    def show() -> None:
        table = Table(box=None, padding=(0, 2, 0, 0))
        for column in ("setting", "value", "from"):
            table.add_column(column, overflow="fold")
        table.add_row("store", escape(place.database), place.chosen_by)
        for setting in settings:
            table.add_row(setting.key, escape(str(setting.value)), escape(setting.source))
        ctx.console.print(table)

    ctx.answer(document, show)


@config.command()
@command_options
def token(ctx: CommandContext) -> None:
    """Make a person's token for reviewing outside a terminal. It is shown once; a new one replaces the old one."""
    ctx.caller.require_person("token")
    made = new_token(ctx.environment.person_home)
    ctx.answer(
        {"token": made},
        lambda: ctx.console.print(f"{made}\nKeep it from agents. Use it as TACIT_TOKEN.", soft_wrap=True),
    )
