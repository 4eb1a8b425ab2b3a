"""`tacit skills …`: look at, compare, edit, exchange and roll back skills."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import click
from rich.markup import escape

from tacit import render as application
from tacit.domain.errors import GateRefusal, Mistake, NotFound, Refusal
from tacit.domain.lifecycle import RECALLABLE, Status
from tacit.domain.origin import Origin
from tacit.domain.ports import Stored
from tacit.domain.remark import About, record_elsewhere
from tacit.gate import Review
from tacit.store import queries as shelf
from tacit.surfaces import exports
from tacit.surfaces.cli.context import CommandContext, clean, command_options, one_line
from tacit.surfaces.cli.charts import reliability_fields
from tacit.surfaces.cli.import_skills import import_
from tacit.surfaces.cli.views import show_portrait
from tacit.surfaces.cli.undo import invalidate, pin
from tacit.surfaces.cli.views import (
    difference,
    known_parts,
    others_told,
    show_diff,
    show_others,
    show_skills,
    show_standing,
    whole_text,
)
from tacit.surfaces.cli.visibility import meant, require_tellable, tellable

_HIDDEN = frozenset({Status.REJECTED, Status.RETIRED})


@click.group(invoke_without_command=True)
@command_options
def skills(ctx: CommandContext) -> None:
    """Look at, compare, edit, exchange and roll back skills; by itself the same as `tacit skills list`."""
    context = click.get_current_context()
    if context.invoked_subcommand is None:
        context.invoke(list_, as_json=ctx.as_json, store=ctx.store, everything=False, static=True)


for command in (import_, pin, invalidate):
    skills.add_command(command)


@skills.command("list")
@click.option("--all", "everything", is_flag=True, help="Rejected, retired and shadowed ones too.")
@click.option("--static/--no-static", default=True, help="Skills that people wrote in skill folders too.")
@command_options
def list_(ctx: CommandContext, *, everything: bool, static: bool) -> None:
    """List learned skills and the static ones of this project and user, in one catalogue."""
    loop = ctx.memory
    known_here = tellable(ctx, loop.skills())
    also = _copies(known_here)
    copies = {held.version.id for held in chain.from_iterable(also.values())}
    learned = [
        stored for stored in known_here if everything or not (stored.status in _HIDDEN or stored.version.id in copies)
    ]
    rows = [(stored, loop.reliability(stored.version.id)) for stored in learned]
    scopes = {identity: [str(held.skill.scope) for held in held_too] for identity, held_too in also.items()}
    found = application.scan(project=ctx.place.project, home=ctx.environment.user_home) if static else None
    document: dict[str, Any] = {
        "skills": [
            _summary(stored) | {"reliability": reliability_fields(known), "also_at": scopes.get(stored.version.id, [])}
            for stored, known in rows
        ],
        "static": [
            {
                "name": s.name,
                "description": s.description,
                "path": str(s.path),
                "warnings": [str(w) for w in s.warnings],
            }
            for s in (found.skills if found else ())
        ],
        "shadowed": [{"name": s.name, "path": str(s.path), "by": str(s.by)} for s in (found.shadowed if found else ())],
    }

    def room(skill: application.StaticSkill) -> int:
        return max(30, ctx.console.width - len(skill.name) - 12)

    def show() -> None:
        if rows:
            show_skills(ctx.console, rows, also=scopes)
        else:
            ctx.console.print("No learned skills yet: [bold]tacit learn[/bold]")
        for skill in found.skills if found else ():
            told = escape(one_line(skill.description, room(skill)))
            ctx.console.print(f"[blue]static[/blue]  {escape(clean(skill.name))}  [dim]{told}[/dim]")
        for shadow in found.shadowed if found else ():
            if shadow.identical:
                continue  # a copy for another client hides nothing
            ctx.console.print(f"[dim]shadowed: {escape(clean(shadow.name))} in {shadow.path} by {shadow.by}[/dim]")

    ctx.answer(document, show)


def _copies(held: Sequence[Stored]) -> dict[str, list[Stored]]:
    """Version → what says the very same under the same name at broader scopes, the narrowest first."""
    alike: dict[tuple[str, str], list[Stored]] = {}
    for stored in sorted(held, key=lambda each: each.skill.scope.level.breadth):
        if stored.status in RECALLABLE:
            alike.setdefault((stored.version.name, stored.version.hash), []).append(stored)
    return {narrowest.version.id: broader for narrowest, *broader in alike.values() if broader}


@skills.command()
@click.argument("reference")
@click.option("--file", "file", help="Print one bundled file instead.")
@click.option("--raw", is_flag=True, help="Print the SKILL.md itself, as without a terminal.")
@command_options
def show(ctx: CommandContext, *, reference: str, file: str | None, raw: bool) -> None:
    """Show one skill: what it says, status, evidence and sources. REFERENCE is a name or the beginning of an id."""
    stored = meant(ctx, reference)
    content = stored.version.content
    if file is not None:
        text = _file_text(stored, file)
        ctx.answer({"path": file, "content": text}, lambda: click.echo(clean(text)))
        return
    known = ctx.memory.reliability(stored.version.id)
    lives = ctx.memory.store.transitions(stored.version.id)
    evidence = ctx.memory.store.evidence([stored.version.id])[stored.version.id]
    versions = ctx.memory.store.versions(stored.skill.id)
    elsewhere = record_elsewhere(ctx.memory.store.remarks(stored.skill.id, about=About.PROMOTION))
    others = shelf.namesakes(ctx.memory.store, stored)
    document = _summary(stored) | {
        "reliability": reliability_fields(known),
        "skill_md": application.render(content),
        "content": dataclasses.replace(content, files=()),
        "files": [f.path for f in content.files],
        "origins": stored.version.origins,
        "provenance": stored.version.provenance,
        "life": lives,
        "versions": [
            {"version_id": s.version.id, "status": s.status, "created_at": s.version.created_at} for s in versions
        ],
        "evidence": evidence,
        "record_elsewhere": elsewhere,
        "others": others_told(others),
    }

    def show_it() -> None:
        if raw or not ctx.console.is_terminal:
            click.echo(clean(application.render(content)))
        else:
            show_portrait(ctx.console, content, parts=known_parts(ctx, content))
            ctx.console.print()
        show_standing(ctx.console, stored, known, lives=lives, evidence=evidence, elsewhere=elsewhere)
        for other in versions:
            mark = "→" if other.version.id == stored.version.id else " "
            ctx.console.print(
                f"[dim]{mark} {other.version.id}  {other.status}  {other.version.created_at:%Y-%m-%d}[/dim]"
            )
        show_others(ctx.console, others)

    ctx.answer(document, show_it)


@skills.command()
@click.argument("reference")
@click.argument("other", required=False)
@command_options
def diff(ctx: CommandContext, *, reference: str, other: str | None) -> None:
    """Compare two versions, or one version with the one before it."""
    stored = meant(ctx, reference)
    if other:
        before, after = stored, meant(ctx, other)
    else:
        before, after = _neighbours(ctx, stored, named=not stored.version.id.startswith(reference))
    require_tellable(ctx, before)
    require_tellable(ctx, after)
    texts = whole_text(before.version.content), whole_text(after.version.content)
    document = {"before": before.version.id, "after": after.version.id, "diff": difference(*texts)}
    ctx.answer(document, lambda: show_diff(ctx.console, *texts))


def _neighbours(ctx: CommandContext, stored: Stored, *, named: bool) -> tuple[Stored, Stored]:
    """The version before and the version itself; for a name with a newer version waiting: the current and that one."""
    versions = ctx.memory.store.versions(stored.skill.id)
    later = [s for s in versions if s.sequence > stored.sequence]
    earlier = [s for s in versions if s.sequence < stored.sequence]
    if named and later:
        return stored, later[-1]
    if not earlier:
        raise Mistake(f"`{stored.version.name}` has no other version", hint="name two versions to compare")
    return earlier[-1], stored


@skills.command()
@click.argument("reference")
@click.option("--by", default="", help="Your name, kept with the edit.")
@command_options
def edit(ctx: CommandContext, *, reference: str, by: str) -> None:
    """Edit a skill's SKILL.md in $EDITOR; the result is a new version that waits for review."""
    ctx.caller.require_person("edit")
    if not ctx.caller.at_terminal and not ctx.environment.editor:
        raise Mistake("there is no terminal to edit in", hint="set EDITOR to a program that edits the file by itself")
    stored = ctx.memory.version(reference)
    edited = edit_version(ctx, stored, by=ctx.person(by))
    if edited is None:
        ctx.answer({"changed": False}, lambda: ctx.console.print("Unchanged."))
        return
    document = {"changed": True, "version_id": edited.version.id, "status": edited.status}
    ctx.answer(document, lambda: ctx.console.print(_what_became_of(ctx, edited)))


