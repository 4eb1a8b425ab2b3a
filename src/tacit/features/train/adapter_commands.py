"""`tacit adapters`: train, list, show, activate, export and remove adapters."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import click
from rich.markup import escape

from tacit.domain.errors import Mistake
from tacit.features.train.adapter import Activation, AdapterRuling
from tacit.features.train.adapter_registry import Adapters, AdapterStatus
from tacit.features.train.commands import print_notices, train_adapter
from tacit.features.train.export import EXPORT_FORMATS
from tacit.surfaces.cli.context import CommandContext, by_option, clean, command_options, counted, one_line
from tacit.surfaces.cli.report import Column, Columns
from tacit.surfaces.cli.table import SuggestingGroup

F = TypeVar("F", bound=Callable[..., Any])
_SHORT = 12


def _decision_options(function: F) -> F:
    reason = click.option("--reason", default="", help="Why, stored with the decision.")
    return by_option()(reason(function))


@click.group(cls=SuggestingGroup, invoke_without_command=True)
@command_options
def adapters(ctx: CommandContext) -> None:
    """Train, test, activate and export adapters: weights that a base model gained from verified work.

    Without a command: list the adapters, what the last test said of each, and which one is active.
    """
    if click.get_current_context().invoked_subcommand is None:
        _list(ctx)


adapters.add_command(train_adapter)


@adapters.command("list", hidden=True)
@command_options
def list_(ctx: CommandContext) -> None:
    """List the adapters; the same as `tacit adapters`."""
    _list(ctx)


def _list(ctx: CommandContext) -> None:
    registry = Adapters(ctx.memory)
    print_notices(ctx, registry)
    found = registry.all()
    if not found:
        ctx.report({"adapters": []}, "No adapters yet. Next: [bold]tacit adapters train --dry-run[/bold]")
        return
    ctx.report({"adapters": _COLUMNS.documents(found)}, _COLUMNS.table(found))


def _state(status: AdapterStatus) -> str:
    state = "[green]active[/green]" if status.serves else ""
    if status.problems and status.judgement and status.judgement.ruling is AdapterRuling.BETTER:
        state += " [red]cannot be used[/red]"
    return state.strip()


_COLUMNS: Columns[AdapterStatus] = Columns(
    Column("key", lambda each: each.adapter.key, "adapter", lambda each: each.adapter.key[:_SHORT]),
    Column(
        "model",
        lambda each: each.adapter.base,
        "base model",
        lambda each: escape(one_line(Path(each.adapter.base).name or each.adapter.base, 40)),
    ),
    Column("model_hash", lambda each: each.adapter.base_hash),
    Column("dataset_hash", lambda each: each.adapter.dataset_hash),
    Column("form_hash", lambda each: each.adapter.form_hash),
    Column("tasks", lambda each: each.adapter.tasks, "tasks"),
    Column("trajectories", lambda each: len(each.adapter.sources)),
    Column("made_at", lambda each: each.adapter.at, "made", lambda each: f"{each.adapter.at:%Y-%m-%d}"),
    Column("made_by", lambda each: each.adapter.by),
    Column("recipe", lambda each: each.adapter.recipe),
    Column("metrics", lambda each: each.adapter.metrics),
    Column(
        "ruling",
        lambda each: each.judgement.ruling if each.judgement else "",
        "last test",
        lambda each: str(each.judgement.ruling) if each.judgement else "not tested",
    ),
    Column("reason", lambda each: each.judgement.reason if each.judgement else ""),
    Column("active", lambda each: each.serves, "state", _state),
    Column("serves", lambda each: each.serves),
    Column("problems", lambda each: [problem.message for problem in each.problems]),
    Column("problem_codes", lambda each: [problem.code for problem in each.problems]),
    Column("folder", lambda each: str(each.folder)),
)


@adapters.command(hidden=True)
@click.argument("key")
@command_options
def show(ctx: CommandContext, *, key: str) -> None:
    """Show one adapter: what it was trained on, what the test said, whether it can be activated."""
    status = Adapters(ctx.memory).find(key)
    ctx.report(_COLUMNS.document(status), lambda: _status_lines(status))


def _status_lines(status: AdapterStatus) -> Iterator[str]:
    adapter, judgement = status.adapter, status.judgement
    state = "[green]active[/green]" if status.serves else "[dim]not active[/dim]"
    yield f"[bold]{adapter.key}[/bold]  {state}"
    made = f"{adapter.at:%Y-%m-%d %H:%M}" + (f" by {adapter.by}" if adapter.by else "")
    trained = f"{counted(adapter.tasks, 'task')}, {counted(len(adapter.sources), 'attempt')}"
    rows = {
        "base model": f"{adapter.base} ({adapter.base_hash[:_SHORT]})",
        "trained on": f"{trained}; dataset {adapter.dataset_hash[:_SHORT]}",
        "settings": ", ".join(f"{name} {value}" for name, value in adapter.recipe.items()),
        "metrics": ", ".join(f"{name} {value:g}" for name, value in adapter.metrics.items()),
        "made": made,
        "last test": f"{judgement.ruling}: {judgement.reason}" if judgement else "none; run `tacit adapters train`",
        "problems": "; ".join(problem.message for problem in status.problems),
        "files": str(status.folder),
    }
    yield from (f"[dim]{name:<13}[/dim] {escape(clean(text))}" for name, text in rows.items() if text)


@adapters.command(short_help="Use an adapter from now on, or the one before it")
@click.argument("key", required=False, default="")
@click.option("--previous", is_flag=True, help="Deactivate the active adapter; the one before it is active again.")
@click.option("--base", default="", metavar="NAME", help="With --previous: the base model, if several have one active.")
@_decision_options
@command_options
def activate(ctx: CommandContext, *, key: str, previous: bool, base: str, by: str, reason: str) -> None:
    """Use the adapter KEY with its base model from now on. Only if the last test says better.

    --previous goes back: the adapter before the active one is active again, or the base model works alone.
    """
    if bool(key) == previous or (base and not previous):
        hint = "tacit adapters activate KEY, or tacit adapters activate --previous [--base NAME]"
        raise Mistake("give the key of an adapter, or --previous", code="one_adapter", hint=hint)
    if previous:
        _roll_back(ctx, base=base, by=by, reason=reason)
        return
    ctx.caller.require_person("adapters activate")
    done = Adapters(ctx.memory).activate(key, by=ctx.person(by), reason=reason)
    ctx.report(_activation_document(done), f"[green]{done.adapter} is active[/green]")


@adapters.command(hidden=True)
@click.option("--base", default="", metavar="NAME", help="The base model, if adapters of several are active.")
@_decision_options
@command_options
def rollback(ctx: CommandContext, *, base: str, by: str, reason: str) -> None:
    """Deactivate the active adapter; the same as `tacit adapters activate --previous`."""
    _roll_back(ctx, base=base, by=by, reason=reason)


def _roll_back(ctx: CommandContext, *, base: str, by: str, reason: str) -> None:
    ctx.caller.require_person("adapters rollback")
    done = Adapters(ctx.memory).roll_back(base, by=ctx.person(by), reason=reason)
    then = f"{done.adapter} is active again" if done.adapter else "the base model works without an adapter"
    ctx.report(_activation_document(done), f"deactivated {done.undone}; {then}")


def _activation_document(done: Activation) -> dict[str, Any]:
    return {
        "active": done.adapter,
        "serves": done.adapter,
        "deactivated": done.undone,
        "taken_back": done.undone,
        "by": done.by,
        "reason": done.reason,
    }


@adapters.command(hidden=True, short_help="Write an adapter for PEFT, vLLM or llama.cpp")
@click.argument("key")
@click.argument("folder", type=click.Path(path_type=Path))
@click.option(
    "--format", "form", type=click.Choice(EXPORT_FORMATS), default="peft", show_default=True, help="File format."
)
@command_options
def export(ctx: CommandContext, *, key: str, folder: Path, form: str) -> None:
    """Write an adapter into a new FOLDER: for PEFT and vLLM (peft), or for llama.cpp (gguf).

    Only a person may export an adapter that no test calls better.
    """
    registry = Adapters(ctx.memory)
    status = registry.find(key)
    if status.judgement is None or status.judgement.ruling is not AdapterRuling.BETTER:
        ctx.caller.require_person("adapters export unproven")
    written = registry.export(key, folder, form=form)
    document = {"adapter": status.adapter.key, "format": form, "files": [str(path) for path in written]}
    lines = [f"written {escape(clean(str(path)))}" for path in written]
    warnings = [f"[yellow]{escape(clean(problem.message))}[/yellow]" for problem in status.problems]
    ctx.report(document, lambda: [*lines, *warnings])


@adapters.command(hidden=True)
@click.argument("key")
@_decision_options
@command_options
def remove(ctx: CommandContext, *, key: str, by: str, reason: str) -> None:
    """Delete the files of an adapter; the store keeps that it existed. Deactivate an active one first."""
    ctx.caller.require_person("adapters remove")
    gone = Adapters(ctx.memory).remove(key, by=ctx.person(by), reason=reason)
    ctx.report({"removed": gone.key, "reason": gone.removed}, f"removed {gone.key}")
