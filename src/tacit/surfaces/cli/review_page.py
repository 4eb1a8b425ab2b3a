"""What a reviewer must see of one version: findings with their lines, what it would touch and do, what came from outside.

A stored version → pictures and a document. Asks for ticks; decides nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from enum import StrEnum
from typing import Any

import click
from rich.console import Console, Group
from rich.markup import escape
from rich.panel import Panel
from rich.text import Text

from tacit import gate
from tacit.domain.candidate import Finding, Severity
from tacit.domain.lifecycle import Status
from tacit.domain.origin import Origin
from tacit.domain.ports import Stored
from tacit.domain.remark import About, record_elsewhere
from tacit.domain.skill import Capabilities, SkillContent, SkillVersion, unaccounted
from tacit.domain.trust import Examination, Literal, Touch, Touched
from tacit.gate import approvals as trusting
from tacit.maintain import disputes as disputing
from tacit.maintain import refine as refining
from tacit.maintain.care import BY
from tacit.surfaces.cli.context import CommandContext, clean, counted, one_line
from tacit.surfaces.cli.views import portrait
from tacit.surfaces.cli.refine import comparison_document, show_refinement
from tacit.surfaces.cli.views import difference, file_texts, known_parts, maker, show_diff, whole_text
from tacit.text.allowance import CATEGORIES, told
from tacit.text.touches import field_texts

SHOWN_OF_A_RULE = 4
SHOWN_EFFECTS = 12
SHOWN_LOST = 8
_STYLE = {"info": "dim", "low": "dim", "medium": "yellow", "high": "bold red", "critical": "bold red"}


def show_candidate(ctx: CommandContext, stored: Stored) -> Examination:
    """Show one candidate as a reviewer needs it: the content, or what changed, then what speaks against it."""
    console, version = ctx.console, stored.version
    _show_content(ctx, stored)
    show_passages(ctx, stored)
    show_merged(ctx, stored)
    examination = ctx.memory.examine(version.id)
    show_findings(console, findings_of(ctx, stored, examination), version.content)
    show_touched(console, version.content, examination.needs)
    outside = from_outside(version)
    if outside:
        console.print(f"[yellow]From outside:[/yellow] {escape(clean(', '.join(outside)))}")
    for literal in examination.literals:
        console.print(f"  [yellow]to be ticked:[/yellow] {escape(clean(literal.key))}  [dim]in {literal.field}[/dim]")
    if elsewhere := record_elsewhere(ctx.memory.store.remarks(stored.skill.id, about=About.PROMOTION)):
        console.print(f"[bold]promoted:[/bold] {escape(clean(elsewhere))}", soft_wrap=True)
    show_refinement(ctx, version)
    verdicts = ctx.memory.store.verdicts(version_id=version.id)
    seen = len({identity for verdict in verdicts for identity in verdict.trajectory_ids})
    made = escape(clean(maker(version.provenance)))
    console.print(f"[dim]{version.id}  {version.hash[:23]}  made by {made}; seen in {counted(seen, 'session')}[/dim]")
    return examination


def _show_content(ctx: CommandContext, stored: Stored) -> None:
    """The whole content; where something of it was approved before, what is different from that."""
    console, version = ctx.console, stored.version
    before = trusting.last_approved(ctx.memory.store, stored)
    if before is not None and before[0].version.id != version.id:
        held, approval = before
        when = f", approved by {escape(clean(approval.by))} on {approval.at:%Y-%m-%d}" if approval else ""
        name = escape(clean(version.name))
        console.print(f"A new version of [bold]{name}[/bold]; changes to {held.version.id[:10]}{when}:", soft_wrap=True)
        show_diff(console, whole_text(held.version.content), whole_text(version.content))
        return
    drawn = portrait(version.content, parts=known_parts(ctx, version.content))
    files = [Text(clean(text)) for text in file_texts(version.content)]
    console.print(Panel(Group(drawn, *files)))
    if before is not None and before[1] is not None and stored.status in (Status.CANDIDATE, Status.QUARANTINED):
        approval = before[1]
        examination = ctx.memory.examine(version.id)
        holding = gate.holds(approval, version, examination=examination, policy=ctx.memory.config.policy)
        for reason in holding.reasons:
            told_by = f"approved by {approval.by} on {approval.at:%Y-%m-%d}; since then: {reason}"
            console.print(f"[yellow]{escape(clean(told_by))}[/yellow]")


def show_passages(ctx: CommandContext, stored: Stored) -> None:
    """Of a document: how much of it a yes lets agents quote, what is withheld, and how to read it all before."""
    if quoted := quoted_of(ctx, stored):
        console, name = ctx.console, escape(clean(stored.version.name))
        count, places = counted(quoted["passages"], "passage"), ", ".join(quoted["sections"])
        console.print(f"[bold]Your yes lets agents quote {count} of it[/bold], never as steps.", soft_wrap=True)
        if places:
            console.print(f"  [dim]sections: {escape(one_line(places, 300))}[/dim]", soft_wrap=True)
        if quoted["withheld"]:
            told = f"not quoted, passages: {quoted['withheld']}"
            console.print(f"  [red]{escape(clean(told))}[/red]", soft_wrap=True)
        console.print(f"  Read them all: [bold]tacit research show {name} --text[/bold]", soft_wrap=True)


def quoted_of(ctx: CommandContext, stored: Stored) -> dict[str, Any]:
    """Of a document: how many passages it has, under which headings, and what is withheld; empty for anything else."""
    if not gate.is_quotation(stored.version.content):
        return {}
    passages = ctx.memory.store.passages(stored.version.id)
    return {
        "passages": len(passages),
        "sections": list(dict.fromkeys(passage.section for passage in passages if passage.section)),
        "withheld": stored.version.content.metadata.get("document.withheld", ""),
    }


def show_merged(ctx: CommandContext, stored: Stored) -> None:
    """Of a version that was put together of two skills: both, what leaves after a yes, and what of either is not in it."""
    for part in merged_of(ctx, stored):
        name, short = escape(clean(part["name"])), part["version_id"][:12]
        leaves = "; after your yes the next `tacit tend --apply` retires it" if part["retires"] else ""
        ctx.console.print(f"[yellow]Put together of[/yellow] [bold]{name}[/bold] {short}{leaves}", soft_wrap=True)
        for line in part["lost"][:SHOWN_LOST]:
            ctx.console.print(f"  [red]not taken over:[/red] {escape(clean(line))}", soft_wrap=True)


def merged_of(ctx: CommandContext, stored: Stored) -> list[dict[str, Any]]:
    """The versions that a merged one was made of, each with the lines that are lost; empty for any other."""
    store, version = ctx.memory.store, stored.version
    if version.content.sub_skills or store.transitions(version.id)[0].by != BY:
        return []
    parents = [store.version(identity) for identity in version.parents]
    if all(parent.skill.id == stored.skill.id for parent in parents):
        return []
    said = {line for _, text in field_texts(version.content) for line in text.splitlines()}
    return [
        {
            "version_id": parent.version.id,
            "name": parent.version.name,
            "retires": parent.skill.id != stored.skill.id,
            "lost": [
                line
                for field, text in field_texts(parent.version.content)
                for line in text.splitlines()
                if line.strip() and line not in said and field != "name"
            ],
        }
        for parent in parents
    ]


def findings_of(ctx: CommandContext, stored: Stored, examination: Examination) -> list[Finding]:
    """What the gate found when it came and what the checks find now, the heaviest first, each once."""
    now = {finding.rule for finding in examination.findings}
    then = {
        finding.rule: finding
        for verdict in ctx.memory.store.verdicts(version_id=stored.version.id)
        for finding in verdict.findings
        # not that it was seen again, nor what the checks say anew
        if finding.rule not in {*now, "near_duplicate", "counted_again", "contradicts"} and not finding.line
    }
    against = disputing.contradicted(ctx.memory.store, stored)  # what is in use may be another than when it came
    order = list(Severity)
    return sorted((*examination.findings, *then.values(), *against), key=lambda finding: -order.index(finding.severity))


def show_findings(console: Console, findings: Sequence[Finding], content: SkillContent) -> None:
    """List findings by weight, each with the line that it speaks of."""
    texts = dict(field_texts(content))
    shown: Counter[str] = Counter()
    for finding in findings:
        shown[finding.rule] += 1
        if shown[finding.rule] > SHOWN_OF_A_RULE:
            continue
        style = _STYLE[finding.severity]
        where = f" [dim]({place(finding, content)})[/dim]" if finding.field else ""
        console.print(f"[{style}]{finding.severity}: {escape(clean(finding.message))}[/{style}]{where}")
        line = line_of(finding, texts)
        if line:
            console.print(f"  [dim]│[/dim] {escape(one_line(line, max(40, console.width - 6)))}")
    for rule, count in shown.items():
        if count > SHOWN_OF_A_RULE:
            console.print(f"[dim]{escape(rule)}: and {count - SHOWN_OF_A_RULE} more (--json lists all)[/dim]")


def place(finding: Finding | Touch, content: SkillContent) -> str:
    """Where a finding or touch stands, in words that a reviewer can find again."""
    name, _, number = finding.field.partition(".")
    field = finding.field
    if name == "files" and number.isdigit() and int(number) < len(content.files):
        field = content.files[int(number)].path
    return clean(f"{field}, line {finding.line}" if finding.line else field)


def line_of(finding: Finding | Touch, texts: dict[str, str]) -> str:
    """The line that a finding speaks of; empty where it speaks of a whole field."""
    excerpt = finding.excerpt if isinstance(finding, Finding) else ""
    lines = texts.get(finding.field, "").splitlines() if finding.line else []
    return lines[finding.line - 1].strip() if 0 < finding.line <= len(lines) else excerpt


def show_touched(console: Console, content: SkillContent, needs: Capabilities) -> None:
    """List what a skill would do to the world, and what it touches beside what it declares."""
    texts = dict(field_texts(content))
    for touch in effects_of(content)[:SHOWN_EFFECTS]:
        line = one_line(line_of(touch, texts), max(30, console.width - 40))
        console.print(
            f"[yellow]{escape(clean(touch.value))}[/yellow]  {escape(line)}  [dim]({place(touch, content)})[/dim]"
        )
    touched = told(needs, most=8)
    if touched:
        console.print(f"[dim]touches {escape(clean(touched))}[/dim]", soft_wrap=True)
    declared = told(content.capabilities, most=8)
    if declared:
        console.print(f"[dim]declares {escape(clean(declared))}[/dim]", soft_wrap=True)


def effects_of(content: SkillContent) -> list[Touch]:
    """Where a skill deletes, sends, publishes, reveals, installs, pays or persists: each effect once per line."""
    found: dict[tuple[str, str, int], Touch] = {}
    for touch in gate.touches_of(content):
        if touch.kind is Touched.EFFECT:
            found.setdefault((touch.value, touch.field, touch.line), touch)
    return sorted(found.values(), key=lambda touch: touch.value)


def from_outside(version: SkillVersion) -> list[str]:
    """Fields whose text came from a tool's output, a file or the web, or from nobody knows where."""
    marked = [path for path, origin in version.origins.items() if origin is Origin.EXTERNAL]
    return sorted(
        {path.removesuffix(".arguments") for path in (*marked, *unaccounted(version.content, version.origins))}
    )


