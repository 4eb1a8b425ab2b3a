"""What a reviewer sees of one version: its content or changes, findings with their lines, effects, and what to confirm."""

from __future__ import annotations

import dataclasses
import textwrap
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Any

from rich.markup import escape
from rich.panel import Panel

from tacit import render
from tacit.domain.candidate import Finding, Severity
from tacit.domain.care import BY_ITSELF
from tacit.domain.ledger import About, record_elsewhere
from tacit.domain.lifecycle import WAITING
from tacit.domain.reach import CARD
from tacit.domain.scope import Level
from tacit.domain.skill import BEFORE_TAG, CALL_TAG, OWN_PREFIX, RULE_KINDS, Kind, SkillContent, SkillVersion
from tacit.domain.stored import StoredVersion
from tacit.domain.trust import Examination, ExternalValue, ResourceKind, ResourceUse
from tacit.gate.content_checks import is_quotation, resource_uses_of
from tacit.gate.findings import field_name as entry_name
from tacit.gate.findings import reason_sentence
from tacit.gate.quarantine import is_withheld
from tacit.gate.review_rules import has_severe_findings, tool_keys
from tacit.gate.review_sources import (
    Doubt,
    OutsideSource,
    Snippet,
    fold_of,
    outside_fields,
    outside_sources,
    sessions_behind,
    support_of,
    text_of_source,
)
from tacit.maintain.promotion_rules import SESSIONS
from tacit.surfaces.cli.context import CommandContext, ask_key, clean, counted, one_line
from tacit.surfaces.cli.report import ReportPart, fields, print_parts, safe
from tacit.surfaces.cli.tend import comparison_document, refinement_lines
from tacit.surfaces.cli.views import colored_difference, difference, maker, skill_page
from tacit.text.capabilities import CATEGORIES, capabilities_text
from tacit.text.field_texts import field_texts

SHOWN_OF_A_RULE = 4
SHOWN_EFFECTS = 12
SHOWN_LOST = 8
SHOWN_SOURCES = 12
_STYLE = {"info": "dim", "low": "dim", "medium": "yellow", "high": "bold red", "critical": "bold red"}
_BRIEF_ABOUT, _BRIEF_LINES, _BRIEF_SNIPPETS = 2, 4, 2
"""Lines of a description and of a text, and places in sessions, that a page shows at first."""
_NOT_READ = frozenset({"steps", "signature", "cues", "tags", "category"})
"""Fields that a page shows in another way, or that only programs read."""
_EXPECTED = frozenset({"external_text", "standing_order", "model_wording"})
"""Rules of findings that a page tells in another way: by what is to be confirmed, and by its kind."""
_HEADINGS = {
    Kind.NORM: "Rules", Kind.PREFERENCE: "Preferences", Kind.FACT: "About the project", Kind.LESSON: "Fixes",
    Kind.PROCEDURE: "Procedures",
}  # fmt: skip
_ONLY_THEN = frozenset({"near_duplicate", "counted_again", "contradicts"})
"""Rules of findings that were about the moment of the verdict."""


def show_candidate(ctx: CommandContext, stored: StoredVersion) -> None:
    """Print one candidate as a reviewer needs it."""
    print_parts(ctx.console, candidate_parts(ctx, stored))


