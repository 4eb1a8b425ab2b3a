"""`tacit skills …`: list, show, edit, import and export skills."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import click
from rich.markup import escape

from tacit import render
from tacit.domain.errors import GateRefusal, Mistake, NotFound, Refusal
from tacit.domain.evidence import Reliability
from tacit.domain.ledger import About, record_elsewhere
from tacit.domain.lifecycle import RECALLABLE, Status
from tacit.domain.stored import StoredVersion
from tacit.domain.trajectory import Origin
from tacit.gate.review_rules import Review
from tacit.maintain import exports
from tacit.store import queries
from tacit.surfaces.cli.context import CommandContext, by_option, clean, command_options, one_line
from tacit.surfaces.cli.history import history, show_history
from tacit.surfaces.cli.import_skills import import_
from tacit.surfaces.cli.report import Column, Columns, ReportPart, safe
from tacit.surfaces.cli.stats import stats
from tacit.surfaces.cli.table import SuggestingGroup
from tacit.surfaces.cli.views import (
    NAMESAKES,
    colored_difference,
    difference,
    namesake_lines,
    reliability_fields,
    skill_lines,
    skill_page,
    status_lines,
)

_UNUSED = frozenset({Status.REJECTED, Status.RETIRED})
SKILLS: Columns[StoredVersion] = Columns(
    Column("name", lambda stored: stored.version.content.name),
    Column("kind", lambda stored: stored.version.content.kind),
    Column("person", lambda stored: stored.version.content.person),
    Column("description", lambda stored: stored.version.content.description),
    Column("category", lambda stored: stored.version.content.category),
    Column("status", lambda stored: stored.status),
    Column("scope", lambda stored: str(stored.skill.scope)),
    Column("skill_id", lambda stored: stored.skill.id),
    Column("version_id", lambda stored: stored.version.id),
    Column("content_hash", lambda stored: stored.version.hash),
    Column("created_at", lambda stored: stored.version.created_at),
)


@click.group(cls=SuggestingGroup, invoke_without_command=True)
@click.option("--all", "everything", is_flag=True, help="Include rejected, retired and shadowed skills.")
@click.option("--static/--no-static", default=True, help="Include skills that people wrote in skill folders.")
@command_options
def skills(ctx: CommandContext, *, everything: bool, static: bool) -> None:
    """List, show, import and export skills. Without a command: list learned and static skills."""
    if click.get_current_context().invoked_subcommand is None:
        _list(ctx, everything=everything, static=static)


for command in (history, stats, import_):
    skills.add_command(command)


def _list(ctx: CommandContext, *, everything: bool, static: bool) -> None:
    visible = ctx.visible(ctx.memory.skills())
    also = _copies(visible)
    copies = {other.version.id for other in chain.from_iterable(also.values())}
    learned = [
        stored for stored in visible if everything or not (stored.status in _UNUSED or stored.version.id in copies)
    ]
    rows = [(stored, ctx.memory.archive.reliability(stored.version.id)) for stored in learned]
    scopes = {identity: [str(other.skill.scope) for other in broader] for identity, broader in also.items()}
    found = render.scan(project=ctx.place.project, home=ctx.environment.user_home) if static else None
    static_skills = found.entries if found else ()
    shadowed = found.shadowed if found else ()
    document = {
        "skills": [
            SKILLS.document(stored)
            | {"reliability": reliability_fields(known), "also_at": scopes.get(stored.version.id, [])}
            for stored, known in rows
        ],
        "static": _STATIC.documents(static_skills),
        "shadowed": [{"name": s.name, "path": str(s.path), "by": str(s.by)} for s in shadowed],
    }

    def parts() -> Iterator[ReportPart]:
        yield from skill_lines(rows, width=ctx.console.width, also=scopes)
        if not rows:
            yield "No learned skills yet. Run [bold]tacit learn[/bold]."
        for skill in static_skills:
            description = escape(one_line(skill.description, max(30, ctx.console.width - len(skill.name) - 12)))
            yield f"[blue]static[/blue]  {safe(skill.name)}  [dim]{description}[/dim]"
        for shadow in shadowed:
            if not shadow.identical:  # a copy for another client hides nothing
                yield f"[dim]shadowed: {safe(shadow.name)} in {shadow.path} by {shadow.by}[/dim]"

    ctx.report(document, parts)


_STATIC: Columns[render.Entry] = Columns(
    Column("name", lambda skill: skill.name),
    Column("description", lambda skill: skill.description),
    Column("path", lambda skill: str(skill.path)),
    Column("warnings", lambda skill: [str(warning) for warning in skill.warnings]),
)


def _copies(versions: Sequence[StoredVersion]) -> dict[str, list[StoredVersion]]:
    """Return version → versions of the same name and content at broader scopes, the narrowest first."""
    alike: dict[tuple[str, str], list[StoredVersion]] = {}
    for stored in sorted(versions, key=lambda each: each.skill.scope.level.breadth):
        if stored.status in RECALLABLE:
            alike.setdefault((stored.version.name, stored.version.hash), []).append(stored)
    return {narrowest.version.id: broader for narrowest, *broader in alike.values() if broader}


@skills.command(short_help="Show one skill, its history, or what changed")
@click.argument("reference")
@click.argument("other", required=False)
@click.option("--diff", is_flag=True, help="Compare it with the version before it, or with OTHER.")
@click.option("--history", "with_history", is_flag=True, help="Show its versions, decisions and results, with reasons.")
@click.option("--file", "file", help="Print one bundled file.")
@click.option("--raw", is_flag=True, help="Print the SKILL.md itself, as without a terminal.")
@command_options
def show(
    ctx: CommandContext,
    *,
    reference: str,
    other: str | None,
    diff: bool,
    with_history: bool,
    file: str | None,
    raw: bool,
) -> None:
    """Show one skill: content, status, evidence and sources. REFERENCE is a name or the beginning of an id."""
    stored = ctx.version(reference)
    if with_history:
        show_history(ctx, reference)
        return
    if diff or other:
        named = not stored.version.id.startswith(reference)
        _compare(ctx, *((stored, ctx.version(other)) if other else _neighbours(ctx, stored, named=named)))
        return
    if file is not None:
        text = _file_text(stored, file)
        ctx.report({"path": file, "content": text}, lambda: click.echo(clean(text)))
        return
    known = ctx.memory.archive.reliability(stored.version.id)
    document = _skill_document(ctx, stored, known)
    ctx.report(document, lambda: _skill_parts(ctx, stored, known, document, raw=raw))


def _skill_document(ctx: CommandContext, stored: StoredVersion, known: Reliability) -> dict[str, Any]:
    archive, content = ctx.memory.archive, stored.version.content
    return SKILLS.document(stored) | {
        "reliability": reliability_fields(known),
        "skill_md": render.render(content),
        "content": dataclasses.replace(content, files=()),
        "files": [f.path for f in content.files],
        "origins": stored.version.origins,
        "provenance": stored.version.provenance,
        "life": archive.transitions(stored.version.id),
        "versions": _VERSIONS.documents(archive.versions(stored.skill.id)),
        "evidence": archive.evidence(stored.version.id),
        "record_elsewhere": record_elsewhere(archive.remarks(stored.skill.id, about=About.PROMOTION)),
        "others": NAMESAKES.documents(archive.namesakes(stored)),
    }


_VERSIONS: Columns[StoredVersion] = Columns(
    Column("version_id", lambda stored: stored.version.id),
    Column("status", lambda stored: stored.status),
    Column("created_at", lambda stored: stored.version.created_at),
)


def _skill_parts(
    ctx: CommandContext, stored: StoredVersion, known: Reliability, document: dict[str, Any], *, raw: bool
) -> Iterator[ReportPart]:
    content = stored.version.content
    if raw or not ctx.console.is_terminal:
        click.echo(clean(render.render(content)))
    else:
        yield skill_page(content)
        yield ""
    yield from status_lines(
        stored,
        known,
        lives=document["life"],
        evidence=document["evidence"],
        elsewhere=document["record_elsewhere"],
    )
    for version in document["versions"]:
        mark = "→" if version["version_id"] == stored.version.id else " "
        yield f"[dim]{mark} {version['version_id']}  {version['status']}  {version['created_at']:%Y-%m-%d}[/dim]"
    yield from namesake_lines(ctx.memory.archive.namesakes(stored))


def _compare(ctx: CommandContext, before: StoredVersion, after: StoredVersion) -> None:
    ctx.require_visible(before)
    ctx.require_visible(after)
    contents = before.version.content, after.version.content
    document = {"before": before.version.id, "after": after.version.id, "diff": difference(*contents)}
    ctx.report(document, lambda: colored_difference(*contents))


def _neighbours(ctx: CommandContext, stored: StoredVersion, *, named: bool) -> tuple[StoredVersion, StoredVersion]:
    """Return the version before and the version itself; for a name with a newer version waiting: current and newer."""
    versions = ctx.memory.archive.versions(stored.skill.id)
    later = [s for s in versions if s.sequence > stored.sequence]
    earlier = [s for s in versions if s.sequence < stored.sequence]
    if named and later:
        return stored, later[-1]
    if not earlier:
        message = f"`{stored.version.name}` has no other version"
        raise Mistake(message, code="no_other_version", hint="name two versions: tacit skills show A B --diff")
    return earlier[-1], stored


@skills.command(hidden=True)
@click.argument("reference")
@by_option()
@command_options
def edit(ctx: CommandContext, *, reference: str, by: str) -> None:
    """Edit a skill's SKILL.md in $EDITOR. The result is a new version that waits for review."""
    ctx.caller.require_person("edit")
    if not ctx.caller.at_terminal and not ctx.environment.editor:
        hint = "set EDITOR to a program that edits the file by itself"
        raise Mistake("there is no terminal to edit in", code="no_terminal", hint=hint)
    edited = edit_version(ctx, ctx.memory.version(reference), by=ctx.person(by))
    if edited is None:
        ctx.report({"changed": False}, "Unchanged.")
        return
    document = {"changed": True, "version_id": edited.version.id, "status": edited.status}
    ctx.report(document, _next_step(ctx, edited))


