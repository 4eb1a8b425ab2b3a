"""`tacit restore`: put a backup in place of the store, with what was purged left out and the old store kept aside."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import click
from rich.markup import escape

from tacit.domain.errors import Mistake
from tacit.store import purge_plan as custody
from tacit.surfaces.cli.purging import show_relearned, told
from tacit.surfaces.cli.session import Session, clean, command_options


@click.command()
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@click.option("--by", default="", help="Your name, kept in the history.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.option("--without-manifest", is_flag=True, help="Take a backup that has no manifest beside it.")
@click.option(
    "--without-tombstones", is_flag=True, help="Give up what is known of things purged, if it cannot be read."
)
@command_options
def restore(session: Session, *, file: Path, by: str, yes: bool, **options: bool) -> None:
    """Put the backup FILE in place of the store, after checking its manifest, its schema and everything in it.

    What was purged from the store in its place is purged from the backup first. The old store is kept aside under a dated
    name. Restoring belongs to a person, as reviewing does.
    """
    session.caller.require_person("restore")
    name = session.person(by)
    database = session.place.database
    if not yes:
        if session.as_json or not session.caller.at_terminal:
            raise Mistake("restoring replaces the store", hint="pass --yes to do it without being asked")
        if not click.confirm(f"Replace {clean(database)} by {clean(str(file))}?"):
            session.console.print("Nothing was replaced.")
            return
    session.place.prepare()
    chosen = [key.replace("_", "-") for key, given in options.items() if given]
    looked, done = custody.restore(
        file, database, by=name, at=datetime.now(UTC), home=session.surroundings.person_home, options=chosen
    )
    document = {
        "restored": str(file), "store": database, "aside": str(done.aside) if done.aside else None,
        "manifest": looked.manifest, "purged": done.descent.counts,
    }  # fmt: skip

    def show() -> None:
        session.console.print(f"restored {escape(clean(str(file)))}", soft_wrap=True)
        if not done.descent.is_empty:
            session.console.print(f"purged again before it was put back: {told(done.descent)}")
        if done.aside:
            session.console.print(f"the old store is kept as {escape(clean(str(done.aside)))}", soft_wrap=True)
        show_relearned(session, done.descent)

    session.answer(document, show)
