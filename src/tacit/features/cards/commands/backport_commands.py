"""`tacit cards backport`, and by the names of the original tool `tacit cards export-backport` and `backport-inspect`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
from rich.markup import escape

from tacit.domain.errors import Mistake
from tacit.features.cards.backport.graduation import BackportRequest, BackportResult, Graduation, UndoResult
from tacit.features.cards.cards import folder_here
from tacit.features.cards.commands import card_options, location_fields, print_json
from tacit.surfaces.cli.context import CommandContext, clean, command_options, counted

APPLY, UNDO = "backport --apply", "backport --undo"


def graduation_of(ctx: CommandContext) -> Graduation:
    """Return the graduation; reading creates no store."""
    ctx.may_create = folder_here().is_dir()
    return Graduation(ctx.memory)


@click.command(hidden=True)
@click.option(
    "--skill-path", type=click.Path(path_type=Path), help="The folder of the target skill; not needed with --undo."
)
@click.option("--ids", default="", metavar="ID,ID", help="Cards to include; ids of skills are taken too.")
@click.option("--make-diff", is_flag=True, help="Put a patch into the bundle that `git apply` and `patch -p1` take.")
@click.option("--apply", "apply", is_flag=True, help="Also write the target itself; for a person.")
@click.option("--refresh", is_flag=True, help="Update what changed since it was exported.")
@click.option("--undo", default="", metavar="BACKPORT_ID", help="Undo this backport; for a person.")
@card_options
def export_backport(ctx: CommandContext, *, skill_path: Path | None, ids: str, undo: str, **flags: bool) -> None:
    """Write proven cards into a bundle for a skill, and with --apply into the skill itself."""
    if undo:
        if ids or any(flags.values()):
            raise Mistake("--undo takes no other options", code="undo_alone", hint="leave the other options out")
        _undo(ctx, undo)
        return
    if skill_path is None:
        hint = "give --skill-path with the folder of a skill"
        raise Mistake("no target was named", code="no_target", hint=hint)
    if flags["apply"]:
        ctx.caller.require_person(APPLY)
    named = list(dict.fromkeys(one.strip() for one in ids.split(",") if one.strip()))
    if not named and not flags["refresh"]:
        raise Mistake("no card was named", code="no_pieces", hint="give --ids ID,ID; see `tacit cards list`")
    skills = [one for one in named if one.startswith(("s_", "v_"))]
    graduation = graduation_of(ctx)
    cards = [one for one in named if one not in skills]
    done = graduation.backport(BackportRequest(target=skill_path, cards=cards, skills=skills, **flags))
    deck, own = graduation.deck, ("ok", "target", "existing_card_ids", "edited_by_hand", "changes")
    shared = {name: value for name, value in document(done).items() if name not in own}
    logged_to = str(deck.folder / "backports.jsonl") if deck.syncs_folder else ""
    where = {"target_skill": str(deck.root / done.target.path), "logged_to": logged_to}
    print_json(ctx, {"ok": True, **location_fields(deck), **where, **shared})


@click.command(hidden=True)
@click.option(
    "--skill-path", required=True, type=click.Path(path_type=Path), help="A skill's folder, or another target."
)
@click.option("--backport-id", default="", help="A backport to look for.")
@click.option("--aha-id", default="", help="A card to look for.")
@card_options
def backport_inspect(ctx: CommandContext, *, skill_path: Path, backport_id: str, aha_id: str) -> None:
    """Show what graduated into a target: its markers, its cards, and how to remove them."""
    graduation = graduation_of(ctx)
    found = graduation.inspect(skill_path, backport_id=backport_id.strip(), card_id=aha_id.strip())
    root = graduation.deck.root
    found |= {
        "target_skill_path": str(root / found["target_skill_path"]),
        "files": {name: str(root / path) for name, path in found["files"].items()},
    }
    print_json(ctx, {"ok": True, **found})


def _undo(ctx: CommandContext, identity: str) -> None:
    ctx.caller.require_person(UNDO)
    graduation = graduation_of(ctx)
    done = graduation.undo(identity)
    files: list[dict[str, Any]] = [{"path": file.change.path, "how": file.how} for file in done.files]
    print_json(
        ctx,
        {
            "ok": True,
            **location_fields(graduation.deck),
            "backport_id": identity,
            "undone": True,
            "files": files,
            "cards": list(done.cards),
            "kept": list(done.kept),
        },
    )


_HOW = {
    "exact": "restored to the byte",
    "markers": "edited since, so only the marked parts were removed",
    "already": "unchanged",
}


@click.command(short_help="Write proven knowledge into skills and AGENTS.md")
@click.argument("target", required=False, type=click.Path(path_type=Path))
@click.option("--card", "cards", multiple=True, metavar="ID", help="An approved card (may be repeated).")
@click.option("--skill", "skills", multiple=True, metavar="NAME", help="A skill in use: a lesson, procedure or norm.")
@click.option("--make-diff", is_flag=True, help="Put a patch into the bundle that `git apply` and `patch -p1` take.")
@click.option("--apply", "apply", is_flag=True, help="Also write the target itself.")
@click.option(
    "--refresh", is_flag=True, help="Update what changed since it graduated; without ids everything that is known."
)
@click.option("--undo", default="", metavar="BACKPORT_ID", help="Undo this backport.")
@command_options
def backport(ctx: CommandContext, *, target: Path | None, undo: str, **options: Any) -> None:
    """Write approved knowledge into TARGET: a skill's folder, AGENTS.md, CLAUDE.md, copilot-instructions.md or a page.

    Only approved text graduates, and only if it is not tied to a machine, a person or, for a skill, to this project. Without
    --apply only a bundle is written: the pieces, the block for the target, a manifest and, with --make-diff, a patch.

    Only a person may apply and undo: both are refused without a terminal and inside an agent's shell.
    """
    if undo:
        if target or any(options.values()):
            hint = "leave the target and the other options out"
            raise Mistake("--undo takes no other arguments", code="undo_alone", hint=hint)
        take_back(ctx, undo)
        return
    if target is None:
        hint = "name a skill's folder, AGENTS.md, CLAUDE.md or a page; or give --undo"
        raise Mistake("a target is needed", code="no_target", hint=hint)
    if options["apply"]:
        ctx.caller.require_person(APPLY)
    done = graduation_of(ctx).backport(BackportRequest(target=target, **options))
    ctx.report(document(done), lambda: _show(ctx, done))


def take_back(ctx: CommandContext, identity: str) -> None:
    """Undo a backport, and print how each file was restored."""
    ctx.caller.require_person(UNDO)
    done = graduation_of(ctx).undo(identity)
    document = {
        "ok": True,
        "backport_id": done.backport.key,
        "target_path": done.backport.target_path,
        "undone": True,
        "exact": all(file.how != "markers" for file in done.files),
        "files": [
            {"path": file.change.path, "how": file.how, "removed": file.change.after is None} for file in done.files
        ],
        "cards": list(done.cards),
        "kept": list(done.kept),
    }
    ctx.report(document, lambda: _show_undone(ctx, done))


def document(done: BackportResult) -> dict[str, Any]:
    """Return the result of a backport as JSON."""
    made, planned = done.backport, done.planned
    return {
        "ok": True,
        "backport_id": made.key,
        "target": {"kind": str(done.target.kind), "name": done.target.name, "path": done.target.path},
        "bundle_dir": str(done.bundle),
        "applied": made.applied,
        "diff_written": made.diff_written,
        "card_ids": list(made.requested),
        "existing_card_ids": list(planned.existing),
        "added_card_ids": list(planned.added),
        "refreshed_card_ids": list(planned.refreshed),
        "stale_card_ids": list(planned.stale),
        "edited_by_hand": list(planned.by_hand),
        "result_card_ids": list(planned.result),
        "changes": [
            {"path": change.path, "kind": "create" if change.before is None else "update"} for change in planned.changes
        ],
        "mended": list(done.recovered),
        "warnings": list(done.warnings),
    }


def _show(ctx: CommandContext, done: BackportResult) -> None:
    made, planned, say = done.backport, done.planned, ctx.console.print
    for recovered in done.recovered:
        say(f"[yellow]{escape(recovered)} was interrupted and undone first[/yellow]")
    for warning in done.warnings:
        say(f"[yellow]{escape(clean(warning))}[/yellow]", soft_wrap=True)
    news = [counted(len(planned.added), "piece") + " added"] if planned.added else []
    news += [f"{len(planned.refreshed)} updated"] if planned.refreshed else []
    say(f"[bold]{escape(made.key)}[/bold] → {escape(clean(done.target.path))}: {', '.join(news) or 'nothing new'}")
    for change in planned.changes:
        verb = "wrote" if made.applied else "would write"
        say(f"  {verb} {escape(clean(change.path))}", soft_wrap=True)
    say(f"  bundle: {escape(clean(str(done.bundle)))}", soft_wrap=True)
    if made.applied and planned.changes:
        say(f"[cyan]next:[/cyan]  commit it; `tacit cards backport --undo {made.key}` undoes it", soft_wrap=True)
    elif planned.changes:
        say("[cyan]next:[/cyan]  read the bundle; --apply writes the target", soft_wrap=True)


def _show_undone(ctx: CommandContext, done: UndoResult) -> None:
    ctx.console.print(f"[bold]{escape(done.backport.key)}[/bold] was undone")
    for file in done.files:
        what = "removed" if file.change.after is None and file.change.before is not None else _HOW[file.how]
        ctx.console.print(f"  {escape(clean(file.change.path))}: {what}", soft_wrap=True)
    for one in done.kept:
        message = f"{one} was edited there and stays; remove it by hand if you no longer want it"
        ctx.console.print(f"  [yellow]{escape(clean(message))}[/yellow]", soft_wrap=True)
    if done.cards:
        ctx.console.print(f"  the status of {counted(len(done.cards), 'card')} was restored", soft_wrap=True)