def edit_version(ctx: CommandContext, stored: Stored, *, by: str) -> Stored | None:
    """Let a person edit a version; returns the new one, or nothing if it was left as it was."""
    before = application.render(stored.version.content)
    try:
        text = click.edit(before, editor=ctx.environment.editor or None, extension=".md")
    except click.ClickException as error:
        raise Mistake(error.format_message(), hint="set EDITOR to a program that edits a file") from error
    if text is None or text == before:
        return None
    parsed = application.parse(text, strict=True).content
    content = dataclasses.replace(parsed, files=stored.version.content.files)
    verdict = ctx.memory.propose(content, by=by, origin=Origin.USER, revises=stored)
    if not verdict.version_id:
        reasons = "; ".join(finding.message for finding in verdict.findings)
        raise GateRefusal(f"the edit was not taken: {reasons}", hint="edit it again")
    if verdict.version_id == stored.version.id:
        return None
    known = ctx.memory.store.version(verdict.version_id)
    if known.status is Status.REJECTED:  # who writes it again wants it after all
        ctx.memory.review(verdict.version_id, Review.REOPEN, by=by, reason="written again by a person")
    return ctx.memory.store.version(verdict.version_id)


def _what_became_of(ctx: CommandContext, edited: Stored) -> str:
    """Where an edit stands, with the next step; the very same text may have been there before."""
    short = edited.version.id[:10]
    if edited.status in RECALLABLE:
        return f"That is the text of {short}, which is in use ({edited.status}): [bold]tacit skills rollback {short}[/bold]"
    if edited.status in (Status.RETIRED, Status.STALE):
        return f"That is the text of {short}, which is {edited.status}: [bold]tacit review {short} --restore[/bold]"
    if len(ctx.memory.store.transitions(edited.version.id)) > 1:
        return f"That is the text of {short}, which waits again: [bold]tacit review {short}[/bold]"
    return f"New version {short} waits: [bold]tacit review[/bold]"


