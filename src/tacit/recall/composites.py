"""Composites among relevant skills → each step once: a part whose steps a composite shows is not given in addition. Pure.

Only for composites that copied the steps of their parts; one that merely names its parts does not show how they are done. A
single part that fits better than the composite keeps its place: the task asks for it and not for the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from tacit.domain.reason_code import ReasonCode
from tacit.domain.selection import Item
from tacit.recall.ranking import Rejected, Row, replaces_parts

Fitting = Callable[[Sequence[Row]], Sequence[Row]]
"""Relevant rows, in order → those that are given, with their texts."""


def replace_parts(
    relevant: Sequence[Row], fitting: Fitting, *, planned: Collection[str] = ()
) -> tuple[list[Row], list[Rejected]]:
    """Return the relevant rows without parts that a composite shows, and those parts.

    The composite takes the place of the first of them. What a plan names is not touched.
    """
    rows, gone = list(relevant), list[Rejected]()
    while found := _composite_with_parts(rows, fitting, planned):
        composite, parts = found
        gone += [Rejected(part, ReasonCode.PART_OF_COMPOSITE, composite=composite.name) for part in parts]
        together = {composite.version_id, *(part.version_id for part in parts)}
        first = next(position for position, each in enumerate(rows) if each.version_id in together)
        others = [each for each in rows if each.version_id not in together]
        rows = [*others[:first], composite, *others[first:]]
    return rows, gone


def _composite_with_parts(
    rows: Sequence[Row], fitting: Fitting, planned: Collection[str]
) -> tuple[Row, list[Row]] | None:
    """Return the first composite that fits with all its steps, and its parts that are not needed in addition."""
    if not any(_parts(row, rows, planned) for row in rows):
        return None
    shown = {row.version_id for row in fitting(rows) if _shows_steps(row)}
    for position, row in enumerate(rows):
        parts = _parts(row, rows, planned) if row.version_id in shown else []
        if replaces_parts(parts, rows[position:]):
            return row, parts
    return None


def _parts(row: Row, among: Sequence[Row], planned: Collection[str]) -> list[Row]:
    """Return the rows that a composite copied as they are now."""
    item: Item = row.source
    parents, named = item.version.parents, item.version.content.sub_skills
    return [
        each
        for each in (among if named else ())
        if each.version_id in parents and each.name in named and each.version_id not in planned
    ]


def _shows_steps(row: Row) -> bool:
    """Return whether the text has all steps; a short one may leave them out."""
    item: Item = row.source
    text = " ".join(row.text.split())
    return all(" ".join(step.text.split()) in text for step in item.steps)
