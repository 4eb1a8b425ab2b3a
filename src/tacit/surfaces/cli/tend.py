"""`tacit tend`: what the library needs, and why; a person applies it. Nothing is ever deleted.

`tacit tend NAME` shows what runs ran into at each step of a skill, and with --propose puts the next version that they suggest
through the gate.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

import click
from rich.markup import escape

from tacit.config.settings import save_settings
from tacit.domain.candidate import Verdict
from tacit.domain.care import Care, CareKind, CareReason
from tacit.domain.errors import Mistake, SandboxOutage
from tacit.domain.identity import plain
from tacit.domain.lifecycle import Transition
from tacit.domain.skill import SkillVersion
from tacit.evidence.friction import MADE_BY, place_name
from tacit.maintain.exports import export
from tacit.maintain.reason_text import sentence, sentences, stored_reason
from tacit.maintain.revision import ParentComparison, SkillFindings
from tacit.surfaces.cli.context import CommandContext, by_option, command_options, counted, one_line, progress_bar
from tacit.surfaces.cli.report import Column, Columns, ReportPart, fields, safe
from tacit.surfaces.cli.views import (
    STATUS_STYLE,
    colored_difference,
    difference,
    reliability_fields,
    reliability_text,
    verdict_document,
    verdict_lines,
)
from tacit.surfaces.hook import waiting

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
_KINDS = {kind.value: kind for kind in CareKind if kind is not CareKind.STANDING} | {"status": CareKind.STANDING}
"""What `--only` takes; `standing` is the old word for `status`."""
_RESULT_STYLE: Mapping[str, str] = {CareReason.PASSED: "green", CareReason.FAILED: "red"}


@click.command()
@click.argument("name", required=False, metavar="[NAME]")
@click.option("--propose", is_flag=True, help="Propose the next version that runs suggest; it waits for review.")
@click.option("--runs", is_flag=True, hidden=True, help="What runs ran into, for every skill in use.")
@click.option("--apply", "apply", is_flag=True, help="Apply the suggestions, after asking.")
@click.option(
    "--only",
    multiple=True,
    type=click.Choice([*_KINDS, CareKind.STANDING.value]),
    metavar=f"[{'|'.join(_KINDS)}]",
    help="Only this kind (repeatable).",
)
@click.option("--revalidate", is_flag=True, help="Run procedures again in the sandbox; with --apply store the results.")
@click.option(
    "--every", metavar="TIME", help="Let the background learner --revalidate so often, e.g. 7d; `off` ends it."
)
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
    every: str | None,
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
    if every is not None:
        _schedule(ctx, every)
        return
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
        cares = ctx.memory.library.plan(only=[_KINDS.get(kind, CareKind.STANDING) for kind in only], progress=advance)
    asking = apply and not yes and not ctx.as_json
    if not apply or asking:
        ctx.report({"applied": False, "cares": [*map(care_document, cares)]}, lambda: _plan_lines(ctx, cares))
    applicable = [care for care in cares if can_be_applied(care)]
    if not apply or (asking and not applicable):
        return
    if asking and not click.confirm(f"Apply {'this' if len(applicable) == 1 else f'these {len(applicable)}'}?"):
        ctx.console.print("Nothing was done.")
        return
    done, settled = ctx.memory.library.apply(cares, by=ctx.person(by))
    waiting.remove(str(ctx.place.folder))
    export(ctx.memory.context)
    document = {"applied": True, "cares": [*map(care_document, done)], "settled": [plain(m) for m in settled]}
    ctx.report(document, lambda: applied_lines(done, settled, listed=asking))


def _schedule(ctx: CommandContext, every: str) -> None:
    """Set how often procedures are tried again, in the settings of the person's home."""
    ctx.caller.require_person("tend --every")
    match = re.fullmatch(r"(\d{1,3})([dw])|off", every.strip())
    if not match:
        raise Mistake(f"{every!r} is not a time", code="not_a_duration", hint="write 7d, 2w or off")
    days = int(match[1] or 0) * (7 if match[2] == "w" else 1)
    path = save_settings(ctx.environment.person_home, {"learn.revalidate_days": days})
    line = f"Every {counted(days, 'day')}, after a session, procedures are tried again in the sandbox"
    outage = _sandbox_outage() if days else None
    ctx.report(
        {"revalidate_days": days, "file": str(path), "sandbox": outage is None},
        f"{line if days else 'Procedures are not tried again by themselves'}.",
        *([f"[red]There is no sandbox on this machine yet:[/red] {safe(outage.hint)}"] if outage else []),
    )


