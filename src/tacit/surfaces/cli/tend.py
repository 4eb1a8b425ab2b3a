"""`tacit tend`: what the library needs, and why; on a person's word it is done. Nothing is ever deleted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import groupby
from typing import Any

import click
from rich.markup import escape

from tacit.domain.care import Care, CareKind
from tacit.domain.errors import Mistake
from tacit.domain.identity import plain
from tacit.domain.lifecycle import Transition
from tacit.maintain.revalidation import FAILED, NOT_HERE, PASSED
from tacit.surfaces.cli.context import CommandContext, clean, command_options, counted
from tacit.surfaces.cli.context import progress_bar
from tacit.surfaces.cli.views import STATUS_STYLE
from tacit.surfaces.exports import export

SHOWN = 12
"""So many of each kind are listed for people."""
TITLES = {
    CareKind.STANDING: "Moved by their evidence",
    CareKind.STALE: "Not confirmed for long",
    CareKind.VALUE: "Shown, and of no use",
    CareKind.MERGE: "Say the same",
    CareKind.SUPERSEDED: "Waiting, though it is said already",
    CareKind.CONTRADICTION: "Contradict each other",
    CareKind.CONTRACT: "Rely on what has changed",
    CareKind.VALIDATION: "Tried again",
    CareKind.COMPOSITE: "Made of what has changed",
    CareKind.REFINEMENT: "Could be better",
    CareKind.REGRESSION: "Fail where they used to work",
    CareKind.PROMOTION: "Have earned a broader scope",
}


@click.command()
@click.option("--apply", "apply", is_flag=True, help="Do what is told, after asking.")
@click.option(
    "--only", multiple=True, type=click.Choice([kind.value for kind in CareKind]), help="Only this kind (repeatable)."
)
@click.option(
    "--revalidate",
    is_flag=True,
    help="Try the steps of procedures again instead, in the sandbox; --apply keeps the results.",
)
@click.option("--by", default="", help="Your name, kept in the history.")
@click.option("--yes", is_flag=True, help="Do it without being asked.")
@command_options
def tend(ctx: CommandContext, *, apply: bool, only: tuple[str, ...], revalidate: bool, by: str, yes: bool) -> None:
    """Look after the library: tell what is outdated, of no use, said twice, or could be better, and why.

    Nothing is changed without --apply, which belongs to a person. What is set aside can be brought back (tacit review ID
    --restore, or --reopen), and what is put together or bettered waits for `tacit review`. Pinned skills are left alone.

    --revalidate does what procedures say on a copy of the last commit, in a sandbox without a network, and runs their checks,
    with the examples of parameters as their values. It shows what came of it; --revalidate --apply keeps that as
    machine-verified evidence, one result a day. What has no check, or needs more, is "not checkable here" and counts for
    nothing.
    """
    if apply:
        ctx.caller.require_person("tend --apply")
        if ctx.as_json and not yes:
            raise Mistake(
                "--json asks nothing, so --apply needs --yes with it", hint="add --yes, or leave --apply away"
            )
    if revalidate:
        _revalidate(ctx, keep=apply, yes=yes)
        return
    with progress_bar(ctx, "looking") as advance:
        cares = ctx.memory.tend(only=[CareKind(kind) for kind in only], progress=advance)
    asking = apply and not yes and not ctx.as_json
    if not apply or asking:
        ctx.answer({"applied": False, "cares": [_document(care) for care in cares]}, lambda: _show(ctx, cares))
    doable = [care for care in cares if can_be_done(care)]
    if not apply or (asking and not _is_wanted(ctx, doable)):
        return
    done, settled = ctx.memory.carry_out(cares, by=ctx.person(by))
    export(ctx.memory)
    document = {"applied": True, "cares": [_document(care) for care in done], "settled": [plain(m) for m in settled]}
    ctx.answer(document, lambda: _show_done(ctx, done, settled, listed=asking))


def _revalidate(ctx: CommandContext, *, keep: bool, yes: bool) -> None:
    """Try procedures again and show it; keep it too on a person's word."""
    if keep and not yes and not click.confirm("Try the procedures, and keep what comes of it?"):
        ctx.console.print("Nothing was done.")
        return
    with progress_bar(ctx, "trying") as advance:
        tried = ctx.memory.revalidate(keep=keep, progress=advance)
    if keep:
        export(ctx.memory)
    document = {"applied": keep, "cares": [_document(care) for care in tried]}
    ctx.answer(document, lambda: _show_tried(ctx, tried, kept=keep))


def _show_tried(ctx: CommandContext, tried: Sequence[Care], *, kept: bool) -> None:
    for care in tried:
        style = "green" if care.reason == PASSED else "red" if care.reason.startswith(FAILED) else "dim"
        name, told = escape(clean(care.name)), escape(clean(care.reason))
        ctx.console.print(f"[bold]{name}[/bold]  [{style}]{told}[/{style}]", soft_wrap=True)
    counts = [sum(care.reason.startswith(word) for care in tried) for word in (PASSED, FAILED, NOT_HERE)]
    ctx.console.print("{} passed, {} failed, {} not checkable here".format(*counts))
    if not kept and any(counts[:2]):
        ctx.console.print("Nothing of it is kept: [bold]tacit tend --revalidate --apply[/bold] keeps it as evidence.")


