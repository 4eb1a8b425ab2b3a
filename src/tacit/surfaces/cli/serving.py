"""`tacit mcp`: serve the loop to agents. The server itself is `surfaces.mcp`; this opens stores for it."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import click

from tacit.domain.errors import ConfigError
from tacit.loop import Loop
from tacit.opening import open_at
from tacit.surfaces.cli.session import Session, command_options


@click.command()
@click.option("--index/--no-index", default=True, help="Tell the client at the start which skills are known.")
@command_options
def mcp(session: Session, *, index: bool) -> None:
    """Serve recall, apply, record and propose to an agent over standard input and output (MCP).

    A client starts it by itself; `tacit init` writes the entry. It needs the extra: pip install 'tacit[mcp]'.
    """
    try:
        from tacit.surfaces.mcp import serve
    except ModuleNotFoundError as error:
        if error.name not in ("mcp", "mcp.server", "mcp.server.mcpserver"):
            raise
        raise ConfigError("the MCP server needs its extra", hint="pip install 'tacit[mcp]'") from error

    def opening(*, create: bool = False) -> Loop:
        place = session.place
        if not create and not Path(place.database).exists():  # looking leaves nothing behind
            place = dataclasses.replace(place, database=":memory:")
        return open_at(place, config=session.settings[0])

    serve(opening, with_index=index).run("stdio")
