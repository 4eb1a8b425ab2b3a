"""The table of commands: name → the module that holds it, the group in `tacit --help`, and one line of help.

A module is imported only when its command runs. A feature's module is looked up by name, so a feature whose folder is
deleted has no command.
"""

from __future__ import annotations

import difflib
from importlib import import_module
from pathlib import Path

import click

import tacit

EVERYDAY = "Everyday"
LIBRARY = "Library"
PROOF = "Proof"
FEATURES = "Features"
STORE = "Store"
SECTIONS = (EVERYDAY, LIBRARY, PROOF, FEATURES, STORE)
"""The sections of `tacit --help`, in order."""

COMMANDS: dict[str, tuple[str, str, str]] = {
    "learn": ("tacit.surfaces.cli.learn", EVERYDAY, "Learn skills from past agent sessions"),
    "review": ("tacit.surfaces.cli.review", EVERYDAY, "Approve or reject what was learned"),
    "recall": ("tacit.surfaces.cli.recall", EVERYDAY, "Find the skills that fit a task"),
    "init": ("tacit.surfaces.cli.init", EVERYDAY, "Connect Claude Code and Codex to Tacit"),
    "doctor": ("tacit.surfaces.cli.doctor", EVERYDAY, "Check the connection to your agents and the store"),
    "pause": ("tacit.surfaces.cli.pause", EVERYDAY, "Pause capturing, learning and recalling in this project"),
    "demo": ("tacit.surfaces.cli.demo", EVERYDAY, "Show everything in one minute, offline"),
    "config": ("tacit.surfaces.cli.config", EVERYDAY, "Print every setting and its source"),
    "uninstall": ("tacit.surfaces.cli.init", EVERYDAY, "Remove everything that `tacit init` wrote"),
    "skills": ("tacit.surfaces.cli.skills", LIBRARY, "List, show, edit, import and export skills"),
    "propose": ("tacit.surfaces.cli.propose", LIBRARY, "Propose a skill that you or an agent wrote"),
    "promote": ("tacit.surfaces.cli.promote", LIBRARY, "Make a skill available beyond this project"),
    "tend": ("tacit.surfaces.cli.tend", LIBRARY, "Find outdated, useless and duplicate skills"),
    "undo": ("tacit.surfaces.cli.undo", LIBRARY, "Undo the last change to a skill"),
    "record": ("tacit.surfaces.cli.record", PROOF, "Record the outcome of a use, or feedback on it"),
    "eval": ("tacit.features.evaluate.commands", PROOF, "Measure whether skills help"),
    "check": ("tacit.features.scan.commands", FEATURES, "Scan skills for dangerous content"),
    "cards": ("tacit.features.cards.commands", FEATURES, "Record and graduate aha cards"),
    "backport": (
        "tacit.features.cards.commands.backport_commands",
        FEATURES,
        "Write proven knowledge into skills and AGENTS.md",
    ),
    "research": ("tacit.features.research.commands", FEATURES, "Add papers and documents that agents may cite"),
    "session": ("tacit.features.sessions.commands", FEATURES, "Share notes between the agents of a session"),
    "moments": ("tacit.features.people.moment_commands", FEATURES, "Show what sessions assumed, and what happened"),
    "forecast": ("tacit.features.people.commands", FEATURES, "Show what a person is expected to decide"),
    "intake": ("tacit.features.people.intake_commands", FEATURES, "Answer open questions before a task starts"),
    "train": ("tacit.features.train.commands", FEATURES, "Train an adapter on verified work"),
    "adapters": ("tacit.features.train.adapter_commands", FEATURES, "List, activate and export adapters"),
    "consolidate": ("tacit.features.train.commands", FEATURES, "Train and test an adapter in one run"),
    "store": ("tacit.surfaces.cli.store", STORE, "Verify, back up, restore, index and purge the store"),
}
"""Command → the module that holds it, its section of the help, and one line of help (at most 60 characters).

The function in the module has the name of the command.
"""
HIDDEN = {
    "mcp": "tacit.surfaces.cli.mcp",
    "hook": "tacit.surfaces.cli.mcp",
    "feedback": "tacit.surfaces.cli.record",
    "compose": "tacit.surfaces.cli.propose",
    "refine": "tacit.surfaces.cli.refine",
}
"""Commands that work but are not listed: those that clients start, and old names."""
MOVED = {
    "history": ("skills", "history"),
    "stats": ("skills", "stats"),
    "lift": ("skills", "lift"),
    "verify": ("store", "verify"),
    "backup": ("store", "backup"),
    "restore": ("store", "restore"),
    "purge": ("store", "purge"),
    "index": ("store", "index"),
}
"""Old name of a command → the group and the command that it is now. The old names keep working."""


class SuggestingGroup(click.Group):
    """A group that names the nearest command for a typo."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command; a name that does not exist is an error with the nearest name."""
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            near = difflib.get_close_matches(args[0], self.list_commands(ctx), n=1) if args else []
            if not near:
                raise
            message = f"{error.message.rstrip('.')}. Did you mean {near[0]}?"
            raise click.UsageError(message, ctx) from error


class LazyGroup(SuggestingGroup):
    """The group `tacit`: imports a command when it is needed, so that a quick command stays quick."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the installed commands, in the order of the table."""
        return [name for name, (module, *_) in COMMANDS.items() if _is_installed(module)]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and return one command; also by its old name."""
        if cmd_name in MOVED:
            group, name = MOVED[cmd_name]
            found = self.get_command(ctx, group)
            return found.get_command(ctx, name) if isinstance(found, click.Group) else None
        module = HIDDEN.get(cmd_name) or COMMANDS.get(cmd_name, ("",))[0]
        if not module or not _is_installed(module):
            return None
        command: click.Command = getattr(import_module(module), cmd_name)
        if cmd_name in COMMANDS:
            command.short_help = COMMANDS[cmd_name][2]
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands by section, one full line each. Imports none of them."""
        for section in SECTIONS:
            rows = [(name, COMMANDS[name][2]) for name in self.list_commands(ctx) if COMMANDS[name][1] == section]
            if rows:
                with formatter.section(section):
                    formatter.write_dl(rows)


def _is_installed(module: str) -> bool:
    """Whether a command's module is there. Only looks at files: help must not wait for imports."""
    if not module.startswith("tacit.features."):
        return True
    path = Path(tacit.__file__).parent.joinpath(*module.split(".")[1:])
    return path.with_suffix(".py").is_file() or (path / "__init__.py").is_file()
