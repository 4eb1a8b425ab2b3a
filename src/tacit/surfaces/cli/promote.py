"""`tacit promote`: what could move to a broader scope, and why not yet; a person moves it, confirming as in a review."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from typing import Any

import click

from tacit.domain.candidate import Relation
from tacit.domain.errors import GateRefusal, Mistake
from tacit.domain.lifecycle import RECALLABLE, WAITING, CodedReason, Status
from tacit.domain.ports import LanguageModel
from tacit.domain.scope import Level, Scope
from tacit.gate.review_rules import PersonDecision, unconfirmed_values
from tacit.maintain.exports import export
from tacit.maintain.mirroring import purged_but_at_home
from tacit.maintain.portability import home_database
from tacit.maintain.promotion import HOME_LEVELS, Promoted, PromotionPreview, Prospect
from tacit.maintain.reason_text import sentence, sentences
from tacit.surfaces.cli.context import CommandContext, by_option, command_options
from tacit.surfaces.cli.report import Column, Columns, ReportPart, fields, safe
from tacit.surfaces.cli.review import confirmed
from tacit.surfaces.cli.review_page import Reply, grave_ones, show_candidate
from tacit.surfaces.cli.views import STATUS_STYLE, colored_difference

_RESULT = {Relation.REINFORCE: "was already there", Relation.MERGE: "is there with new wording"}
_OBJECTION_HINT = (
    "correct it (tacit skills edit, or --rewrite for local values); pass --despite-findings only if you know better"
)
_LEVELS = [level.value for level in Level if level is not Level.TEAM]


@click.command()
@click.argument("name", required=False, metavar="[NAME]")
@click.option(
    "--to", "to", default="", metavar="LEVEL", help=f"How far: {', '.join(_LEVELS)}; by default one level up."
)
@by_option()
@click.option("--rewrite", is_flag=True, help="Replace values local to this project by placeholders; shown first.")
@click.option(
    "--tick", "ticked", multiple=True, metavar="KEY", help="Confirm a value that came from outside (repeatable)."
)
@click.option("--despite-findings", "despite", is_flag=True, help="Promote it although something objects to it.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@command_options
def promote(ctx: CommandContext, *, name: str | None, to: str, by: str, ticked: tuple[str, ...], **flags: bool) -> None:
    """Make a skill available at a broader scope. Without NAME: what could move, and what its gate still requires.

    Organisation and global skills are kept in your own store, and every project of yours has them after its next `tacit
    learn`. A skill keeps its origins: values from outside are confirmed one by one, as in a review. A preference never leaves
    its person, and nothing becomes global unless it is judged independent of any project. A poor record, contradictions and
    ties to this project are refused without --despite-findings.

    Only a person can promote: it is refused without a terminal and inside an agent's shell.
    """
    if name is None:
        _prospects(ctx)
        return
    ctx.caller.require_person("promote")
    person, despite = ctx.person(by), flags["despite"]
    rewrite = flags["rewrite"]
    preview = ctx.memory.library.preview(name, Scope.parse(to) if to else None, by=person, rewrite=rewrite)
    if rewrite and not _is_rewritten(preview):
        message = f"nothing in `{preview.content.name}` is local to this project"
        raise Mistake(message, code="nothing_local", hint="leave --rewrite out")
    _require_wanted(ctx, preview, despite=despite, yes=flags["yes"])
    with _model(ctx, preview.scope) as model:
        version_id, scope = preview.stored.version.id, preview.scope
        done = ctx.memory.library.promote(version_id, scope, by=person, ticked=None, rewrite=rewrite, model=model)
    with _context_of_scope(ctx, done.scope) as there:
        status = _decide(there, done, by=person, ticked=ticked, despite=despite)
    ctx.memory.library.sync_from_home()
    export(ctx.memory.context)
    done = dataclasses.replace(done, status=status)
    ctx.report({"promoted": _promoted_document(done, preview)}, lambda: _promoted_lines(done))


def _prospects(ctx: CommandContext) -> None:
    found, left = ctx.memory.library.prospects(), purged_but_at_home(ctx.memory.context)
    purged = [
        {"name": each.version.name, "version_id": each.version.id, "content_hash": each.version.hash} for each in left
    ]
    document = {"prospects": _PROSPECTS.documents(found), "purged_here": purged}

    def parts() -> Iterator[ReportPart]:
        database = home_database(ctx.memory.context.place)
        for stored in left:
            warning = f"{stored.version.name} was purged here, but your own store still has it:"
            command = f"tacit store purge --source {stored.version.hash} --store {database}"
            yield f"[yellow]{safe(warning)}[/yellow] {safe(command)}"
        if not found:
            yield "Nothing to promote: approve something first (tacit review)."
            return
        yield _PROSPECTS.table(found)
        yield "\nRun [bold]tacit promote NAME[/bold] \\[--to LEVEL] \\[--rewrite] to promote one."

    ctx.report(document, parts)


def _require_wanted(ctx: CommandContext, preview: PromotionPreview, *, despite: bool, yes: bool) -> None:
    """Show what would move and what objects to it; go on only after a yes, and never despite objections by itself."""
    name = preview.stored.version.name
    if preview.objections and not despite:
        lines = [f"`{name}` was not promoted to {preview.scope}, because:"]
        lines += [f"  {sentence(each)}" for each in preview.objections]
        raise GateRefusal("\n".join(lines), code="promotion_objections", hint=_OBJECTION_HINT)
    if not ctx.as_json:
        path = f"{preview.stored.skill.scope} → {preview.scope}"
        record = safe(preview.record or "not measured yet")
        ctx.console.print(f"[bold]{safe(name)}[/bold]  {path}  [dim]{record}[/dim]", soft_wrap=True)
        for each in preview.objections:
            ctx.console.print(f"[yellow]objection:[/yellow] {safe(sentence(each))}", soft_wrap=True)
        if _is_rewritten(preview):
            ctx.console.print(colored_difference(preview.stored.version.content, preview.content))
    wording = " with this wording" if _is_rewritten(preview) else ""
    ctx.require_yes(f"Promote it to {preview.scope}{wording}?", yes=yes)


def _is_rewritten(preview: PromotionPreview) -> bool:
    return preview.content != preview.stored.version.content


@contextmanager
def _model(ctx: CommandContext, to: Scope) -> Iterator[LanguageModel | None]:
    """Yield the language model of the settings, which judges whether a skill is project-agnostic."""
    settings = ctx.settings[0].model
    if to.level is not Level.GLOBAL or not settings.name:
        yield None
        return
    with ctx.language_model(settings.name, settings) as model:
        yield model


@contextmanager
def _context_of_scope(ctx: CommandContext, scope: Scope) -> Iterator[CommandContext]:
    """Yield the context of the store that keeps a scope: this one, or one on the person's own store."""
    database = home_database(ctx.memory.context.place) if scope.level in HOME_LEVELS else None
    if database is None:
        yield ctx
        return
    same = fields(ctx, "environment", "as_json", "console", "errors")
    with closing(CommandContext(store=str(database), **same)) as there:
        yield there


