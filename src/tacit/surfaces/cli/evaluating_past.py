"""`tacit eval past`: would your skills have shortened what you did lately? Asks recall again; writes nothing."""

from __future__ import annotations

from typing import Any

import click
from rich.markup import escape

from tacit.domain.errors import Mistake, Refusal
from tacit.domain.lifecycle import Status
from tacit.evidence.statistics import Estimate
from tacit.features.evaluate.past import Looked, PastReport, Spared, look_back
from tacit.surfaces.cli.context import CommandContext, command_options, counted, one_line
from tacit.surfaces.cli.learn import moment
from tacit.surfaces.cli.context import progress_bar


@click.command("past")
@click.option("--since", default="30d", show_default=True, metavar="WHEN", help="How far back: 30d, 12h or a date.")
@click.option("--worst", type=click.IntRange(0), default=5, show_default=True, help="How many of each to show.")
@command_options
def past(ctx: CommandContext, *, since: str, worst: int) -> None:
    """Would your skills have shortened last month? Put past attempts to recall again, and count what would be spared.

    Only skills count that rest on what had ended before an attempt began, and that it was not shown. Something is spared
    where a call failed, the skill says otherwise, and what worked in the end is what the skill says: the failed tries, and
    what was only looked at until then. It is assumed that the agent follows the skill. Nothing is recorded.
    """
    start = moment(since)
    loop = ctx.memory
    if loop.paused:
        raise Refusal("Tacit is paused here, so recall is silent", hint="tacit pause --resume")
    with progress_bar(ctx, "looking back") as advance:
        report = look_back(loop, since=start, progress=advance)
    if not report.attempts and not report.undated:
        raise Mistake(f"no attempt since {since} is known here", hint="tacit learn takes in what your agents did")
    ctx.answer(_document(report), lambda: _show(ctx, report, worst=worst))


def _steps(report: PastReport) -> Estimate | None:
    return report.share(lambda each: each.spared_steps, lambda each: each.steps)


def _failures(report: PastReport) -> Estimate | None:
    return report.share(lambda each: each.spared_failures, lambda each: each.failures)


# --- for programs ---------------------------------------------------------------------------------------------------


def _document(report: PastReport) -> dict[str, Any]:
    attempts = report.attempts
    return {
        "since": report.since.isoformat(),
        "attempts": len(attempts),
        "undated": report.undated,
        "skills": report.skills,
        "given": sum(bool(each.given) for each in attempts),
        "helped": len(report.helped),
        "steps": sum(each.steps for each in attempts),
        "spared_steps": sum(each.spared_steps for each in attempts),
        "share_of_steps": _estimate(_steps(report)),
        "failures": sum(each.failures for each in attempts),
        "spared_failures": sum(each.spared_failures for each in attempts),
        "share_of_failures": _estimate(_failures(report)),
        "repeated_failures": sum(each.repeats for each in attempts),
        "context_tokens": sum(each.tokens for each in attempts),
        "looked": [_looked(each) for each in attempts],
    }


def _estimate(figure: Estimate | None) -> dict[str, float] | None:
    if figure is None:
        return None
    return {"value": round(figure.value, 4), "low": round(figure.low, 4), "high": round(figure.high, 4), "n": figure.n}


def _looked(each: Looked) -> dict[str, Any]:
    return {
        "trajectory": each.trajectory_id,
        "task": each.task,
        "at": each.at.isoformat(),
        "outcome": str(each.outcome),
        "steps": each.steps,
        "failures": each.failures,
        "given": list(each.given),
        "context_tokens": each.tokens,
        "spared_steps": each.spared_steps,
        "spared_failures": each.spared_failures,
        "by": [_spared(one) for one in each.spared],
    }


def _spared(one: Spared) -> dict[str, Any]:
    return {
        "skill": one.skill,
        "version": one.version_id,
        "failures": list(one.failures),
        "looks": list(one.looks),
        "repeats": list(one.repeats),
    }


# --- for people -----------------------------------------------------------------------------------------------------


def _show(ctx: CommandContext, report: PastReport, *, worst: int) -> None:
    console, attempts = ctx.console, report.attempts
    given = sum(bool(each.given) for each in attempts)
    tokens = sum(each.tokens for each in attempts)
    console.print(f"{counted(len(attempts), 'attempt')} since {report.since:%Y-%m-%d}.")
    if report.undated:
        undated = counted(report.undated, "attempt")
        console.print(f"[dim]{undated} more without a time, so nobody can tell what was known by then.[/dim]")
    if not report.skills:
        _show_shelf(ctx)
        return
    if attempts:
        console.print(
            f"For {given or 'none'} of them a skill would have been given that could have been known by then"
            + (f" ({tokens:,} tokens in all)." if given else ".")
        )
    steps, failures = sum(each.steps for each in attempts), sum(each.failures for each in attempts)
    console.print(_line("steps", steps, sum(each.spared_steps for each in attempts), _steps(report)))
    console.print(_line("failed calls", failures, sum(each.spared_failures for each in attempts), _failures(report)))
    repeats = sum(each.repeats for each in attempts)
    if repeats:
        console.print(f"[yellow]{counted(repeats, 'failed call')} did just what a skill says.[/yellow]")
    _show_some(ctx, "Where a skill would have helped most", report.helped, worst)
    _show_some(ctx, "Where a skill would have been given and spared nothing", report.worst, worst)
    console.print("[dim]This assumes that the agent follows the skill; `tacit lift` measures whether it does.[/dim]")


def _show_shelf(ctx: CommandContext) -> None:
    """Where there is no skill: what has to come first."""
    waiting = len(ctx.memory.store.catalogue(statuses={Status.CANDIDATE}))
    ctx.console.print(
        "[yellow]No skill is approved here yet, so there was nothing that could have been given.[/yellow]"
    )
    if waiting:
        told = f"{counted(waiting, 'version')} {'waits' if waiting == 1 else 'wait'} for you: [bold]tacit review[/bold]"
    else:
        told = (
            "Procedures are learned from runs that a test or a build shows to have succeeded: [bold]tacit learn[/bold]"
        )
    ctx.console.print(f"Next: {told}", soft_wrap=True)


def _line(what: str, whole: int, spared: int, share: Estimate | None) -> str:
    if share is None:
        return f"Of {whole} {what} none would have been spared, as far as the attempts themselves show."
    told = f"{share.value:.1%}, {share.low:.1%} to {share.high:.1%}"
    return f"Of {whole} {what} {spared} could have been spared ({told})."


def _show_some(ctx: CommandContext, title: str, found: list[Looked], most: int) -> None:
    if not found or not most:
        return
    console = ctx.console
    console.print(f"\n[bold]{title}[/bold] ({min(most, len(found))} of {len(found)})")
    for each in found[:most]:
        names = list(dict.fromkeys([*(one.skill for one in each.spared), *each.given]))
        told = f"{counted(each.steps, 'step')}, {each.spared_steps or 'none'} spared" + (
            f", {each.repeats} failed doing what the skill says" if each.repeats else ""
        )
        console.print(f"  {each.at:%Y-%m-%d}  {escape(one_line(each.task, 80))}")
        console.print(f"    [dim]{told}; {escape(one_line(', '.join(names), 100))}[/dim]")
