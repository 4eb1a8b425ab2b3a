"""`tacit adapters train` and its old names `train` and `consolidate`: train an adapter on verified work, and test it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any, TypeVar

import click
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeRemainingColumn

from tacit.config.settings import Size
from tacit.domain.errors import Mistake
from tacit.features.evaluate.commands import AliasedOption, suite_options
from tacit.features.evaluate.comparison import points
from tacit.features.evaluate.eval_report import share
from tacit.features.evaluate.report_formats import lost_lines
from tacit.features.evaluate.suite import Suite
from tacit.features.evaluate.transcript import CallDivergence
from tacit.features.train.adapter import Adapter, AdapterRuling
from tacit.features.train.adapter_registry import Adapters
from tacit.features.train.consolidation import WITH_ADAPTER, Consolidation, ConsolidationResult
from tacit.features.train.consolidation import Progress as PhaseProgress
from tacit.features.train.training_preview import ExamPlan, left_out, open_trainer, preview_training
from tacit.surfaces.cli.context import CommandContext, by_option, clean, command_options, counted

F = TypeVar("F", bound=Callable[..., Any])
_INTERVAL = re.compile(r"([1-9][0-9]{0,3})([hdw])")
_HOURS = {"h": 1, "d": 24, "w": 168}
_COLOURS = {AdapterRuling.BETTER: "green", AdapterRuling.WORSE: "red", AdapterRuling.WORSE_ELSEWHERE: "red"}


def training_options(function: F) -> F:
    """Give a command the options of every training."""
    options = (
        click.option("--base", default="", metavar="NAME", help="The base model: a folder, a *.gguf file or a hub id."),
        click.option("--size", type=click.Choice([str(size) for size in Size]), help="The size of the adapter."),
        click.option("--seed", default=0, type=click.IntRange(0), hidden=True, help="The random seed."),
        click.option("--dry-run", is_flag=True, help="Only show what it would use and cost."),
        click.option(
            "--restart",
            "--anew",
            "restart",
            cls=AliasedOption,
            aliases=("--anew",),
            is_flag=True,
            help="Discard what an earlier run left unfinished.",
        ),
        by_option(),
    )
    for option in reversed(options):
        function = option(function)
    return function


def testing_options(function: F) -> F:
    """Give a command the options of the test that follows a training."""
    options = (
        click.option(
            "--every",
            default="",
            metavar="TIME",
            help="Do nothing if the last run was less than TIME ago: 12h, 7d, 2w.",
        ),
        click.option(
            "--regression-suite",
            "--elsewhere",
            "regression_suite",
            cls=AliasedOption,
            aliases=("--elsewhere",),
            default="",
            metavar="SUITE",
            help="A suite that must not get worse (see `tacit eval suites`).",
        ),
        click.option("--data", type=click.Path(path_type=Path), help="Folder with the files of that suite."),
        click.option("--option", "options", multiple=True, metavar="NAME=VALUE", help="Option of that suite."),
        click.option("--activate", is_flag=True, help="Activate the adapter without asking if the test says better."),
    )
    for option in reversed(options):
        function = option(function)
    return function


@click.command("train", short_help="Train an adapter on verified work, and test it")
@training_options
@testing_options
@click.option("--no-test", is_flag=True, help="Only train; the next run without it tests what was trained.")
@command_options
def train_adapter(ctx: CommandContext, *, no_test: bool, **options: Any) -> None:
    """Train an adapter on verified work and test it: better than skills alone on unseen tasks, no worse on other work?

    At least 100 different solved tasks are needed; about a quarter of them is kept for the test. The other work is a suite of
    everyday requests, or the suite you name. An interrupted run continues. A timer may call it: with --every it ends at once
    when nothing is due. Only a person activates an adapter.
    """
    if not no_test:
        _train_and_test(ctx, **options)
        return
    of_test = {name: options.pop(name) for name in ("every", "regression_suite", "data", "options", "activate")}
    if any(of_test.values()):
        raise Mistake("--no-test takes no option of the test", code="no_test", hint="leave one of them out")
    _train_only(ctx, **options)


@click.command(hidden=True)
@training_options
@click.option(
    "--out", type=click.Path(path_type=Path), hidden=True, help="Also write the adapter into this new folder."
)
@command_options
def train(ctx: CommandContext, **options: Any) -> None:
    """Train an adapter without testing it; the same as `tacit adapters train --no-test`."""
    _train_only(ctx, **options)


@click.command(hidden=True)
@training_options
@testing_options
@command_options
def consolidate(ctx: CommandContext, **options: Any) -> None:
    """Train an adapter on verified work and test it; the same as `tacit adapters train`."""
    _train_and_test(ctx, **options)


def _train_only(
    ctx: CommandContext,
    *,
    base: str,
    size: str | None,
    seed: int,
    dry_run: bool,
    restart: bool,
    by: str,
    out: Path | None = None,
) -> None:
    if not dry_run:
        ctx.caller.require_person("train")
    plan = Consolidation(ctx.memory, seed=seed).plan()
    if dry_run:
        preview = preview_training(ctx, plan, base=base, size=size or "")
        ctx.report(preview.document(), preview.lines)
        return
    trainer = open_trainer(ctx, plan, base=base, size=size or "", restart=restart)
    adapters = Adapters(ctx.memory)
    print_notices(ctx, adapters)
    with _phase_bars(ctx) as progress:
        adapter = Consolidation(ctx.memory, seed=seed, progress=progress).train(trainer, restart=restart, by=by)
    if out:
        adapters.export(adapter.key, out)
    document = {
        "adapter": adapter.key,
        "model": adapter.base,
        "tasks": adapter.tasks,
        "metrics": adapter.metrics,
        "folder": str(adapters.find(adapter.key).folder),
        "out": str(out) if out else "",
    }
    ctx.report(document, lambda: _trained_lines(adapter, out))


def _trained_lines(adapter: Adapter, out: Path | None) -> Iterator[str]:
    loss = adapter.metrics.get("held_out_loss")
    validation = f", validation loss {loss:.3f}" if loss is not None else ""
    yield f"[green]trained[/green] {adapter.key} on {counted(adapter.tasks, 'task')}{validation}"
    if too_long := int(adapter.metrics.get("left_out", 0)):
        yield f"[yellow]{left_out(too_long)}[/yellow]"
    if out:
        yield f"written to {escape(clean(str(out)))}"
    yield "It is not active. Next: [bold]tacit adapters train[/bold] tests it on tasks that it has not seen."


def _train_and_test(
    ctx: CommandContext,
    *,
    base: str,
    size: str | None,
    seed: int,
    dry_run: bool,
    restart: bool,
    by: str,
    every: str,
    regression_suite: str,
    data: Path | None,
    options: tuple[str, ...],
    activate: bool,
) -> None:
    interval = _parse_interval(every)
    if (data or options) and not regression_suite:
        raise Mistake(
            "--data and --option need --regression-suite",
            code="no_suite",
            hint="name the suite: --regression-suite telecom --data FOLDER …",
        )
    consolidation = Consolidation(ctx.memory, seed=seed)
    if dry_run:
        suite = _open_regression_suite(ctx, regression_suite, data, options)
        plan = consolidation.plan(every=interval)
        test = ExamPlan(
            tasks=plan.test_tasks,
            exercises=plan.exercises,
            regression_suite=suite.name,
            regression_exercises=len(suite.exercises()),
        )
        preview = preview_training(ctx, plan, base=base, size=size or "", test=test)
        ctx.report(preview.document(), preview.lines)
        return
    ctx.caller.require_person("consolidate")
    if activate:
        ctx.caller.require_person("adapters activate")  # before hours of training, not after them
    suite = _open_regression_suite(ctx, regression_suite, data, options)
    due = consolidation.due_at(interval)
    if due and not restart:
        ctx.report({"ran": False, "due_at": due}, f"not due before {due:%Y-%m-%d %H:%M} UTC")
        return
    trainer = open_trainer(ctx, consolidation.plan(), base=base, size=size or "", restart=restart)
    print_notices(ctx, Adapters(ctx.memory))
    with _phase_bars(ctx) as progress:
        result = Consolidation(ctx.memory, seed=seed, progress=progress).consolidate(
            trainer, regression_suite=suite, restart=restart, by=by
        )
    _finish(ctx, result, activate=activate, by=by)


def print_notices(ctx: CommandContext, adapters: Adapters) -> None:
    """Print what was cleaned up, such as files of adapters after a purge."""
    for notice in adapters.notices:
        ctx.errors.print(f"[yellow]{escape(clean(notice))}[/yellow]", soft_wrap=True)


@contextmanager
def _phase_bars(ctx: CommandContext) -> Iterator[PhaseProgress]:
    """Yield a function that shows a progress bar for each phase; programs get none."""
    if ctx.as_json or not ctx.errors.is_terminal:
        yield lambda phase, done, total: None
        return
    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, TimeRemainingColumn(), console=ctx.errors) as progress:
        tasks: dict[str, Any] = {}

        def advance(phase: str, done: int, total: int) -> None:
            if phase not in tasks:
                tasks[phase] = progress.add_task(phase, total=None)
            progress.update(tasks[phase], completed=done, total=total or None)

        yield advance


def _parse_interval(text: str) -> timedelta:
    if not text:
        return timedelta()
    found = _INTERVAL.fullmatch(text.strip())
    if found is None:
        raise Mistake(f"--every {text!r} is not a duration", code="bad_duration", hint="write 12h, 7d or 2w")
    return timedelta(hours=int(found[1]) * _HOURS[found[2]])


def _open_regression_suite(ctx: CommandContext, name: str, data: Path | None, options: Sequence[str]) -> Suite:
    from tacit.features.evaluate.suites import open_suite
    from tacit.features.evaluate.suites.everyday import EverydaySuite

    if not name:
        return EverydaySuite()
    return open_suite(name, data=data, store=ctx.memory.context.store, options=suite_options(options))


def _finish(ctx: CommandContext, result: ConsolidationResult, *, activate: bool, by: str) -> None:
    """Report what the test found; activate the adapter if it may be and a person says so."""
    better = result.judgement.ruling is AdapterRuling.BETTER
    if not ctx.as_json:
        for line in _result_lines(result):
            ctx.console.print(line, soft_wrap=True)
    confirmed = better and (activate or (ctx.can_ask and click.confirm("Activate it now?")))
    if confirmed:
        Adapters(ctx.memory).activate(result.adapter.key, by=ctx.person(by), reason=result.judgement.reason)
    if confirmed:
        last = "The adapter is active. [bold]tacit adapters activate --previous[/bold] deactivates it."
    else:
        last = f"Next: [bold]tacit adapters activate {result.adapter.key[:12]}[/bold]" if better else ""
    ctx.report(_result_document(result, active=confirmed), last or None)


def _result_document(result: ConsolidationResult, *, active: bool) -> dict[str, Any]:
    judgement, figures = result.judgement, result.comparison.arm(WITH_ADAPTER)
    return {
        "ran": True,
        "adapter": result.adapter.key,
        "ruling": judgement.ruling,
        "reason": judgement.reason,
        "tasks": judgement.tasks,
        "difference": judgement.difference,
        "low": judgement.low,
        "high": judgement.high,
        "regressions": [change.exercise for change in figures.regressions],
        "lost": [
            {"exercise": change.exercise, "asked": found.asked, "reference_did": found.reference, "arm_did": found.arm}
            for change in figures.regressions
            for found in [result.divergences.get((WITH_ADAPTER, change.exercise), CallDivergence())]
        ],
        "gains": [change.exercise for change in figures.gains],
        "regression_suite": result.regression.suite if result.regression else "",
        "elsewhere": result.regression.suite if result.regression else "",
        "left_out": result.left_out,
        "tested_before": result.tested_before,
        "active": active,
        "serves": active,
    }


def _result_lines(result: ConsolidationResult) -> Iterator[str]:
    judgement = result.judgement
    colour = _COLOURS.get(judgement.ruling, "yellow")
    yield f"[bold]{result.adapter.key}[/bold]  [{colour}]{judgement.ruling}[/{colour}]"
    yield escape(clean(judgement.reason))
    for comparison in (result.comparison, result.regression):
        if comparison is None:
            continue
        for figures in comparison.arms:
            mean, found = figures.means.get("success"), figures.differences.get("success")
            success = share(mean.value) if mean else "no attempts"
            change = f", {points(found.value)} ({points(found.low)} to {points(found.high)})" if found else ""
            yield f"  [dim]{comparison.suite}, {figures.arm}: {success}{change}[/dim]"
    figures = result.comparison.arm(WITH_ADAPTER)
    yield f"gained {counted(len(figures.gains), 'exercise')}, lost {len(figures.regressions)}"
    yield from lost_lines(figures, result.divergences)
    if too_long := int(result.adapter.metrics.get("left_out", 0)):
        yield f"[dim]{left_out(too_long)}[/dim]"
    if result.left_out:
        yield (
            f"[dim]{counted(result.left_out, 'task')} kept for the test were not used: training tasks give the answers "
            "away.[/dim]"
        )
    if result.tested_before:
        others = counted(result.tested_before, "other adapter")
        yield f"[dim]{others} tested on such tasks before: one in twenty looks better by chance.[/dim]"
