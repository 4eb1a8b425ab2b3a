"""`tacit hook` as the command line describes it. Clients reach the hook itself by a shorter way, see `surfaces.entry`."""

from __future__ import annotations

import click

from tacit.surfaces.hook.events import CLIENTS


@click.command()
@click.option("--client", type=click.Choice(CLIENTS), help="Who calls; otherwise told from the event.")
@click.option("--store", default="", metavar="PATH", help="Use this store instead of the project's.")
def hook(client: str | None, store: str) -> None:
    """Answer one event of an agent's client: JSON on stdin, JSON or nothing on stdout. For clients; `tacit init` sets it up.

    It never fails: whatever goes wrong is a line in `hook.log` in Tacit's home, which `tacit doctor` shows.
    """
    from tacit.surfaces.hook.entry import main

    main([*(["--client", client] if client else []), *(["--store", store] if store else [])])
