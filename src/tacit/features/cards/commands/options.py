"""What the commands of `tacit cards` share: their options, the deck they work on, and the keys of every document."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

import click

from tacit.features.cards.deck import Deck
from tacit.features.cards.opening import folder_here
from tacit.surfaces.cli.context import CommandContext, command_options

__all__ = ["card_options", "deck_of", "folder_here", "print_json", "problems_of", "told"]
F = TypeVar("F", bound=Callable[..., Any])


def card_options(function: F) -> F:
    """Give a command `--store` and `--json`, which changes nothing: these commands print one JSON document anyway."""

    @wraps(function)
    def always_json(ctx: CommandContext, **options: Any) -> Any:
        ctx.as_json = True
        return function(ctx, **options)

    return command_options(cast(F, always_json))


def deck_of(ctx: CommandContext, *, write: bool = True) -> Deck:
    """The deck of this session, in step with its folder. To look at nothing creates no store; to take a folder in does."""
    ctx.may_create = write or folder_here().is_dir()
    deck = ctx.memory.cards
    deck.by_person = ctx.caller.is_person
    deck.sync()
    return deck


def told(deck: Deck) -> dict[str, Any]:
    """What every document says: where the cards are, whose they are, and what of the folder could not be read."""
    where = {"repo_root": str(deck.root), "user": deck.user, "project_store": str(deck.folder)}
    problems = problems_of(deck)
    return where | ({"problems": problems} if problems else {})


def problems_of(deck: Deck, *others: str) -> list[str]:
    """What of the folder could not be read or written, and what else was met; each once."""
    folder = deck.where.folder
    return list(dict.fromkeys([*deck.met.problems, *folder.unread, *folder.problems, *others]))


def print_json(ctx: CommandContext, document: dict[str, Any]) -> None:
    """Print the one document of a command."""
    ctx.as_json = True
    ctx.answer(document, click.echo)
