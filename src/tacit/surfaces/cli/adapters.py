"""`tacit adapters …`: look at adapters, let one serve, take it back, hand it on, remove it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
from rich.markup import escape
from rich.table import Table

from tacit.domain.adapter import Activation, Ruling
from tacit.features.train.adapters import AdapterStatus
from tacit.features.train.export import EXPORT_FORMATS
from tacit.surfaces.cli.consolidation import show_told
from tacit.surfaces.cli.context import CommandContext, clean, command_options, counted, one_line

_SHORT = 12


@click.group(invoke_without_command=True)
@command_options
def adapters(ctx: CommandContext) -> None:
    """Adapters: weights that base models were given from verified experience. Without a command: list them."""
    if click.get_current_context().invoked_subcommand is None:
        _list(ctx)


@adapters.command("list")
@command_options
def list_(ctx: CommandContext) -> None:
    """List the adapters, what the last test said of each, and which one serves."""
    _list(ctx)


def _list(ctx: CommandContext) -> None:
    show_told(ctx)
    found = ctx.memory.adapters.all()
    ctx.answer({"adapters": [_document(each) for each in found]}, lambda: _show_list(ctx, found))


def _document(standing: AdapterStatus) -> dict[str, Any]:
    adapter, judgement = standing.adapter, standing.judgement
    return {
        "key": adapter.key,
        "model": adapter.base,
        "model_hash": adapter.base_hash,
        "dataset_hash": adapter.dataset_hash,
        "form_hash": adapter.form_hash,
        "tasks": adapter.tasks,
        "trajectories": len(adapter.sources),
        "made_at": adapter.at,
        "made_by": adapter.by,
        "recipe": adapter.recipe,
        "metrics": adapter.metrics,
        "ruling": judgement.ruling if judgement else "",
        "reason": judgement.reason if judgement else "",
        "serves": standing.serves,
        "problems": standing.problems,
        "folder": str(standing.folder),
    }


def _show_list(ctx: CommandContext, found: Sequence[AdapterStatus]) -> None:
    if not found:
        ctx.console.print("No adapters yet. Next: [bold]tacit train --dry-run[/bold]")
        return
    table = Table(box=None, pad_edge=False)
    for column in ("adapter", "base model", "tasks", "made", "last test", ""):
        table.add_column(column, justify="right" if column == "tasks" else "left", overflow="fold")
    for each in found:
        adapter = each.adapter
        ruling = str(each.judgement.ruling) if each.judgement else "none yet"
        state = "[green]serves[/green]" if each.serves else ""
        if each.problems and each.judgement and each.judgement.ruling is Ruling.BETTER:
            state += " [red]may not serve[/red]"
        model = escape(one_line(Path(adapter.base).name or adapter.base, 40))
        table.add_row(adapter.key[:_SHORT], model, str(adapter.tasks), f"{adapter.at:%Y-%m-%d}", ruling, state.strip())
    ctx.console.print(table)


@adapters.command()
@click.argument("key")
@command_options
def show(ctx: CommandContext, *, key: str) -> None:
    """Show one adapter: what it was trained on, what the test said, whether it may serve."""
    standing = ctx.memory.adapters.find(key)
    ctx.answer(_document(standing), lambda: _show_one(ctx, standing))


def _show_one(ctx: CommandContext, standing: AdapterStatus) -> None:
    adapter, judgement, console = standing.adapter, standing.judgement, ctx.console
    state = "[green]serves[/green]" if standing.serves else "[dim]does not serve[/dim]"
    console.print(f"[bold]{adapter.key}[/bold]  {state}")
    made = f"made {adapter.at:%Y-%m-%d %H:%M}" + (f" by {adapter.by}" if adapter.by else "")
    trained = f"{counted(adapter.tasks, 'task')}, {counted(len(adapter.sources), 'attempt')}"
    lines = [
        ("base model", f"{adapter.base} ({adapter.base_hash[:_SHORT]})"),
        ("trained on", f"{trained}; dataset {adapter.dataset_hash[:_SHORT]}"),
        ("how", ", ".join(f"{name} {value}" for name, value in adapter.recipe.items())),
        ("figures", ", ".join(f"{name} {value:g}" for name, value in adapter.metrics.items())),
        ("", made),
        ("last test", f"{judgement.ruling}: {judgement.reason}" if judgement else "none yet: tacit consolidate"),
        ("may not serve", "; ".join(standing.problems)),
        ("files", str(standing.folder)),
    ]
    for name, text in lines:
        if text:
            console.print(f"[dim]{name:<13}[/dim] {escape(clean(text))}", soft_wrap=True)


@adapters.command()
@click.argument("key")
@click.option("--by", default="", help="Who decides.")
@click.option("--reason", default="", help="Why, kept with the decision.")
@command_options
def activate(ctx: CommandContext, *, key: str, by: str, reason: str) -> None:
    """Let an adapter serve its base model, if the last paired test said better. Belongs to a person."""
    ctx.caller.require_person("adapters activate")
    done = ctx.memory.adapters.activate(key, by=ctx.person(by), reason=reason)
    ctx.answer(_told(done), lambda: ctx.console.print(f"[green]serves[/green] {done.adapter}"))


@adapters.command()
@click.option("--base", default="", metavar="NAME", help="Of which base model, where adapters serve several.")
@click.option("--by", default="", help="Who decides.")
@click.option("--reason", default="", help="Why, kept with the decision.")
@command_options
def rollback(ctx: CommandContext, *, base: str, by: str, reason: str) -> None:
    """Take back the adapter that serves: the one before it serves again, or the base model alone."""
    ctx.caller.require_person("adapters rollback")
    done = ctx.memory.adapters.roll_back(base, by=ctx.person(by), reason=reason)
    then = f"{done.adapter} serves again" if done.adapter else "the base model serves alone"
    ctx.answer(_told(done), lambda: ctx.console.print(f"taken back {done.undone}; {then}"))


def _told(done: Activation) -> dict[str, Any]:
    return {"serves": done.adapter, "taken_back": done.undone, "by": done.by, "reason": done.reason}


@adapters.command()
@click.argument("key")
@click.argument("folder", type=click.Path(path_type=Path))
@click.option(
    "--format", "form", type=click.Choice(EXPORT_FORMATS), default="peft", show_default=True, help="For which program."
)
@command_options
def export(ctx: CommandContext, *, key: str, folder: Path, form: str) -> None:
    """Write an adapter into a new FOLDER: for PEFT and vLLM (peft), or for llama.cpp (gguf).

    One that no test calls better leaves only on a person's word.
    """
    room = ctx.memory.adapters
    standing = room.find(key)
    if standing.judgement is None or standing.judgement.ruling is not Ruling.BETTER:
        ctx.caller.require_person("adapters export unproven")
    written = room.export(key, folder, form=form)
    document = {"adapter": standing.adapter.key, "format": form, "files": [str(path) for path in written]}

    def tell() -> None:
        for path in written:
            ctx.console.print(f"written {escape(clean(str(path)))}", soft_wrap=True)
        if standing.problems:
            ctx.console.print(f"[yellow]{escape(clean('; '.join(standing.problems)))}[/yellow]", soft_wrap=True)

    ctx.answer(document, tell)


@adapters.command()
@click.argument("key")
@click.option("--by", default="", help="Who decides.")
@click.option("--reason", default="", help="Why, kept with the decision.")
@command_options
def remove(ctx: CommandContext, *, key: str, by: str, reason: str) -> None:
    """Take an adapter's files away. That it was there stays in the ledger; one that serves is rolled back first."""
    ctx.caller.require_person("adapters remove")
    gone = ctx.memory.adapters.remove(key, by=ctx.person(by), reason=reason)
    ctx.answer({"removed": gone.key, "reason": gone.removed}, lambda: ctx.console.print(f"removed {gone.key}"))
