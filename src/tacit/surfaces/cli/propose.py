"""`tacit propose`, `tacit skills import` and `tacit compose`: candidates that a person or an agent wrote, as text or as
SKILL.md folders and archives of them, or put together from approved skills. They wait for review."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import click

from tacit import render
from tacit.domain.candidate import Finding, GateDecision, Relation, Severity, Verdict
from tacit.domain.errors import GateRefusal, InvalidSkill, Mistake, NotFound, Refusal
from tacit.domain.lifecycle import WAITING, Status
from tacit.domain.scope import Scope
from tacit.domain.skill import Kind, SkillContent
from tacit.domain.stored import StoredVersion
from tacit.domain.trajectory import Origin
from tacit.evidence.capture import QuotedSteps
from tacit.maintain.exports import imported
from tacit.maintain.reason_text import stored_reason
from tacit.surfaces.cli.context import CommandContext, by_option, clean, command_options
from tacit.surfaces.cli.report import ReportPart, safe
from tacit.surfaces.cli.review_page import finding_documents, finding_lines, place
from tacit.surfaces.cli.views import DECISION_TEXT, verdict_document, verdict_lines
from tacit.surfaces.proposals import submit

_BYTES_MAX = 1 << 20


@click.command()
@click.argument("file", metavar="FILE|-|NAME")
@click.option(
    "--part", "parts", multiple=True, metavar="SKILL", help="Compose NAME from approved procedures (repeatable)."
)
@click.option(
    "--description", default="", help="What NAME says, in a sentence or two; with --part: what the whole is for."
)
@click.option("--kind", default="", help="Of NAME: lesson (the default), fact, norm, preference, procedure or code.")
@click.option("--extends", default="", metavar="SKILL", help="The skill that NAME adds to.")
@click.option(
    "--evidence",
    multiple=True,
    metavar="QUOTE|STEP",
    help="Words of the running session, or a step's number (repeatable).",
)
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
    kind: str,
    extends: str,
    evidence: tuple[str, ...],
    by: str,
    scope: str,
    dry_run: bool,
) -> None:
    """Propose a skill written in FILE, on standard input or as NAME with --description. It waits until a person approves it.

    FILE is a SKILL.md, or a JSON object with name, description and kind (procedure, lesson, fact, norm, preference, code), and
    of steps, when, check, parts, parameters, pitfalls, error, body, extends, tools and evidence what it needs. Agents may
    propose; only people approve it. What an instruction file or a client's memory says already is refused to agents.

    With --part it proposes NAME, made of approved procedures: the steps of each part as a phase, in this order. A parameter
    that several parts need is asked for once; what an earlier part produces is not asked for. If NAME is already a composite,
    this is its next version.
    """
    if parts:
        _compose(ctx, file, parts, description=description, by=by, dry_run=dry_run)
        return
    quotes: Sequence[str | int] = ()
    if description:
        named = {"name": file, "description": description, "kind": kind or Kind.LESSON, "extends": extends}
        content = render.proposed(named)
    elif kind or extends:
        hint = "write it into the file, or give --description"
        raise Mistake("--kind and --extends belong to NAME with --description", code="option_needs_name", hint=hint)
    else:
        text = _read(file)
        content = render.read_proposal(text, source="the proposal" if file == "-" else file)
        quotes = render.read_evidence(text)
    if dry_run:
        document = {"name": content.name, "kind": content.kind, "skill_md": render.render(content)}
        ctx.report(document | {"proposed": False}, "It can be proposed.")
        return
    ctx.may_create = True
    verdict, quoted = submit(
        ctx.memory,
        content,
        by=_proposer(ctx, by),
        origin=Origin.USER if ctx.caller.is_person else Origin.AGENT,
        source="cli" if file == "-" or description else str(Path(file).resolve()),
        environment=ctx.environment,
        scope=Scope.parse(scope) if scope else None,
        evidence=[int(each) if each.isdecimal() else each for each in evidence] or quotes,
    )
    _report(ctx, verdict, quoted)


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


def _report(ctx: CommandContext, verdict: Verdict, quoted: QuotedSteps | None = None) -> None:
    document = verdict_document(verdict) | ({"evidence": len(quoted.spans)} if quoted else {})
    ctx.report(document, *verdict_lines(verdict))
    if verdict.decision is GateDecision.REJECT:
        reasons = "; ".join(finding.message for finding in verdict.findings)
        message = f"`{verdict.name}` was rejected: {reasons}"
        ctx.end_with(GateRefusal(message, code="proposal_rejected", hint="correct it and try again"))


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


_TURNED_DOWN = frozenset({Status.REJECTED, Status.RETIRED})


@dataclass(frozen=True, slots=True, kw_only=True)
class _Imported:
    """The result for one skill."""

    path: str
    problems: tuple[str, ...] = ()
    """Why it could not be read, or was refused."""
    content: SkillContent | None = None
    warnings: tuple[str, ...] = ()
    verdict: Verdict | None = None
    stored: StoredVersion | None = None
    """The version in the store."""
    why: str = ""
    """Why a person turned this text down before."""

    @property
    def accepted(self) -> bool:
        """Whether it was not refused, now or earlier."""
        refused = self.verdict is None or self.verdict.decision is GateDecision.REJECT
        return not refused and not (self.stored and self.stored.status in _TURNED_DOWN)

    @property
    def findings(self) -> list[Finding]:
        """The gate's findings, the most severe first."""
        return sorted(self.verdict.findings if self.verdict else (), key=lambda finding: -finding.severity.rank)


