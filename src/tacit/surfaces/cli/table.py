"""The table of commands: name → the module that holds it, the group in `tacit --help`, and one line of help.

A module is imported only when its command runs. A feature's module is looked up by name, so a feature whose folder is
deleted has no command.
"""

from __future__ import annotations

import difflib
from importlib import import_module
from importlib.util import find_spec

import click

EVERYDAY = "Everyday"
LIBRARY = "Library"
PROOF = "Proof"
FEATURES = "Features"
STORE = "Store"
GROUPS = (EVERYDAY, LIBRARY, PROOF, FEATURES, STORE)
"""The sections of `tacit --help`, in order."""

COMMANDS: dict[str, tuple[str, str]] = {
    "learn": ("tacit.surfaces.cli.learn", EVERYDAY),
    "review": ("tacit.surfaces.cli.review", EVERYDAY),
    "recall": ("tacit.surfaces.cli.recall", EVERYDAY),
    "init": ("tacit.surfaces.cli.init", EVERYDAY),
    "doctor": ("tacit.surfaces.cli.doctor", EVERYDAY),
    "pause": ("tacit.surfaces.cli.store", EVERYDAY),
    "demo": ("tacit.surfaces.cli.demo", EVERYDAY),
    "config": ("tacit.surfaces.cli.config", EVERYDAY),
    "uninstall": ("tacit.surfaces.cli.init", EVERYDAY),
    "skills": ("tacit.surfaces.cli.skills", LIBRARY),
    "propose": ("tacit.surfaces.cli.propose", LIBRARY),
    "compose": ("tacit.surfaces.cli.composing", LIBRARY),
    "refine": ("tacit.surfaces.cli.refine", LIBRARY),
    "promote": ("tacit.surfaces.cli.promote", LIBRARY),
    "tend": ("tacit.surfaces.cli.tend", LIBRARY),
    "undo": ("tacit.surfaces.cli.undo", LIBRARY),
    "record": ("tacit.surfaces.cli.record", PROOF),
    "feedback": ("tacit.surfaces.cli.record", PROOF),
    "lift": ("tacit.surfaces.cli.lift", PROOF),
    "stats": ("tacit.surfaces.cli.history", PROOF),
    "eval": ("tacit.surfaces.cli.evaluating", PROOF),
    "check": ("tacit.features.scan.commands", FEATURES),
    "cards": ("tacit.features.cards.commands", FEATURES),
    "backport": ("tacit.features.cards.backport_command", FEATURES),
    "research": ("tacit.features.research.commands", FEATURES),
    "session": ("tacit.features.sessions.commands", FEATURES),
    "moments": ("tacit.features.people.moment_commands", FEATURES),
    "forecast": ("tacit.features.people.commands", FEATURES),
    "intake": ("tacit.features.people.intake_commands", FEATURES),
    "train": ("tacit.surfaces.cli.training", FEATURES),
    "adapters": ("tacit.surfaces.cli.adapters", FEATURES),
    "consolidate": ("tacit.surfaces.cli.consolidating", FEATURES),
    "history": ("tacit.surfaces.cli.history", STORE),
    "verify": ("tacit.surfaces.cli.store", STORE),
    "backup": ("tacit.surfaces.cli.store", STORE),
    "restore": ("tacit.surfaces.cli.restoring", STORE),
    "purge": ("tacit.surfaces.cli.purge", STORE),
    "index": ("tacit.surfaces.cli.indexing", STORE),
    "mcp": ("tacit.surfaces.cli.mcp", STORE),
    "hook": ("tacit.surfaces.cli.hook", STORE),
}
"""Command → the module that holds it and its section of the help. The function has the command's name."""


class LazyGroup(click.Group):
    """A group that imports a command when it is needed, and names the nearest command for a typo."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the installed commands, in the order of the table."""
        return [name for name, (module, _) in COMMANDS.items() if _is_installed(module)]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and return one command."""
        module, _ = COMMANDS.get(cmd_name, ("", ""))
        if not module or not _is_installed(module):
            return None
        command: click.Command = getattr(import_module(module), cmd_name)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command; a name that does not exist is an error with the nearest name."""
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            near = difflib.get_close_matches(args[0], [*self.list_commands(ctx)], n=1) if args else []
            if near:
                error.message += f" Did you mean {near[0]}?"
            raise

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the visible commands by section, one full line each."""
        rows: dict[str, list[tuple[str, str]]] = {group: [] for group in GROUPS}
        for name in self.list_commands(ctx):
            command = self.get_command(ctx, name)
            if command is not None and not command.hidden:
                rows[COMMANDS[name][1]].append((name, command.get_short_help_str(limit=90)))
        for group, commands in rows.items():
            if commands:
                with formatter.section(group):
                    formatter.write_dl(commands)


def _is_installed(module: str) -> bool:
    """Whether a command's module is there; only a feature may be missing."""
    if not module.startswith("tacit.features."):
        return True
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError as error:
        if error.name and module.startswith(error.name):
            return False
        raise