@skills.command()
@click.argument("references", nargs=-1)
@click.option("--all", "everything", is_flag=True, help="Every skill that may be recalled.")
@click.option("--to", "folder", type=click.Path(file_okay=False, path_type=Path), required=True, help="Skills folder.")
@click.option("--force", is_flag=True, help="Overwrite what lies there under the same name.")
@click.option("--writable", is_flag=True, help="Write files that may be edited in place; otherwise they are read-only.")
@command_options
def export(
    ctx: CommandContext, *, references: tuple[str, ...], everything: bool, folder: Path, force: bool, writable: bool
) -> None:
    """Write skills as Agent Skills folders, NAME/SKILL.md with their files. Editing and importing brings them back.

    What somebody else prefers is not among --all: agents read what lies in such folders. A person may name it.

    Remote images, tags that run or fetch, and links that run code are written so that no viewer acts on them.
    """
    if bool(references) == everything:
        raise Mistake("name the skills to export, or give --all", hint="tacit skills export NAME --to .agents/skills")
    loop = ctx.memory
    own = (each for each in loop.skills(statuses=RECALLABLE) if not shelf.is_private(each, person=loop.person))
    chosen = list(own) if everything else [meant(ctx, each) for each in references]
    if any(stored.status not in RECALLABLE for stored in chosen):
        ctx.caller.require_person("export unapproved")
    written = [_write(stored, folder, force=force, writable=writable) for stored in chosen]
    told = "\n".join(f"wrote {path}" for path in written)
    ctx.answer({"written": [str(path) for path in written]}, lambda: click.echo(clean(told)))


