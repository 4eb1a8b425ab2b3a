"""`tacit restore`: put a backup in place of the store, with what was purged left out and the old store kept aside."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import click
from rich.markup import escape

from tacit.domain.errors import Mistake
from tacit.store import purge_plan as custody
from tacit.surfaces.cli.context import CommandContext, clean, command_options
from tacit.surfaces.cli.purge import show_relearned, told


@click.command()
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@click.option("--by", default="", help="Your name, kept in the history.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.option("--without-manifest", is_flag=True, help="Take a backup that has no manifest beside it.")
@click.option(
    "--without-tombstones", is_flag=True, help="Give up what is known of things purged, if it cannot be read."
)
@command_options
def restore(ctx: CommandContext, *, file: Path, by: str, yes: bool, **options: bool) -> None:
    """Put the backup FILE in place of the store, after checking its manifest, its schema and everything in it.

    What was purged from the store in its place is purged from the backup first. The old store is kept aside under a dated
    name. Restoring belongs to a person, as reviewing does.
    """
    ctx.caller.require_person("restore")
    name = ctx.person(by)
    database = ctx.place.database
    if not yes:
        if ctx.as_json or not ctx.caller.at_terminal:
            raise Mistake("restoring replaces the store", hint="pass --yes to do it without being asked")
        if not click.confirm(f"Replace {clean(database)} by {clean(str(file))}?"):
            ctx.console.print("Nothing was replaced.")
            return
    ctx.place.prepare()
    chosen = [key.replace("_", "-") for key, given in options.items() if given]
    looked, done = custody.restore(
        file, database, by=name, at=datetime.now(UTC), home=ctx.environment.person_home, options=chosen
    )
    document = {
        "restored": str(file), "store": database, "aside": str(done.aside) if done.aside else None,
        "manifest": looked.manifest, "purged": done.descent.counts,
    }  # fmt: skip

    def show() -> None:
        ctx.console.print(f"restored {escape(clean(str(file)))}", soft_wrap=True)
        if not done.descent.is_empty:
            ctx.console.print(f"purged again before it was put back: {told(done.descent)}")
        if done.aside:
            ctx.console.print(f"the old store is kept as {escape(clean(str(done.aside)))}", soft_wrap=True)
        show_relearned(ctx, done.descent)

    ctx.answer(document, show)