def show_briefly(ctx: CommandContext, stored: StoredVersion) -> bool:
    """Print one candidate in at most twelve lines; return whether all of its text from outside was among them.

    All of it is printed where something grave was found, and of what no session shows.
    """
    version = stored.version
    examination = ctx.memory.reviews.examine(version.id)
    support = support_of(ctx.memory.context, version)
    is_grave = bool(grave_ones(ctx, stored, examination)) or is_withheld(version.content)
    if is_grave or not support.sessions:
        show_candidate(ctx, stored)
        return True
    width = max(40, ctx.console.width - 2)
    lines, is_complete = _brief_text(ctx, stored, width=width)
    lines += [line for snippet in support.snippets[:_BRIEF_SNIPPETS] if (line := _snippet_line(ctx, snippet))]
    if support.doubts:
        lines.append(f"[yellow]Doubtful:[/yellow] {'; '.join(DOUBTS[doubt] for doubt in support.doubts)}.")
    found = findings_of(ctx, stored, examination)
    findings = [each for each in found if each.rule not in _EXPECTED and each.severity.at_least(Severity.MEDIUM)]
    for finding in findings[:1]:
        more = f" [dim](and {len(findings) - 1} more: v)[/dim]" if len(findings) > 1 else ""
        text = safe(one_line(f"{finding.severity}: {finding.message}", width))
        lines.append(f"[{_STYLE[finding.severity]}]{text}[/]{more}")
    if examination.external_values:
        values = ", ".join(f"`{each.value}`" for each in examination.external_values)
        lines.append(f"[yellow]To confirm one by one:[/yellow] {safe(one_line(values, width))}")
    seen = f"seen in {counted(len(support.sessions), 'session')}"
    if (gate := project_gate(ctx, stored, support.sessions)) and not gate["open"]:
        seen += f" (for the project: {gate['needed']}, or your approval)"
    head = f"[bold]{safe(version.name)}[/bold]  [dim]{seen}; agents see it {moment(version.content)}[/dim]"
    print_parts(ctx.console, [head, *lines])
    return is_complete


def _brief_text(ctx: CommandContext, stored: StoredVersion, *, width: int) -> tuple[list[str], bool]:
    """Return the description and the first lines of the text or of its changes, and whether nothing from outside is cut."""
    version, content = stored.version, stored.version.content
    before = ctx.memory.reviews.last_approved(stored)
    about = textwrap.wrap(clean(content.description), width)
    if before is not None and before[0].version.id != version.id:
        about = [f"A new version of what is in use ({before[0].version.id[:10]}):"]
        changes = difference(before[0].version.content, content).splitlines()
        text = [line for line in changes if line[:1] in "+-" and line[:3] not in ("+++", "---")]
    else:
        text = list(_text_lines(content))
        if _is_own_wording(version) and content.steps:
            text = text[: len(content.steps) + bool(content.signature)]  # the body says the same again
    shown = about[:_BRIEF_ABOUT] + [one_line(line, width) for line in text[:_BRIEF_LINES]]
    cut = len(about) > _BRIEF_ABOUT or len(text) > _BRIEF_LINES
    lines = [safe(line) for line in shown]
    if cut or any(line.endswith("…") for line in shown):
        lines[-1] += " [dim](more: v)[/dim]"
    if _is_own_wording(version):
        return lines, True  # what is from outside are the values to confirm
    whole = " ".join((" ".join(about[:_BRIEF_ABOUT]), *shown))
    outside = outside_fields(version)
    texts = (text for path, text in field_texts(content) if path in outside and path not in ("tags", "category"))
    return lines, all(" ".join(clean(line).split()) in whole for text in texts for line in text.splitlines())


def _is_own_wording(version: SkillVersion) -> bool:
    """Whether Tacit worded all of it from counts, so that its body repeats its description and steps."""
    return version.provenance.made_by.startswith(OWN_PREFIX) and not version.provenance.model


def _text_lines(content: SkillContent) -> Iterator[str]:
    """Yield what an agent reads of a skill besides its description, a line each, steps counted from 1."""
    if content.signature:
        yield f"on: {content.signature}"
    for number, step in enumerate(content.steps, start=1):
        command = next((value for value in step.arguments.values() if isinstance(value, str)), "")
        yield f"{number}. {step.text}" + (f"  $ {command}" if command and command not in step.text else "")
    shown = {content.name, content.description, content.signature}
    for path, text in field_texts(content):
        if path.partition(".")[0] not in _NOT_READ:
            yield from (line for line in text.splitlines() if line.strip() and line not in shown)


