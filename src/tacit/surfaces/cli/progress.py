"""How far long work has come: a bar for people at a terminal, nothing for programs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from tacit.surfaces.cli.context import CommandContext


@contextmanager
def progress_bar(ctx: CommandContext, what: str) -> Iterator[Callable[[int, int], None]]:
    """Give a function that is told how much is done, and of how much; 0 if that is not known."""
    if ctx.as_json or not ctx.errors.is_terminal:
        yield lambda done, total: None
        return
    columns = (SpinnerColumn(), TextColumn(what), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=ctx.errors, transient=True) as bar:
        task = bar.add_task(what, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total or None)
