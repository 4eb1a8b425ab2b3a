"""What is told to whom: another person's preference to people alone, and by one rule for every command that looks.

A stored version and who is calling → whether it may be told. Recall has the same rule in its filters.
"""

from __future__ import annotations

from collections.abc import Iterable

from tacit.domain.errors import NotPermitted
from tacit.domain.ports import Stored
from tacit.store import queries as shelf
from tacit.surfaces.cli.context import CommandContext


def may_tell(ctx: CommandContext, stored: Stored) -> bool:
    """Whether whoever is calling may be told of a version: a person of all, anybody else of nobody else's preference."""
    return not shelf.is_private(stored, person=ctx.memory.person) or ctx.caller.is_person


def tellable(ctx: CommandContext, found: Iterable[Stored]) -> list[Stored]:
    """Those of some versions that may be told."""
    return [stored for stored in found if may_tell(ctx, stored)]


def meant(ctx: CommandContext, reference: str) -> Stored:
    """The version that a reference means, or a refusal where it may not be told."""
    stored = ctx.memory.version(reference)
    require_tellable(ctx, stored)
    return stored


def require_tellable(ctx: CommandContext, stored: Stored) -> None:
    """Raise unless a version may be told."""
    if not may_tell(ctx, stored):
        raise NotPermitted(
            f"{stored.version.id[:10]} is another person's preference, which is told to people alone",
            hint="a person sees it in a terminal of their own, or with TACIT_TOKEN",
        )