class Answer(StrEnum):
    """What a person says to a question: yes, no, or that they want to stop here."""

    YES = "y"
    NO = "n"
    QUIT = "q"


def ask(ctx: CommandContext, question: str) -> Answer:
    """Ask a question that has a yes, a no and a way out; no answer is a no."""
    words = {"y": Answer.YES, "yes": Answer.YES, "n": Answer.NO, "no": Answer.NO, "q": Answer.QUIT}
    known = click.Choice([*words, "?"], case_sensitive=False)
    while True:
        said = click.prompt(f"{question} [y/N]", default="n", show_default=False, show_choices=False, type=known)
        if said != "?":
            return words[said]
        ctx.console.print("[dim]y: yes, I know this one.  n: no; it is not approved.  q: stop here.[/dim]")


def ask_for_ticks(
    ctx: CommandContext, stored: Stored, literals: Iterable[Literal], *, ticked: Collection[str] = ()
) -> tuple[Answer, tuple[str, ...]]:
    """Ask for each thing from outside that is not ticked yet, by itself; one no ends it."""
    texts, given = dict(field_texts(stored.version.content)), list(ticked)
    touched = {(f"{touch.kind}:{touch.value}", touch.field): touch for touch in gate.touches_of(stored.version.content)}
    for literal in literals:
        if literal.key in given:
            continue
        touch = touched.get((literal.key, literal.field))
        named = (line.strip() for line in texts.get(literal.field, "").splitlines() if literal.value in line)
        line = line_of(touch, texts) if touch and touch.line else next(named, "")
        if line:
            ctx.console.print(f"  [dim]│[/dim] {escape(one_line(line, max(40, ctx.console.width - 6)))}")
        said = ask(ctx, f"{clean(literal.key)} came from outside (in {literal.field}). Is it right?")
        if said is not Answer.YES:
            ctx.console.print(f"Not ticked: {escape(clean(literal.key))}. Nothing is approved.")
            return said, ()
        given.append(literal.key)
    return Answer.YES, tuple(given)


