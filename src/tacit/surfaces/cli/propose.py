"""`tacit propose` and `tacit compose`: candidates that a person or an agent wrote, or put together from approved skills."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import click

from tacit import render
from tacit.domain.candidate import Decision, Relation, Verdict
from tacit.domain.errors import GateRefusal, Mistake, NotFound
from tacit.domain.scope import Scope
from tacit.domain.trajectory import Origin
from tacit.surfaces.cli.context import CommandContext, by_option, command_options
from tacit.surfaces.cli.report import Column, Columns, safe
from tacit.surfaces.cli.views import DECISION_TEXT

_BYTES_MAX = 1 << 20
VERDICT: Columns[Verdict] = Columns(
    Column("proposed", lambda verdict: verdict.decision is not Decision.REJECT),
    Column("decision", lambda verdict: verdict.decision),
    Column("relation", lambda verdict: verdict.relation),
    Column("name", lambda verdict: verdict.name),
    Column("version_id", lambda verdict: verdict.version_id),
    Column("findings", lambda verdict: verdict.findings),
)
"""The gate's verdict on a proposal."""


@click.command()
@click.argument("file", metavar="FILE|-|NAME")
@click.option(
    "--part", "parts", multiple=True, metavar="SKILL", help="Compose NAME from approved procedures (repeatable)."
)
@click.option("--description", default="", help="With --part: what the whole is for.")
@by_option("Who proposes it, stored with the proposal.")
@click.option("--scope", default="", metavar="LEVEL:ID", help="Narrower than the project: session:ID or team:ID.")
@click.option("--dry-run", is_flag=True, help="Only check it and list every problem.")
@command_options
def propose(
    ctx: CommandContext,
    *,
    file: str,
    parts: tuple[str, ...],
    description: str,
    by: str,
    scope: str,
    dry_run: bool,
) -> None:
    """Propose a skill written in FILE, or on standard input. It waits until a person approves it.

    FILE is a SKILL.md, or a JSON map with name, description, kind (procedure, lesson, norm, preference) and content: steps,
    when, check, parts, parameters, pitfalls, error, body. Agents may propose; only people approve (tacit review).

    With --part it proposes NAME, made of approved procedures: the steps of each part as a phase, in this order. A parameter
    that several parts need is asked for once; what an earlier part produces is not asked for. If NAME is already a composite,
    this is its next version.
    """
    if parts:
        _compose(ctx, file, parts, description=description, by=by, dry_run=dry_run)
        return
    content = render.read_proposal(_read(file), source="the proposal" if file == "-" else file)
    if dry_run:
        document = {"name": content.name, "kind": content.kind, "skill_md": render.render(content)}
        ctx.report(document | {"proposed": False}, "It can be proposed.")
        return
    ctx.may_create = True
    person = ctx.caller.is_person
    verdict = ctx.memory.propose(
        content,
        by=_proposer(ctx, by),
        origin=Origin.USER if person else Origin.AGENT,
        source="cli" if file == "-" else str(Path(file).resolve()),
        scope=Scope.parse(scope) if scope else None,
    )
    _report(ctx, verdict)


@click.command(hidden=True)
@click.argument("name")
@click.argument("parts", nargs=-1, required=True, metavar="PART PART...")
@click.option("--description", default="", help="What the whole is for; by default taken from its parts.")
@by_option("Who composes it, stored with the proposal.")
@click.option("--dry-run", is_flag=True, help="Only show it; store nothing.")
@command_options
def compose(
    ctx: CommandContext, *, name: str, parts: tuple[str, ...], description: str, by: str, dry_run: bool
) -> None:
    """Propose NAME, made of approved procedures; the same as `tacit propose NAME --part PART`."""
    _compose(ctx, name, parts, description=description, by=by, dry_run=dry_run)


def _compose(ctx: CommandContext, name: str, parts: Sequence[str], *, description: str, by: str, dry_run: bool) -> None:
    library = ctx.memory.library
    if dry_run:
        text = render.render(library.composite(name, parts, description=description))
        ctx.report({"name": name, "skill_md": text, "proposed": False}, safe(text))
        return
    origin = Origin.USER if ctx.caller.is_person else Origin.AGENT
    _report(ctx, library.compose(name, parts, description=description, by=_proposer(ctx, by), origin=origin))


def _proposer(ctx: CommandContext, by: str) -> str:
    return by or (ctx.environment.user if ctx.caller.is_person else "agent") or "agent"


def _report(ctx: CommandContext, verdict: Verdict) -> None:
    ctx.report(VERDICT.document(verdict), *verdict_lines(verdict))
    if verdict.decision is Decision.REJECT:
        reasons = "; ".join(finding.message for finding in verdict.findings)
        message = f"`{verdict.name}` was rejected: {reasons}"
        ctx.end_with(GateRefusal(message, code="proposal_rejected", hint="correct it and try again"))


def verdict_lines(verdict: Verdict) -> Iterator[str]:
    """Yield the gate's verdict on a proposal."""
    known = verdict.relation is Relation.REINFORCE
    name = safe(verdict.name)
    yield f"[bold]{name}[/bold]: {'already known' if known else DECISION_TEXT[verdict.decision]}"
    for finding in verdict.findings:
        yield f"[dim]{finding.severity}: {safe(finding.message)}[/dim]"
    if not known and verdict.decision in (Decision.HOLD, Decision.QUARANTINE):
        yield f"Waiting for review. Run `tacit review {name}`."


def _read(file: str) -> str:
    if file == "-":
        data = sys.stdin.buffer.read(_BYTES_MAX + 1)
    elif not Path(file).is_file():
        hint = "give a SKILL.md or JSON file, or - for standard input"
        raise NotFound(f"no such file: {file}", code="no_such_file", hint=hint)
    else:
        with Path(file).open("rb") as stream:
            data = stream.read(_BYTES_MAX + 1)
    if len(data) > _BYTES_MAX:
        hint = "propose one thing, briefly"
        raise Mistake("the proposal is larger than a megabyte", code="proposal_too_large", hint=hint)
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        message = f"the proposal is not UTF-8 text: {error.reason}"
        raise Mistake(message, code="not_utf8", hint="save it as UTF-8") from error
