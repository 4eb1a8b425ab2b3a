"""`tacit cards`: the aha-card workflow, command by command as the original tool has it. Imports each when it is called."""

from __future__ import annotations

from importlib import import_module

import click

_COMMANDS = {
    "init": "recording",
    "record": "recording",
    "list": "recording",
    "review": "reviewing",
    "rec-status": "reviewing",
    "aha-status": "reviewing",
    "signal": "recording",
    "use": "recording",
    "repair": "reviewing",
    "promote": "reviewing",
    "export-backport": "graduating",
    "backport-inspect": "graduating",
    "import": "recording",
    "export": "recording",
}
"""Command → the module that holds it."""
_NAMES = {"list": "list_cards_command", "import": "import_folder", "export": "export_folder"}
"""Commands whose function cannot bear their name."""


class LazyGroup(click.Group):
    """A group whose commands are imported when they are needed."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Names of the commands, in the order of the workflow."""
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and return one command."""
        module = _COMMANDS.get(cmd_name)
        if module is None:
            return None
        name = _NAMES.get(cmd_name, cmd_name.replace("-", "_"))
        command: click.Command = getattr(import_module(f"tacit.features.cards.commands.{module}"), name)
        return command


@click.group(cls=LazyGroup)
@click.pass_context
def cards(context: click.Context) -> None:
    """Record what a run taught as aha cards, find it again, and graduate what has proven itself.

    Every command but `review` prints one JSON document. Where the folder `.agent-skills/self-learning` exists (see
    `tacit cards init`), its files are read and written in step, so that other tools can share them.
    """
    if context.invoked_subcommand != "review":
        context.obj.as_json = True  # options that cannot be read are told as a document too
