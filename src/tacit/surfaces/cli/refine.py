"""`tacit tend NAME`: what runs ran into at each step of a skill, and the next version that they suggest.

It shows, and with --propose puts the next version through the gate. It never changes a skill.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from tacit.domain.candidate import Verdict
from tacit.domain.skill import SkillVersion
from tacit.evidence.friction import MADE_BY, Friction, place_name
from tacit.maintain.reason_text import sentence, sentences
from tacit.maintain.revision import ParentComparison, SkillFindings
from tacit.surfaces.cli.context import CommandContext, counted, one_line
from tacit.surfaces.cli.report import Column, Columns, ReportPart, safe
from tacit.surfaces.cli.views import (
    VERDICT,
    colored_difference,
    difference,
    reliability_fields,
    reliability_text,
    verdict_lines,
)

SHOWN_FRICTION = 3
"""Examples of friction at one step; --json lists all."""
SHOWN_RUNS = 6


def report_refinements(ctx: CommandContext, name: str | None, *, propose: bool) -> None:
    """Report what runs ran into with one skill, or with every skill in use, and the next versions that they suggest."""
    found = ctx.memory.library.findings(name or "")
    verdicts = _proposed(ctx, found) if propose else {}
    document = {"skills": [_findings_document(each, verdicts.get(each.stored.version.id)) for each in found]}

    def parts() -> Iterator[ReportPart]:
        yield from _one_skill_parts(found[0]) if name else _all_skills_parts(found)
        for verdict in verdicts.values():
            yield from verdict_lines(verdict)
        if propose and not verdicts:
            yield "Nothing to propose: runs suggest no next version that was not proposed before."

    ctx.report(document, parts)


def _proposed(ctx: CommandContext, found: Sequence[SkillFindings]) -> dict[str, Verdict]:
    ids = [each.stored.version.id for each in found if each.candidate]
    made = {identity: ctx.memory.library.refine(identity) for identity in ids}
    return {identity: verdict for identity, verdict in made.items() if verdict is not None}


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
        "verified": quality.verified,
        "succeeded": quality.succeeded,
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
        "proposed": VERDICT.document(verdict) if verdict else None,
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
        for line in _run_lines(ctx, parent, runs):
            yield f"  [dim]{safe(line)}[/dim]"
    if compared.after.known or compared.regressions:
        yield from _comparison_lines(compared)


def _run_lines(ctx: CommandContext, parent: SkillVersion, trajectory_ids: Sequence[str]) -> Iterator[str]:
    """Yield the runs behind a refinement, each with what it ran into."""
    met = ctx.memory.library.findings(parent.id)[0].met
    for identity in trajectory_ids[:SHOWN_RUNS]:
        frictions = met.get(identity, ())[:SHOWN_FRICTION]
        text = "; ".join(f"{_step_name(each, parent)}: {each.detail}" for each in frictions)
        yield f"{identity[:12]}  {text or 'took another path'}"
    if len(trajectory_ids) > SHOWN_RUNS:
        yield f"and {len(trajectory_ids) - SHOWN_RUNS} more"


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


def _all_skills_parts(found: Sequence[SkillFindings]) -> Iterator[ReportPart]:
    if not found:
        yield "No run had problems with a skill in use."
        return
    yield _SUMMARY.table(found)
    yield "\n[bold]tacit tend NAME[/bold] shows one; with [bold]--propose[/bold] its next version waits for review."


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
        yield "\nNo next version yet: two sessions must show the same, or one in which a person said so."


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


def _step_name(friction: Friction, version: SkillVersion) -> str:
    return place_name(friction.step, len(version.content.steps))
