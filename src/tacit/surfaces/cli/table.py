"""The tables of commands: where each is, its section and line in `tacit --help`, and which old names it has.

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
    "web": ("tacit.surfaces.web", EVERYDAY, "Review it in the browser, with skills, sessions and facts"),
    "recall": ("tacit.surfaces.cli.recall", EVERYDAY, "Find the skills that fit a task"),
    "init": ("tacit.surfaces.cli.init", EVERYDAY, "Connect Claude Code and Codex to Tacit"),
    "status": ("tacit.surfaces.cli.status", EVERYDAY, "Show on one screen how things stand, and what to do next"),
    "log": ("tacit.surfaces.cli.log", EVERYDAY, "Show what Tacit did in the latest sessions, and why"),
    "why": ("tacit.surfaces.cli.log", EVERYDAY, "Show why a skill was shown"),
    "doctor": ("tacit.surfaces.cli.doctor", EVERYDAY, "Check the connection to your agents and the store"),
    "pause": ("tacit.surfaces.cli.config", EVERYDAY, "Pause capturing, learning and recalling in this project"),
    "demo": ("tacit.surfaces.cli.demo", EVERYDAY, "Show everything in one minute, offline"),
    "config": ("tacit.surfaces.cli.config", EVERYDAY, "Print every setting and its source"),
    "uninstall": ("tacit.surfaces.cli.init", EVERYDAY, "Remove everything that `tacit init` wrote"),
    "skills": ("tacit.surfaces.cli.skills", LIBRARY, "List, show, count, import and export skills"),
    "propose": ("tacit.surfaces.cli.propose", LIBRARY, "Propose a skill that you or an agent wrote"),
    "promote": ("tacit.surfaces.cli.promote", LIBRARY, "Make a skill available beyond this project"),
    "tend": ("tacit.surfaces.cli.tend", LIBRARY, "Find outdated, useless and duplicate skills"),
    "undo": ("tacit.surfaces.cli.skills", LIBRARY, "Undo the last change to a skill"),
    "record": ("tacit.surfaces.cli.record", PROOF, "Record the outcome of a use, or feedback on it"),
    "eval": ("tacit.features.evaluate.commands", PROOF, "Measure whether skills help"),
    "check": ("tacit.features.scan.commands", FEATURES, "Scan skills for dangerous content"),
    "cards": ("tacit.features.cards.commands", FEATURES, "Record aha cards, and write proven ones into skills"),
    "research": ("tacit.features.research.commands", FEATURES, "Add papers and documents that agents may cite"),
    "session": ("tacit.features.sessions.commands", FEATURES, "Share notes between the agents of a session"),
    "moments": ("tacit.features.people.moment_commands", FEATURES, "Show what was assumed, asked and forecast"),
    "adapters": ("tacit.features.train.adapter_commands", FEATURES, "Train, test, activate and export adapters"),
    "store": ("tacit.surfaces.cli.store", STORE, "Verify, back up, restore, index and purge the store"),
}
"""Command → the module that holds it, its section of the help, and one line of help (at most 60 characters).

The function in the module has the name of the command.
"""
HIDDEN = {
    "mcp": "tacit.surfaces.cli.mcp",
    "hook": "tacit.surfaces.cli.mcp",
    "compose": "tacit.surfaces.cli.propose",
    "train": "tacit.features.train.commands",
    "consolidate": "tacit.features.train.commands",
}
"""Commands that work but are not listed: those that clients start, and some that others replace."""
OLD_NAMES = {
    "history": "skills history",
    "stats": "skills stats",
    "lift": "skills stats --lift",
    "verify": "store verify",
    "backup": "store backup",
    "restore": "store restore",
    "purge": "store purge",
    "index": "store index",
    "backport": "cards backport",
    "forecast": "moments forecast",
    "intake": "moments intake",
    "feedback": "record",
    "refine": "tend --runs",
    "export": "skills export",
    "skills list": "skills",
    "skills diff": "skills show --diff",
    "skills lift": "skills stats --lift",
    "skills pin": "review --pin",
    "skills invalidate": "review --invalidate",
    "skills rollback": "undo --rollback",
}
"""Old name of a command → the words that take its place. The old names keep working."""
REPLACED = {
    "compose": "propose NAME --part PART",
    "train": "adapters train --no-test",
    "consolidate": "adapters train",
    "adapters list": "adapters",
    "adapters rollback": "adapters activate --previous",
}
"""Hidden command → what does the same now."""


class SuggestingGroup(click.Group):
    """A group that names the nearest command for a typo, and in its help the commands that are less used."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write a line for each everyday command, then the names of the less used ones."""
        super().format_commands(ctx, formatter)
        if names := less_used(self, ctx):
            formatter.write_paragraph()
            formatter.write_text(f"Less used: {', '.join(names)}.")

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command, also by its old name; a name that does not exist is an error with the nearest name."""
        root = ctx.find_root()
        words = args if ctx is root else [ctx.info_name or "", *args]
        for length in (2, 1) if ctx is root else (2,):
            new = OLD_NAMES.get(" ".join(words[:length]))
            if new and isinstance(root.command, click.Group):
                return root.command.resolve_command(root, [*new.split(), *words[length:]])
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
        """Import and return one command."""
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


def less_used(group: click.Group, ctx: click.Context) -> list[str]:
    """Return the names of a group's hidden commands that no other command replaces."""
    commands = {name: group.get_command(ctx, name) for name in group.list_commands(ctx)}
    hidden = [name for name, command in commands.items() if command is not None and command.hidden]
    return [name for name in hidden if f"{group.name} {name}" not in REPLACED]


def _is_installed(module: str) -> bool:
    """Whether a command's module is there. Only looks at files: help must not wait for imports."""
    if not module.startswith("tacit.features."):
        return True
    path = Path(tacit.__file__).parent.joinpath(*module.split(".")[1:])
    return path.with_suffix(".py").is_file() or (path / "__init__.py").is_file()
