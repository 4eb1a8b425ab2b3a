"""`tacit cards export-backport` and `backport-inspect`: graduation by the names and keys of the card workflow."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
from rich.markup import escape

from tacit.domain.errors import Mistake
from tacit.features.cards.backport.graduation import BackportRequest, BackportResult, Graduation, UndoResult
from tacit.features.cards.commands import card_options, folder_here, location_fields, print_json
from tacit.surfaces.cli.context import CommandContext, clean, command_options, counted

APPLY, UNDO = "backport --apply", "backport --undo"


def graduation_of(ctx: CommandContext) -> Graduation:
    """The graduation of this session; to look at nothing creates no store."""
    ctx.may_create = folder_here().is_dir()
    return Graduation(ctx.memory)


@click.command(hidden=True)
@click.option(
    "--skill-path", type=click.Path(path_type=Path), help="The folder of the target skill; not needed with --undo."
)
@click.option("--ids", default="", metavar="ID,ID", help="Cards to include; ids of skills are taken too.")
@click.option("--make-diff", is_flag=True, help="Put a patch into the bundle that `git apply` and `patch -p1` take.")
@click.option("--apply", "apply", is_flag=True, help="Write the target itself, beside the bundle; for a person.")
@click.option("--refresh", is_flag=True, help="Write anew what changed since it was exported.")
@click.option("--undo", default="", metavar="BACKPORT_ID", help="Take back what this backport wrote; for a person.")
@card_options
def export_backport(ctx: CommandContext, *, skill_path: Path | None, ids: str, undo: str, **flags: bool) -> None:
    """Write cards that have proven themselves into a bundle for a skill, and with --apply into the skill itself."""
    if undo:
        if ids or any(flags.values()):
            raise Mistake("--undo goes alone with the id of a backport", hint="leave the other options away")
        _undo(ctx, undo)
        return
    if skill_path is None:
        raise Mistake("no target was named", hint="give --skill-path with the folder of a skill")
    if flags["apply"]:
        ctx.caller.require_person(APPLY)
    named = list(dict.fromkeys(one.strip() for one in ids.split(",") if one.strip()))
    if not named and not flags["refresh"]:
        raise Mistake("no card was named", hint="give --ids ID,ID; see `tacit cards list`")
    skills = [one for one in named if one.startswith(("s_", "v_"))]
    graduation = graduation_of(ctx)
    cards = [one for one in named if one not in skills]
    done = graduation.backport(BackportRequest(target=skill_path, cards=cards, skills=skills, **flags))
    made, planned, deck = done.backport, done.planned, graduation.deck
    print_json(
        ctx,
        {
            "ok": True,
            **location_fields(deck),
            "target_skill": str(deck.root / done.target.path),
            "backport_id": made.key,
            "bundle_dir": str(done.bundle),
            "applied": made.applied,
            "diff_written": made.diff_written,
            "card_ids": list(made.requested),
            "added_card_ids": list(planned.added),
            "refreshed_card_ids": list(planned.refreshed),
            "stale_card_ids": list(planned.stale),
            "result_card_ids": list(planned.result),
            "logged_to": str(deck.folder / "backports.jsonl") if deck.syncs_folder else "",
            "mended": list(done.recovered),
            "warnings": list(done.warnings),
        },
    )


@click.command(hidden=True)
@click.option(
    "--skill-path", required=True, type=click.Path(path_type=Path), help="A skill's folder, or another target."
)
@click.option("--backport-id", default="", help="A backport to look for.")
@click.option("--aha-id", default="", help="A card to look for.")
@card_options
def backport_inspect(ctx: CommandContext, *, skill_path: Path, backport_id: str, aha_id: str) -> None:
    """Tell what was graduated into a target: its markers, the cards it holds, and how to take them out."""
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
    "exact": "as it was, to the byte",
    "markers": "edited since, so only the marked parts were taken out, and nothing that somebody else wrote",
    "already": "was as before already",
}


@click.command()
@click.argument("target", required=False, type=click.Path(path_type=Path))
@click.option(
    "--card", "cards", multiple=True, metavar="ID", help="A card that was approved; may be given several times."
)
@click.option("--skill", "skills", multiple=True, metavar="NAME", help="A skill in use: a lesson, procedure or norm.")
@click.option("--make-diff", is_flag=True, help="Put a patch into the bundle that `git apply` and `patch -p1` take.")
@click.option("--apply", "apply", is_flag=True, help="Write the target itself, beside the bundle.")
@click.option(
    "--refresh", is_flag=True, help="Write anew what changed since it graduated; without ids all that is known."
)
@click.option("--undo", default="", metavar="BACKPORT_ID", help="Take back what this backport wrote.")
@command_options
def backport(ctx: CommandContext, *, target: Path | None, undo: str, **options: Any) -> None:
    """Graduate proven knowledge into TARGET: a skill's folder, AGENTS.md, CLAUDE.md, copilot-instructions.md or a page.

    Only what was approved graduates, and only if nothing in it is tied to a machine, a person or, for a skill, to this
    project. Without --apply nothing but a bundle is written, to be read and kept: the pieces, the block for the target, a
    manifest and, with --make-diff, a patch.

    Applying and undoing belong to a person: they are refused without a terminal and inside an agent's shell.
    """
    if undo:
        if target or any(options.values()):
            raise Mistake("--undo goes alone with the id of a backport", hint="leave the target and other options away")
        take_back(ctx, undo)
        return
    if target is None:
        raise Mistake(
            "a target is needed", hint="name a skill's folder, AGENTS.md, CLAUDE.md or a page; or give --undo"
        )
    done = graduate(ctx, target, **options)
    ctx.answer(document(done), lambda: _show(ctx, done))


def graduate(
    ctx: CommandContext, target: Path, *, cards: tuple[str, ...], skills: tuple[str, ...], **flags: bool
) -> BackportResult:
    """Write the bundle, and the target where that is asked for and a person asks it."""
    if flags["apply"]:
        ctx.caller.require_person(APPLY)
    return graduation_of(ctx).backport(BackportRequest(target=target, cards=cards, skills=skills, **flags))


def take_back(ctx: CommandContext, identity: str) -> None:
    """Undo a backport, and tell how each file went back."""
    ctx.caller.require_person(UNDO)
    done = graduation_of(ctx).undo(identity)
    location_fields = {
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
    ctx.answer(location_fields, lambda: _show_undone(ctx, done))


def document(done: BackportResult) -> dict[str, Any]:
    """What came of a backport, for a program."""
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
        say(f"[yellow]{escape(recovered)} had been interrupted and was taken back first[/yellow]")
    for warning in done.warnings:
        say(f"[yellow]{escape(clean(warning))}[/yellow]", soft_wrap=True)
    news = [counted(len(planned.added), "piece") + " added"] if planned.added else []
    news += [f"{len(planned.refreshed)} written anew"] if planned.refreshed else []
    say(f"[bold]{escape(made.key)}[/bold] → {escape(clean(done.target.path))}: {', '.join(news) or 'nothing new'}")
    for change in planned.changes:
        verb = "wrote" if made.applied else "would write"
        say(f"  {verb} {escape(clean(change.path))}", soft_wrap=True)
    say(f"  bundle: {escape(clean(str(done.bundle)))}", soft_wrap=True)
    if made.applied and planned.changes:
        say(f"[cyan]next:[/cyan]  commit it; `tacit backport --undo {made.key}` takes it back", soft_wrap=True)
    elif planned.changes:
        say("[cyan]next:[/cyan]  read the bundle; --apply writes the target", soft_wrap=True)


def _show_undone(ctx: CommandContext, done: UndoResult) -> None:
    ctx.console.print(f"[bold]{escape(done.backport.key)}[/bold] was taken back")
    for file in done.files:
        what = "removed" if file.change.after is None and file.change.before is not None else _HOW[file.how]
        ctx.console.print(f"  {escape(clean(file.change.path))}: {what}", soft_wrap=True)
    for one in done.kept:
        location_fields = f"{one} was edited there and stands as it is; take it out by hand if you no longer want it"
        ctx.console.print(f"  [yellow]{escape(clean(location_fields))}[/yellow]", soft_wrap=True)
    if done.cards:
        ctx.console.print(f"  the status of {counted(len(done.cards), 'card')} is as before", soft_wrap=True)
