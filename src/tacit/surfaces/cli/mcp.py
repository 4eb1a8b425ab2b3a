"""`tacit mcp`: serve the loop to agents. The server itself is `surfaces.mcp`; this opens stores for it."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import click

from tacit.api import Tacit
from tacit.config.channels import HOOK, MCP, channels
from tacit.domain.errors import ConfigError
from tacit.surfaces.cli.context import CommandContext, command_options
from tacit.surfaces.cli.recall import ALLOW_HELP
from tacit.surfaces.exports import ROOTS
from tacit.surfaces.hook.events import CLIENTS
from tacit.text.allowance import parse_allowance


def can_serve() -> bool:
    """Whether the extra that brings the protocol is installed."""
    return find_spec("mcp") is not None


@click.command()
@click.option(
    "--client",
    default="",
    type=click.Choice(["", *ROOTS]),
    help="Who asks: its channel decides what is told at the start.",
)
@click.option("--allow", "allowed", multiple=True, metavar="CATEGORY=VALUE", help=ALLOW_HELP)
@click.option("--check", is_flag=True, help="Only say by the exit code whether it could serve.")
@command_options
def mcp(ctx: CommandContext, *, client: str, allowed: tuple[str, ...], check: bool) -> None:
    """Serve recall, apply, record and propose to an agent over standard input and output (MCP).

    A client starts it by itself; `tacit init` writes the entry. It needs the extra: pip install 'tacit[mcp]'.
    """
    if not can_serve():
        raise ConfigError("the MCP server needs its extra", hint="pip install 'tacit[mcp]'")
    allowance = parse_allowance(allowed) if allowed else None
    if check:
        ctx.answer({"serves": True}, lambda: click.echo("it can serve"))
        return
    from tacit.surfaces.mcp import serve

    def opening(*, create: bool = False) -> Tacit:
        place = ctx.place
        if not create and not Path(place.database).exists():  # looking leaves nothing behind
            place = place.in_memory()
        return ctx.opened(place)

    channel = channels(str(ctx.place.folder)).get(client, HOOK) if client else MCP
    serve(opening, with_index=channel == MCP, allowed=allowance).run("stdio")


@click.command()
@click.option("--client", type=click.Choice(CLIENTS), help="Who calls; otherwise told from the event.")
@click.option("--store", default="", metavar="PATH", help="Use this store instead of the project's.")
def hook(client: str | None, store: str) -> None:
    """Answer one event of an agent's client: JSON on stdin, JSON or nothing on stdout. For clients; `tacit init` sets it up.

    It never fails: whatever goes wrong is a line in `hook.log` in Tacit's home, which `tacit doctor` shows.
    """
    from tacit.surfaces.hook.entry import main

    main([*(["--client", client] if client else []), *(["--store", store] if store else [])])
