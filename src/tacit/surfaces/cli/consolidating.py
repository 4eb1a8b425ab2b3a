"""`tacit consolidate`: the whole cycle, from verified experience to a judgement, and to service on a person's word."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import click
from rich.markup import escape

from tacit.domain.adapter import Ruling
from tacit.domain.errors import Mistake
from tacit.domain.size import Size
from tacit.features.evaluate.comparison import points
from tacit.features.evaluate.report import share
from tacit.features.evaluate.suite import Suite
from tacit.features.evaluate.transcript import Divergence
from tacit.features.train.consolidation import WITH, Cycle, Finding
from tacit.surfaces.cli.consolidation import Exam, bars, foretell, left_out, show_told, workshop
from tacit.surfaces.cli.context import CommandContext, clean, command_options, counted
from tacit.surfaces.cli.evaluating import suite_options
from tacit.surfaces.cli.evaluating_report import show_lost

_EVERY = re.compile(r"([1-9][0-9]{0,3})([hdw])")
_HOURS = {"h": 1, "d": 24, "w": 168}
_COLOURS = {Ruling.BETTER: "green", Ruling.WORSE: "red", Ruling.WORSE_ELSEWHERE: "red"}


@click.command()
@click.option("--base", default="", metavar="NAME", help="The base model: a folder, a *.gguf file or a hub id.")
@click.option(
    "--size", type=click.Choice([str(size) for size in Size]), help="How much the adapter can hold; the one dial."
)
@click.option("--seed", default=0, type=click.IntRange(0), help="Which dice are thrown.")
@click.option("--every", default="", metavar="TIME", help="Do nothing sooner than this after the last: 12h, 7d, 2w.")
@click.option("--elsewhere", default="", metavar="SUITE", help="A suite that must not get worse (tacit eval suites).")
@click.option("--data", type=click.Path(path_type=Path), help="Folder of that suite's files.")
@click.option("--option", "options", multiple=True, metavar="NAME=VALUE", help="Option of that suite.")
@click.option("--dry-run", is_flag=True, help="Only say what it would use and cost.")
@click.option("--anew", is_flag=True, help="Drop what an earlier run left unfinished.")
@click.option("--activate", is_flag=True, help="Let it serve without being asked, if the test says better.")
@click.option("--by", default="", help="Who decides.")
@command_options
def consolidate(
    ctx: CommandContext,
    *,
    base: str,
    size: str | None,
    seed: int,
    every: str,
    elsewhere: str,
    data: Path | None,
    options: tuple[str, ...],
    dry_run: bool,
    anew: bool,
    activate: bool,
    by: str,
) -> None:
    """Train an adapter on verified experience, and test it: better than skills alone on unseen tasks, no worse elsewhere?

    Elsewhere is a suite of everyday requests, or the one you name. Fit for a timer: with --every it ends at once while nothing
    is due, and a run that was cut off goes on. Only a person lets an adapter serve; else the judgement waits for one.
    """
    wait = _parsed(every)
    if (data or options) and not elsewhere:
        raise Mistake(
            "--data and --option are of a suite, and none is named", hint="name it: --elsewhere telecom --data FOLDER …"
        )
    cycle = Cycle(ctx.memory, seed=seed)
    if dry_run:
        guard = _guard(ctx, elsewhere, data, options=options)  # a suite that cannot be opened is told now
        outlook = cycle.outlook(every=wait)
        test = Exam(
            tasks=outlook.proof_tasks,
            exercises=outlook.exercises,
            guard=guard.name,
            guard_exercises=len(guard.exercises()),
        )
        foretell(ctx, outlook, base=base, size=size or "", test=test)
        return
    ctx.caller.require_person("consolidate")
    if activate:
        ctx.caller.require_person("adapters activate")  # told now, and not after hours of training
    guard = _guard(ctx, elsewhere, data, options=options)
    due = cycle.due_at(wait)
    if due and not anew:
        document = {"ran": False, "due_at": due}
        ctx.answer(document, lambda: ctx.console.print(f"not due before {due:%Y-%m-%d %H:%M} UTC"))
        return
    place = workshop(ctx, cycle.outlook(), base=base, size=size or "", anew=anew)
    show_told(ctx)
    with bars(ctx) as progress:
        finding = Cycle(ctx.memory, seed=seed, progress=progress).consolidate(place, elsewhere=guard, anew=anew, by=by)
    _end(ctx, finding, activate=activate, by=by)


def _parsed(every: str) -> timedelta:
    if not every:
        return timedelta()
    found = _EVERY.fullmatch(every.strip())
    if found is None:
        raise Mistake(f"--every {every!r} is no stretch of time", hint="say 12h, 7d or 2w")
    return timedelta(hours=int(found[1]) * _HOURS[found[2]])


def _guard(ctx: CommandContext, name: str, data: Path | None, *, options: Sequence[str]) -> Suite:
    from tacit.features.evaluate.suites import open_suite
    from tacit.features.evaluate.suites.everyday import EverydaySuite

    if not name:
        return EverydaySuite()
    return open_suite(name, data=data, store=ctx.memory.store, options=suite_options(options))


def _end(ctx: CommandContext, finding: Finding, *, activate: bool, by: str) -> None:
    """Tell what the test found, and let the adapter serve if it may and a person says so."""
    better = finding.judgement.ruling is Ruling.BETTER
    if not ctx.as_json:
        _show(ctx, finding)
    asked = better and not activate and ctx.caller.is_person and ctx.caller.at_terminal and not ctx.as_json
    serves = better and (activate or (asked and click.confirm("Let it serve from now on?")))
    if serves:
        ctx.memory.adapters.activate(finding.adapter.key, by=ctx.person(by), reason=finding.judgement.reason)
    if ctx.as_json:
        ctx.answer(_document(finding, serves=serves), lambda: None)
    elif serves:
        ctx.console.print("It serves from now on. [bold]tacit adapters rollback[/bold] takes it back")
    elif better:
        ctx.console.print(f"Next: [bold]tacit adapters activate {finding.adapter.key[:12]}[/bold]")


def _document(finding: Finding, *, serves: bool) -> dict[str, Any]:
    judgement, figures = finding.judgement, finding.comparison.arm(WITH)
    return {
        "ran": True,
        "adapter": finding.adapter.key,
        "ruling": judgement.ruling,
        "reason": judgement.reason,
        "tasks": judgement.tasks,
        "difference": judgement.difference,
        "low": judgement.low,
        "high": judgement.high,
        "regressions": [change.exercise for change in figures.regressions],
        "lost": [
            {"exercise": change.exercise, "asked": apart.asked, "reference_did": apart.reference, "arm_did": apart.arm}
            for change in figures.regressions
            for apart in [finding.parted.get((WITH, change.exercise), Divergence())]
        ],
        "gains": [change.exercise for change in figures.gains],
        "elsewhere": finding.elsewhere.suite if finding.elsewhere else "",
        "left_out": finding.left_out,
        "tested_before": finding.tested_before,
        "serves": serves,
    }


def _show(ctx: CommandContext, finding: Finding) -> None:
    console, judgement = ctx.console, finding.judgement
    colour = _COLOURS.get(judgement.ruling, "yellow")
    console.print(f"[bold]{finding.adapter.key}[/bold]  [{colour}]{judgement.ruling}[/{colour}]")
    console.print(escape(clean(judgement.reason)), soft_wrap=True)
    for comparison in (finding.comparison, finding.elsewhere):
        if comparison is None:
            continue
        for figures in comparison.arms:
            mean, found = figures.means.get("success"), figures.differences.get("success")
            told = share(mean.value) if mean else "nothing"
            beside = f", {points(found.value)} ({points(found.low)} to {points(found.high)})" if found else ""
            console.print(f"  [dim]{comparison.suite}, {figures.arm}: {told}{beside}[/dim]", soft_wrap=True)
    figures = finding.comparison.arm(WITH)
    console.print(f"gained {counted(len(figures.gains), 'exercise')}, lost {len(figures.regressions)}")
    show_lost(ctx, figures, finding.parted)
    if too_long := int(finding.adapter.metrics.get("left_out", 0)):
        console.print(f"[dim]{left_out(too_long)}[/dim]", soft_wrap=True)
    if finding.left_out:
        unasked = counted(finding.left_out, "task")
        console.print(f"[dim]{unasked} kept for the test stayed unasked: what was learned from gives it away.[/dim]")
    if finding.tested_before:
        others = counted(finding.tested_before, "other adapter")
        console.print(f"[dim]{others} was tested on such tasks before: one in twenty looks better by luck.[/dim]")
