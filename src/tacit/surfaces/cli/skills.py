"""`tacit skills …`: list, show, edit and export skills, and show what happened to them."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.markup import escape
from rich.padding import Padding

from tacit import render
from tacit.domain.errors import GateRefusal, Mistake, NotFound, Refusal
from tacit.domain.evidence import Reliability
from tacit.domain.extension import HistoryEvent
from tacit.domain.identity import plain
from tacit.domain.ledger import About, record_elsewhere
from tacit.domain.lifecycle import RECALLABLE, Status
from tacit.domain.stored import AuditEntry, StoredVersion
from tacit.domain.trajectory import Origin
from tacit.gate.quarantine import is_withheld
from tacit.gate.review_rules import PersonDecision
from tacit.ingest.atif import to_document
from tacit.maintain import exports
from tacit.maintain.reason_text import stored_reason
from tacit.store import queries
from tacit.surfaces.cli.context import CommandContext, by_option, clean, command_options, counted, one_line
from tacit.surfaces.cli.propose import import_
from tacit.surfaces.cli.report import Column, Columns, ReportPart, fields, safe
from tacit.surfaces.cli.stats import stats
from tacit.surfaces.cli.table import SuggestingGroup
from tacit.surfaces.cli.views import (
    NAMESAKES,
    colored_difference,
    difference,
    move_lines,
    namesake_lines,
    reliability_fields,
    skill_lines,
    skill_page,
    status_lines,
)

if TYPE_CHECKING:
    from tacit.api import Tacit

_UNUSED = frozenset({Status.REJECTED, Status.RETIRED})


def skill_document(stored: StoredVersion, known: Reliability) -> dict[str, Any]:
    """Return what a list of skills shows of one, for programs."""
    version = stored.version
    return {
        **fields(version.content, "name", "kind", "person", "description", "category"),
        "status": stored.status,
        "scope": str(stored.skill.scope),
        "skill_id": stored.skill.id,
        "version_id": version.id,
        "content_hash": version.hash,
        "created_at": version.created_at,
        "reliability": reliability_fields(known),
    }


@click.group(cls=SuggestingGroup, invoke_without_command=True)
@click.option("--all", "everything", is_flag=True, help="Include rejected, retired and shadowed skills.")
@click.option("--static/--no-static", default=True, help="Include skills that people wrote in skill folders.")
@command_options
def skills(ctx: CommandContext, *, everything: bool, static: bool) -> None:
    """List, show, import and export skills. Without a command: list learned and static skills."""
    if click.get_current_context().invoked_subcommand is None:
        _list(ctx, everything=everything, static=static)


for command in (stats, import_):
    skills.add_command(command)


def _list(ctx: CommandContext, *, everything: bool, static: bool) -> None:
    visible = ctx.visible(ctx.memory.skills())
    # Versions of the same name and content at several scopes: the narrowest is listed with the broader ones.
    alike: dict[tuple[str, str], list[StoredVersion]] = {}
    for stored in sorted(visible, key=lambda each: each.skill.scope.level.breadth):
        if stored.status in RECALLABLE:
            alike.setdefault((stored.version.name, stored.version.hash), []).append(stored)
    also = {narrowest.version.id: broader for narrowest, *broader in alike.values() if broader}
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
            {**skill_document(stored, known), "also_at": scopes.get(stored.version.id, [])} for stored, known in rows
        ],
        "static": [
            {**fields(skill, "name", "description"), "path": str(skill.path), "warnings": [*map(str, skill.warnings)]}
            for skill in static_skills
        ],
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
        versions = (stored, ctx.version(other)) if other else _neighbours(ctx, stored, named=named)
        for each in versions:
            ctx.require_visible(each)
        before, after = (ctx.as_shown(each).version for each in versions)
        document = {"before": before.id, "after": after.id, "diff": difference(before.content, after.content)}
        ctx.report(document, lambda: colored_difference(before.content, after.content))
        return
    if file is not None:
        texts = {each.path: each.content for each in stored.version.content.files}
        if file not in texts:
            message = f"`{stored.version.name}` has no file {file!r}"
            known = f"files: {', '.join(texts) or 'it has no files'}"
            raise NotFound(message, code="no_such_file", hint=known)
        text = texts[file]
        ctx.report({"path": file, "content": text}, lambda: click.echo(clean(text)))
        return
    _show_skill(ctx, stored, raw=raw)


def whole_skill_document(memory: Tacit, stored: StoredVersion) -> dict[str, Any]:
    """Return one skill for programs: content, origins, status changes, versions and results."""
    archive, version, content = memory.archive, stored.version, stored.version.content
    return skill_document(stored, archive.reliability(version.id)) | {
        "skill_md": render.render(content),
        "content": dataclasses.replace(content, files=()),
        "files": [f.path for f in content.files],
        **fields(version, "origins", "provenance"),
        "life": [] if is_withheld(content) else archive.transitions(version.id),  # the reasons quote what was found
        "versions": [
            {"version_id": each.version.id, "status": each.status, "created_at": each.version.created_at}
            for each in archive.versions(stored.skill.id)
        ],
        "evidence": archive.evidence(version.id),
        "record_elsewhere": record_elsewhere(archive.remarks(stored.skill.id, about=About.PROMOTION)),
        "others": NAMESAKES.documents(archive.namesakes(stored)),
    }


def _show_skill(ctx: CommandContext, stored: StoredVersion, *, raw: bool) -> None:
    archive, version, content = ctx.memory.archive, stored.version, stored.version.content

    def parts() -> Iterator[ReportPart]:
        if raw or not ctx.console.is_terminal:
            click.echo(clean(render.render(content)))
        else:
            yield skill_page(content)
            yield ""
        elsewhere = record_elsewhere(archive.remarks(stored.skill.id, about=About.PROMOTION))
        known, life = archive.reliability(version.id), archive.transitions(version.id)
        yield from status_lines(stored, known, life, archive.evidence(version.id), elsewhere)
        for each in archive.versions(stored.skill.id):
            mark = "→" if each.version.id == version.id else " "
            yield f"[dim]{mark} {each.version.id}  {each.status}  {each.version.created_at:%Y-%m-%d}[/dim]"
        yield from namesake_lines(archive.namesakes(stored))

    ctx.report(whole_skill_document(ctx.memory, stored), parts)


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
    short = edited.version.id[:10]
    same = f"{short} has the same text and"  # it may have existed before
    if edited.status in RECALLABLE:
        line = f"{same} is in use ({edited.status}): [bold]tacit undo {short} --to {short}[/bold]"
    elif edited.status in (Status.RETIRED, Status.STALE):
        line = f"{same} is {edited.status}: [bold]tacit review {short} --restore[/bold]"
    elif len(ctx.memory.archive.transitions(edited.version.id)) > 1:
        line = f"{same} waits for review again. Run [bold]tacit review {short}[/bold]."
    else:
        line = f"New version {short} waits for review. Run [bold]tacit review {short}[/bold]."
    ctx.report(document, line)


def edit_version(ctx: CommandContext, stored: StoredVersion, *, by: str) -> StoredVersion | None:
    """Let a person edit a version; return the new one, or None if nothing changed."""
    before = render.render(stored.version.content)
    try:
        text = click.edit(before, editor=ctx.environment.editor or None, extension=".md")
    except click.ClickException as error:
        hint = "set EDITOR to a program that edits a file"
        raise Mistake(error.format_message(), code="editor_failed", hint=hint) from error
    return None if text is None else propose_edit(ctx, stored, text, by=by)


def propose_edit(ctx: CommandContext, stored: StoredVersion, text: str, *, by: str) -> StoredVersion | None:
    """Propose a person's text of a SKILL.md as the next version; return it, or None if nothing changed."""
    if text == render.render(stored.version.content):
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
        ctx.memory.review(verdict.version_id, PersonDecision.REOPEN, by=by, reason="written again by a person")
    return ctx.memory.version(verdict.version_id)


