"""`tacit web`: what was learned, and the review of it, as pages in the browser of this machine.

This module is the command. `server` holds the routes and who may use them, `pages` what each page shows, `static` the pages.
"""

from __future__ import annotations

import socket
import sys
import webbrowser
from importlib.util import find_spec

import click

from tacit.config.passphrase import hide_memory
from tacit.domain.errors import Mistake
from tacit.surfaces.cli.context import CommandContext, command_options


@click.command()
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="Listen on this port, not on a free one.")
@click.option("--no-browser", is_flag=True, help="Print the address; open no browser.")
@command_options
def web(ctx: CommandContext, *, port: int, no_browser: bool) -> None:
    """Review what was learned in the browser: candidates with their evidence, skills, sessions, facts, a playground.

    Only this machine can reach it. The address holds a token that works once. Each decision needs your passphrase, which the
    page asks for once; closing the page or this command forgets it. Stop it with Ctrl-C.
    """
    ctx.caller.require_person("web")
    if missing := [name for name in ("fastapi", "uvicorn") if find_spec(name) is None]:
        hint = "in the checkout it was installed from: pipx install --force '.[mcp,web]', or pip install '.[mcp,web]'"
        raise Mistake(f"`tacit web` needs {' and '.join(missing)}", code="extra_missing", hint=hint)
    from tacit.surfaces.web.server import Access, run_server  # the web server is an extra

    hide_memory()  # the key will be in it
    try:
        listening = socket.create_server(("127.0.0.1", port))
    except OSError as error:
        hint = "leave out --port to use a free one"
        raise Mistake(f"port {port} cannot be used: {error.strerror}", code="port_taken", hint=hint) from error
    access = Access(listening.getsockname()[1])
    opened = not no_browser and webbrowser.open(access.entrance)
    shown = access.origin if opened else access.entrance
    ctx.report({"address": shown}, f"Open [bold]{shown}[/bold]" if not opened else f"Serving [bold]{shown}[/bold]")
    if not opened:
        ctx.errors.print("The address works once. Stop with Ctrl-C.", style="dim")
    sys.stdout.flush()
    run_server(ctx, access, listening)
