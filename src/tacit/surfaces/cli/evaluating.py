"""`tacit eval`, and `tacit eval recall`: a person's questions with labels in, how well their own library answers them out.

Writes nothing. The other commands of the group are imported when they are called.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import click
from rich.markup import escape
from rich.table import Table

from tacit.domain.errors import Mistake, NotFound, Refusal
from tacit.evidence.statistics import Estimate
from tacit.features.evaluate.recall_quality import GIVEN_FIRST, QueryResult, RecallReport, measure, read_questions
from tacit.surfaces.cli.context import CommandContext, clean, command_options, counted, one_line
from tacit.surfaces.cli.context import progress_bar

_BYTES_MAX = 64 << 20
_CAME = 3
"""How many of the skills that came are named."""


_ELSEWHERE = {
    "run": "evaluating_run",
    "report": "evaluating_report",
    "past": "evaluating_past",
    "arms": "evaluating_run",
    "suites": "evaluating_run",
}
"""Command of the group → the module that holds it."""


class EvalGroup(click.Group):
    """The group; what does not live here is imported when it is needed."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Names of the commands."""
        return [*super().list_commands(ctx), *_ELSEWHERE]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and return one command."""
        if cmd_name not in _ELSEWHERE:
            return super().get_command(ctx, cmd_name)
        command: click.Command = getattr(import_module(f"tacit.surfaces.cli.{_ELSEWHERE[cmd_name]}"), cmd_name)
        return command


@click.group("eval", cls=EvalGroup)
def eval() -> None:  # noqa: A001 - the command's own name
    """Measure whether it helps: agents under several arms, and how well this library answers questions of your own."""


def suite_options(given: Sequence[str]) -> dict[str, str]:
    """Options of a suite as they are typed: NAME=VALUE, each."""
    pairs = [each.partition("=") for each in given]
    if wrong := [each for each, (name, sign, _) in zip(given, pairs, strict=True) if not sign or not name]:
        raise Mistake(f"no option of a suite: {', '.join(wrong)}", hint="--option NAME=VALUE")
    names = [name for name, _, _ in pairs]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise Mistake(f"said twice: --option {', '.join(twice)}", hint="say it once")
    return {name: value for name, _, value in pairs}


@eval.command("recall")
@click.argument("file", metavar="FILE|-")
@click.option("--leave-out", is_flag=True, help="Ask each question again without its right skills: is it silent then?")
@click.option("--unknown-absent", is_flag=True, help="Take labels that no skill has as skills that are not here.")
@click.option("--worst", type=click.IntRange(0), default=5, show_default=True, help="How many failures to show.")
@command_options
def recall_(ctx: CommandContext, *, file: str, leave_out: bool, unknown_absent: bool, worst: int) -> None:
    """Ask every question of FILE, and tell how well the skills were ranked and how well silence was kept.

    FILE has one JSON object on each line: {"query": "…", "relevant": ["name or id of a skill", …]}; grades as {"relevant":
    {"name": 2}}; "relevant": [] where nothing should come; if wanted "tools", "state" and "kinds". A .csv file has the
    columns query and relevant (parted by ;). Nothing is recorded: neither uses nor questions.
    """
    source = "standard input" if file == "-" else file
    questions = read_questions(_text(file, source), source=source, table=file.lower().endswith(".csv"))
    loop = ctx.memory
    if loop.paused:
        raise Refusal("Tacit is paused here, so recall is silent", hint="tacit pause --resume")
    with progress_bar(ctx, "asking") as advance:
        report = measure(loop, questions, leave_out=leave_out, unknown_absent=unknown_absent, progress=advance)
    ctx.answer(_document(report), lambda: _show(ctx, report, worst=worst))


def _text(file: str, source: str) -> str:
    if file == "-":
        data = sys.stdin.buffer.read(_BYTES_MAX + 1)
    elif not Path(file).is_file():
        raise NotFound(f"no such file: {file}", hint="give a file of questions, or - for standard input")
    else:
        with Path(file).open("rb") as stream:
            data = stream.read(_BYTES_MAX + 1)
    if len(data) > _BYTES_MAX:
        raise Mistake(f"{source} is larger than 64 megabytes", hint="ask in several parts")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise Mistake(f"{source} line {line} is no UTF-8 text: {error.reason}", hint="save it as UTF-8") from error


# --- for programs ---------------------------------------------------------------------------------------------------


def _document(report: RecallReport) -> dict[str, Any]:
    here = sum(answer.is_here for answer in report.answers)
    return {
        "questions": len(report.answers),
        "here": here,
        "absent": len(report.answers) - here,
        "figures": {name: _estimate(figure) for name, figure in report.figures.items()},
        "telling_auroc": _estimate(report.presence_auroc) if report.presence_auroc else None,
        "speaking": report.speaking,
        "answers": [_answer(answer, report) for answer in report.answers],
    }


def _estimate(figure: Estimate) -> dict[str, float]:
    return {
        "value": round(figure.value, 4),
        "low": round(figure.low, 4),
        "high": round(figure.high, 4),
        "n": figure.n,
    }


def _answer(answer: QueryResult, report: RecallReport) -> dict[str, Any]:
    return {
        "line": answer.question.line,
        "query": answer.question.text,
        "relevant": sorted(_names(report, answer.grades)),
        "rank": answer.rank,
        "right": answer.is_right,
        "given": answer.given,
        "came": _came(answer, report),
        "confidence": round(answer.confidence, 4),
        "given_without": answer.given_without,
        "came_without": _names(report, answer.came_without[:_CAME]),
        "confidence_without": None if answer.confidence_without is None else round(answer.confidence_without, 4),
        "figures": {name: round(value, 4) for name, value in answer.figures.items()} if answer.is_here else None,
    }


def _came(answer: QueryResult, report: RecallReport) -> list[str]:
    """Names of the first that were given."""
    return _names(report, answer.ranked[: min(answer.given, _CAME)])


def _names(report: RecallReport, skill_ids: Iterable[str]) -> list[str]:
    return [report.names.get(skill_id, skill_id) for skill_id in skill_ids]


# --- for people -----------------------------------------------------------------------------------------------------


def _show(ctx: CommandContext, report: RecallReport, *, worst: int) -> None:
    console, speaking = ctx.console, report.speaking
    table = Table(box=None, pad_edge=False)
    for column in ("measure", "value", "95 %", "questions"):
        table.add_column(column, justify="left" if column == "measure" else "right")
    if given := report.figures.get(GIVEN_FIRST):
        table.add_row("right skill given first (silence is a miss)", *_cells(given))
        table.add_row("the ranking, given or not:")
    for name in (name for name in report.figures if name != GIVEN_FIRST):
        table.add_row(f"  {name}", *_cells(report.figures[name]))
    if report.presence_auroc:
        table.add_row("here or not (AUROC)", *_cells(report.presence_auroc))
    if report.figures or report.presence_auroc:
        console.print(table)
    here = speaking.right + speaking.wrong + speaking.silent
    if here:
        console.print(
            f"\nOf {counted(here, 'question')} whose skill is here: {speaking.right} answered rightly, "
            f"{speaking.wrong} wrongly, {speaking.silent} not at all."
        )
    absent = speaking.silent_rightly + speaking.spoke_of_nothing
    if absent:
        console.print(
            f"Of {counted(absent, 'question')} whose skill is not here: {speaking.silent_rightly} rightly left unanswered, "
            f"{speaking.spoke_of_nothing} answered all the same."
        )
    else:
        console.print(
            "[dim]Whether it would be silent where it should was not asked: add --leave-out, or questions with "
            '"relevant": [].[/dim]'
        )
    _show_worst(ctx, report, worst)


def _cells(figure: Estimate) -> tuple[str, str, str]:
    return f"{figure.value:.3f}", f"{figure.low:.3f} to {figure.high:.3f}", str(figure.n)


def _show_worst(ctx: CommandContext, report: RecallReport, worst: int) -> None:
    failures = report.worst
    if not failures or not worst:
        return
    console = ctx.console
    console.print(f"\n[bold]What went wrong[/bold] ({min(worst, len(failures))} of {len(failures)}, worst first)")
    for answer in failures[:worst]:
        line = f"line {answer.question.line}: " if answer.question.line else ""
        console.print(f"  {line}{escape(one_line(answer.question.text, 100))}")
        for told in _what_came(answer, report):
            console.print(f"    [dim]{escape(clean(told))}[/dim]")
    console.print('[dim]`tacit recall --explain "…"` shows all scores of one question.[/dim]')


def _what_came(answer: QueryResult, report: RecallReport) -> list[str]:
    """What went wrong with one question, as it was asked and as it was asked again without its right skills."""
    told = [] if answer.is_right else [_what_came_first(answer, report)]
    if answer.spoke_without:
        left, came = _joined(report, answer.grades), ", ".join(_names(report, answer.came_without[:_CAME]))
        sure = f"confidence {answer.confidence_without or 0.0:.2f}"
        told.append(f"without {left} nothing should come; there came {came} ({sure})")
    return told


def _what_came_first(answer: QueryResult, report: RecallReport) -> str:
    came = ", ".join(_came(answer, report))
    if not answer.is_here:
        return f"nothing should come; there came {came} (confidence {answer.confidence:.2f})"
    wanted = _joined(report, answer.grades)
    if not answer.given:
        return f"wanted {wanted}; nothing was given (confidence {answer.confidence:.2f})"
    if answer.rank and answer.rank <= answer.given:
        return f"wanted {wanted}; it came in place {answer.rank}; there came {came}"
    place = f"it was weighed, in place {answer.rank}, and left out" if answer.rank else "it was not found"
    return f"wanted {wanted}; {place}; there came {came}"


def _joined(report: RecallReport, skill_ids: Iterable[str]) -> str:
    return ", ".join(sorted(_names(report, skill_ids)))