def _sandbox_outage() -> SandboxOutage | None:
    """Return why there is no sandbox on this machine; nothing where there is one."""
    from tacit.providers.sandbox import open_sandbox

    try:
        open_sandbox()
    except SandboxOutage as outage:
        return outage
    return None


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
        counts = Counter(care.reasons[0].code for care in tried)
        for care in tried:
            style = _RESULT_STYLE.get(care.reasons[0].code, "dim")
            yield f"[bold]{safe(care.name)}[/bold]  [{style}]{safe(sentences(care.reasons))}[/{style}]"
        passed, failed = counts[CareReason.PASSED], counts[CareReason.FAILED]
        yield f"{passed} passed, {failed} failed, {counts[CareReason.NOT_CHECKABLE]} not checkable here"
        if not keep and passed + failed:
            yield "Nothing was stored: [bold]tacit tend --revalidate --apply[/bold] stores it as evidence."

    ctx.report({"applied": keep, "cares": [*map(care_document, tried)]}, lines)


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


def _effect(care: Care) -> str:
    """Return what applying it does; empty where it is only advice."""
    moved = f"{care.move.before} → {care.move.after}" if care.move else ""
    proposed = "a version waits for review" if care.candidate else ""
    noted = "noted" if care.remark and not (care.move or care.candidate) else ""
    return ", ".join(part for part in (moved, proposed, noted) if part)


def care_document(care: Care) -> dict[str, Any]:
    move, candidate = care.move, care.candidate
    return {
        **fields(care, "kind", "name", "subject", "skill_id"),
        "codes": list(care.codes),
        "reason": sentences(care.reasons),
        "effect": _effect(care),
        "before": move.before if move else None,
        "after": move.after if move else None,
        "proposes": candidate.content.name if candidate else None,
        "parents": list(candidate.parents) if candidate else [],
        "remark": care.remark.about if care.remark else None,
        "evidence_ids": list(care.evidence_ids),
        "advice": sentences(care.advice),
        "applied": care.applied,
    }


def care_lines(care: Care) -> Iterator[str]:
    effect = _effect(care)
    change = f"  [yellow]{escape(effect)}[/yellow]" if effect else ""
    yield f"  [bold]{safe(care.name)}[/bold] [dim]{care.subject[:12]}[/dim]{change}"
    yield f"    {safe(sentences(care.reasons))}"
    if care.advice:
        yield f"    [dim]{safe(sentences(care.advice))}[/dim]"


def _plan_lines(ctx: CommandContext, cares: Sequence[Care]) -> Iterator[str]:
    if not cares:
        yield "[green]No suggestions[/green]: the library needs no maintenance."
    for kind, group in groupby(cares, key=lambda care: care.kind):
        listed = list(group)
        yield f"\n[bold]{TITLES[kind]}[/bold] [dim]({len(listed)})[/dim]"
        for care in listed[:SHOWN]:
            yield from care_lines(care)
        if len(listed) > SHOWN:
            yield f"  [dim]and {len(listed) - SHOWN} more (--only {kind}, or --json lists all)[/dim]"
    if cares:
        applicable = sum(map(can_be_applied, cares))
        count = counted(len(cares), "suggestion")
        yield f"\n{count}. `tacit tend --apply` applies {applicable} of them." if applicable else f"\n{count} for you."
    waiting = len(ctx.memory.reviews.waiting(folded=False))
    if waiting:
        verb = "waits" if waiting == 1 else "wait"
        yield f"{counted(waiting, 'version')} {verb} for review. Run [bold]tacit review[/bold]."