def can_be_done(care: Care) -> bool:
    """Whether applying it changes anything."""
    return bool(care.move or care.candidate or care.remark)


def show_care(ctx: CommandContext, settled: Sequence[Transition], suggestions: int) -> None:
    """Tell what evidence has moved, and whether there is more to look after: the end of what learning tells."""
    for move in settled:
        name = escape(clean(ctx.memory.store.version(move.version_id).version.name))
        style = STATUS_STYLE[move.after]
        told = f"[{style}]{move.before} → {move.after}[/{style}]"
        ctx.console.print(f"[bold]{name}[/bold]  {told}  [dim]{escape(clean(move.reason))}[/dim]", soft_wrap=True)
    if suggestions:
        ctx.console.print(f"{counted(suggestions, 'suggestion')}: [bold]tacit tend[/bold]")


def _is_wanted(ctx: CommandContext, doable: Sequence[Care]) -> bool:
    if not doable:
        return False
    if click.confirm(f"Do {'this' if len(doable) == 1 else f'these {len(doable)}'}?"):
        return True
    ctx.console.print("Nothing was done.")
    return False


def _document(care: Care) -> dict[str, Any]:
    move = care.move
    return {
        "kind": care.kind,
        "name": care.name,
        "subject": care.subject,
        "skill_id": care.skill_id,
        "reason": care.reason,
        "would": _would(care),
        "before": move.before if move else None,
        "after": move.after if move else None,
        "proposes": care.candidate.content.name if care.candidate else None,
        "parents": list(care.candidate.parents) if care.candidate else [],
        "remark": care.remark.about if care.remark else None,
        "evidence_ids": list(care.evidence_ids),
        "advice": care.advice,
        "applied": care.applied,
    }


def _would(care: Care) -> str:
    """What applying it does, in words; empty where it is only told."""
    moved = f"{care.move.before} → {care.move.after}" if care.move else ""
    proposed = "a version waits for review" if care.candidate else ""
    noted = "noted" if care.remark and not (care.move or care.candidate) else ""
    return ", ".join(part for part in (moved, proposed, noted) if part)


def _show(ctx: CommandContext, cares: Sequence[Care]) -> None:
    if not cares:
        ctx.console.print("[green]Nothing to do[/green]: the library needs no care.")
        _show_waiting(ctx)
        return
    for kind, group in groupby(cares, key=lambda care: care.kind):
        _show_kind(ctx, kind, list(group))
    doable = sum(map(can_be_done, cares))
    told = f"{counted(len(cares), 'suggestion')}, {doable} of which `tacit tend --apply` carries out."
    ctx.console.print(f"\n{told}" if doable else f"\n{counted(len(cares), 'suggestion')} for you.")
    _show_waiting(ctx)


def _show_waiting(ctx: CommandContext) -> None:
    waiting = len(ctx.memory.waiting())
    if waiting:
        ctx.console.print(
            f"{counted(waiting, 'version')} {'waits' if waiting == 1 else 'wait'} for [bold]tacit review[/bold]."
        )


def _show_kind(ctx: CommandContext, kind: CareKind, cares: Sequence[Care]) -> None:
    ctx.console.print(f"\n[bold]{TITLES[kind]}[/bold] [dim]({len(cares)})[/dim]")
    for care in cares[:SHOWN]:
        would = _would(care)
        told = f"  [yellow]{escape(would)}[/yellow]" if would else ""
        name = escape(clean(care.name))
        ctx.console.print(f"  [bold]{name}[/bold] [dim]{care.subject[:12]}[/dim]{told}", soft_wrap=True)
        ctx.console.print(f"    {escape(clean(care.reason))}", soft_wrap=True)
        if care.advice:
            ctx.console.print(f"    [dim]{escape(clean(care.advice))}[/dim]", soft_wrap=True)
    if len(cares) > SHOWN:
        ctx.console.print(f"  [dim]and {len(cares) - SHOWN} more (--only {kind}, or --json lists all)[/dim]")


def _show_done(ctx: CommandContext, done: Sequence[Care], settled: Sequence[Transition], *, listed: bool) -> None:
    """Tell what was done; of what was listed before the question only what could not be."""
    failed = [care for care in done if can_be_done(care) and not care.applied]
    for care in done if not listed else failed:
        mark = "[green]done[/green]" if care.applied else "[yellow]left[/yellow]"
        told = _would(care) if care.applied else care.advice or care.reason
        ctx.console.print(f"{mark}  [bold]{escape(clean(care.name))}[/bold]  {escape(clean(told))}", soft_wrap=True)
    kinds = Counter(care.kind for care in done if care.applied)
    told = ", ".join(f"{count} {kind}" for kind, count in kinds.items())
    ctx.console.print(f"Done: {told}." if told else "Nothing was changed.")
    if settled:
        ctx.console.print(f"{counted(len(settled), 'version')} moved by evidence.")
    if any(care.applied and care.candidate for care in done):
        ctx.console.print("Next: [bold]tacit review[/bold] to decide on what waits.")