@skills.command()
@click.option("--by", default="", help="Who edited, kept with what is taken back.")
@command_options
def sync(ctx: CommandContext, *, by: str) -> None:
    """Bring exported SKILL.md folders and the store in step, both ways.

    For clients whose channel is `skill` (tacit init --channel skill). What was approved is written, what was retired is
    removed, what was edited in a folder becomes a new version that waits for review. `learn` and `review` do it too.
    """
    verdicts = exports.take_back(ctx.memory, by=by or ctx.environment.user or "edit")
    kept = exports.export(ctx.memory)

    def show() -> None:
        for verdict in verdicts:
            ctx.console.print(f"[yellow]edited[/yellow]   {escape(clean(verdict.name))} waits: tacit review")
        for each in kept:
            ctx.console.print(f"{each.what:8} {escape(clean(str(each.path)))}")
        if not kept and not verdicts:
            ctx.console.print("Everything is in step.")

    changed = [{"name": each.name, "path": str(each.path), "what": each.what} for each in kept]
    waiting = [{"name": v.name, "decision": v.decision, "version_id": v.version_id} for v in verdicts]
    ctx.answer({"folders": changed, "taken_back": waiting}, show)


def _write(stored: Stored, folder: Path, *, force: bool, writable: bool) -> Path:
    """Write one skill; a folder that holds another skill's text is left alone unless forced."""
    target = folder / stored.version.name
    if application.find_skill_md(target) and not force:
        there = application.load(target)
        if there.stamp.get("skill-id") != stored.skill.id or not application.is_copy(
            there.content, stored.version.content
        ):
            raise Refusal(f"{target} already holds a skill with other text", hint="import it first, or give --force")
    stamp = {"skill-id": stored.skill.id, "version-id": stored.version.id}
    return application.save(stored.version.content, folder, stamp=stamp, writable=writable)


def _file_text(stored: Stored, path: str) -> str:
    for file in stored.version.content.files:
        if file.path == path:
            return file.content
    known = ", ".join(file.path for file in stored.version.content.files) or "it has no files"
    raise NotFound(f"`{stored.version.name}` has no file {path!r}", hint=f"files: {known}")


@skills.command()
@click.argument("reference")
@click.option("--by", default="", help="Your name, kept with the decision.")
@command_options
def rollback(ctx: CommandContext, *, reference: str, by: str) -> None:
    """Make an earlier version current again: the one before for a NAME, or a version id.

    Later versions are retired, not deleted.
    """
    ctx.caller.require_person("rollback")
    stored = ctx.memory.version(reference)
    if not stored.version.id.startswith(reference):
        versions = ctx.memory.store.versions(stored.skill.id)
        earlier = [s for s in versions if s.sequence < stored.sequence and _was_in_use(ctx, s)]
        if not earlier:
            raise Mistake(
                f"`{stored.version.name}` has no earlier version that was in use",
                hint="`tacit skills show NAME` lists its versions",
            )
        stored = earlier[-1]
    if not _was_in_use(ctx, stored):
        raise GateRefusal(
            f"nobody approved {stored.version.id[:10]} yet, so there is no way back to it",
            hint=f"decide on it: tacit review {stored.version.id[:10]}",
        )
    moves = ctx.memory.rollback(stored.version.id, by=ctx.person(by))
    ctx.answer(
        {"current": stored.version.id, "moves": moves},
        lambda: ctx.console.print(
            f"[bold]{escape(clean(stored.version.name))}[/bold] is back at {stored.version.id[:10]}"
        ),
    )


def _was_in_use(ctx: CommandContext, stored: Stored) -> bool:
    return stored.status in RECALLABLE or any(
        move.after in RECALLABLE for move in ctx.memory.store.transitions(stored.version.id)
    )


def _summary(stored: Stored) -> dict[str, Any]:
    content = stored.version.content
    return {
        "name": content.name,
        "kind": content.kind,
        "person": content.person,
        "description": content.description,
        "category": content.category,
        "status": stored.status,
        "scope": str(stored.skill.scope),
        "skill_id": stored.skill.id,
        "version_id": stored.version.id,
        "content_hash": stored.version.hash,
        "created_at": stored.version.created_at,
    }
