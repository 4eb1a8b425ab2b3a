"""`tacit propose`: what an agent, or a person, noticed goes before the gate. Reads one file; decides nothing."""

from __future__ import annotations

import sys
from pathlib import Path

import click
from rich.markup import escape

from tacit import render as application
from tacit.domain.candidate import Decision, Relation, Verdict
from tacit.domain.errors import GateRefusal, Mistake, NotFound
from tacit.domain.origin import Origin
from tacit.domain.scope import Scope
from tacit.surfaces.cli.context import CommandContext, clean, command_options
from tacit.surfaces.cli.views import STANDING

_BYTES_MAX = 1 << 20


@click.command()
@click.argument("file", metavar="FILE|-")
@click.option("--by", default="", help="Who proposes it, kept with the proposal.")
@click.option("--scope", default="", metavar="LEVEL:ID", help="Narrower than the project: session:ID or team:ID.")
@click.option("--dry-run", is_flag=True, help="Only check: list every problem, store nothing.")
@command_options
def propose(ctx: CommandContext, *, file: str, by: str, scope: str, dry_run: bool) -> None:
    """Propose a skill written in FILE, or on standard input. It waits until a person approves it.

    FILE is a SKILL.md, or a JSON map with name, description, kind (procedure, lesson, norm, preference) and what it says:
    steps, when, check, parts, parameters, pitfalls, error, body. Agents may propose; only people decide (tacit review).
    """
    content = application.read_proposal(_text(file), source="the proposal" if file == "-" else file)
    if dry_run:
        document = {"name": content.name, "kind": content.kind, "skill_md": application.render(content)}
        ctx.answer(document | {"proposed": False}, lambda: ctx.console.print("It can be proposed."))
        return
    ctx.may_create = True
    person = ctx.caller.is_person
    verdict = ctx.memory.propose(
        content,
        by=by or (ctx.environment.user if person else "agent") or "agent",
        origin=Origin.USER if person else Origin.AGENT,
        source="cli" if file == "-" else str(Path(file).resolve()),
        scope=Scope.parse(scope) if scope else None,
    )
    ctx.answer(verdict_document(verdict), lambda: show_verdict(ctx, verdict))
    if verdict.decision is Decision.REJECT:
        reasons = "; ".join(finding.message for finding in verdict.findings)
        ctx.end_with(GateRefusal(f"`{verdict.name}` was not admitted: {reasons}", hint="mend it and propose again"))


def _text(file: str) -> str:
    if file == "-":
        data = sys.stdin.buffer.read(_BYTES_MAX + 1)
    elif not Path(file).is_file():
        raise NotFound(f"no such file: {file}", hint="give a SKILL.md or JSON file, or - for standard input")
    else:
        with Path(file).open("rb") as stream:
            data = stream.read(_BYTES_MAX + 1)
    if len(data) > _BYTES_MAX:
        raise Mistake("the proposal is larger than a megabyte", hint="propose one thing, in few words")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise Mistake(f"the proposal is no UTF-8 text: {error.reason}", hint="save it as UTF-8") from error


def verdict_document(verdict: Verdict) -> dict[str, object]:
    """The gate's answer to a proposal, for programs."""
    return {
        "proposed": verdict.decision is not Decision.REJECT,
        "decision": verdict.decision,
        "relation": verdict.relation,
        "name": verdict.name,
        "version_id": verdict.version_id,
        "findings": verdict.findings,
    }


def show_verdict(ctx: CommandContext, verdict: Verdict) -> None:
    """The gate's answer to a proposal, for people."""
    known = verdict.relation is Relation.REINFORCE
    standing = "is known already" if known else STANDING[verdict.decision]
    ctx.console.print(f"[bold]{escape(clean(verdict.name))}[/bold]: {standing}", soft_wrap=True)
    for finding in verdict.findings:
        ctx.console.print(f"[dim]{finding.severity}: {escape(clean(finding.message))}[/dim]")


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
