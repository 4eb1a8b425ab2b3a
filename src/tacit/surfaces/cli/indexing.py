"""`tacit index`: what skills are found by, brought up to date or made anew."""

from __future__ import annotations

import dataclasses

import click
from rich.markup import escape

from tacit.surfaces.cli.progress import progress_bar
from tacit.surfaces.cli.session import Session, clean, command_options, counted


@click.command()
@click.option(
    "--rebuild", is_flag=True, help="Make the full-text indexes and all vectors anew from the stored records."
)
@command_options
def index(session: Session, *, rebuild: bool) -> None:
    """Embed the skills that wait for it, so that they are found by their meaning; or make every index anew.

    Skills get their vectors when they become recallable. This command is for what that leaves open: a store that is older
    than the embedder, another embedder in the settings, one that did not answer, a damaged index. Vectors of an embedder
    that is no longer used are forgotten once the present one has embedded everything.
    """
    with progress_bar(session, "embedding") as advance:
        done = session.loop.index(rebuild=rebuild, progress=advance)

    def show() -> None:
        tell = session.console.print
        if rebuild:
            tell(f"made the indexes of {counted(done.rows, 'row')} anew")
        if not done.space:
            tell("no embedder is set up, so skills are found by their words (see `tacit config`, recall.embedder)")
            return
        tell(f"embedded {counted(done.embedded, 'skill')} with {escape(clean(done.space))}", soft_wrap=True)
        if done.waiting:
            tell(f"[yellow]{counted(done.waiting, 'skill')} still without vectors[/yellow]; run it again")
        for space in done.dropped:
            tell(f"forgot the vectors of {escape(clean(space))}", soft_wrap=True)

    session.answer(dataclasses.asdict(done), show)