def edit_version(ctx: CommandContext, stored: StoredVersion, *, by: str) -> StoredVersion | None:
    """Let a person edit a version; return the new one, or None if nothing changed."""
    before = render.render(stored.version.content)
    try:
        text = click.edit(before, editor=ctx.environment.editor or None, extension=".md")
    except click.ClickException as error:
        hint = "set EDITOR to a program that edits a file"
        raise Mistake(error.format_message(), code="editor_failed", hint=hint) from error
    if text is None or text == before:
        return None
    parsed = render.parse(text, strict=True).content
    content = dataclasses.replace(parsed, files=stored.version.content.files)
    verdict = ctx.memory.propose(content, by=by, origin=Origin.USER, revises=stored)
    if not verdict.version_id:
        reasons = "; ".join(finding.message for finding in verdict.findings)
        raise GateRefusal(f"the edit was not accepted: {reasons}", code="edit_refused", hint="edit it again")
    if verdict.version_id == stored.version.id:
        return None
    if ctx.memory.version(verdict.version_id).status is Status.REJECTED:  # writing it again means to want it after all
        ctx.memory.review(verdict.version_id, Review.REOPEN, by=by, reason="written again by a person")
    return ctx.memory.version(verdict.version_id)


def _next_step(ctx: CommandContext, edited: StoredVersion) -> str:
    """Return the status of an edit and what to do next; the same text may have existed before."""
    short = edited.version.id[:10]
    if edited.status in RECALLABLE:
        return (
            f"{short} has the same text and is in use ({edited.status}): [bold]tacit undo {short} --to {short}[/bold]"
        )
    if edited.status in (Status.RETIRED, Status.STALE):
        return f"{short} has the same text and is {edited.status}: [bold]tacit review {short} --restore[/bold]"
    if len(ctx.memory.archive.transitions(edited.version.id)) > 1:
        return f"{short} has the same text and waits for review again. Run [bold]tacit review {short}[/bold]."
    return f"New version {short} waits for review. Run [bold]tacit review {short}[/bold]."