@skills.command(short_help="Write skills as Agent Skills folders, or sessions as ATIF")
@click.argument("references", nargs=-1)
@click.option("--all", "everything", is_flag=True, help="Every skill that may be recalled.")
@click.option("--to", "folder", type=click.Path(path_type=Path), required=True, help="Skills folder; for atif a file.")
@click.option(
    "--format", "form", type=click.Choice(["skill", "atif"]), default="skill", help="What to write; atif: sessions."
)
@click.option("--force", is_flag=True, help="Overwrite a folder of the same name.")
@click.option("--writable", is_flag=True, help="Write files that may be edited in place; otherwise they are read-only.")
@command_options
def export(
    ctx: CommandContext,
    *,
    references: tuple[str, ...],
    everything: bool,
    folder: Path,
    form: str,
    force: bool,
    writable: bool,
) -> None:
    """Write skills as Agent Skills folders, NAME/SKILL.md with their files. Edit and import them to bring them back.

    With --format atif: write the sessions named by their ids, or --all, into a file, one ATIF document per line; secrets were
    redacted before they were stored.

    --all leaves out other people's preferences, because agents read such folders; a person may name them.

    Remote images, tags that run or fetch, and links that run code are written so that no viewer acts on them. Of the tools that
    a skill asks for, only those that a person unlocked stand in `allowed-tools`.
    """
    if bool(references) == everything:
        hint = "tacit skills export NAME --to .agents/skills"
        raise Mistake("name what to export, or pass --all", code="nothing_named", hint=hint)
    if form == "atif":
        _export_sessions(ctx, references, folder, force=force)
        return
    person = ctx.memory.context.person
    own = (each for each in ctx.memory.skills(statuses=RECALLABLE) if not queries.is_private(each, person=person))
    chosen = list(own) if everything else [ctx.memory.version(each) for each in references]
    for stored in chosen:
        ctx.require_visible(stored)
    if any(stored.status not in RECALLABLE for stored in chosen):
        ctx.caller.require_person("export unapproved")
    written = []
    for stored in chosen:
        target = folder / stored.version.name
        if render.find_skill_md(target) and not force:
            found = render.load(target)
            same = found.stamp.get("skill-id") == stored.skill.id
            if not same or not render.is_copy(found.content, stored.version.content):
                message = f"{target} already contains a skill with another text"
                raise Refusal(message, code="folder_taken", hint="import it first, or pass --force")
        stamp = {"skill-id": stored.skill.id, "version-id": stored.version.id}
        unlocked = ctx.memory.reviews.unlocked_tools([stored.version.id])
        saved = render.save(stored.version.content, folder, stamp=stamp, unlocked=unlocked, writable=writable)
        written.append(str(saved))
    ctx.report({"written": written}, *(f"wrote {safe(path)}" for path in written))


