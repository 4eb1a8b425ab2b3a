"""`tacit skills stats --lift`: what skills add to runs that see them, compared with control runs."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import click
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from tacit.domain.errors import Mistake
from tacit.domain.holdout import CHANCE_MOST
from tacit.evidence.control_runs import MeasuredLift
from tacit.evidence.lift import LEAST_RUNS, Lift, LiftDifference, Measure
from tacit.surfaces.cli import charts
from tacit.surfaces.cli.charts import Axis, ChartRow, Scale, in_points
from tacit.surfaces.cli.context import CommandContext, command_options, counted, one_line
from tacit.surfaces.cli.report import safe

NAME_WIDTH = 32
WIDEST = 61
"""Columns of a bar at most."""
_FIGURES = 22
_REST = _FIGURES + 5 + 7 + 5 * 2
"""Columns that a table needs beside name and bar."""


def _percent(value: float) -> str:
    return f"{in_points(value)} %"


def _plain(value: float) -> str:
    return f"{value:+.1f}" if round(value, 1) else "0"


AXES = {
    Measure.SUCCESS: Axis(title="points of success", written=in_points),
    Measure.STEPS: Axis(title="steps", written=_percent, more_is_better=False),
    Measure.TOKENS: Axis(title="tokens", written=_percent, more_is_better=False),
    Measure.RETRIES: Axis(title="retries a run", written=_plain, more_is_better=False),
}


LabelledLift = tuple[str, LiftDifference, Lift]
"""The label of a row, its difference, and the runs behind it."""


@click.command(hidden=True)
@click.argument("skill", required=False, default="")
@click.option("--model", default="", help="Only runs of this language model; few runs are combined with the others.")
@click.option("--plot", type=click.Path(dir_okay=False, path_type=Path), help="Draw it as .png or .svg.")
@command_options
def lift(ctx: CommandContext, *, skill: str, model: str, plot: Path | None) -> None:
    """Show what skills add; the same as `tacit skills stats --lift`."""
    report_lift(ctx, skill, model=model, plot=plot)


def report_lift(ctx: CommandContext, skill: str, *, model: str, plot: Path | None) -> None:
    """Report what skills add: runs that saw them compared with control runs that did not, with 95 % intervals.

    For one SKILL it shows success, steps, retries and tokens, by model and by scope. There are control runs only if
    `policy.hold_out` is set.
    """
    chosen = [ctx.memory.version(skill)] if skill else ctx.memory.skills()
    found = [ctx.memory.archive.lift(stored, model=model) for stored in chosen]
    if not skill:
        found = sorted((each for each in found if each.was_drawn), key=_order)
    hold_out = ctx.settings[0].policy.hold_out
    document = {
        "hold_out": hold_out,
        "model": model,
        "least_runs": LEAST_RUNS,
        "skills": [_measured_document(m) for m in found],
    }
    if plot is not None:
        panels = _panels(found[0]) if skill else [(AXES[Measure.SUCCESS], _rows(found))]
        if not any(rows for _, rows in panels):
            raise Mistake(
                "there is nothing to draw yet", code="nothing_to_draw", hint="see `tacit skills stats --lift`"
            )
        charts.draw(panels, plot, heading=_heading(skill and found[0].stored.version.name, model))
        document["plot"] = str(plot)

    def show() -> None:
        if not any(measured.was_drawn for measured in found):
            _explain(ctx, hold_out)
        elif skill:
            _show_one(ctx, found[0])
        else:
            _show_all(ctx, found)
        if plot is not None:
            ctx.console.print(f"Drawn into {safe(str(plot))}.", soft_wrap=True)

    ctx.report(document, show)


def _order(measured: MeasuredLift) -> tuple[bool, float, str]:
    """Sort known lifts first, the largest first."""
    known = measured.lift.success
    return known is None, -known.value if known else 0.0, measured.stored.version.name


def _heading(name: str, model: str) -> str:
    what = f"What {name} adds" if name else "What skills add to success"
    return f"{what}{f', with {model}' if model else ''} (95 % intervals)"


def _rows(found: Iterable[MeasuredLift]) -> list[ChartRow]:
    return [_row(m.stored.version.name, m.lift.success, m.lift) for m in found if m.lift.success]


def _panels(measured: MeasuredLift) -> list[tuple[Axis, list[ChartRow]]]:
    """Return a panel for each measure, and for success by model and by scope where there are several."""
    panels = [
        (AXES[measure], [_row(measure.value, difference, measured.lift)])
        for measure, difference in measured.lift.differences.items()
    ]
    keyed = [[_row(*row) for row in each] for each in _by_keys(measured)]
    return [*panels, *((AXES[Measure.SUCCESS], rows) for rows in keyed)]


def _by_keys(measured: MeasuredLift) -> list[list[LabelledLift]]:
    """Return success by model, and by scope, where there are several."""
    found = []
    for sort, keyed in (("model", measured.models), ("scope", measured.scopes)):
        row = [(f"success, {sort} {key or 'unknown'}", own.success, own) for key, own in keyed.items() if own.success]
        if len(keyed) > 1 and row:
            found.append(row)
    return found


def _row(label: str, difference: LiftDifference, runs: Lift) -> ChartRow:
    return ChartRow(label=label, value=difference.value, low=difference.low, high=difference.high, note=_counts(runs))


def _show_all(ctx: CommandContext, found: list[MeasuredLift]) -> None:
    axis, rows = AXES[Measure.SUCCESS], _rows(found)
    names = [measured.stored.version.name for measured in found]
    table, scale = _table(ctx, rows, axis, names=names, headed=True)
    for name, measured in zip(names, found, strict=True):
        if measured.lift.success is None:
            row = Text(_not_yet(measured.lift), "dim")
            table.add_row(escape(one_line(name, NAME_WIDTH)), row, "", *_runs(measured.lift))
        else:
            _add(ctx, table, scale, axis, (name, measured.lift.success, measured.lift))
    if rows:
        table.add_row("", charts.ruler(axis, scale), Text(axis.title, "dim"))
    ctx.console.print(table)


def _show_one(ctx: CommandContext, measured: MeasuredLift) -> None:
    ctx.console.print(f"[bold]{safe(measured.stored.version.name)}[/bold]  {_counts(measured.lift)}")
    if not measured.lift.known:
        ctx.console.print(_not_yet(measured.lift))
    for measure, difference in measured.lift.differences.items():
        _show_rows(ctx, [(measure.value, difference, measured.lift)], AXES[measure])
    whole = measured.of_all
    if whole.success and whole != measured.lift:
        _show_rows(ctx, [("success, all versions", whole.success, whole)], AXES[Measure.SUCCESS])
    for row in _by_keys(measured):
        _show_rows(ctx, row, AXES[Measure.SUCCESS])


def _show_rows(ctx: CommandContext, row: list[LabelledLift], axis: Axis) -> None:
    names = ["success, all versions", *(label for label, _, _ in row)]
    table, scale = _table(ctx, [_row(*each) for each in row], axis, names=names)
    for each in row:
        _add(ctx, table, scale, axis, each)
    table.add_row("", charts.ruler(axis, scale), Text(axis.title, "dim"))
    ctx.console.print(table)


def _add(ctx: CommandContext, table: Table, scale: Scale, axis: Axis, row: LabelledLift) -> None:
    label, difference, runs = row
    bar = charts.line(_row(*row), axis, scale, plain=ctx.console.options.ascii_only)
    table.add_row(escape(one_line(label, NAME_WIDTH)), bar, _figures(difference, axis), *_runs(runs))


def _table(
    ctx: CommandContext, rows: list[ChartRow], axis: Axis, *, names: Iterable[str], headed: bool = False
) -> tuple[Table, Scale]:
    """Return an empty table with fixed column widths, and the scale that fits it."""
    name = min(NAME_WIDTH, max(len(each) for each in names))
    scale = Scale(rows, axis, width=min(WIDEST, ctx.console.width - name - _REST))
    table = Table(box=None, padding=(0, 2, 0, 0), show_header=headed)
    table.add_column("skill", width=name, no_wrap=True)
    table.add_column("what it adds", width=scale.width, overflow="fold")
    table.add_column("95 %", width=_FIGURES, overflow="fold")
    table.add_column("with", justify="right", width=5)
    table.add_column("without", justify="right", width=7)
    return table, scale


def _figures(difference: LiftDifference, axis: Axis) -> str:
    value, low, high = (axis.written(each) for each in (difference.value, difference.low, difference.high))
    return f"{value}  \\[{low}, {high}]"


def _runs(measured: Lift) -> tuple[str, str]:
    return str(measured.shown), str(measured.held_back)


def _counts(measured: Lift) -> str:
    return f"{measured.shown} with, {measured.held_back} without"


def _not_yet(measured: Lift) -> str:
    """Return how many of the required runs there are."""
    done = min(measured.shown, LEAST_RUNS) + min(measured.held_back, LEAST_RUNS)
    return f"unknown yet ({done} of {2 * LEAST_RUNS} runs)"


def _explain(ctx: CommandContext, hold_out: float) -> None:
    """Explain why there is nothing to compare, how to change that and what it costs."""
    if hold_out > 0:
        ctx.console.print(
            f"Unknown yet: there is no verified control run. Control runs are on (policy.hold_out = {hold_out:g}); each "
            f"skill needs at least {counted(LEAST_RUNS, 'verified run')} with it and as many without it.",
            soft_wrap=True,
        )
        return
    ctx.console.print(
        "Unknown: what a skill adds is measured against control runs without it, and there are none. To have some, write into "
        "~/.tacit/tacit.toml:\n\n  \\[policy]\n  hold_out = 0.2\n\n"
        "Then one in five fitting sessions runs without a skill whose effect is unknown, fewer later; norms, preferences, "
        "warnings, fixes for errors, pinned skills and whatever deletes, sends, publishes or pays are always given. The "
        f"cost is the help that those sessions miss; the share is at most {CHANCE_MOST:g}, and a project's own file may "
        f"lower it. A result needs {LEAST_RUNS} verified runs with a skill and {LEAST_RUNS} without it.",
        soft_wrap=True,
    )


def _measured_document(measured: MeasuredLift) -> dict[str, Any]:
    stored = measured.stored
    return {
        "name": stored.version.name,
        "skill_id": stored.skill.id,
        "version_id": stored.version.id,
        **_lift_document(measured.lift),
        "all_versions": _lift_document(measured.of_all),
        "models": {key: _lift_document(own) for key, own in measured.models.items()},
        "scopes": {key: _lift_document(own) for key, own in measured.scopes.items()},
    }


def _lift_document(measured: Lift) -> dict[str, Any]:
    return {
        "known": measured.known,
        "shown": measured.shown,
        "held_back": measured.held_back,
        "differences": {
            measure.value: {"value": round(d.value, 4), "low": round(d.low, 4), "high": round(d.high, 4)}
            for measure, d in measured.differences.items()
        },
    }