def heading_of(stored: StoredVersion) -> str:
    """Return the heading above versions of a kind in the review."""
    return _HEADINGS.get(stored.version.content.kind, "Others")


def candidate_parts(ctx: CommandContext, stored: StoredVersion) -> Iterator[ReportPart]:
    """Yield one candidate as a reviewer needs it: the content, or what changed, then the findings."""
    version, width = stored.version, ctx.console.width
    examination = ctx.memory.reviews.examine(version.id)
    if is_withheld(version.content):
        yield f"[bold]{safe(version.name)}[/bold] ({version.content.kind}): {safe(version.content.description)}"
        for each in findings_of(ctx, stored, examination):
            yield f"[{_STYLE[each.severity]}]{each.severity}: {escape(each.rule)}[/{_STYLE[each.severity]}]"
        yield f"[dim]{version.id}  {version.hash[:23]}[/dim]"
        return
    yield from _content_parts(ctx, stored)
    yield from _support_lines(ctx, stored)
    yield from _quotation_lines(ctx, stored)
    for part in merged_parents(ctx, stored):
        leaves = "; after your approval the next `tacit tend --apply` retires it" if part["retires"] else ""
        yield f"[yellow]Merged from[/yellow] [bold]{safe(part['name'])}[/bold] {part['version_id'][:12]}{leaves}"
        for line in part["lost"][:SHOWN_LOST]:
            yield f"  [red]not taken over:[/red] {safe(line)}"
    findings = findings_of(ctx, stored, examination)
    yield from finding_lines(findings, version.content, width=width)
    texts = dict(field_texts(version.content))
    for use in effects_of(version.content)[:SHOWN_EFFECTS]:
        line = one_line(line_of(use, texts), max(30, width - 40))
        yield f"[yellow]{safe(use.value)}[/yellow]  {escape(line)}  [dim]({escape(place(use, version.content))})[/dim]"
    for verb, capabilities in (("touches", examination.needs), ("declares", version.content.capabilities)):
        if listed := capabilities_text(capabilities, most=8):
            yield f"[dim]{verb} {safe(listed)}[/dim]"
    sources = outside_sources(ctx.memory.context, version)
    for path, behind in list(sources.items())[:SHOWN_SOURCES]:
        named = "; ".join(map(text_of_source, behind))
        yield f"[yellow]From outside:[/yellow] {safe(field_name(path, version.content))}: {escape(clean(named))}"
    if len(sources) > SHOWN_SOURCES:
        yield f"[dim]and {counted(len(sources) - SHOWN_SOURCES, 'further field')} (--json lists all)[/dim]"
    for external in examination.external_values:
        yield f"  [yellow]confirm:[/yellow] {escape(confirmation(external, version, sources))}"
    if elsewhere := record_elsewhere(ctx.memory.archive.remarks(stored.skill.id, about=About.PROMOTION)):
        yield f"[bold]promoted:[/bold] {safe(elsewhere)}"
    yield from refinement_lines(ctx, version)
    made = safe(maker(version.provenance))
    yield f"[dim]{version.id}  {version.hash[:23]}  made by {made}[/dim]"


DOUBTS = {
    Doubt.QUESTION: "it is a question",
    Doubt.ONE_DAY: "it names an id or a date of one day",
    Doubt.FIX_SHOWS_ERROR: "the output of the fix shows an error itself",
    Doubt.EDITED_BETWEEN: "files were edited before the call worked: perhaps that fixed it",
}
_AT_START = frozenset({Kind.NORM, Kind.PREFERENCE})


def moment(content: SkillContent) -> str:
    """Return when agents will see a skill."""
    if content.kind in _AT_START or content.name == CARD:
        return "at the start of every session"
    if content.kind is Kind.LESSON and content.signature:
        return "when a call fails with this error"
    if content.kind is Kind.LESSON and any(tag.startswith(CALL_TAG) for tag in content.tags):
        return "before the call that it is about"
    return "where a task calls for it"


