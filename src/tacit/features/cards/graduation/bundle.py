"""A planned backport → the files of its bundle: what would be written, in a form that can be read, kept and checked. Pure.

Nothing in it names a folder of the machine: paths are those of the repository.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from tacit.features.cards.graduation.grafting import Grafted, Stamp
from tacit.features.cards.graduation.markers import BLOCK_END, REFERENCE, block_start
from tacit.features.cards.graduation.patch import make_patch
from tacit.features.cards.graduation.pieces import line
from tacit.features.cards.graduation.targets import Target, TargetKind
from tacit.features.cards.graduation.text_file import fingerprint

MANIFEST = "BACKPORT_MANIFEST.json"
APPEND = "SKILL_APPEND.md"
README = "README.md"
PATCH = "backport.patch"
_NAME_BYTES = 150
"""A file system takes 255 for the whole name."""


def bundle_name(target: Target, backport_id: str) -> str:
    """The folder of a bundle."""
    return f"{target.name.encode()[:_NAME_BYTES].decode(errors='ignore')}_{backport_id}"


def make_bundle(
    target: Target, planned: Grafted, requested: Sequence[str], *, stamp: Stamp, with_patch: bool
) -> dict[str, bytes]:
    """The files of a bundle by their paths in it."""
    manifest = json.dumps(make_manifest(target, planned, requested, stamp=stamp), indent=2, ensure_ascii=False) + "\n"
    files = {
        REFERENCE: planned.reference.encode(),
        APPEND: planned.block.encode(),
        MANIFEST: manifest.encode(),
        README: _readme(target, stamp, with_patch=with_patch).encode(),
    }
    return files | ({PATCH: make_patch(planned.changes)} if with_patch else {})


def make_manifest(target: Target, planned: Grafted, requested: Sequence[str], *, stamp: Stamp) -> dict[str, Any]:
    """What was asked for, and what is meant to change."""
    changes: list[dict[str, Any]] = []
    hashes = {
        change.path: {"before": fingerprint(change.before), "after": fingerprint(change.after)}
        for change in planned.changes
    }
    for path in (target.main, target.reference):
        if not path:
            continue
        markers = {"start": block_start(stamp.backport_id), "end": BLOCK_END}
        change: dict[str, Any] = {"path": _within(target, path), "kind": "create_or_update"}
        if path == target.main:
            change |= {"kind": "append_or_update_marker_id", "markers": markers}
        changes.append(change | ({"sha256": hashes[path]} if path in hashes else {}))
    return {
        "backport_id": stamp.backport_id,
        "generated_at": stamp.generated_at,
        "target_skill_name": target.name,
        "target_skill_path": target.path,
        "target_kind": target.kind,
        "requested_card_ids": list(requested),
        "existing_card_ids": list(planned.existing),
        "added_card_ids": list(planned.added),
        "refreshed_card_ids": list(planned.refreshed),
        "result_card_ids": list(planned.result),
        "changes": changes,
    }


def _within(target: Target, path: str) -> str:
    """A file's path below the target's folder; one that a link put elsewhere by its path in the repository."""
    if target.kind is not TargetKind.SKILL:
        return path
    return path.removeprefix("" if target.path == "." else f"{target.path}/")


def _readme(target: Target, stamp: Stamp, *, with_patch: bool) -> str:
    main, path = line(target.main), line(target.path)
    steps = [f"Put the block of `{APPEND}` at the end of `{main}`, or in place of the block that is there."]
    if target.kind is TargetKind.SKILL:
        steps.insert(0, f"Copy `{REFERENCE}` over `{line(target.reference)}`.")
    patch = f"In the repository's root: `git apply {PATCH}`, or `patch -p1 < {PATCH}`. Or by hand:"
    return "\n".join(
        (
            f"# Backport {stamp.backport_id} into {line(target.name)}",
            "",
            f"Proven knowledge for `{path}`, made at {stamp.generated_at}. Nothing has been changed by this folder.",
            "",
            f"- `{MANIFEST}`: what was asked for, which pieces are new, and the files that change",
            f"- `{REFERENCE}`: the pieces in full, each between markers",
            f"- `{APPEND}`: the block for `{main}`",
            *([f"- `{PATCH}`: both as one patch"] if with_patch else ()),
            "",
            "## To apply it",
            "",
            "`tacit backport` with the same target and ids and `--apply` does all of this. By other means:",
            "",
            *((patch, "") if with_patch else ()),
            *(f"{number}. {step}" for number, step in enumerate(steps, 1)),
            "",
            "## To take it back",
            "",
            f"`tacit backport --undo {stamp.backport_id}` where Tacit applied it, or revert the commit."
            + (f" A patch goes back by `git apply -R {PATCH}`." if with_patch else ""),
            "By hand: delete the blocks between the `self-learning` markers that bear this id.",
            "",
        )
    )
