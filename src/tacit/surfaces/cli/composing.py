"""`tacit compose`: several approved procedures become one, in phases, which waits for a person like any other candidate."""

from __future__ import annotations

import click

from tacit import render as application
from tacit.domain.candidate import Decision
from tacit.domain.errors import GateRefusal
from tacit.domain.origin import Origin
from tacit.surfaces.cli.context import CommandContext, clean, command_options
from tacit.surfaces.cli.propose import show_verdict, verdict_document


@click.command()
@click.argument("name")
@click.argument("parts", nargs=-1, required=True, metavar="PART PART...")
@click.option("--description", default="", help="What the whole is for; by default what its parts say of themselves.")
@click.option("--by", default="", help="Who composes it, kept with the proposal.")
@click.option("--dry-run", is_flag=True, help="Only show it; store nothing.")
@command_options
def compose(
    ctx: CommandContext, *, name: str, parts: tuple[str, ...], description: str, by: str, dry_run: bool
) -> None:
    """Put approved procedures together as NAME: the steps of each PART as a phase, in this order.

    What several parts need is asked once, and what an earlier part brings about is not asked at all. NAME may be a
    composite that is there already: then this is its next version. It waits until a person approves it (tacit review).
    """
    loop = ctx.memory
    if dry_run:
        text = application.render(loop.composite(name, parts, description=description))
        ctx.answer({"name": name, "skill_md": text, "proposed": False}, lambda: ctx.console.print(clean(text)))
        return
    person = ctx.caller.is_person
    verdict = loop.compose(
        name,
        parts,
        description=description,
        by=by or (ctx.environment.user if person else "agent") or "agent",
        origin=Origin.USER if person else Origin.AGENT,
    )
    ctx.answer(verdict_document(verdict), lambda: show_verdict(ctx, verdict))
    if verdict.decision is Decision.REJECT:
        reasons = "; ".join(finding.message for finding in verdict.findings)
        ctx.end_with(GateRefusal(f"`{verdict.name}` was not admitted: {reasons}", hint="mend it and try again"))