def _decide(there: CommandContext, done: Promoted, *, by: str, ticked: Sequence[str], despite: bool) -> Status:
    """Let the person decide on the exact text where it waits now; what is not approved keeps waiting there."""
    stored = there.memory.version(done.version_id)
    if stored.status in RECALLABLE:
        return stored.status
    name = stored.version.name
    if stored.status not in WAITING:
        _refuse(there, f"`{name}` was {stored.status} at {done.scope}", stored.version.id)
    given: Sequence[str] = ticked
    if there.caller.at_terminal and not there.as_json:
        show_candidate(there, stored)
        reply, given = confirmed(there, stored, ticked=ticked, despite=despite)
        if reply is not Reply.YES:
            return stored.status
    else:
        examination = there.memory.reviews.examine(stored.version.id)
        grave = [] if despite else grave_ones(there, stored, examination)
        unconfirmed = [f"confirm {external.key}" for external in unconfirmed_values(examination, ticked)]
        missing = [*(f"{each.severity}: {each.message}" for each in grave), *unconfirmed]
        if missing:
            _refuse(there, f"`{name}` waits at {done.scope}: {'; '.join(missing)}", stored.version.id)
    reason, digest = f"promoted to {done.scope} by a person", stored.version.hash
    return there.memory.review(
        stored.version.id, PersonDecision.APPROVE, by=by, reason=reason, content_hash=digest, ticked=given
    ).after


def _refuse(there: CommandContext, message: str, version_id: str) -> None:
    hint = f"decide on it there: tacit review {version_id[:10]} --store {there.place.database}"
    raise GateRefusal(message, code="promotion_waits", hint=hint)


def _sentences(reasons: Sequence[CodedReason]) -> list[str]:
    return [sentence(reason) for reason in reasons]


_PROSPECTS: Columns[Prospect] = Columns(
    Column(
        "name",
        lambda each: each.stored.version.name,
        "skill",
        lambda each: f"[{STATUS_STYLE[each.stored.status]}]{safe(each.stored.version.name)}[/]",
    ),
    Column("version_id", lambda each: each.stored.version.id),
    Column("kind", lambda each: each.stored.version.content.kind),
    Column("scope", lambda each: str(each.stored.skill.scope), "from"),
    Column("status", lambda each: each.stored.status),
    Column("to", lambda each: each.to, "to"),
    Column("open", lambda each: each.gate.open),
    Column(
        "fulfilled",
        lambda each: _sentences(each.gate.fulfilled),
        "fulfilled",
        lambda each: safe(sentences(each.gate.fulfilled)),
    ),
    Column(
        "missing",
        lambda each: _sentences(each.gate.missing),
        "missing",
        lambda each: f"[yellow]{safe(sentences(each.gate.missing))}[/]" if each.gate.missing else "[green]nothing[/]",
    ),
    Column("missing_codes", lambda each: [reason.code for reason in each.gate.missing]),
)


def _promoted_document(done: Promoted, preview: PromotionPreview) -> dict[str, Any]:
    return {
        **fields(done, "name", "version_id", "skill_id"),
        "scope": str(done.scope),
        **fields(done, "status", "relation"),
        "projects": list(done.projects),
        "record": preview.record,
        "objections": _sentences(preview.objections),
        "gates": [
            {"to": gate.to, "fulfilled": _sentences(gate.fulfilled), "missing": _sentences(gate.missing)}
            for gate in done.gates
        ],
    }


def _promoted_lines(done: Promoted) -> Iterator[str]:
    style = STATUS_STYLE[done.status]
    result = _RESULT.get(done.relation, "is there now")
    yield f"[bold]{safe(done.name)}[/bold] {result}: {done.scope}, [{style}]{done.status}[/{style}]"
    if done.projects:
        yield f"[dim]Seen in {safe(', '.join(done.projects))}.[/dim]"
    if done.scope.level in HOME_LEVELS and done.status in RECALLABLE:
        yield "Every project of yours has it after its next [bold]tacit learn[/bold]."