def applied_lines(done: Sequence[Care], settled: Sequence[Transition], *, listed: bool) -> Iterator[str]:
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


SHOWN_FRICTION = 3
"""Examples of friction at one step; --json lists all."""
SHOWN_RUNS = 6


def report_refinements(ctx: CommandContext, name: str | None, *, propose: bool) -> None:
    """Report what runs ran into with one skill, or with every skill in use, and the next versions that they suggest."""
    found = ctx.memory.library.findings(name or "")
    asked = [each.stored.version.id for each in found if propose and each.candidate]
    made = {identity: ctx.memory.library.refine(identity) for identity in asked}
    verdicts = {identity: verdict for identity, verdict in made.items() if verdict is not None}
    document = {"skills": [_findings_document(each, verdicts.get(each.stored.version.id)) for each in found]}

    def parts() -> Iterator[ReportPart]:
        if name:
            yield from _one_skill_parts(found[0])
        elif found:
            yield _SUMMARY.table(found)
            yield "\n[bold]tacit tend NAME[/bold] shows one; with [bold]--propose[/bold] its next version waits for review."
        else:
            yield "No run had problems with a skill in use."
        for verdict in verdicts.values():
            yield from verdict_lines(verdict)
        if propose and not verdicts:
            yield "Nothing to propose: runs suggest no next version that was not proposed before."

    ctx.report(document, parts)


def _findings_document(found: SkillFindings, verdict: Verdict | None) -> dict[str, Any]:
    """Return everything that runs show about one version, for programs."""
    stored, quality, revision = found.stored, found.quality, found.revision
    return {
        "name": stored.version.name,
        "version_id": stored.version.id,
        "status": stored.status,
        "uses": quality.uses,
        "friction": quality.met,
        "friction_per_use": round(quality.per_use, 2),
        "by_step": {str(step): kinds for step, kinds in quality.by_step.items()},
        **fields(quality, "verified", "succeeded"),
        "themes": dict(quality.themes),
        "needs_review": [sentence(reason) for reason in quality.reasons],
        "runs": [{"trajectory_id": run, "met": list(each)} for run, each in found.met.items()],
        "revision": {
            "codes": [reason.code for reason in revision.reasons],
            "reasons": [sentence(reason) for reason in revision.reasons],
            "trajectory_ids": list(revision.trajectory_ids),
            "diff": difference(stored.version.content, revision.content),
            "grounding": revision.grounding,
            "origins": found.candidate.origins if found.candidate else revision.origins,
        }
        if revision
        else None,
        "waiting": found.waiting.version.id if found.waiting else None,
        "comparison": comparison_document(found.comparison),
        "proposed": verdict_document(verdict) if verdict else None,
    }


def comparison_document(compared: ParentComparison | None) -> dict[str, Any] | None:
    """Return a version's results next to its parent's, for programs."""
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


def refinement_lines(ctx: CommandContext, version: SkillVersion) -> Iterator[str]:
    """Yield for a reviewer: the runs behind a refinement, what they ran into, and its results next to its parent's."""
    compared = ctx.memory.library.compare_with_parent(version.id)
    if compared is None:
        return
    if version.provenance.made_by == MADE_BY:
        parent = compared.parent.version
        runs = [each for each in version.provenance.trajectory_ids if each not in parent.provenance.trajectory_ids]
        yield f"[bold]Based on {counted(len(runs), 'run')} of {parent.id[:10]}[/bold]"
        met = ctx.memory.library.findings(parent.id)[0].met
        for identity in runs[:SHOWN_RUNS]:
            frictions = met.get(identity, ())[:SHOWN_FRICTION]
            steps = len(parent.content.steps)
            text = "; ".join(f"{place_name(each.step, steps)}: {each.detail}" for each in frictions)
            yield f"  [dim]{identity[:12]}  {safe(text or 'took another path')}[/dim]"
        if len(runs) > SHOWN_RUNS:
            yield f"  [dim]and {len(runs) - SHOWN_RUNS} more[/dim]"
    if compared.after.known or compared.regressions:
        yield from _comparison_lines(compared)