def _support_lines(ctx: CommandContext, stored: StoredVersion) -> Iterator[str]:
    """Yield how often it was seen and when agents will see it, up to three places it rests on, and what is doubtful."""
    version, scope = stored.version, stored.skill.scope
    support = support_of(ctx.memory.context, version)
    when = moment(version.content)
    before = " and before such a call" if BEFORE_TAG in version.content.tags else ""
    count = len(support.sessions)
    seen = f"seen in {counted(count, 'session')}" if count else "proposed, not seen in a session"
    yield f"[bold]Why:[/bold] {seen}; agents see it {when}{before}."
    if (gate := project_gate(ctx, stored, support.sessions)) and not gate["open"]:
        yield f"[dim]For the project it takes {gate['needed']} sessions, or your approval.[/dim]"
    if fold := _fold(ctx, stored):
        yield f"[yellow]Folded away:[/yellow] {safe(fold['why'])}. Unfold: tacit undo {safe(version.name)}"
    if scope.level in (Level.TEAM, Level.SESSION):
        yield f"[yellow]Only {safe(str(scope))} sees it.[/yellow] All sessions: tacit promote {version.id[:10]}"
    yield from (_snippet_line(ctx, snippet) for snippet in support.snippets)
    for doubt in support.doubts:
        yield f"[yellow]Doubtful:[/yellow] {DOUBTS[doubt]}."


def project_gate(ctx: CommandContext, stored: StoredVersion, sessions: Collection[str]) -> dict[str, Any] | None:
    """Return how far sessions alone let a waiting version into the project; None where its scope is another one.

    What a person said is not counted: it holds for the project because a person said so. The card counts each line.
    """
    version, level = stored.version, stored.skill.scope.level
    is_asked_for = version.content.kind in RULE_KINDS or not version.provenance.by_tacit or version.name == CARD
    if stored.status not in WAITING or level is not Level.PROJECT or is_asked_for:
        return None
    return {
        "from": str(Level.SESSION),
        "to": str(level),
        "sessions": sorted(sessions),
        "needed": SESSIONS,
        "open": len(sessions) >= SESSIONS,
    }


def _fold(ctx: CommandContext, stored: StoredVersion) -> dict[str, Any] | None:
    """Return who is forecast to reject a version that was folded away, how surely, and that in a sentence."""
    reason = fold_of(ctx.memory.context, stored)
    return {"why": reason_sentence(reason), **reason.values} if reason else None


def _snippet_line(ctx: CommandContext, snippet: Snippet) -> str:
    when = f"{snippet.at:%Y-%m-%d} " if snippet.at else ""
    failed = " [red]failed[/red]" if snippet.failed else ""
    text = escape(clean(one_line(snippet.text, max(40, ctx.console.width - 30))))
    return f"  [dim]{when}{snippet.who}:[/dim] {text}{failed}"


def _content_parts(ctx: CommandContext, stored: StoredVersion) -> Iterator[ReportPart]:
    """Yield the whole content, or the changes since the version that was approved last."""
    version = stored.version
    before = ctx.memory.reviews.last_approved(stored)
    if before is not None and before[0].version.id != version.id:
        earlier, approval = before
        when = f", approved by {safe(approval.by)} on {approval.at:%Y-%m-%d}" if approval else ""
        yield f"A new version of [bold]{safe(version.name)}[/bold]; changes to {earlier.version.id[:10]}{when}:"
        yield colored_difference(earlier.version.content, version.content)
        return
    yield Panel(skill_page(version.content))
    if before is not None and before[1] is not None and stored.status in WAITING:
        approval = before[1]
        for reason in ctx.memory.reviews.void_reasons(approval, version):
            line = f"approved by {approval.by} on {approval.at:%Y-%m-%d}; no longer valid because: {reason_sentence(reason)}"
            yield f"[yellow]{safe(line)}[/yellow]"


def _file_path(path: str, content: SkillContent) -> str:
    """Return the path of the file that a field is of; empty for other fields."""
    name, _, number = path.partition(".")
    inside = name == "files" and number.isdigit() and int(number) < len(content.files)
    return content.files[int(number)].path if inside else ""