@skills.command(short_help="Write skills as Agent Skills folders")
@click.argument("references", nargs=-1)
@click.option("--all", "everything", is_flag=True, help="Every skill that may be recalled.")
@click.option("--to", "folder", type=click.Path(file_okay=False, path_type=Path), required=True, help="Skills folder.")
@click.option("--force", is_flag=True, help="Overwrite a folder of the same name.")
@click.option("--writable", is_flag=True, help="Write files that may be edited in place; otherwise they are read-only.")
@command_options
def export(
    ctx: CommandContext, *, references: tuple[str, ...], everything: bool, folder: Path, force: bool, writable: bool
) -> None:
    """Write skills as Agent Skills folders, NAME/SKILL.md with their files. Edit and import them to bring them back.

    --all leaves out other people's preferences, because agents read such folders; a person may name them.

    Remote images, tags that run or fetch, and links that run code are written so that no viewer acts on them.
    """
    if bool(references) == everything:
        hint = "tacit skills export NAME --to .agents/skills"
        raise Mistake("name the skills to export, or pass --all", code="nothing_named", hint=hint)
    person = ctx.memory.context.person
    own = (each for each in ctx.memory.skills(statuses=RECALLABLE) if not queries.is_private(each, person=person))
    chosen = list(own) if everything else [ctx.version(each) for each in references]
    if any(stored.status not in RECALLABLE for stored in chosen):
        ctx.caller.require_person("export unapproved")
    written = [str(_write(stored, folder, force=force, writable=writable)) for stored in chosen]
    ctx.report({"written": written}, *(f"wrote {safe(path)}" for path in written))


