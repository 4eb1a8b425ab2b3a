"""`tacit cards`: the aha-card workflow with the commands of the original tool; each is imported when it is called."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from importlib import import_module
from typing import Any, TypeVar, cast

import click

from tacit.features.cards.cards import Cards, folder_here
from tacit.surfaces.cli.context import CommandContext, command_options
from tacit.surfaces.cli.table import SuggestingGroup

_COMMANDS = {
    "record": "recording_commands",
    "list": "recording_commands",
    "review": "status_commands",
    "promote": "status_commands",
    "backport": "backport_commands",
    "init": "recording_commands",
    "rec-status": "status_commands",
    "aha-status": "status_commands",
    "signal": "recording_commands",
    "use": "recording_commands",
    "repair": "status_commands",
    "export-backport": "backport_commands",
    "backport-inspect": "backport_commands",
    "import": "recording_commands",
    "export": "recording_commands",
}
"""Command → the module that holds it."""
_NAMES = {"list": "list_cards_command", "import": "import_folder", "export": "export_folder"}
"""Commands whose function has another name."""


class CardsGroup(SuggestingGroup):
    """A group whose commands are imported when they are needed."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the commands, the everyday ones first."""
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and return one command."""
        module = _COMMANDS.get(cmd_name)
        if module is None:
            return None
        name = _NAMES.get(cmd_name, cmd_name.replace("-", "_"))
        command: click.Command = getattr(import_module(f"tacit.features.cards.commands.{module}"), name)
        return command


@click.group(cls=CardsGroup)
@click.pass_context
def cards(context: click.Context) -> None:
    """Record what a run taught as aha cards, list them, and graduate what has proven itself.

    Every command but `review` and `backport` prints one JSON document. If the folder `.agent-skills/self-learning` exists (see
    `tacit cards init`), its files are synchronised, so that other tools can share them.
    """
    if context.invoked_subcommand not in ("review", "backport"):
        context.obj.as_json = True  # a usage error is a document too


F = TypeVar("F", bound=Callable[..., Any])


def card_options(function: F) -> F:
    """Give a command `--store` and `--json`, which changes nothing: these commands print one JSON document anyway."""

    @wraps(function)
    def always_json(ctx: CommandContext, **options: Any) -> Any:
        ctx.as_json = True
        return function(ctx, **options)

    return command_options(cast(F, always_json))


def deck_of(ctx: CommandContext, *, write: bool = True) -> Cards:
    """Return the cards, synchronised with their folder. Reading creates no store, unless there is a folder to import."""
    ctx.may_create = write or folder_here().is_dir()
    deck = Cards(ctx.memory)
    deck.by_person = ctx.caller.is_person
    deck.sync()
    return deck


def location_fields(deck: Cards) -> dict[str, Any]:
    """Return the fields of every document: where the cards are, whose they are, and what could not be read."""
    where = {"repo_root": str(deck.root), "user": deck.user, "project_store": str(deck.folder)}
    problems = problems_of(deck)
    return where | ({"problems": problems} if problems else {})


def problems_of(deck: Cards, *others: str) -> list[str]:
    """Return what could not be read or written in the folder, and other problems; each once."""
    folder = deck.location.folder
    return list(dict.fromkeys([*deck.last_sync.problems, *folder.unread, *folder.problems, *others]))


def print_json(ctx: CommandContext, document: dict[str, Any]) -> None:
    """Print the one document of a command."""
    ctx.as_json = True
    ctx.report(document, click.echo)
