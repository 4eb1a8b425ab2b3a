"""`tacit recall --explain`: a selection → every skill that was weighed, what spoke for it, and why it was given or not."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from tacit.domain.selection import Item, LeftOut, Selection
from tacit.recall.fusion import WEIGHTS, carried
from tacit.surfaces.cli.session import clean

MOST = 20
"""How many are shown to a person; programs get all."""


def show_explained(console: Console, selection: Selection) -> None:
    """Show all that was weighed as a table, the best first, with the nats of evidence that each signal gave."""
    sure = f"confidence {selection.confidence:.2f} that something fits"
    verdict = f"nothing given: {selection.reason}" if selection.abstained else f"{len(selection.items)} given"
    console.print(f"[bold]{escape(clean(verdict))}[/bold]; {sure}", soft_wrap=True)
    if selection.note:
        console.print(f"[yellow]{escape(clean(selection.note))}[/yellow]", soft_wrap=True)
    rows = weighed(selection)
    told = [name for name in WEIGHTS if any(name in row["evidence"] for row in rows[:MOST])]
    table = Table(box=None, padding=(0, 1, 0, 0))
    for heading in ("", "skill", "score", "relevance", *told):
        table.add_column(
            heading, justify="right" if heading in ("score", "relevance", *told) else "left", overflow="fold"
        )
    table.add_column("what became of it", min_width=24, overflow="fold")
    for place, row in enumerate(rows[:MOST], start=1):
        nats = row["evidence"]
        table.add_row(
            str(place),
            escape(clean(row["name"])),
            f"{row['score']:.3f}",
            f"{row['signals'].get('relevance', 0.0):.2f}" if row["signals"] else "",
            *(f"{nats[name]:.1f}" if name in nats else "" for name in told),
            escape(clean(row["why"])),
            style="bold" if row["given"] else "dim",
        )
    console.print(table)
    if len(rows) > MOST:
        console.print(f"[dim]and {len(rows) - MOST} more (--json shows all)[/dim]")
    console.print("[dim]Columns after relevance are nats of evidence; their sum gives the order.[/dim]")
    if selection.budgets:
        console.print(_room(selection))


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
        "evidence": {name: round(nats, 3) for name, nats in carried(signals).items()},
        "why": why,
    }


def _given(item: Item) -> str:
    tied = f"; as near as {', '.join(item.tied_with)}" if item.tied_with else ""
    return f"given: {item.reasons[0]}{tied}"