@skills.command(hidden=True)
@by_option("Who edited, stored with the edits.")
@command_options
def sync(ctx: CommandContext, *, by: str) -> None:
    """Synchronize exported SKILL.md folders and the store, both ways. `tacit learn` and `tacit review` do it too.

    For clients whose channel is `skill` (tacit init --channel skill). What was approved is written, what was retired is
    removed, and what was edited in a folder becomes a new version that waits for review.
    """
    verdicts = exports.propose_edited(ctx.memory.context, ctx.memory.propose, by=by or ctx.environment.user or "edit")
    kept = exports.export(ctx.memory.context)
    document = {
        "folders": [{"name": each.name, "path": str(each.path), "what": each.action} for each in kept],
        "taken_back": [{"name": v.name, "decision": v.decision, "version_id": v.version_id} for v in verdicts],
    }

    def lines() -> Iterator[str]:
        for verdict in verdicts:
            yield f"[yellow]edited[/yellow]   {safe(verdict.name)} waits for review. Run `tacit review`."
        for each in kept:
            yield f"{each.action:8} {safe(str(each.path))}"
        if not kept and not verdicts:
            yield "Everything is up to date."

    ctx.report(document, lines)


def _write(stored: StoredVersion, folder: Path, *, force: bool, writable: bool) -> Path:
    """Write one skill; a folder with another text is left alone unless forced."""
    target = folder / stored.version.name
    if render.find_skill_md(target) and not force:
        found = render.load(target)
        same = found.stamp.get("skill-id") == stored.skill.id
        if not same or not render.is_copy(found.content, stored.version.content):
            message = f"{target} already contains a skill with another text"
            raise Refusal(message, code="folder_taken", hint="import it first, or pass --force")
    stamp = {"skill-id": stored.skill.id, "version-id": stored.version.id}
    return render.save(stored.version.content, folder, stamp=stamp, writable=writable)


def _file_text(stored: StoredVersion, path: str) -> str:
    for file in stored.version.content.files:
        if file.path == path:
            return file.content
    known = ", ".join(file.path for file in stored.version.content.files) or "it has no files"
    message = f"`{stored.version.name}` has no file {path!r}"
    raise NotFound(message, code="no_such_file", hint=f"files: {known}")