def grave_ones(ctx: CommandContext, stored: Stored, examination: Examination) -> list[Finding]:
    """Everything found that a careful person would refuse, the heaviest first."""
    return [finding for finding in findings_of(ctx, stored, examination) if gate.is_grave([finding])]


def inspected(ctx: CommandContext, stored: Stored) -> dict[str, Any]:
    """The same for a program."""
    version, examination = stored.version, ctx.memory.examine(stored.version.id)
    before = trusting.last_approved(ctx.memory.store, stored)
    return {
        "findings": list(finding_documents(findings_of(ctx, stored, examination), version.content)),
        "effects": [
            {"effect": touch.value, "field": touch.field, "line": touch.line} for touch in effects_of(version.content)
        ],
        "capabilities": {name: getattr(examination.needs, name) for name in CATEGORIES},
        "declared": version.content.capabilities,
        "from_outside": from_outside(version),
        "ticks": [
            {"key": literal.key, "kind": literal.kind, "value": literal.value, "field": literal.field}
            for literal in examination.literals
        ],
        "checks": examination.checks,
        "approved_before": _approved_before(before, version) if before else None,
        "merged_of": merged_of(ctx, stored),
        "quoted": quoted_of(ctx, stored),
        "comparison": comparison_document(refining.compared(ctx.memory.store, stored)),
    }


def finding_documents(findings: Iterable[Finding], content: SkillContent) -> Iterator[dict[str, Any]]:
    """Findings for a program, each with its file and line."""
    texts = dict(field_texts(content))
    for finding in findings:
        name, _, number = finding.field.partition(".")
        inside = name == "files" and number.isdigit() and int(number) < len(content.files)
        yield {
            "severity": finding.severity,
            "rule": finding.rule,
            "message": finding.message,
            "field": finding.field,
            "file": content.files[int(number)].path if inside else "",
            "line": finding.line,
            "span": {"start": finding.start, "end": finding.end},
            "excerpt": finding.excerpt or line_of(finding, texts),
        }


def _approved_before(before: tuple[Stored, Any], version: SkillVersion) -> dict[str, Any]:
    held, approval = before
    return {
        "version_id": held.version.id,
        "by": approval.by if approval else "",
        "at": approval.at if approval else None,
        "diff": difference(whole_text(held.version.content), whole_text(version.content)),
    }
