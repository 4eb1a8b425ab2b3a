"""`tacit eval report`: the record of a run in, what its arms came to out; as text, JSON, Markdown or a page."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import click
from rich.markup import escape
from rich.table import Table

from tacit.domain.errors import Mistake
from tacit.features.evaluate.comparison import ArmFigures, Change
from tacit.features.evaluate.document import document
from tacit.features.evaluate.markdown import chance, markdown
from tacit.features.evaluate.page import page
from tacit.features.evaluate.run_record import read_run
from tacit.features.evaluate.report import (
    NOTHING,
    Report,
    difference,
    figure,
    footnotes,
    happened,
    stands,
    trivially,
    with_transcript,
)
from tacit.features.evaluate.report import report as told_of
from tacit.features.evaluate.transcript import Divergence, read_transcript
from tacit.render.placing import swap_in
from tacit.surfaces.cli.context import CommandContext, clean, command_options, counted


@click.command("report")
@click.argument("folder", type=click.Path(path_type=Path))
@click.option(
    "--reference",
    default="",
    metavar="ARM",
    help="The arm that others are compared with; the run's first if not given.",
)
@click.option("--markdown", "as_markdown", is_flag=True, help="Print Markdown.")
@click.option("--page", "page_file", type=click.Path(path_type=Path), help="Write one self-contained HTML file.")
@command_options
def report(ctx: CommandContext, *, folder: Path, reference: str, as_markdown: bool, page_file: Path | None) -> None:
    """Tell what the arms of the run in FOLDER came to: differences with intervals, regressions, what was not measured."""
    run = read_run(folder)
    header = run.header
    if not run.rows:
        raise Mistake(f"the run in {folder} made no attempt yet", hint="repeat its `tacit eval run`: it goes on")
    plain = told_of(
        run.rows,
        reference=reference or header.arms[0].name,
        agent=header.agent,
        wanted=run.wanted,
        arms=header.arms,
        remarks=header.remarks,
    )
    told = with_transcript(plain, run.rows, read_transcript(folder))
    if page_file:
        _write(page_file, page(told))
    if as_markdown and not ctx.as_json:
        click.echo(markdown(told), nl=False)
        return
    ctx.answer(document(told), lambda: _show(ctx, told, page_file))


def _write(target: Path, text: str) -> None:
    try:
        swap_in(target, text.encode(), mode=0o644)
    except OSError as error:
        raise Mistake(f"cannot write {target}: {error.strerror}", hint="give a file in a folder that exists") from error


def _show(ctx: CommandContext, told: Report, page_file: Path | None) -> None:
    console, comparison = ctx.console, told.comparison
    console.print(f"[bold]{escape(clean(told.verdict))}[/bold]\n")
    table = Table(box=None, pad_edge=False)
    shown = {name: label for name, label in _SHOWN.items() if name in comparison.metrics and name not in told.idle}
    more = [label for name, label in shown.items() if name != "success"]
    for column in ("arm", "success", f"vs {comparison.reference}", "p (Holm)", "", *more, "lost", "won"):
        table.add_column(escape(clean(column)), justify="left" if column in ("arm", "") else "right")
    for figures in comparison.arms:
        found = figures.differences.get("success")
        means = [figure(name, figures.means[name].value) if name in figures.means else NOTHING for name in shown]
        apart, counts = [NOTHING, NOTHING], [NOTHING, NOTHING]
        if found:
            low, high = difference("success", found.low), difference("success", found.high)
            apart = [f"{difference('success', found.value)} ({low} to {high})", chance(found.p_holm)]
            counts = [str(len(figures.regressions)), str(len(figures.gains))]
        table.add_row(escape(clean(figures.arm)), means[0], *apart, stands(told, figures), *means[1:], *counts)
    console.print(table)
    if told.floor:
        console.print(f"[dim]{escape(clean(trivially(told.floor)))}[/dim]", soft_wrap=True, highlight=False)
    for line in footnotes(told, ["success"]):
        console.print(f"[dim]{escape(clean(line))}[/dim]", soft_wrap=True, highlight=False)
    for figures in comparison.arms:
        if said := happened(told.tallies[figures.arm], silence=told.has_silence):
            console.print(f"[dim]{escape(clean(f'{figures.arm}: {said}'))}[/dim]", soft_wrap=True)
    for figures in comparison.others:
        show_lost(ctx, figures, told.parted)
    console.print(
        f"\n{counted(comparison.exercises, 'exercise')} of {counted(comparison.groups, 'task')}. Not measured:"
    )
    for line in told.not_measured:
        console.print(f"  [dim]{escape(clean(line))}[/dim]")
    if page_file:
        console.print(f"\nWritten: {escape(clean(str(page_file)))}")


def show_lost(ctx: CommandContext, figures: ArmFigures, parted: Mapping[tuple[str, str], Divergence]) -> None:
    """The first exercises that an arm lost: what was asked, and what it did in place of what the reference did."""
    lost = figures.regressions
    if not lost:
        return
    ctx.console.print(f"\n{counted(len(lost), 'exercise')} lost under {escape(clean(figures.arm))}:")
    for change in lost[:_LISTED]:
        _show_one(ctx, change, parted.get((figures.arm, change.exercise), Divergence()))
    if len(lost) > _LISTED:
        ctx.console.print(f"  [dim]and {len(lost) - _LISTED} more; --json names all of them[/dim]")


def _show_one(ctx: CommandContext, change: Change, apart: Divergence) -> None:
    judged = f" ({change.detail})" if change.detail else ""
    lines = [f"  {change.exercise}: {apart.asked}" if apart.asked else f"  {change.exercise}{judged}"]
    if apart.reference or apart.arm:
        lines.append(f"    did {apart.arm or NOTHING}{judged}; the reference did {apart.reference or NOTHING}")
    for line in lines:
        ctx.console.print(f"[dim]{escape(clean(line))}[/dim]", soft_wrap=True, highlight=False)


_LISTED = 5
_SHOWN = {"success": "success", "exact": "whole call", "steps": "steps", "context_tokens": "tokens"}