def _export_sessions(ctx: CommandContext, references: tuple[str, ...], file: Path, *, force: bool) -> None:
    ctx.caller.require_person("export sessions")
    if file.is_dir() or (file.exists() and not force):
        raise Refusal(f"{file} already exists", code="file_taken", hint="name another file, or pass --force")
    written = 0
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("w", encoding="utf-8") as stream:
        for attempt in exports.stored_attempts(ctx.memory.context, references):
            stream.write(json.dumps(to_document(attempt)) + "\n")
            written += 1
    if not written:
        file.unlink()
        raise NotFound("no such session is stored", code="no_such_session", hint="see `tacit log`")
    ctx.report(
        {"written": [str(file)], "attempts": written}, f"wrote {counted(written, 'attempt')} to {safe(str(file))}"
    )


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
        "taken_back": [fields(verdict, "name", "decision", "version_id") for verdict in verdicts],
    }

    def lines() -> Iterator[str]:
        for verdict in verdicts:
            yield f"[yellow]edited[/yellow]   {safe(verdict.name)} waits for review. Run `tacit review`."
        for each in kept:
            yield f"{each.action:8} {safe(str(each.path))}"
        if not kept and not verdicts:
            yield "Everything is up to date."

    ctx.report(document, lines)


_SHOWN_ID = 14
_SHOWN_HASH = len("sha256:") + 12
"""As many digits as `tacit store purge --source` needs."""
_AFTER_STYLE = {"trial": "cyan", "trusted": "green", "stale": "yellow", "retired": "red", "rejected": "red"}
_LIMIT = 50
_WIDE = 110
"""From this width on a history is a table; below, each event has two lines."""