def field_name(path: str, content: SkillContent) -> str:
    """Return the path of a field as a reader counts: `steps.1` is step 2, a file has its own path."""
    return _file_path(path, content) or entry_name(path)


def confirmation(external: ExternalValue, version: SkillVersion, sources: Mapping[str, Sequence[OutsideSource]]) -> str:
    """Return what a reviewer must confirm about a value from outside."""
    behind = sources.get(external.field.removesuffix(".arguments")) or sources.get(external.field.partition(".")[0], ())
    known = behind and behind[0] != OutsideSource()
    source = text_of_source(behind[0]) if known else "tool output, a file or the web"
    why = f"worded by a model that read {source}" if version.provenance.model else f"first seen in {source}"
    return clean(f"`{external.value}` ({external.kind}, {field_name(external.field, version.content)}) was {why}")


def _quotation_lines(ctx: CommandContext, stored: StoredVersion) -> Iterator[str]:
    """Yield for a document: how much of it agents may quote, what is withheld, and how to read all of it."""
    quoted = quoted_passages(ctx, stored)
    if not quoted:
        return
    name, sections = safe(stored.version.name), ", ".join(quoted["sections"])
    count = counted(quoted["passages"], "passage")
    yield f"[bold]Approving it lets agents quote {count} of it[/bold], never as steps."
    if sections:
        yield f"  [dim]sections: {escape(one_line(sections, 300))}[/dim]"
    if quoted["withheld"]:
        yield f"  [red]{safe('passages that are not quoted: ' + quoted['withheld'])}[/red]"
    yield f"  Read all of it: [bold]tacit research show {name} --text[/bold]"


def quoted_passages(ctx: CommandContext, stored: StoredVersion) -> dict[str, Any]:
    """Return for a document how many passages it has, their sections, and what is withheld; empty for other kinds."""
    if not is_quotation(stored.version.content):
        return {}
    passages = ctx.memory.archive.passages(stored.version.id)
    return {
        "passages": len(passages),
        "sections": list(dict.fromkeys(passage.section for passage in passages if passage.section)),
        "withheld": stored.version.content.metadata.get("document.withheld", ""),
    }


def merged_parents(ctx: CommandContext, stored: StoredVersion) -> list[dict[str, Any]]:
    """Return the versions that a merged version was made of, each with the lines that are lost; empty for others."""
    archive, version = ctx.memory.archive, stored.version
    if version.content.sub_skills or archive.transitions(version.id)[0].by != BY_ITSELF:
        return []
    parents = [ctx.memory.version(identity) for identity in version.parents]
    if all(parent.skill.id == stored.skill.id for parent in parents):
        return []
    kept = {line for _, text in field_texts(version.content) for line in text.splitlines()}
    return [
        {
            "version_id": parent.version.id,
            "name": parent.version.name,
            "retires": parent.skill.id != stored.skill.id,
            "lost": [
                line
                for field, text in field_texts(parent.version.content)
                for line in text.splitlines()
                if line.strip() and line not in kept and field != "name"
            ],
        }
        for parent in parents
    ]


def findings_of(ctx: CommandContext, stored: StoredVersion, examination: Examination) -> list[Finding]:
    """Return what the gate found at the verdict and what the checks find now, each once, the most severe first."""
    now = {finding.rule for finding in examination.findings}
    then = {
        finding.rule: finding
        for verdict in ctx.memory.archive.verdicts(stored.version.id)
        for finding in verdict.findings
        if finding.rule not in now | _ONLY_THEN and not finding.line
    }
    contradictions = ctx.memory.library.contradictions(stored.version.id)
    found = (*examination.findings, *then.values(), *contradictions)
    return sorted(found, key=lambda finding: -finding.severity.rank)


