"""`tacit tend`: what the library needs, and why; a person applies it. Nothing is ever deleted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby

import click
from rich.markup import escape

from tacit.domain.care import Care, CareKind, CareReason
from tacit.domain.errors import Mistake
from tacit.domain.identity import plain
from tacit.domain.lifecycle import Transition
from tacit.maintain.exports import export
from tacit.maintain.reason_text import sentences, stored_reason
from tacit.surfaces.cli.context import (
    CommandContext,
    by_option,
    command_options,
    counted,
    progress_bar,
)
from tacit.surfaces.cli.refine import report_refinements
from tacit.surfaces.cli.report import Column, Columns, ReportPart, safe
from tacit.surfaces.cli.views import STATUS_STYLE

SHOWN = 12
"""How many of each kind are listed for people."""
TITLES = {
    CareKind.STANDING: "Status changed by evidence",
    CareKind.STALE: "Not confirmed for a long time",
    CareKind.VALUE: "Shown, but not useful",
    CareKind.MERGE: "Same content",
    CareKind.SUPERSEDED: "Waiting although already covered",
    CareKind.CONTRADICTION: "Contradict each other",
    CareKind.CONTRACT: "Rely on something that changed",
    CareKind.VALIDATION: "Run again",
    CareKind.COMPOSITE: "A part changed",
    CareKind.REFINEMENT: "Could be improved",
    CareKind.REGRESSION: "Fail where they used to work",
    CareKind.PROMOTION: "Qualify for a broader scope",
}
_RESULT_STYLE: Mapping[str, str] = {CareReason.PASSED: "green", CareReason.FAILED: "red"}


@click.command()
@click.argument("name", required=False, metavar="[NAME]")
@click.option("--propose", is_flag=True, help="Propose the next version that runs suggest; it waits for review.")
@click.option("--runs", is_flag=True, hidden=True, help="What runs ran into, for every skill in use.")
@click.option("--apply", "apply", is_flag=True, help="Apply the suggestions, after asking.")
@click.option(
    "--only", multiple=True, type=click.Choice([kind.value for kind in CareKind]), help="Only this kind (repeatable)."
)
@click.option("--revalidate", is_flag=True, help="Run procedures again in the sandbox; with --apply store the results.")
@by_option()
@click.option("--yes", is_flag=True, help="Do not ask.")
@command_options
def tend(
    ctx: CommandContext,
    *,
    name: str | None,
    propose: bool,
    runs: bool,
    apply: bool,
    only: tuple[str, ...],
    revalidate: bool,
    by: str,
    yes: bool,
) -> None:
    """Find outdated, useless, duplicate and improvable skills, with reasons.

    Nothing changes without --apply, which only a person can use. What is set aside can be restored (tacit review ID
    --restore, or --reopen), and merged or improved versions wait for `tacit review`. Pinned skills are left alone.

    --revalidate runs procedures on a copy of the last commit, in a sandbox without network, with the examples of parameters as
    values, and then their checks. --revalidate --apply stores the results as machine-verified evidence, one a day. A procedure
    without a check, or that needs more, is "not checkable here" and counts for nothing.

    With NAME it shows what runs ran into when they used that skill, step by step, and the next version that they suggest:
    denied calls, missing files, calls that only worked differently, corrections and detours. A next version needs two
    sessions, or one in which a person said so; only verified successes change anything. Agents may propose it.
    """
    if name is not None or propose or runs:
        report_refinements(ctx, name, propose=propose)
        return
    if apply:
        ctx.caller.require_person("tend --apply")
        if ctx.as_json and not yes:
            hint = "add --yes, or leave --apply out"
            raise Mistake("--json cannot ask, so --apply needs --yes", code="needs_yes", hint=hint)
    if revalidate:
        _revalidate(ctx, keep=apply, yes=yes)
        return
    with progress_bar(ctx, "looking") as advance:
        cares = ctx.memory.library.plan(only=[CareKind(kind) for kind in only], progress=advance)
    asking = apply and not yes and not ctx.as_json
    if not apply or asking:
        ctx.report({"applied": False, "cares": CARES.documents(cares)}, lambda: _plan_lines(ctx, cares))
    applicable = [care for care in cares if can_be_applied(care)]
    if not apply or (asking and not _is_wanted(ctx, applicable)):
        return
    done, settled = ctx.memory.library.apply(cares, by=ctx.person(by))
    export(ctx.memory.context)
    document = {"applied": True, "cares": CARES.documents(done), "settled": [plain(m) for m in settled]}
    ctx.report(document, lambda: _applied_lines(done, settled, listed=asking))


def _revalidate(ctx: CommandContext, *, keep: bool, yes: bool) -> None:
    """Run procedures again and report it; a person may store the results."""
    if keep and not yes and not click.confirm("Run the procedures, and store the results?"):
        ctx.console.print("Nothing was done.")
        return
    with progress_bar(ctx, "running") as advance:
        tried = ctx.memory.library.revalidate(keep=keep, progress=advance)
    if keep:
        export(ctx.memory.context)

    def lines() -> Iterator[str]:
        codes = [care.reasons[0].code for care in tried]
        for care, code in zip(tried, codes, strict=True):
            style = _RESULT_STYLE.get(code, "dim")
            text = safe(sentences(care.reasons))
            yield f"[bold]{safe(care.name)}[/bold]  [{style}]{text}[/{style}]"
        passed, failed, unchecked = (
            codes.count(code) for code in (CareReason.PASSED, CareReason.FAILED, CareReason.NOT_CHECKABLE)
        )
        yield f"{passed} passed, {failed} failed, {unchecked} not checkable here"
        if not keep and passed + failed:
            yield "Nothing was stored: [bold]tacit tend --revalidate --apply[/bold] stores it as evidence."

    ctx.report({"applied": keep, "cares": CARES.documents(tried)}, lines)


def can_be_applied(care: Care) -> bool:
    """Whether applying it changes anything."""
    return bool(care.move or care.candidate or care.remark)


def settled_lines(ctx: CommandContext, settled: Sequence[Transition], suggestions: int) -> Iterator[ReportPart]:
    """Yield what evidence changed, and whether `tacit tend` has suggestions: the end of a report on learning."""
    for move in settled:
        name = safe(ctx.memory.version(move.version_id).version.name)
        style = STATUS_STYLE[move.after]
        change = f"[{style}]{move.before} → {move.after}[/{style}]"
        yield f"[bold]{name}[/bold]  {change}  [dim]{safe(stored_reason(move.reason))}[/dim]"
    if suggestions:
        yield f"{counted(suggestions, 'suggestion')} for the library. Run [bold]tacit tend[/bold]."


def _is_wanted(ctx: CommandContext, applicable: Sequence[Care]) -> bool:
    if not applicable:
        return False
    if click.confirm(f"Apply {'this' if len(applicable) == 1 else f'these {len(applicable)}'}?"):
        return True
    ctx.console.print("Nothing was done.")
    return False


def _effect(care: Care) -> str:
    """Return what applying it does; empty where it is only advice."""
    moved = f"{care.move.before} → {care.move.after}" if care.move else ""
    proposed = "a version waits for review" if care.candidate else ""
    noted = "noted" if care.remark and not (care.move or care.candidate) else ""
    return ", ".join(part for part in (moved, proposed, noted) if part)


CARES: Columns[Care] = Columns(
    Column("kind", lambda care: care.kind),
    Column("name", lambda care: care.name),
    Column("subject", lambda care: care.subject),
    Column("skill_id", lambda care: care.skill_id),
    Column("codes", lambda care: list(care.codes)),
    Column("reason", lambda care: sentences(care.reasons)),
    Column("effect", _effect),
    Column("before", lambda care: care.move.before if care.move else None),
    Column("after", lambda care: care.move.after if care.move else None),
    Column("proposes", lambda care: care.candidate.content.name if care.candidate else None),
    Column("parents", lambda care: list(care.candidate.parents) if care.candidate else []),
    Column("remark", lambda care: care.remark.about if care.remark else None),
    Column("evidence_ids", lambda care: list(care.evidence_ids)),
    Column("advice", lambda care: sentences(care.advice)),
    Column("applied", lambda care: care.applied),
)


def _plan_lines(ctx: CommandContext, cares: Sequence[Care]) -> Iterator[str]:
    if not cares:
        yield "[green]No suggestions[/green]: the library needs no maintenance."
    for kind, group in groupby(cares, key=lambda care: care.kind):
        yield from _kind_lines(kind, list(group))
    if cares:
        applicable = sum(map(can_be_applied, cares))
        count = counted(len(cares), "suggestion")
        yield f"\n{count}. `tacit tend --apply` applies {applicable} of them." if applicable else f"\n{count} for you."
    waiting = len(ctx.memory.reviews.waiting())
    if waiting:
        verb = "waits" if waiting == 1 else "wait"
        yield f"{counted(waiting, 'version')} {verb} for review. Run [bold]tacit review[/bold]."


def _kind_lines(kind: CareKind, cares: Sequence[Care]) -> Iterator[str]:
    yield f"\n[bold]{TITLES[kind]}[/bold] [dim]({len(cares)})[/dim]"
    for care in cares[:SHOWN]:
        effect = _effect(care)
        change = f"  [yellow]{escape(effect)}[/yellow]" if effect else ""
        yield f"  [bold]{safe(care.name)}[/bold] [dim]{care.subject[:12]}[/dim]{change}"
        yield f"    {safe(sentences(care.reasons))}"
        if care.advice:
            yield f"    [dim]{safe(sentences(care.advice))}[/dim]"
    if len(cares) > SHOWN:
        yield f"  [dim]and {len(cares) - SHOWN} more (--only {kind}, or --json lists all)[/dim]"


def _applied_lines(done: Sequence[Care], settled: Sequence[Transition], *, listed: bool) -> Iterator[str]:
    """Yield what was applied; if the suggestions were listed before, only what could not be applied."""
    failed = [care for care in done if can_be_applied(care) and not care.applied]
    for care in done if not listed else failed:
        mark = "[green]done[/green]" if care.applied else "[yellow]not applied[/yellow]"
        text = _effect(care) if care.applied else sentences(care.advice or care.reasons)
        yield f"{mark}  [bold]{safe(care.name)}[/bold]  {safe(text)}"
    kinds = Counter(care.kind for care in done if care.applied)
    counts = ", ".join(f"{count} {kind}" for kind, count in kinds.items())
    yield f"Applied: {counts}." if counts else "Nothing was changed."
    if settled:
        yield f"{counted(len(settled), 'version')} changed status because of evidence."
    if any(care.applied and care.candidate for care in done):
        yield "Next: run [bold]tacit review[/bold] to approve or reject the new versions."
