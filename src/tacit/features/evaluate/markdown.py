"""A report → Markdown, for a pull request or a lab book. Regressions are listed whole, never hidden in a mean."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from tacit.features.evaluate.comparing import METRICS, ArmFigures, Change, Difference
from tacit.features.evaluate.report import (
    NOTHING,
    Report,
    difference,
    figure,
    footnotes,
    least,
    part,
    share,
    stands,
    trivial,
)
from tacit.features.evaluate.words import Apart
from tacit.text.fence import one_line

_LINKED = re.compile(r":(?=//)|\bwww(?=\.)|@(?=\w)", re.IGNORECASE)
_APART = "<!-- -->"
"""Breaks up what a reader of Markdown would make a link or a person's name of; it is not seen."""


def markdown(told: Report) -> str:
    """The whole report."""
    return "\n".join(_lines(told)) + "\n"


def _lines(told: Report) -> Iterator[str]:
    comparison = told.comparison
    by = f", attempted by {_cell(told.agent)}" if told.agent else ""
    yield f"# {_cell(comparison.suite)}: {len(comparison.arms)} arms{by}"
    yield f"\n**{_cell(told.verdict)}**"
    yield f"\nExercises: {comparison.exercises:,}, tasks: {comparison.groups:,}. Intervals are at 95 %, drawn by whole tasks."
    yield "\n## Success\n"
    yield from _table(
        (
            "arm",
            "success",
            f"vs {comparison.reference}",
            "p (Holm)",
            "standing",
            "detectable",
            "by seed",
            "lost",
            "won",
            "aided",
            *(["abstained"] if told.has_silence else []),
        ),
        [*(_success(told, figures) for figures in comparison.arms), *_floor(told)],
    )
    yield from (f"\n{_cell(line)}" for line in footnotes(told, comparison.metrics))
    for metric in comparison.metrics:
        if metric != "success" and metric not in told.idle:
            yield f"\n## {METRICS[metric].label.capitalize()}\n"
            header = ("arm", "mean", f"vs {comparison.reference}", "p (Holm)", "standing")
            yield from _table(header, [_row(told, figures, metric) for figures in comparison.arms])
    if told.curve:
        yield "\n## Learning curve\n"
        yield from _table(
            ("arm", "training tasks", "success"),
            [
                (p.arm, f"{p.tasks:,}", _within("success", p.success.value, p.success.low, p.success.high))
                for p in told.curve
            ],
        )
    for figures in comparison.others:
        if figures.regressions:
            yield f"\n## Regressions of {_cell(figures.arm)} ({len(figures.regressions)})\n"
            names = (comparison.reference, figures.arm)
            did = [f"what {name} did" for name in names]
            yield from _table(
                ("exercise", "asked", *names, *did, "judged"),
                [_changed(change, told.apart(figures.arm, change.exercise)) for change in figures.regressions],
            )
    yield "\n## What was not measured\n"
    yield from (f"- {_cell(line)}" for line in told.not_measured)


def _success(told: Report, figures: ArmFigures) -> tuple[str, ...]:
    found, tally = figures.differences.get("success"), told.tallies[figures.arm]
    seeds = " ".join(difference("success", value) for value in found.by_seed.values()) if found else NOTHING
    smallest = least(found) if found else NOTHING
    counts = (str(len(figures.regressions)), str(len(figures.gains))) if found else (NOTHING, NOTHING)
    silences = [part(tally.abstained, tally.attempts)] if told.has_silence else []
    return (
        *_row(told, figures, "success"),
        smallest,
        seeds,
        *counts,
        part(tally.aided, tally.attempts),
        *silences,
    )


def _floor(told: Report) -> list[tuple[str, ...]]:
    """A last row for what is trivial, where that is known."""
    return (
        [(trivial(told.floor), share(told.floor.success), *[NOTHING] * (9 if told.has_silence else 8))]
        if told.floor
        else []
    )


def _row(told: Report, figures: ArmFigures, metric: str) -> tuple[str, ...]:
    mean, found = figures.means.get(metric), figures.differences.get(metric)
    own = _within(metric, mean.value, mean.low, mean.high) if mean else NOTHING
    apart = (_apart(metric, found), chance(found.p_holm)) if found else (NOTHING, NOTHING)
    return (figures.arm, own, *apart, stands(told, figures, metric=metric))


def _apart(metric: str, found: Difference) -> str:
    return f"{difference(metric, found.value)} ({difference(metric, found.low)} to {difference(metric, found.high)})"


def chance(p: float) -> str:
    """A p-value in words."""
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


def _within(metric: str, value: float, low: float, high: float) -> str:
    return f"{figure(metric, value)} ({figure(metric, low)} to {figure(metric, high)})"


def _changed(change: Change, apart: Apart) -> tuple[str, ...]:
    shares = (share(change.reference), share(change.arm))
    return (change.exercise, apart.asked, *shares, apart.reference, apart.arm, change.detail)


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(_cell(name) for name in header)} |"
    yield f"|{' --- |' * len(header)}"
    for row in rows:
        yield f"| {' | '.join(_cell(cell) for cell in row)} |"


def _cell(text: str) -> str:
    """Text of suites and agents is not ours: nothing in it may act on a terminal, or make a row, a tag, a link or a call."""
    flat = one_line(text)
    for sign in "\\|<>[]`*":
        flat = flat.replace(sign, f"\\{sign}")
    return _LINKED.sub(lambda found: f"{found[0]}{_APART}", flat)
