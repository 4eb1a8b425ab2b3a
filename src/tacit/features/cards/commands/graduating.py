"""`tacit cards export-backport` and `backport-inspect`: graduation by the names and keys of the card workflow."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from tacit.domain.errors import Mistake
from tacit.features.cards.graduating import Asked, Graduation
from tacit.features.cards.commands.options import card_options, folder_here, print_json, told
from tacit.surfaces.cli.context import CommandContext

APPLY, UNDO = "backport --apply", "backport --undo"


def graduation_of(ctx: CommandContext) -> Graduation:
    """The graduation of this session; to look at nothing creates no store."""
    ctx.may_create = folder_here().is_dir()
    return ctx.memory.graduation


@click.command()
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
    done = graduation.backport(Asked(target=skill_path, cards=cards, skills=skills, **flags))
    made, planned, deck = done.backport, done.planned, graduation.deck
    print_json(
        ctx,
        {
            "ok": True,
            **told(deck),
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
            "logged_to": str(deck.folder / "backports.jsonl") if deck.keeps_folder else "",
            "mended": list(done.mended),
            "warnings": list(done.warnings),
        },
    )


@click.command()
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
            **told(graduation.deck),
            "backport_id": identity,
            "undone": True,
            "files": files,
            "cards": list(done.cards),
            "kept": list(done.kept),
        },
    )