@click.command("import", short_help="Import skills; they wait for review")
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path))
@by_option("Who imports them.")
@click.option("--own", is_flag=True, help="You wrote every word of them: nothing in them counts as from outside.")
@click.option("--dry-run", is_flag=True, help="Store nothing: list every problem and finding, and the gate's decision.")
@command_options
def import_(ctx: CommandContext, *, paths: tuple[Path, ...], by: str, own: bool, dry_run: bool) -> None:
    """Import SKILL.md folders through the gate; they wait for review. An edited export becomes a new version.

    A path is a skill's folder, its SKILL.md, a folder of such folders, or an archive of them (.zip, .skill), which
    is read in memory and refused as a whole if anything in it is out of bounds. Exit code 3 means that some were not
    accepted; the others are imported all the same.
    """
    ctx.may_create = not dry_run
    if dry_run and not ctx.place.exists:
        ctx.place = ctx.place.in_memory()
    if own:
        ctx.caller.require_person("import --own")
    # The author of a file is unknown, and saving a file from the web does not make it one's own.
    origin = Origin.USER if own else Origin.EXTERNAL
    by = by or ctx.environment.user or "import"
    results = [_import_one(ctx, *each, by=by, origin=origin, dry_run=dry_run) for each in _skills_at(paths)]
    document = {"results": [_result_document(result, dry_run=dry_run) for result in results]}
    ctx.report(document, lambda: _result_parts(ctx, results, dry_run=dry_run))
    left = [result for result in results if not result.accepted]
    if not any(result.content for result in results):
        hint = "fix the problems listed above, then import again"
        ctx.end_with(Mistake("no skill could be imported", code="nothing_imported", hint=hint))
    if left:
        named = ", ".join(clean(each.content.name if each.content else each.path) for each in left[:3])
        more = f" and {len(left) - 3} more" if len(left) > 3 else ""
        message = f"not accepted, {len(left)} of {len(results)}: {named}{more}"
        hint = "the reasons are listed above; the others are not affected"
        ctx.end_with(Refusal(message, code="import_refused", hint=hint))


def _skills_at(paths: tuple[Path, ...]) -> Iterator[tuple[str, Callable[[], render.Parsed]]]:
    """Yield the path of each skill, and how to read it; for a bad archive, the one error."""
    from tacit.render.archive import is_archive, open_archive

    for path in paths:
        if not path.exists():
            raise NotFound(f"no such file or folder: {path}", code="no_such_path", hint="check the path")
        if is_archive(path):
            archive = open_archive(path)
            try:
                archive.require_sound()
            except InvalidSkill as error:
                yield str(path), partial(_raise, error)
                continue
            for folder in archive.folders:
                source = f"{path}/{folder.root}" if folder.root else str(path)
                yield source, partial(folder.load, source=source)
            continue
        inner = sorted(p for p in path.iterdir() if p.is_dir() and render.find_skill_md(p)) if path.is_dir() else []
        folders = inner if inner and not render.find_skill_md(path) else [path]
        yield from ((str(folder), partial(render.load, folder)) for folder in folders)


