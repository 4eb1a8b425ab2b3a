"""A report as JSON, and as a table and lines for a terminal. All regressions are listed in JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from rich.markup import escape
from rich.table import Table

from tacit.features.evaluate.comparison import ArmDifference, ArmFigures, ExerciseChange
from tacit.features.evaluate.estimates import Estimate
from tacit.features.evaluate.eval_report import (
    UNKNOWN,
    EvalReport,
    constant_sentence,
    metric_difference,
    metric_value,
    result_of,
    tally_text,
)
from tacit.features.evaluate.transcript import CallDivergence
from tacit.surfaces.cli.context import clean, counted
from tacit.surfaces.cli.report import ReportPart

FORMAT = 1
_TERMINAL_METRICS = {"success": "success", "exact": "whole call", "steps": "steps", "context_tokens": "tokens"}
_LISTED = 5
"""How many lost exercises a terminal shows."""


# --- JSON -----------------------------------------------------------------------------------------------------------


def report_document(report: EvalReport) -> dict[str, Any]:
    """Return the whole report as plain data. `floor`, `at_floor` and `not_measured` are the keys of earlier versions."""
    comparison, summary = report.comparison, report.summary
    constant = asdict(report.constant) if report.constant else None
    return {
        "format": FORMAT,
        "suite": comparison.suite,
        "agent": report.agent,
        "reference": comparison.reference,
        "tasks": comparison.groups,
        "exercises": comparison.exercises,
        "verdict": summary.text,
        "summary": {name: list(getattr(summary, name)) for name in summary.__slots__ if name != "text"},
        "limitations": [asdict(each) for each in report.limitations],
        "not_measured": [each.message for each in report.limitations],
        "constant_answer": constant,
        "not_above_constant": list(report.not_above_constant),
        "floor": constant,
        "at_floor": list(report.not_above_constant),
        "forward_transfer": _difference_document(report.forward_transfer),
        "forgetting": {name: _difference_document(found) for name, found in report.forgetting.items()},
        "arms": [_arm_document(report, figures) for figures in comparison.arms],
        "curve": [
            {"arm": point.arm, "training_tasks": point.tasks, "success": _estimate_document(point.success)}
            for point in report.curve
        ],
    }


def _arm_document(report: EvalReport, figures: ArmFigures) -> dict[str, Any]:
    def changes(found: Sequence[ExerciseChange]) -> list[dict[str, Any]]:
        return [_change_document(change, report.divergence(figures.arm, change.exercise)) for change in found]

    return {
        "arm": figures.arm,
        "attempts": figures.attempts,
        "result": report.result(figures),
        "standing": report.result(figures),
        "aided": report.tallies[figures.arm].aided,
        "abstained": report.tallies[figures.arm].abstained,
        "seeds": list(figures.seeds),
        "means": {name: _estimate_document(mean) for name, mean in figures.means.items()},
        "differences": {name: _difference_document(found) for name, found in figures.differences.items()},
        "regressions": changes(figures.regressions),
        "gains": changes(figures.gains),
        "unpaired": figures.unpaired,
    }


def _estimate_document(mean: Estimate) -> dict[str, Any]:
    return {"value": round(mean.value, 6), "low": _finite(mean.low), "high": _finite(mean.high), "tasks": mean.n}


def _difference_document(found: ArmDifference | None) -> dict[str, Any] | None:
    if found is None:
        return None
    return {
        "value": round(found.value, 6),
        "low": _finite(found.low),
        "high": _finite(found.high),
        "p": found.p,
        "p_holm": found.p_holm,
        "result": result_of(found),
        "standing": result_of(found),
        "detectable": _finite(found.detectable),
        "tasks": found.groups,
        "exercises": found.exercises,
        "by_seed": {str(seed): round(value, 6) for seed, value in found.by_seed.items()},
    }


def _change_document(change: ExerciseChange, divergence: CallDivergence) -> dict[str, Any]:
    return {
        "exercise": change.exercise,
        "task": change.group,
        "reference": round(change.reference, 4),
        "arm": round(change.arm, 4),
        "detail": change.detail,
        "asked": divergence.asked,
        "reference_did": divergence.reference,
        "arm_did": divergence.arm,
    }


def _finite(value: float) -> float | None:
    """JSON has no infinity; None means unbounded."""
    return round(value, 6) if abs(value) < float("inf") else None


# --- terminal -------------------------------------------------------------------------------------------------------


def report_parts(report: EvalReport) -> Iterator[ReportPart]:
    """Yield the report for a terminal: the verdict, a table of the arms, the first lost exercises, and the limitations."""
    comparison = report.comparison
    yield f"[bold]{escape(clean(report.summary.text))}[/bold]\n"
    yield _terminal_table(report)
    if report.constant:
        yield dim(constant_sentence(report.constant))
    yield from (dim(line) for line in report.footnotes(["success"]))
    yield from (dim(f"{name}: {_change_interval('success', found)}") for name, found in _transfer(report).items())
    yield from (
        dim(f"{at.arm} after {counted(at.tasks, 'task')}: {_interval('success', at.success)}") for at in report.curve
    )
    for figures in comparison.arms:
        if text := tally_text(report.tallies[figures.arm], abstentions=report.has_abstentions):
            yield dim(f"{figures.arm}: {text}")
    for figures in comparison.others:
        yield from lost_lines(figures, report.divergences)
    yield f"\n{counted(comparison.exercises, 'exercise')} of {counted(comparison.groups, 'task')}. Limitations:"
    yield from (dim(f"  {each.message}") for each in report.limitations)


def _transfer(report: EvalReport) -> dict[str, ArmDifference]:
    transfer = {"forward transfer (adapter less none)": report.forward_transfer} if report.forward_transfer else {}
    forgotten = {f"forgetting of {arm} (before less now)": found for arm, found in report.forgetting.items()}
    return {**transfer, **forgotten}


def _change_interval(metric: str, found: ArmDifference) -> str:
    value, low, high = (metric_difference(metric, each) for each in (found.value, found.low, found.high))
    return f"{value} ({low} to {high})"


def _interval(metric: str, mean: Estimate) -> str:
    value, low, high = (metric_value(metric, each) for each in (mean.value, mean.low, mean.high))
    return f"{value} ({low} to {high})"


def p_value(p: float) -> str:
    """Format a p-value."""
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


def _terminal_table(report: EvalReport) -> Table:
    comparison = report.comparison
    shown = {
        name: label
        for name, label in _TERMINAL_METRICS.items()
        if name in comparison.metrics and name not in report.idle_metrics
    }
    more = [label for name, label in shown.items() if name != "success"]
    table = Table(box=None, pad_edge=False)
    for column in ("arm", "success", f"vs {comparison.reference}", "p (Holm)", "", *more, "lost", "won"):
        table.add_column(escape(clean(column)), justify="left" if column in ("arm", "") else "right")
    for figures in comparison.arms:
        found = figures.differences.get("success")
        means = [metric_value(name, figures.means[name].value) if name in figures.means else UNKNOWN for name in shown]
        change, counts = [UNKNOWN, UNKNOWN], [UNKNOWN, UNKNOWN]
        if found:
            change = [_change_interval("success", found), p_value(found.p_holm)]
            counts = [str(len(figures.regressions)), str(len(figures.gains))]
        table.add_row(escape(clean(figures.arm)), means[0], *change, report.result(figures), *means[1:], *counts)
    return table


def lost_lines(figures: ArmFigures, divergences: Mapping[tuple[str, str], CallDivergence]) -> Iterator[str]:
    """Yield the first exercises that an arm lost: what was asked, and what it did instead of the reference."""
    lost = figures.regressions
    if not lost:
        return
    yield f"\n{counted(len(lost), 'exercise')} lost with {escape(clean(figures.arm))}:"
    for change in lost[:_LISTED]:
        divergence = divergences.get((figures.arm, change.exercise), CallDivergence())
        detail = f" ({change.detail})" if change.detail else ""
        yield dim(f"  {change.exercise}: {divergence.asked}" if divergence.asked else f"  {change.exercise}{detail}")
        if divergence.reference or divergence.arm:
            did, reference = divergence.arm or UNKNOWN, divergence.reference or UNKNOWN
            yield dim(f"    did {did}{detail}; the reference did {reference}")
    if len(lost) > _LISTED:
        yield dim(f"  and {len(lost) - _LISTED} more; --json lists all of them")


def dim(text: str) -> str:
    """Return a text as a dim line for a terminal."""
    return f"[dim]{escape(clean(text))}[/dim]"
