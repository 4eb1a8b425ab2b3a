"""`tacit index`: what skills are found by, brought up to date or made anew; and a light embedder that hooks can afford."""

from __future__ import annotations

import dataclasses

import click
from rich.markup import escape

from tacit.config.settings import FILE_NAME
from tacit.surfaces.cli.context import CommandContext, clean, command_options, counted
from tacit.surfaces.cli.progress import progress_bar

LIGHT = "light"
"""The folder, among the person's embedders, of the model that is made here."""


@click.command()
@click.option(
    "--rebuild", is_flag=True, help="Make the full-text indexes and all vectors anew from the stored records."
)
@click.option(
    "--light", is_flag=True, help="Make a light embedder, for hooks, of the sentence encoder that is installed."
)
@command_options
def index(ctx: CommandContext, *, rebuild: bool, light: bool) -> None:
    """Embed the skills that wait for it, so that they are found by their meaning; or make every index anew.

    Skills get their vectors when they become recallable. This command is for what that leaves open: a store that is older
    than the embedder, another embedder in the settings, one that did not answer, a damaged index. Vectors of an embedder
    that is no longer used are forgotten once the present one has embedded everything.

    With --light nothing is indexed: a static model is made of the encoder, in a minute or so, and how to choose it is said.
    It knows less than the encoder and is light enough for hooks.
    """
    if light:
        _make_light(ctx)
        return
    ctx.caller.require_person("index")
    with progress_bar(ctx, "embedding") as advance:
        done = ctx.memory.index(rebuild=rebuild, progress=advance)

    def show() -> None:
        tell = ctx.console.print
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

    ctx.answer(dataclasses.asdict(done), show)


def _make_light(ctx: CommandContext) -> None:
    from tacit.providers.embedding.distilling import distil
    from tacit.providers.embedding.opening import FOLDER, find_encoder

    home = ctx.environment.person_home
    target = home / FOLDER / LIGHT
    source = find_encoder(ctx.settings[0].recall.embedder, home=home)
    ctx.caller.require_person("index")
    with progress_bar(ctx, "distilling") as advance:
        made = distil(source, target, progress=advance)

    def show() -> None:
        tell = ctx.console.print
        tell(f"made {escape(clean(made.identity))} in {escape(clean(str(target)))}", soft_wrap=True)
        tell(
            f"to choose it, write this into {escape(clean(str(home / FILE_NAME)))}, then run `tacit index`:",
            soft_wrap=True,
        )
        tell(f'  \\[recall]\n  embedder = "{LIGHT}"')

    ctx.answer({"folder": str(target), "space": made.identity}, show)
