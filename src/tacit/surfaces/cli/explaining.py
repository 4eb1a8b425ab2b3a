"""`tacit recall --explain`: a selection → every skill that was weighed, what spoke for it, and why it was given or not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.cells import cell_len
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from tacit.domain.selection import Item, LeftOut, Selection
from tacit.recall.signals import WEIGHTS, contributions
from tacit.surfaces.cli.context import clean

MOST = 20
"""How many are shown to a person; programs get all."""
_LONG = {"name": "skill", "why": "what became of it"}
"""Columns of long texts, with their headings: they are broken where there is too little room."""
WHY_WIDTH = 26
"""Columns of the terminal that are kept for what became of each, at least, where it is so long."""
NAME_WIDTH = 20
"""The same for the names."""


def show_explained(console: Console, selection: Selection) -> None:
    """Show all that was weighed as a table, the best first, with the nats of evidence that each signal gave."""
    sure = f"confidence {selection.confidence:.2f} that something fits"
    verdict = f"nothing given: {selection.reason}" if selection.abstained else f"{len(selection.items)} given"
    console.print(f"[bold]{escape(clean(verdict))}[/bold]; {sure}", soft_wrap=True)
    if selection.note:
        console.print(f"[yellow]{escape(clean(selection.note))}[/yellow]", soft_wrap=True)
    rows = weighed(selection)
    table, dropped = _table(rows[:MOST], width=console.width)
    console.print(table)
    if len(rows) > MOST:
        console.print(f"[dim]and {len(rows) - MOST} more (--json shows all)[/dim]")
    console.print("[dim]Columns after relevance are nats of evidence; their sum gives the order.[/dim]")
    if dropped:
        console.print(f"[dim]No room for {', '.join(dropped)}: --json or a wider terminal shows all.[/dim]")
    if selection.budgets:
        console.print(_room(selection))


def _table(rows: Sequence[dict[str, Any]], *, width: int) -> tuple[Table, list[str]]:
    """All rows within the width of a terminal, and the signals that found no room: what became of each goes before them.

    Of the signals those go first that tell least apart.
    """
    told = [each for each in WEIGHTS if any(each in row["evidence"] for row in rows)]
    name, why = (max([len(heading), *(cell_len(clean(row[key])) for row in rows)]) for key, heading in _LONG.items())
    spare = width - sum(len(each) + 1 for each in (str(len(rows)), "0.000", "relevance", "", ""))
    apart = {each: _spread([row["evidence"].get(each, 0.0) for row in rows]) for each in told}
    dropped: list[str] = []
    while told and min(name, NAME_WIDTH) + min(why, WHY_WIDTH) + _columns(told) > spare:
        dropped.append(min(told, key=lambda each: apart[each]))
        told.remove(dropped[-1])
    spare -= _columns(told)
    least = spare * NAME_WIDTH // (NAME_WIDTH + WHY_WIDTH)  # where there is too little for both
    name = min(name, max(least, spare - min(why, WHY_WIDTH)))
    table = Table(box=None, padding=(0, 1, 0, 0))
    table.add_column("")
    table.add_column(_LONG["name"], width=max(1, name), overflow="fold")
    for heading in ("score", "relevance", *told):
        table.add_column(heading, justify="right")
    table.add_column(_LONG["why"], width=max(1, min(why, spare - name)), overflow="fold")
    for place, row in enumerate(rows, start=1):
        nats = row["evidence"]
        table.add_row(
            str(place),
            escape(clean(row["name"])),
            f"{row['score']:.3f}",
            f"{row['signals'].get('relevance', 0.0):.2f}" if row["signals"] else "",
            *(f"{nats[each]:.1f}" if each in nats else "" for each in told),
            escape(clean(row["why"])),
            style="bold" if row["given"] else "dim",
        )
    return table, dropped


def _columns(signals: Sequence[str]) -> int:
    """How much of the width they take."""
    return sum(max(len(each), len("00.0")) + 1 for each in signals)


def _spread(values: Sequence[float]) -> float:
    return max(values) - min(values)


def _room(selection: Selection) -> Table:
    """How the room was shared out: what each kind may take at most, and what it took."""
    table = Table(box=None, padding=(0, 1, 0, 0))
    table.add_column("kind")
    for heading in ("share", "tokens allowed", "tokens used", "given", "no room for"):
        table.add_column(heading, justify="right")
    for each in selection.budgets:
        counts = (each.allowed_tokens, each.used_tokens, each.given, each.left_out)
        table.add_row(each.kind, f"{each.share:.0%}", *map(str, counts), style="" if each.given else "dim")
    return table


def weighed(selection: Selection) -> list[dict[str, Any]]:
    """All that was weighed, the best first, as programs get it; what no score was given to comes last."""
    given = [_row(item, item.signals, True, _given(item)) for item in selection.items]
    given += [_row(item, item.signals, True, "stands for every task") for item in selection.standing]
    rest = [_row(left, left.signals, False, left.reason) for left in selection.left_out]
    return given + sorted(rest, key=lambda row: -row["score"])


def _row(each: Item | LeftOut, signals: Mapping[str, float], given: bool, why: str) -> dict[str, Any]:
    return {
        "name": each.name,
        "version_id": each.version_id,
        "given": given,
        "score": round(each.score, 4),
        "signals": {name: round(value, 4) for name, value in signals.items()},
        "evidence": {name: round(nats, 3) for name, nats in contributions(signals).items()},
        "why": why,
    }


def _given(item: Item) -> str:
    tied = f"; as near as {', '.join(item.tied_with)}" if item.tied_with else ""
    return f"given: {item.reasons[0]}{tied}"
