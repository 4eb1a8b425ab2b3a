"""`tacit mcp` and `tacit hook`: what clients start. The work is done in `surfaces.mcp` and `surfaces.hook`."""

from __future__ import annotations

from importlib.util import find_spec

import click

from tacit.api import Tacit
from tacit.config.channels import MCP, channel_of
from tacit.domain.errors import ConfigError
from tacit.ingest.journal import CLIENTS
from tacit.maintain.exports import ROOTS
from tacit.surfaces.cli.context import CommandContext, command_options
from tacit.surfaces.cli.recall import ALLOW_HELP
from tacit.text.capabilities import parse_allowance


def can_serve() -> bool:
    """Whether the extra with the protocol is installed."""
    return find_spec("mcp") is not None


@click.command(hidden=True)
@click.option("--client", default="", type=click.Choice(["", *ROOTS]), help="The client that starts it.")
@click.option("--allow", "allowed", multiple=True, metavar="CATEGORY=VALUE", help=ALLOW_HELP)
@click.option("--check", is_flag=True, help="Only report by the exit code whether it could serve.")
@command_options
def mcp(ctx: CommandContext, *, client: str, allowed: tuple[str, ...], check: bool) -> None:
    """Serve recall, apply, record and propose to an agent over standard input and output (MCP).

    Clients start it; `tacit init` writes the entry. It needs the extra: pip install 'tacit[mcp]'.
    """
    if not can_serve():
        raise ConfigError("the MCP server needs its extra", code="extra_missing", hint="pip install 'tacit[mcp]'")
    allowance = parse_allowance(allowed) if allowed else None
    if check:
        ctx.report({"serves": True}, "It can serve.")
        return
    from tacit.surfaces.mcp import serve

    def open_memory(*, create: bool = False) -> Tacit:
        place = ctx.place
        if create:
            place.require_project(has_sessions=True)  # a client's session runs here
        return ctx.opened(place if create or place.exists else place.in_memory())

    channel = channel_of(str(ctx.place.folder), client) if client else MCP
    serve(open_memory, with_index=channel == MCP, allowed=allowance).run("stdio")


@click.command(hidden=True)
@click.option("--client", type=click.Choice(CLIENTS), help="The client that calls; by default detected from the event.")
@click.option("--store", default="", metavar="PATH", help="Use this store.")
def hook(client: str | None, store: str) -> None:
    """Answer one event of an agent's client: JSON on stdin, JSON or nothing on stdout. `tacit init` sets it up.

    It never fails: a problem is a line in `hook.log` in Tacit's home, which `tacit doctor` shows.
    """
    from tacit.surfaces.hook.entry import main

    main([*(["--client", client] if client else []), *(["--store", store] if store else [])])