def finding_lines(findings: Sequence[Finding], content: SkillContent, *, width: int) -> Iterator[str]:
    """Yield findings by severity, each with the line it is about."""
    texts = dict(field_texts(content))
    shown: Counter[str] = Counter()
    for finding in findings:
        shown[finding.rule] += 1
        if shown[finding.rule] > SHOWN_OF_A_RULE:
            continue
        style = _STYLE[finding.severity]
        at = place(finding, content) if finding.field else ""
        where = f" [dim]({escape(at)})[/dim]" if at and at not in finding.message else ""
        yield f"[{style}]{finding.severity}: {safe(finding.message)}[/{style}]{where}"
        if line := line_of(finding, texts):
            yield f"  [dim]│[/dim] {escape(one_line(line, max(40, width - 6)))}"
    for rule, count in shown.items():
        if count > SHOWN_OF_A_RULE:
            yield f"[dim]{escape(rule)}: and {count - SHOWN_OF_A_RULE} more (--json lists all)[/dim]"


def place(finding: Finding | ResourceUse, content: SkillContent) -> str:
    """Return where a finding or touch is, as a reader counts."""
    name = field_name(finding.field, content)
    return clean(f"{name}, line {finding.line}" if finding.line else name)


def line_of(finding: Finding | ResourceUse, texts: dict[str, str]) -> str:
    """Return the line that a finding is about; empty if it is about a whole field."""
    excerpt = finding.excerpt if isinstance(finding, Finding) else ""
    lines = texts.get(finding.field, "").splitlines() if finding.line else []
    return lines[finding.line - 1].strip() if 0 < finding.line <= len(lines) else excerpt


def effects_of(content: SkillContent) -> list[ResourceUse]:
    """Return where a skill deletes, sends, publishes, reveals, installs, pays or persists: each effect once per line."""
    found: dict[tuple[str, str, int], ResourceUse] = {}
    for use in resource_uses_of(content):
        if use.kind is ResourceKind.EFFECT:
            found.setdefault((use.value, use.field, use.line), use)
    return sorted(found.values(), key=lambda use: use.value)


class Reply(StrEnum):
    """What a person answers to a question: yes, no, or stop here."""

    YES = "y"
    NO = "n"
    QUIT = "q"


def ask(ctx: CommandContext, question: str) -> Reply:
    """Ask a yes-or-no question with a way out; Enter means no."""
    while True:
        key = ask_key(f"{question} [y/N]:", "ynq?\n").lower()
        if key != "?":
            return Reply.NO if key == "\n" else Reply(key)
        ctx.console.print("[dim]y: yes, I know this one.  n: no.  q: stop here.[/dim]")


def ask_for_confirmations(
    ctx: CommandContext,
    stored: StoredVersion,
    external_values: Iterable[ExternalValue],
    *,
    ticked: Collection[str] = (),
) -> tuple[Reply, tuple[str, ...]]:
    """Ask for each value from outside that is not confirmed yet; one no ends it."""
    content, given = stored.version.content, list(ticked)
    texts, sources = dict(field_texts(content)), outside_sources(ctx.memory.context, stored.version)
    uses_by_key = {(f"{use.kind}:{use.value}", use.field): use for use in resource_uses_of(content)}
    for external in external_values:
        if external.key in given:
            continue
        use = uses_by_key.get((external.key, external.field))
        named = (line.strip() for line in texts.get(external.field, "").splitlines() if external.value in line)
        line = line_of(use, texts) if use and use.line else next(named, "")
        if line:
            ctx.console.print(f"  [dim]│[/dim] {escape(one_line(line, max(40, ctx.console.width - 6)))}")
        reply = ask(ctx, f"{confirmation(external, stored.version, sources)}. Is it right?")
        if reply is not Reply.YES:
            ctx.console.print(f"Not confirmed: {safe(external.key)}. Nothing was approved.")
            return reply, ()
        given.append(external.key)
    return Reply.YES, tuple(given)