def _raise(error: InvalidSkill) -> render.Parsed:
    raise error


def _import_one(
    ctx: CommandContext, path: str, load: Callable[[], render.Parsed], *, by: str, origin: Origin, dry_run: bool
) -> _Imported:
    try:
        parsed = load()
    except InvalidSkill as error:
        return _Imported(path=path, problems=error.problems or (error.message,))
    result = _Imported(path=path, content=parsed.content, warnings=tuple(map(str, parsed.warnings)))
    source = str(Path(path).resolve())
    try:
        content, revises = imported(ctx.memory.context, parsed)
        verdict = ctx.memory.propose(content, by=by, origin=origin, revises=revises, source=source, keep=not dry_run)
    except GateRefusal as refusal:  # it was purged
        return dataclasses.replace(result, problems=(refusal.message,))
    stored = None
    with suppress(NotFound):  # a rejected one, or of a dry run
        stored = ctx.memory.version(verdict.version_id)
    why = ""
    if stored and stored.status in _TURNED_DOWN:
        last = ctx.memory.archive.transitions(stored.version.id)[-1]
        option = "--reopen" if stored.status is Status.REJECTED else "--restore"
        earlier = f"{last.by} {stored.status} this text on {last.at:%Y-%m-%d} ({stored_reason(last.reason)})"
        why = f"{earlier}; to decide again: tacit review {stored.version.id[:10]} {option}"
    return dataclasses.replace(result, verdict=verdict, stored=stored, why=why)


def _result_document(result: _Imported, *, dry_run: bool) -> dict[str, Any]:
    document: dict[str, Any] = {"path": result.path, "imported": result.accepted and not dry_run}
    if result.problems:
        document |= {"problems": result.problems}
    if result.content is None:
        return document
    document |= {"name": result.content.name} | ({"warnings": result.warnings} if result.warnings else {})
    verdict = result.verdict
    if verdict is None:
        return document
    return document | {
        "decision": verdict.decision,
        "relation": verdict.relation,
        "version_id": verdict.version_id if result.stored else "",  # a dry run stores no version
        "status": result.stored.status if result.stored else "",
        "why": result.why,
        "findings": finding_documents(result.findings, result.content),
    }


def _result_parts(ctx: CommandContext, results: Sequence[_Imported], *, dry_run: bool) -> Iterator[ReportPart]:
    for result in results:
        yield from _result_lines(result, dry_run=dry_run, width=ctx.console.width)
    waiting = [each.content.name for each in results if each.content and each.stored and each.stored.status in WAITING]
    if dry_run:
        yield "Nothing was stored."
    elif waiting:
        name = f" {safe(waiting[0])}" if len(waiting) == 1 else ""
        yield f"Next: run [bold]tacit review{name}[/bold]"


def _result_lines(result: _Imported, *, dry_run: bool, width: int) -> Iterator[str]:
    verdict = result.verdict
    if result.content is None or verdict is None:
        yield f"[red]not imported[/red] {safe(result.path)}"
        yield from (f"  - {safe(problem)}" for problem in result.problems)
        return
    name = safe(result.content.name)
    if result.why:
        yield f"[red]not accepted[/red] {name}\n  {safe(result.why)}"
    elif verdict.relation is Relation.REINFORCE:
        status = f"  [dim]{result.stored.status}[/dim]" if result.stored else ""
        yield f"[dim]unchanged[/dim]    {name}{status}"
    else:
        text = DECISION_TEXT[verdict.decision]
        text = f"valid; the gate's decision would be: {text}" if dry_run else text
        colour = {GateDecision.QUARANTINE: "red", GateDecision.REJECT: "red"}.get(verdict.decision, "green")
        yield f"[{colour}]{text}[/{colour}]  {name}"
        if dry_run:  # all that matter; otherwise the most severe one and how many more there are
            found = [finding for finding in result.findings if finding.severity is not Severity.INFO]
            yield from finding_lines(found, result.content, width=width)
        elif result.findings:
            first, *rest = result.findings
            where = f" ({place(first, result.content)})" if first.field else ""
            more = f"; and {len(rest)} more" if rest else ""
            yield f"  [dim]{safe(f'{first.severity}: {first.message}{where}{more}')}[/dim]"
    yield from (f"  [dim]{safe(warning)}[/dim]" for warning in (result.warnings if dry_run else ()))
