"""`tacit train`: verified experience → dataset → adapter in the registry. Tests nothing; `tacit consolidate` goes on."""

from __future__ import annotations

from pathlib import Path

import click
from rich.markup import escape

from tacit.domain.size import Size
from tacit.features.train.consolidation import Cycle
from tacit.surfaces.cli.consolidation import bars, foretell, left_out, show_told, workshop
from tacit.surfaces.cli.context import CommandContext, clean, command_options, counted


@click.command()
@click.option("--base", default="", metavar="NAME", help="The base model: a folder, a *.gguf file or a hub id.")
@click.option(
    "--size", type=click.Choice([str(size) for size in Size]), help="How much the adapter can hold; the one dial."
)
@click.option("--seed", default=0, type=click.IntRange(0), help="Which dice are thrown.")
@click.option("--dry-run", is_flag=True, help="Only say what it would use and cost.")
@click.option("--anew", is_flag=True, help="Drop what an earlier run left unfinished.")
@click.option("--out", type=click.Path(path_type=Path), help="Write the adapter into this new folder as well.")
@click.option("--by", default="", help="Who asks for it.")
@command_options
def train(
    ctx: CommandContext,
    *,
    base: str,
    size: str | None,
    seed: int,
    dry_run: bool,
    anew: bool,
    out: Path | None,
    by: str,
) -> None:
    """Train an adapter for a base model on what agents verifiably did well here. It serves nobody until a test says so.

    Only machine-verified successes count, and fewer than 100 distinct tasks are refused. About a quarter of the tasks is kept
    for the test. A run that was cut off goes on where it was. `tacit consolidate` tests what was trained.
    """
    if not dry_run:
        ctx.caller.require_person("train")
    outlook = Cycle(ctx.memory, seed=seed).outlook()
    if dry_run:
        foretell(ctx, outlook, base=base, size=size or "")
        return
    place = workshop(ctx, outlook, base=base, size=size or "", anew=anew)
    show_told(ctx)
    with bars(ctx) as progress:
        adapter = Cycle(ctx.memory, seed=seed, progress=progress).train(place, anew=anew, by=by)
    if out:
        ctx.memory.adapters.export(adapter.key, out)
    document = {
        "adapter": adapter.key,
        "model": adapter.base,
        "tasks": adapter.tasks,
        "metrics": adapter.metrics,
        "folder": str(ctx.memory.adapters.find(adapter.key).folder),
        "out": str(out) if out else "",
    }

    def show() -> None:
        loss = adapter.metrics.get("held_out_loss")
        console = ctx.console
        console.print(
            f"[green]trained[/green] {adapter.key} on {counted(adapter.tasks, 'task')}"
            + (f", loss {loss:.3f} on tasks that it was stopped by" if loss is not None else "")
        )
        if lost := int(adapter.metrics.get("left_out", 0)):
            console.print(f"[yellow]{left_out(lost)}[/yellow]", soft_wrap=True)
        if out:
            console.print(f"written to {escape(clean(str(out)))}", soft_wrap=True)
        console.print("It serves nobody yet. Next: [bold]tacit consolidate[/bold] tests it on tasks it never saw")

    ctx.answer(document, show)
