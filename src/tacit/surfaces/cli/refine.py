"""`tacit refine`: what runs met at each step of a skill, the next version that they show, and what got worse since the last.

Shows, and with --propose puts the next version before the gate. It never changes a skill.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import click
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from tacit.domain.candidate import Verdict
from tacit.domain.skill import SkillVersion
from tacit.evidence.friction import MADE_BY, Friction, place_name
from tacit.maintain import refine as refining
from tacit.store import queries as shelf
from tacit.surfaces.cli.context import CommandContext, clean, command_options, counted, one_line
from tacit.surfaces.cli.charts import reliability_fields
from tacit.surfaces.cli.propose import show_verdict, verdict_document
from tacit.surfaces.cli.views import difference, show_diff, told_reliability, whole_text

SHOWN_MET = 3
"""Examples of friction at one step; --json lists all."""
SHOWN_RUNS = 6


@click.command()
@click.argument("name", required=False, metavar="[NAME]")
@click.option(
    "--propose", is_flag=True, help="Put the next version before the gate; it waits until a person approves it."
)
@command_options
def refine(ctx: CommandContext, *, name: str | None, propose: bool) -> None:
    """Show what runs met when they used a skill, step by step, and the next version that they show.

    NAME is a name or the beginning of an id; without it all skills in use of which runs say something are listed. Denied
    calls, files that are not where the skill says, calls that only worked otherwise, corrections and other ways are found
    in runs that were shown the skill (tacit learn reads them). What two sessions show, or one in which a person said so, is a
    next version; only verified successes change anything. Agents may propose it; only people approve (tacit review).
    """
    store = ctx.memory.store
    found = [refining.look(store, shelf.find(store, name))] if name else refining.survey(store)
    verdicts = _proposed(ctx, found) if propose else {}
    document = {"skills": [refining_document(each, verdicts.get(each.stored.version.id)) for each in found]}

    def show() -> None:
        if name:
            _show(ctx, found[0])
        else:
            _show_all(ctx.console, found)
        for verdict in verdicts.values():
            show_verdict(ctx, verdict)
        if propose and not verdicts:
            ctx.console.print("Nothing to propose: runs show no next version that was not proposed before.")

    ctx.answer(document, show)


def refining_document(found: refining.Refining, verdict: Verdict | None = None) -> dict[str, Any]:
    """All that runs say of one version, for programs."""
    stored, quality, revision = found.stored, found.quality, found.revision
    met = [{"trajectory_id": run, "met": list(each)} for run, each in found.met.items()]
    return {
        "name": stored.version.name,
        "version_id": stored.version.id,
        "status": stored.status,
        "uses": quality.uses,
        "friction": quality.met,
        "friction_per_use": round(quality.per_use, 2),
        "by_step": {str(step): kinds for step, kinds in quality.by_step.items()},
        "verified": quality.verified,
        "succeeded": quality.succeeded,
        "themes": dict(quality.themes),
        "needs_review": list(quality.reasons),
        "runs": met,
        "revision": {
            "reasons": list(revision.reasons),
            "trajectory_ids": list(revision.trajectory_ids),
            "diff": difference(whole_text(stored.version.content), whole_text(revision.content)),
            "grounding": revision.grounding,
            "origins": found.candidate.origins if found.candidate else revision.origins,
        }
        if revision
        else None,
        "waiting": found.waiting.version.id if found.waiting else None,
        "comparison": comparison_document(found.comparison),
        "proposed": verdict_document(verdict) if verdict else None,
    }


def comparison_document(compared: refining.Comparison | None) -> dict[str, Any] | None:
    """A version beside its parent, for programs."""
    if compared is None:
        return None
    return {
        "parent": compared.parent.version.id,
        "before": reliability_fields(compared.before),
        "after": reliability_fields(compared.after),
        "regressions": [
            {"task": each.task, "failed": each.failed.id, "solved": each.solved.id} for each in compared.regressions
        ],
    }


def show_refinement(ctx: CommandContext, version: SkillVersion) -> None:
    """For a reviewer: what runs met that a refinement answers, the runs behind it, and how it fares beside its parent."""
    store, console = ctx.memory.store, ctx.console
    stored = ctx.memory.version(version.id)
    compared = refining.compared(store, stored)
    if version.provenance.made_by == MADE_BY and compared is not None:
        parent = compared.parent.version
        behind = [each for each in version.provenance.trajectory_ids if each not in parent.provenance.trajectory_ids]
        console.print(f"[bold]Rests on {counted(len(behind), 'run')} of {parent.id[:10]}[/bold]")
        for line in _behind(ctx, parent, behind):
            console.print(f"  [dim]{escape(clean(line))}[/dim]", soft_wrap=True)
    if compared is not None and (compared.after.known or compared.regressions):
        _show_comparison(console, compared)


def _behind(ctx: CommandContext, parent: SkillVersion, trajectory_ids: Sequence[str]) -> Iterator[str]:
    """The runs behind a refinement, each with what it met."""
    met = refining.look(ctx.memory.store, ctx.memory.version(parent.id)).met
    for identity in trajectory_ids[:SHOWN_RUNS]:
        told = "; ".join(f"{_place(each, parent)}: {each.detail}" for each in met.get(identity, ())[:SHOWN_MET])
        yield f"{identity[:12]}  {told or 'went another way'}"
    if len(trajectory_ids) > SHOWN_RUNS:
        yield f"and {len(trajectory_ids) - SHOWN_RUNS} more"


def _proposed(ctx: CommandContext, found: Sequence[refining.Refining]) -> dict[str, Verdict]:
    made = {each.stored.version.id: ctx.memory.refine(each.stored.version.id) for each in found if each.candidate}
    return {identity: verdict for identity, verdict in made.items() if verdict is not None}


def _show_all(console: Console, found: Sequence[refining.Refining]) -> None:
    if not found:
        console.print("No run says anything against a skill in use.")
        return
    table = Table(box=None, padding=(0, 2, 0, 0))
    for heading in ("skill", "uses", "friction per use", "verified", "most at", "what follows"):
        table.add_column(heading, overflow="fold")
    for each in found:
        quality = each.quality
        table.add_row(
            f"[bold]{escape(clean(each.stored.version.name))}[/bold]",
            str(quality.uses),
            f"{quality.per_use:.1f}",
            f"{quality.succeeded} of {quality.verified}",
            _worst(each),
            escape(clean(_follows(each))),
        )
    console.print(table)
    console.print(
        "\n[bold]tacit refine NAME[/bold] shows one; [bold]--propose[/bold] lets what follows wait for a person."
    )


def _worst(found: refining.Refining) -> str:
    steps, by_step = len(found.stored.version.content.steps), found.quality.by_step
    if not by_step:
        return ""
    worst = max(by_step, key=lambda step: sum(by_step[step].values()))
    return place_name(worst, steps)


def _follows(found: refining.Refining) -> str:
    told = []
    if found.comparison and found.comparison.regressions:
        told.append(f"{counted(len(found.comparison.regressions), 'regression')}")
    if found.revision:
        told.append("a next version can be proposed")
    if found.waiting:
        told.append(f"{found.waiting.version.id[:10]} waits for review")
    if found.quality.needs_review:
        told.append("needs review: " + "; ".join(found.quality.reasons))
    return "; ".join(told) or "nothing yet: one session alone shows it"


def _show(ctx: CommandContext, found: refining.Refining) -> None:
    console, version, quality = ctx.console, found.stored.version, found.quality
    console.print(
        f"[bold]{escape(clean(version.name))}[/bold]  {version.id[:10]}  {found.stored.status}: "
        f"{counted(quality.uses, 'use')}, {quality.per_use:.1f} frictions per use, "
        f"worked in {quality.succeeded} of {quality.verified} verified uses"
    )
    for reason in quality.reasons:
        console.print(f"[yellow]needs review:[/yellow] {escape(clean(reason))}", soft_wrap=True)
    _show_steps(console, found)
    if found.comparison:
        _show_comparison(console, found.comparison)
    if found.revision and found.candidate:
        console.print("\n[bold]The next version that runs show[/bold]")
        for reason in found.revision.reasons:
            console.print(f"  {escape(clean(reason))}", soft_wrap=True)
        show_diff(console, whole_text(version.content), whole_text(found.revision.content))
        runs = ", ".join(identity[:12] for identity in found.revision.trajectory_ids[:SHOWN_RUNS])
        console.print(f"[dim]shown by {escape(clean(runs))}, verified[/dim]", soft_wrap=True)
        outside = [path for path, origin in found.candidate.origins.items() if origin == "external"]
        if outside:
            console.print(f"[yellow]From outside:[/yellow] {escape(clean(', '.join(outside)))}", soft_wrap=True)
    elif found.waiting:
        console.print(f"\nA refinement waits: [bold]tacit review {found.waiting.version.id[:10]}[/bold]")
    else:
        console.print("\nNo next version follows: two sessions must show the same, or one in which a person said so.")


def _show_steps(console: Console, found: refining.Refining) -> None:
    """Friction by step, with an example or two of each."""
    if not found.met:
        console.print("No run met anything at its steps.")
        return
    content = found.stored.version.content
    table = Table(box=None, padding=(0, 2, 0, 0))
    for heading in ("at", "what was met", "for example"):
        table.add_column(heading, overflow="fold")
    for step, kinds in found.quality.by_step.items():
        here = [each for met in found.met.values() for each in met if each.step == step]
        shown = dict.fromkeys(one_line(each.detail, 120) for each in here)
        counts = ", ".join(f"{kind.replace('_', ' ')} ×{count}" for kind, count in kinds.items())
        examples = "\n".join(list(shown)[:SHOWN_MET])
        table.add_row(place_name(step, len(content.steps)), escape(clean(counts)), escape(examples))
    console.print(table)


def _show_comparison(console: Console, compared: refining.Comparison) -> None:
    console.print(
        f"Beside its parent {compared.parent.version.id[:10]}: {told_reliability(compared.after)}; "
        f"the parent: {told_reliability(compared.before)}",
        soft_wrap=True,
    )
    for each in compared.regressions:
        console.print(
            f"[red]Regression:[/red] fails a task that an earlier version solved "
            f"[dim]({each.failed.id[:12]}, {each.solved.id[:12]})[/dim]",
            soft_wrap=True,
        )
    if compared.regressions:
        console.print(f"  [bold]tacit skills rollback {compared.parent.version.id[:10]}[/bold] goes back to it")


def _place(friction: Friction, version: SkillVersion) -> str:
    return place_name(friction.step, len(version.content.steps))