def _worst_step(found: SkillFindings) -> str:
    steps, by_step = len(found.stored.version.content.steps), found.quality.by_step
    if not by_step:
        return ""
    worst = max(by_step, key=lambda step: sum(by_step[step].values()))
    return place_name(worst, steps)


def _outlook(found: SkillFindings) -> str:
    parts = []
    if found.comparison and found.comparison.regressions:
        parts.append(counted(len(found.comparison.regressions), "regression"))
    if found.revision:
        parts.append("a next version can be proposed")
    if found.waiting:
        parts.append(f"{found.waiting.version.id[:10]} waits for review")
    if found.quality.needs_review:
        parts.append("needs review: " + sentences(found.quality.reasons))
    return "; ".join(parts) or "nothing yet: only one session shows it"


_SUMMARY: Columns[SkillFindings] = Columns(
    Column("", lambda each: each.stored.version.name, "skill"),
    Column("", lambda each: each.quality.uses, "uses"),
    Column("", lambda each: f"{each.quality.per_use:.1f}", "friction per use"),
    Column("", lambda each: f"{each.quality.succeeded} of {each.quality.verified}", "verified"),
    Column("", _worst_step, "most at"),
    Column("", _outlook, "next"),
)


def _one_skill_parts(found: SkillFindings) -> Iterator[ReportPart]:
    version, quality = found.stored.version, found.quality
    yield (
        f"[bold]{safe(version.name)}[/bold]  {version.id[:10]}  {found.stored.status}: "
        f"{counted(quality.uses, 'use')}, {quality.per_use:.1f} frictions per use, "
        f"worked in {quality.succeeded} of {quality.verified} verified uses"
    )
    for reason in quality.reasons:
        yield f"[yellow]needs review:[/yellow] {safe(sentence(reason))}"
    yield _step_table(found) if found.met else "No run had problems with its steps."
    if found.comparison:
        yield from _comparison_lines(found.comparison)
    if found.revision and found.candidate:
        yield "\n[bold]The next version that runs suggest[/bold]"
        for reason in found.revision.reasons:
            yield f"  {safe(sentence(reason))}"
        yield colored_difference(version.content, found.revision.content)
        runs = ", ".join(identity[:12] for identity in found.revision.trajectory_ids[:SHOWN_RUNS])
        yield f"[dim]shown by {safe(runs)}, verified[/dim]"
        outside = [path for path, origin in found.candidate.origins.items() if origin == "external"]
        yield f"[yellow]From outside:[/yellow] {safe(', '.join(outside))}" if outside else None
    elif found.waiting:
        yield f"\nA refinement waits for review. Run [bold]tacit review {found.waiting.version.id[:10]}[/bold]."
    else:
        yield "\nNo next version yet: two verified sessions must show the same, or one in which a person said so."


def _step_table(found: SkillFindings) -> ReportPart:
    """Return the friction by step, with a few examples each."""
    content = found.stored.version.content

    def examples(step: int) -> str:
        here = [each for met in found.met.values() for each in met if each.step == step]
        return "\n".join(list(dict.fromkeys(one_line(each.detail, 120) for each in here))[:SHOWN_FRICTION])

    columns: Columns[tuple[int, Any]] = Columns(
        Column("", lambda row: place_name(row[0], len(content.steps)), "at"),
        Column("", lambda row: ", ".join(f"{k.replace('_', ' ')} ×{n}" for k, n in row[1].items()), "problem"),
        Column("", lambda row: examples(row[0]), "for example"),
    )
    return columns.table(found.quality.by_step.items())


def _comparison_lines(compared: ParentComparison) -> Iterator[str]:
    parent = compared.parent.version.id[:10]
    yield f"Compared with its parent {parent}: {reliability_text(compared.after)}; parent: {reliability_text(compared.before)}"
    for each in compared.regressions:
        runs = f"[dim]({each.failed.id[:12]}, {each.solved.id[:12]})[/dim]"
        yield f"[red]Regression:[/red] fails a task that an earlier version solved {runs}"
    if compared.regressions:
        yield f"  [bold]tacit undo {parent} --to {parent}[/bold] goes back to it"