@skills.command(hidden=True)
@click.argument("subject", required=False, default="")
@click.option("--limit", type=click.IntRange(min=1), default=_LIMIT, show_default=True, help="Only the last entries.")
@click.option("--chain", is_flag=True, help="Show the entries of the audit chain, for a skill too.")
@click.option("--session", default="", metavar="ID", help="Show what was learned in this agent session.")
@command_options
def history(ctx: CommandContext, *, subject: str, limit: int, chain: bool, session: str) -> None:
    """Show the history of a skill: versions, status changes with reasons, results, remarks. SUBJECT is a name or an id.

    For anything else, and without SUBJECT, it shows the audit chain: what happened to everything, to one trajectory or use.
    """
    show_history(ctx, subject, limit=limit, chain=chain, session=session)


def show_history(
    ctx: CommandContext, subject: str, *, limit: int = _LIMIT, chain: bool = False, session: str = ""
) -> None:
    """Report what happened to a skill, in a session, or to everything."""
    archive = ctx.memory.archive
    if session:
        events = archive.session_life(session)[-limit:]
        ctx.report({"session": session, "events": EVENTS.documents(events)}, lambda: _event_parts(ctx, session, events))
        return
    found = archive.find(subject) if subject else ""
    if found.startswith(("s_", "v_")) and not chain:
        skill = ctx.version(found)
        events = archive.life(found)[-limit:]
        if is_withheld(skill.version.content):  # the reasons quote what was found
            events = [dataclasses.replace(event, why="") for event in events]
        others = archive.namesakes(skill)
        document = {
            "subject": skill.skill.id,
            "name": skill.version.name,
            "events": EVENTS.documents(events),
            "others": NAMESAKES.documents(others),
            "entries": _entries(ctx, archive.history(found)[-limit:]),
        }
        ctx.report(document, lambda: _event_parts(ctx, skill.version.name, events), lambda: namesake_lines(others))
        return
    entries = archive.history(found)[-limit:]
    rows = _entries(ctx, entries)
    ctx.report({"subject": found, "entries": rows}, _ENTRIES.table(rows) if rows else "Nothing has happened yet.")


def _what_cell(event: HistoryEvent) -> str:
    times = f"{event.count} × " if event.count > 1 else ""
    style = _AFTER_STYLE.get(event.what.rpartition("→ ")[2].partition(" ")[0], "default")
    return f"[{style}]{times}{safe(event.what)}[/{style}]"


def _why_cell(event: HistoryEvent) -> str:
    return f"[dim]{escape(one_line(stored_reason(event.why), 160))}[/dim]"


EVENTS: Columns[HistoryEvent] = Columns(
    Column("at", lambda event: event.at, "when", lambda event: f"{event.at:%Y-%m-%d %H:%M}"),
    Column("version_id", lambda event: event.version_id, "version", lambda event: event.version_id[:10]),
    Column("what", lambda event: event.what, "what", _what_cell),
    Column("by", lambda event: event.by, "by"),
    Column("why", lambda event: stored_reason(event.why), "why", _why_cell),
    Column("count", lambda event: event.count),
)
_ENTRIES: Columns[dict[str, object]] = Columns(
    Column("", lambda entry: entry["sequence"], "#"),
    Column("", lambda entry: str(entry["at"])[:19].replace("T", " "), "when"),
    Column("", lambda entry: entry["action"], "what"),
    Column("", lambda entry: _short_subject(str(entry["subject"])), "of"),
    Column("", lambda entry: entry.get("actor", ""), "by"),
    Column("", lambda entry: entry["reason"], "why"),
)


def _entries(ctx: CommandContext, entries: Sequence[AuditEntry]) -> list[dict[str, object]]:
    """Return entries of the audit chain; those of a purge have its reason."""
    purged = any(entry.action in ("purge", "tombstone") for entry in entries)
    reasons = ctx.memory.archive.purge_reasons() if purged else {}
    return [
        plain(entry)
        | {"reason": reasons.get(entry.at, "") if entry.action in ("purge", "tombstone") else "", "actor": entry.actor}
        for entry in entries
    ]