def ask_for_tools(ctx: CommandContext, stored: StoredVersion, ticked: tuple[str, ...]) -> tuple[Reply, tuple[str, ...]]:
    """Ask for each tool that a version asks for whether it is unlocked; without a yes it is approved and unlocks nothing."""
    for key, tool in tool_keys(stored.version).items():
        reply = Reply.YES if key in ticked else ask(ctx, f"It asks for the tool `{clean(tool)}`. Unlock it?")
        if reply is Reply.QUIT:
            return reply, ()
        ticked = (*ticked, key) if reply is Reply.YES and key not in ticked else ticked
    return Reply.YES, ticked


def grave_ones(ctx: CommandContext, stored: StoredVersion, examination: Examination) -> list[Finding]:
    """Return the findings that a careful person would refuse, the most severe first."""
    return [finding for finding in findings_of(ctx, stored, examination) if has_severe_findings([finding])]


def page_document(ctx: CommandContext, stored: StoredVersion) -> dict[str, Any]:
    """Return a version as stored and what `show_candidate` prints, for programs."""
    version, content = stored.version, stored.version.content
    examination = ctx.memory.reviews.examine(version.id)
    before = None
    if approved := ctx.memory.reviews.last_approved(stored):
        earlier, approval = approved
        before = {
            "version_id": earlier.version.id,
            "by": approval.by if approval else "",
            "at": approval.at if approval else None,
            "diff": "" if is_withheld(content) else difference(earlier.version.content, content),
        }
    if is_withheld(content):
        return _withheld_document(ctx, stored, examination) | {"approved_before": before}
    return {
        "version_id": version.id,
        "skill_id": stored.skill.id,
        **fields(content, "name", "kind", "description"),
        "scope": str(stored.skill.scope),
        "gate": project_gate(ctx, stored, sessions_behind(ctx.memory.context, version)),
        "folded": _fold(ctx, stored),
        "status": stored.status,
        "content_hash": version.hash,
        **fields(version, "lowest_origin", "parents"),
        "skill_md": render.render(content),
        "content": dataclasses.replace(content, files=()),
        "files": content.files,
        "findings": finding_documents(findings_of(ctx, stored, examination), content),
        "effects": [{"effect": use.value, **fields(use, "field", "line")} for use in effects_of(content)],
        "capabilities": fields(examination.needs, *CATEGORIES),
        "declared": content.capabilities,
        "from_outside": outside_fields(version),
        "sources": outside_sources(ctx.memory.context, version),
        "tools": [*tool_keys(version)],
        "ticks": [fields(external, "key", "kind", "value", "field") for external in examination.external_values],
        "checks": examination.checks,
        "approved_before": before,
        "merged_of": merged_parents(ctx, stored),
        "quoted": quoted_passages(ctx, stored),
        "comparison": comparison_document(ctx.memory.library.compare_with_parent(version.id)),
    }


def _withheld_document(ctx: CommandContext, stored: StoredVersion, examination: Examination) -> dict[str, Any]:
    """Return what a program may know of a quarantined version: where it is from and which rules object, none of its text."""
    version = stored.version
    return {
        "version_id": version.id,
        "skill_id": stored.skill.id,
        **fields(version.content, "name", "kind", "description"),
        "withheld": True,
        "status": stored.status,
        "content_hash": version.hash,
        **fields(version, "lowest_origin", "parents"),
        "findings": [fields(each, "severity", "rule", "field") for each in findings_of(ctx, stored, examination)],
        "from_outside": outside_fields(version),
        "checks": examination.checks,
    }


def finding_documents(findings: Iterable[Finding], content: SkillContent) -> list[dict[str, Any]]:
    """Return findings for programs, each with its file and line."""
    texts = dict(field_texts(content))
    return [
        {
            **fields(finding, "severity", "rule", "message", "field"),
            "file": _file_path(finding.field, content),
            "line": finding.line,
            "span": {"start": finding.start, "end": finding.end},
            "excerpt": finding.excerpt or line_of(finding, texts),
        }
        for finding in findings
    ]
