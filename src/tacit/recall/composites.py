"""Composites among what is relevant → each step once: parts whose steps a composite shows are not given beside it. Pure.

Only of composites that took their parts' steps over; one that merely names its parts tells nothing of how they are done. A
single part that fits better than the whole stays where it is: the task asks for it and not for the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from tacit.domain.selection import Item, LeftOut
from tacit.recall.budget import left_out

Fitting = Callable[[Sequence[Item]], Sequence[Item]]
"""What is relevant, in order → what of it is given, with its text."""


def gathered(
    relevant: Sequence[Item], fitting: Fitting, *, planned: Collection[str] = ()
) -> tuple[list[Item], list[LeftOut]]:
    """What is relevant without the parts that a composite shows, which stands where the first of them stood; and those parts.

    What a plan names stays as the plan has it.
    """
    items, gone = list(relevant), list[LeftOut]()
    while whole := _whole(items, fitting, planned):
        composite, parts = whole
        gone += [left_out(part, f"part of `{composite.name}`") for part in parts]
        whole_ids = {composite.version_id, *(part.version_id for part in parts)}
        first = next(place for place, each in enumerate(items) if each.version_id in whole_ids)
        others = [each for each in items if each.version_id not in whole_ids]
        items = [*others[:first], composite, *others[first:]]
    return items, gone


def _whole(items: Sequence[Item], fitting: Fitting, planned: Collection[str]) -> tuple[Item, list[Item]] | None:
    """The first composite that has room with all its steps, and its parts that need not stand beside it."""
    if not any(_parts(item, items, planned) for item in items):
        return None
    shown = {item.version_id for item in fitting(items) if _shows_steps(item)}
    for place, item in enumerate(items):
        parts = _parts(item, items, planned) if item.version_id in shown else []
        if len(parts) > 1 or (parts and parts[0] in items[place:]):
            return item, parts
    return None


def _parts(item: Item, among: Sequence[Item], planned: Collection[str]) -> list[Item]:
    """Those that it took over as they are now."""
    made_of, named = item.version.parents, item.version.content.sub_skills
    return [
        each
        for each in (among if named else ())
        if each.version_id in made_of and each.name in named and each.version_id not in planned
    ]


def _shows_steps(item: Item) -> bool:
    """Whether there was room for its steps; a text may leave them out."""
    told = " ".join(item.text.split())
    return all(" ".join(step.text.split()) in told for step in item.steps)