def _short_subject(subject: str) -> str:
    return subject[: _SHOWN_HASH if subject.startswith("sha256:") else _SHOWN_ID]


def _event_parts(ctx: CommandContext, name: str, events: Sequence[HistoryEvent]) -> Iterator[ReportPart]:
    """Yield a table, or in a narrow terminal two lines for each event, so that nothing is cut off."""
    yield f"[bold]{safe(name)}[/bold]"
    if ctx.console.width >= _WIDE:
        yield EVENTS.table(events)
        return
    for event in events:
        by = f"  by {safe(event.by)}" if event.by else ""
        yield f"{event.at:%Y-%m-%d %H:%M}  {event.version_id[:10]}  {_what_cell(event)}{by}"
        if event.why:
            yield Padding(_why_cell(event), (0, 0, 0, 18))


@click.command()
@click.argument("reference", metavar="SKILL")
@click.option("--to", default="", metavar="VERSION", help="Make this earlier version current again.")
@click.option(
    "--rollback", is_flag=True, hidden=True, help="Make the version SKILL, or the one before it, current again."
)
@click.option("--yes", is_flag=True, help="Do not ask.")
@by_option()
@command_options
def undo(ctx: CommandContext, *, reference: str, to: str, rollback: bool, yes: bool, by: str) -> None:
    """Undo the last change to a skill: an approval, a rejection, a retirement, an edit, a rollback or a fold in the review.

    `tacit skills show SKILL --history` shows what it was. With --to it goes back further, to any version that was in use: later
    versions are retired, not deleted.
    """
    if to or rollback:
        _roll_back(ctx, to or reference, by=by, yes=yes)
        return
    ctx.caller.refuse_agents("undo")
    last = ctx.memory.reviews.undoable(reference)
    stored = ctx.memory.version(last[0].version_id if last else reference)
    name = stored.version.name
    what = [*move_lines(name, last)] or [f"[bold]{safe(name)}[/bold] was folded away in the review"]
    ctx.require_yes("Undo this?", *what, yes=yes)
    ctx.caller.require_person("undo")
    moves = ctx.memory.reviews.undo(reference, by=ctx.person(by))
    others = ctx.memory.archive.namesakes(stored)
    document = {"name": name, "moves": moves, "others": NAMESAKES.documents(others)}
    done = [*move_lines(name, moves)] or [f"[bold]{safe(name)}[/bold] waits with the others again"]
    ctx.report(document, *done, lambda: namesake_lines(others))


def _roll_back(ctx: CommandContext, reference: str, *, by: str, yes: bool) -> None:
    ctx.caller.refuse_agents("rollback")
    stored = ctx.memory.version(reference)
    if not stored.version.id.startswith(reference):
        versions = ctx.memory.archive.versions(stored.skill.id)
        earlier = [s for s in versions if s.sequence < stored.sequence and _was_in_use(ctx, s)]
        if not earlier:
            message = f"`{stored.version.name}` has no earlier version that was in use"
            hint = "`tacit skills show NAME` lists its versions"
            raise Mistake(message, code="no_earlier_version", hint=hint)
        stored = earlier[-1]
    if not _was_in_use(ctx, stored):
        short = stored.version.id[:10]
        message = f"{short} was never approved, so it cannot become current by a rollback"
        raise GateRefusal(message, code="never_approved", hint=f"run `tacit review {short}`")
    name, short = safe(stored.version.name), stored.version.id[:10]
    line = f"[bold]{name}[/bold]: {short} becomes current, and later versions are retired"
    ctx.require_yes("Go back to it?", line, yes=yes)
    ctx.caller.require_person("rollback")
    moves = ctx.memory.reviews.rollback(stored.version.id, by=ctx.person(by))
    ctx.report({"current": stored.version.id, "moves": moves}, f"[bold]{name}[/bold] is back at {short}")


def _was_in_use(ctx: CommandContext, stored: StoredVersion) -> bool:
    return stored.status in RECALLABLE or any(
        move.after in RECALLABLE for move in ctx.memory.archive.transitions(stored.version.id)
    )
