"""`tacit moments forecast`: what a person will probably decide, and how good such forecasts have been."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import click
from rich.markup import escape
from rich.table import Table

from tacit.domain.errors import Mistake, NotFound, TacitError
from tacit.features.people.calibration import Bin, Track
from tacit.features.people.decisions import People, Queued
from tacit.features.people.forecast import ConflictKind, describe
from tacit.features.people.ledger_entries import Choice, ChoiceSort, Forecast
from tacit.features.people.proxy import LEAST_CONFIDENCE, USUAL_CONFIDENCE, allow, parse_gate, permissions, record_of
from tacit.surfaces.cli.context import CommandContext, clean, command_options, counted, one_line
from tacit.surfaces.cli.report import fields

SHOWN = 10
"""Earlier forecasts that are listed."""


@click.command(hidden=True, short_help="Show what a person is expected to decide")
@click.argument("person", required=False, default="")
@click.option(
    "--answer", metavar="GATES", help="Let the forecast answer: weak=fold, duplicate=merge, or =reject; or none."
)
@click.option(
    "--above",
    type=click.FloatRange(LEAST_CONFIDENCE, 1.0),
    default=USUAL_CONFIDENCE,
    help="With --answer: only where it is so sure.",
)
@command_options
def forecast(ctx: CommandContext, *, person: str, answer: str | None, above: float) -> None:
    """Show what PERSON (by default you) will probably decide, and how good forecasts of them have been.

    Lists what waits for review in the order of the forecasts, the latest forecasts with their outcome, and how often
    forecasts of each confidence came true. Forecasts change nothing; people decide, and agents do not see them.

    With --answer you let the forecast of you answer after sessions, such as weak=fold,duplicate=merge: weak candidates are
    folded away in the review, duplicates closed and counted for what they repeat; =reject rejects either. It never approves.
    Each answer is marked and undone by `tacit undo NAME`; some are left to you, and where you differ too often it stops.
    """
    ctx.caller.require_person("forecast")
    people = People(ctx.memory)
    name = ctx.person(person)
    if answer is not None:
        _allow(ctx, name, answer, above)
        return
    if person and name not in people.persons():
        raise NotFound(
            f"no decision of {name!r} is known", hint=f"known are: {', '.join(people.persons()) or 'nobody'}"
        )
    record, queue = people.track(name), people.queue(ctx.memory.reviews.waiting(), name)
    latest = people.forecasts(name)[-SHOWN:]
    document = {
        "person": name,
        "decisions": len(people.choices(name)),
        "record": _record(record),
        "waiting": [_queued(each) for each in queue],
        "latest": [_came(each) for each in latest],
        "answers": _answers(ctx, name),
    }
    ctx.report(document, lambda: _show(ctx, name, record, queue, latest, people.choices(name)))


def _allow(ctx: CommandContext, person: str, answer: str, above: float) -> None:
    """Store which gates the forecast may answer at."""
    words = [] if answer == "none" else [word.strip() for word in answer.split(",")]
    try:
        gates = dict(map(parse_gate, words))
    except ValueError as error:
        hint = "weak=fold, weak=reject, duplicate=fold, duplicate=merge, duplicate=reject, or none"
        raise Mistake(f"--answer {answer!r} is not known", code="unknown_gate", hint=hint) from error
    made = allow(ctx.memory, person, gates, above)
    line = f"The forecast answers for you from {above:.0%} on: {', '.join(made.gates)}."
    ctx.report(_answers(ctx, person), line if gates else "The forecast answers nothing.")


def _answers(ctx: CommandContext, person: str) -> dict[str, Any]:
    """What the forecast may answer for a person, and how its answers came out."""
    permission = permissions(ctx.memory).get(person)
    if permission is None:
        return {"gates": []}
    record = record_of(ctx.memory, permission)
    return {
        **fields(permission, "gates", "confidence"),
        **fields(record, "answered", "undone", "agreed", "disagreed"),
        "stopped": not record.keeps(permission.confidence),
    }


def _show(
    ctx: CommandContext,
    name: str,
    record: Track,
    queue: Sequence[Queued],
    latest: Sequence[Forecast],
    seen: Sequence[Choice],
) -> None:
    console = ctx.console
    console.print(f"[bold]{escape(clean(name))}[/bold]: {counted(len(seen), 'decision')} known. {_summary(record)}")
    if record.bins:
        console.print(_calibration(record.bins))
    for each in queue:
        forecast_text = escape(clean(describe(each.outlook)))
        console.print(
            f"{each.stored.version.id[:10]}  [bold]{escape(clean(each.stored.version.name))}[/bold]  {forecast_text}"
        )
        conflict = each.outlook.conflict
        if (
            conflict is not None
            and conflict.kind is not ConflictKind.NOISE
            and conflict.description not in forecast_text
        ):
            console.print(f"            [dim]{conflict.kind}: {escape(one_line(conflict.description, 100))}[/dim]")
    for came in latest:
        forecast_text = f"{came.posterior} ({came.posterior_confidence:.0%})" if came.posterior else "not known"
        mark = "  [yellow]surprise[/yellow]" if came.surprise else ""
        what = f"{came.sort}  {escape(one_line(_decided_on(ctx, came), 40))}"
        console.print(
            f"[dim]{came.at:%Y-%m-%d %H:%M}[/dim]  {what}  {escape(one_line(forecast_text, 40))} → "
            f"{escape(one_line(came.actual, 40))}{mark}",
            soft_wrap=True,
        )
    answers = _answers(ctx, name)
    if answers["gates"]:
        state = "stopped, because too many were wrong" if answers["stopped"] else f"from {answers['confidence']:.0%} on"
        counts = f"{len(answers['answered'])} answered, {answers['undone']} undone"
        console.print(f"The forecast answers {', '.join(answers['gates'])}, {state}: {counts}.")
    if not seen:
        console.print(
            "Decisions are learned from as they are made: [bold]tacit review[/bold], [bold]tacit moments intake TASK[/bold]."
        )


def _decided_on(ctx: CommandContext, came: Forecast) -> str:
    """What a forecast was of, in a word: the name of a version while it is there, or which question."""
    subject = came.key.rpartition(" ")[2]
    if came.sort is ChoiceSort.REVIEW:
        with suppress(TacitError):  # purged meanwhile
            return ctx.memory.context.store.version(subject).version.name
    return subject


def _summary(record: Track) -> str:
    if record.accuracy is None or record.brier is None or record.lately is None:
        return "Nothing was forecast yet."
    unknown = f", {record.forecasts - record.given} not known" if record.forecasts > record.given else ""
    return (
        f"{record.hits} of {record.given} forecasts came true ({record.accuracy:.0%}; lately {record.lately:.0%}){unknown}. "
        f"Brier score {record.brier:.3f}. {counted(record.surprises, 'surprise')}."
    )


def _calibration(bins: Sequence[Bin]) -> Table:
    table = Table("said", "forecasts", "came true", "95 % between", box=None, pad_edge=False)
    for each in bins:
        low, high = each.interval
        forecast_text = f"{each.low:.0%} to {each.high:.0%}"
        table.add_row(forecast_text, str(each.count), f"{each.accuracy:.0%}", f"{low:.0%} and {high:.0%}")
    return table


def _record(record: Track) -> dict[str, Any]:
    bins = [
        {"from": each.low, "to": each.high, "forecasts": each.count}
        | fields(each, "hits", "mean_confidence", "accuracy", "interval")
        for each in record.bins
    ]
    return {
        "forecasts": record.forecasts,
        "said": record.given,
        **fields(record, "hits", "accuracy", "lately", "brier", "surprises", "sure", "sure_hits"),
        "calibration": bins,
    }


def _queued(each: Queued) -> dict[str, Any]:
    known, conflict = each.outlook, each.outlook.conflict
    return {
        "version_id": each.stored.version.id,
        "name": each.stored.version.name,
        **fields(known, "prior", "prior_confidence", "posterior", "posterior_confidence", "stirred"),
        "not_known": known.why_not,
        "conflict": {"kind": conflict.kind, "told": conflict.description} if conflict else None,
        "reasons": [fields(one, "key", "response", "at") for one in known.reasons],
        "shown": each.shown,
    }


def _came(each: Forecast) -> dict[str, Any]:
    return fields(each, "key", "at", "sort", "posterior", "posterior_confidence", "actual", "surprise", "shown")
