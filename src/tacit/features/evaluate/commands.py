"""`tacit eval`: measure agents under several arms, and recall on labelled questions."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import click
from rich.markup import escape
from rich.table import Table

from tacit.domain.errors import Mistake, NotFound, Refusal
from tacit.features.evaluate.estimates import Estimate
from tacit.features.evaluate.eval_report import build_report, with_transcript
from tacit.features.evaluate.recall_quality import GIVEN_FIRST, QueryResult, RecallReport, measure, read_questions
from tacit.features.evaluate.report_formats import report_document, report_parts
from tacit.features.evaluate.run_record import read_run
from tacit.features.evaluate.transcript import read_transcript
from tacit.surfaces.cli.context import CommandContext, clean, command_options, counted, one_line, progress_bar
from tacit.surfaces.cli.report import ReportPart
from tacit.surfaces.cli.table import SuggestingGroup

_BYTES_MAX = 64 << 20
_NAMED_MAX = 3
"""How many of the skills that were returned are named."""
_RUN_COMMANDS = ("run", "arms", "suites")


class AliasedOption(click.Option):
    """An option whose old names work but are not shown in the help."""

    def __init__(self, *args: Any, aliases: Sequence[str] = (), **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._aliases = aliases

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        """Return the help without the old names."""
        names, self.opts = self.opts, [name for name in self.opts if name not in self._aliases]
        try:
            return super().get_help_record(ctx)
        finally:
            self.opts = names


class EvalGroup(SuggestingGroup):
    """The group `tacit eval`; the commands that run agents are imported when they are needed."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the commands."""
        return [*_RUN_COMMANDS, *super().list_commands(ctx)]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and return one command."""
        if cmd_name not in _RUN_COMMANDS:
            return super().get_command(ctx, cmd_name)
        command: click.Command = getattr(import_module("tacit.features.evaluate.run_commands"), cmd_name)
        return command


@click.group("eval", cls=EvalGroup)
def eval() -> None:  # noqa: A001 - the command's own name
    """Measure whether skills help: agents under several arms, and how well this library answers your questions."""


def suite_options(given: Sequence[str]) -> dict[str, str]:
    """Parse options of a suite: NAME=VALUE each."""
    pairs = [each.partition("=") for each in given]
    if wrong := [each for each, (name, sign, _) in zip(given, pairs, strict=True) if not sign or not name]:
        raise Mistake(f"not NAME=VALUE: {', '.join(wrong)}", code="bad_suite_option", hint="--option NAME=VALUE")
    names = [name for name, _, _ in pairs]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise Mistake(f"given twice: --option {', '.join(twice)}", code="repeated_option", hint="give it once")
    return {name: value for name, _, value in pairs}


def require_running(ctx: CommandContext) -> None:
    """Raise `Refusal` while Tacit is paused here: recall returns nothing then."""
    if ctx.memory.context.paused:
        raise Refusal("Tacit is paused here, so recall returns nothing", code="paused", hint="tacit pause --resume")


# --- report ---------------------------------------------------------------------------------------------------------


@eval.command("report", short_help="Report the results of a run")
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--reference", default="", metavar="ARM", help="The arm to compare with [the run's first].")
@click.option("--before", type=click.Path(path_type=Path), help="An earlier run of the suite, to measure forgetting.")
@command_options
def report(ctx: CommandContext, *, folder: Path, reference: str, before: Path | None) -> None:
    """Report the run in FOLDER: differences between arms with intervals, lost exercises, what was not measured."""
    run = read_run(folder)
    header = run.header
    if not run.rows:
        hint = "repeat its `tacit eval run`, which continues it"
        raise Mistake(f"the run in {folder} has no attempts yet", code="no_attempts", hint=hint)
    plain = build_report(
        run.rows,
        reference=reference or header.arms[0].name,
        agent=header.agent,
        wanted=run.wanted,
        arms=header.arms,
        remarks=header.remarks,
        before=read_run(before).rows if before else (),
    )
    full = with_transcript(plain, run.rows, read_transcript(folder))
    ctx.report(report_document(full), lambda: report_parts(full))


# --- recall ---------------------------------------------------------------------------------------------------------


@eval.command("recall", hidden=True, short_help="Measure recall on labelled questions")
@click.argument("file", metavar="FILE|-")
@click.option(
    "--leave-out", is_flag=True, help="Ask each question again without its right skills: nothing should come."
)
@click.option("--unknown-absent", is_flag=True, help="Accept labels that no skill has: such skills are not here.")
@click.option("--worst", type=click.IntRange(0), default=5, show_default=True, help="How many failures to show.")
@command_options
def recall_(ctx: CommandContext, *, file: str, leave_out: bool, unknown_absent: bool, worst: int) -> None:
    """Ask every question of FILE; report how well skills are ranked, and whether recall abstains when it should.

    FILE has one JSON object per line: {"query": "…", "relevant": ["name or id of a skill", …]}; grades as {"relevant":
    {"name": 2}}; "relevant": [] if nothing should come; optional "tools", "state" and "kinds". A .csv file has the
    columns query and relevant (separated by ;). Nothing is stored.
    """
    source = "standard input" if file == "-" else file
    questions = read_questions(_read_text(file, source), source=source, table=file.lower().endswith(".csv"))
    require_running(ctx)
    with progress_bar(ctx, "asking") as advance:
        found = measure(ctx.memory, questions, leave_out=leave_out, unknown_absent=unknown_absent, progress=advance)
    ctx.report(_recall_document(found), lambda: _recall_parts(found, worst))


def _read_text(file: str, source: str) -> str:
    if file == "-":
        data = sys.stdin.buffer.read(_BYTES_MAX + 1)
    elif not Path(file).is_file():
        hint = "pass a file of questions, or - for standard input"
        raise NotFound(f"no such file: {file}", code="no_file", hint=hint)
    else:
        with Path(file).open("rb") as stream:
            data = stream.read(_BYTES_MAX + 1)
    if len(data) > _BYTES_MAX:
        raise Mistake(f"{source} is larger than 64 megabytes", code="file_too_large", hint="split the questions")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        hint = "save it as UTF-8"
        raise Mistake(f"{source} line {line} is not UTF-8: {error.reason}", code="not_utf8", hint=hint) from error


def _recall_document(found: RecallReport) -> dict[str, Any]:
    here = sum(result.is_here for result in found.answers)
    counts = found.counts
    auroc = _estimate_document(found.presence_auroc)
    return {
        "questions": len(found.answers),
        "here": here,
        "absent": len(found.answers) - here,
        "figures": {name: _estimate_document(figure) for name, figure in found.figures.items()},
        "presence_auroc": auroc,
        "telling_auroc": auroc,
        "counts": counts,
        "speaking": {
            "right": counts.correct,
            "wrong": counts.wrong,
            "silent": counts.missed,
            "silent_rightly": counts.correctly_empty,
            "spoke_of_nothing": counts.false_positive,
        },
        "answers": [_query_document(result, found) for result in found.answers],
    }


def _estimate_document(figure: Estimate | None) -> dict[str, float] | None:
    if figure is None:
        return None
    return {"value": round(figure.value, 4), "low": round(figure.low, 4), "high": round(figure.high, 4), "n": figure.n}


def _query_document(result: QueryResult, found: RecallReport) -> dict[str, Any]:
    without = result.confidence_without
    return {
        "line": result.question.line,
        "query": result.question.text,
        "relevant": sorted(_names(found, result.grades)),
        "rank": result.rank,
        "right": result.is_right,
        "given": result.given,
        "came": _first_given(result, found),
        "confidence": round(result.confidence, 4),
        "given_without": result.given_without,
        "came_without": _names(found, result.came_without[:_NAMED_MAX]),
        "confidence_without": None if without is None else round(without, 4),
        "figures": {name: round(value, 4) for name, value in result.figures.items()} if result.is_here else None,
    }


def _first_given(result: QueryResult, found: RecallReport) -> list[str]:
    return _names(found, result.ranked[: min(result.given, _NAMED_MAX)])


def _names(found: RecallReport, skill_ids: Iterable[str]) -> list[str]:
    return [found.names.get(skill_id, skill_id) for skill_id in skill_ids]


def _recall_parts(found: RecallReport, worst: int) -> Iterator[ReportPart]:
    if found.figures or found.presence_auroc:
        yield _recall_table(found)
    counts = found.counts
    here = counts.correct + counts.wrong + counts.missed
    if here:
        yield (
            f"\nOf {counted(here, 'question')} whose skill is here: {counts.correct} right, {counts.wrong} wrong, "
            f"{counts.missed} without an answer."
        )
    absent = counts.correctly_empty + counts.false_positive
    if absent:
        yield (
            f"Of {counted(absent, 'question')} whose skill is not here: {counts.correctly_empty} without an answer (right), "
            f"{counts.false_positive} with one (wrong)."
        )
    else:
        yield (
            "[dim]Whether recall abstains when it should was not measured: add --leave-out, or questions with "
            '"relevant": \\[].[/dim]'
        )
    yield from _failure_lines(found, worst)


def _recall_table(found: RecallReport) -> Table:
    table = Table(box=None, pad_edge=False)
    for column in ("measure", "value", "95 %", "questions"):
        table.add_column(column, justify="left" if column == "measure" else "right")
    if first := found.figures.get(GIVEN_FIRST):
        table.add_row("right skill first (no answer is a miss)", *_estimate_cells(first))
        table.add_row("ranking, also below the threshold:")
    for name in (name for name in found.figures if name != GIVEN_FIRST):
        table.add_row(f"  {name}", *_estimate_cells(found.figures[name]))
    if found.presence_auroc:
        table.add_row("here or not (AUROC)", *_estimate_cells(found.presence_auroc))
    return table


def _estimate_cells(figure: Estimate) -> tuple[str, str, str]:
    return f"{figure.value:.3f}", f"{figure.low:.3f} to {figure.high:.3f}", str(figure.n)


def _failure_lines(found: RecallReport, most: int) -> Iterator[str]:
    failures = found.worst
    if not failures or not most:
        return
    yield f"\n[bold]Failures[/bold] ({min(most, len(failures))} of {len(failures)}, worst first)"
    for result in failures[:most]:
        line = f"line {result.question.line}: " if result.question.line else ""
        yield f"  {line}{escape(one_line(result.question.text, 100))}"
        yield from (f"    [dim]{escape(clean(text))}[/dim]" for text in _failures_of(result, found))
    yield '[dim]`tacit recall --explain "…"` shows all scores of one question.[/dim]'


def _failures_of(result: QueryResult, found: RecallReport) -> Iterator[str]:
    wanted, returned = ", ".join(sorted(_names(found, result.grades))), ", ".join(_first_given(result, found))
    confidence = f"confidence {result.confidence:.2f}"
    if not result.is_here and not result.is_right:
        yield f"nothing should come; returned {returned} ({confidence})"
    elif not result.is_right and not result.given:
        yield f"expected {wanted}; returned nothing ({confidence})"
    elif not result.is_right and result.rank and result.rank <= result.given:
        yield f"expected {wanted}; it was number {result.rank}; returned {returned}"
    elif not result.is_right:
        place = f"ranked number {result.rank} and left out" if result.rank else "not found"
        yield f"expected {wanted}: {place}; returned {returned}"
    if result.spoke_without:
        returned = ", ".join(_names(found, result.came_without[:_NAMED_MAX]))
        confidence = f"confidence {result.confidence_without or 0.0:.2f}"
        yield f"without {wanted} nothing should come; returned {returned} ({confidence})"
