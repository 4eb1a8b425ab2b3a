"""The bundle of a planned backport: its files, the manifest and a patch; and the record that restores a file byte for byte.

Nothing in a bundle names a folder of the machine: paths are relative to the repository. The patch is valid for `git apply` and
`patch -p1`, also with unusual paths and files without a last line end.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from typing import Any

from tacit.domain.errors import StoreOutage
from tacit.features.cards.backport.edit_plan import BackportStamp, EditPlan, plain_line
from tacit.features.cards.backport.markers import BLOCK_END, REFERENCE, block_start
from tacit.features.cards.backport.targets import Target, TargetChange, TargetKind, fingerprint

CONTEXT = 3
_NO_END = "\\ No newline at end of file\n"
_QUOTED = {"\a": "a", "\b": "b", "\t": "t", "\n": "n", "\v": "v", "\f": "f", "\r": "r", '"': '"', "\\": "\\"}
_NEEDS_QUOTES = re.compile(r'[\x00-\x1f\x7f"\\]')


def make_patch(changes: Sequence[TargetChange]) -> bytes:
    """Return the changes as one patch; empty without changes."""
    return "".join(part for change in changes for part in _file(change)).encode()


def lines_of(data: bytes | None) -> list[str]:
    """Return the lines of a file with their ends; only a line feed ends one."""
    return re.findall(r"[^\n]*\n|[^\n]+", (data or b"").decode())


def _file(change: TargetChange) -> Iterator[str]:
    if change.before == change.after:
        return
    old, new = f"a/{change.path}", f"b/{change.path}"
    yield f"diff --git {_name(old)} {_name(new)}\n"
    if change.before is None:
        yield "new file mode 100644\n"
    if change.after is None:
        yield "deleted file mode 100644\n"
    yield f"--- {_ended(old) if change.before is not None else '/dev/null'}\n"
    yield f"+++ {_ended(new) if change.after is not None else '/dev/null'}\n"
    before, after = lines_of(change.before), lines_of(change.after)
    for group in SequenceMatcher(None, before, after).get_grouped_opcodes(CONTEXT):
        yield f"@@ -{_range(group[0][1], group[-1][2])} +{_range(group[0][3], group[-1][4])} @@\n"
        for tag, start, end, new_start, new_end in group:
            if tag == "equal":
                yield from _signed(" ", before[start:end])
            else:
                yield from _signed("-", before[start:end])
                yield from _signed("+", after[new_start:new_end])


def _signed(sign: str, lines: Sequence[str]) -> Iterator[str]:
    for line in lines:
        yield f"{sign}{line}" if line.endswith("\n") else f"{sign}{line}\n{_NO_END}"


def _range(start: int, end: int) -> str:
    """Return the range of a hunk; an empty one starts at the line before it."""
    length = end - start
    return f"{start + 1}" if length == 1 else f"{start + bool(length)},{length}"


def _ended(path: str) -> str:
    """Return a path on its own line; a tab ends one with blanks."""
    name = _name(path)
    return f"{name}\t" if " " in name and not name.startswith('"') else name


def _name(path: str) -> str:
    if not _NEEDS_QUOTES.search(path):
        return path
    return '"' + _NEEDS_QUOTES.sub(lambda found: "\\" + (_QUOTED.get(found[0]) or f"{ord(found[0]):03o}"), path) + '"'


Delta = Mapping[str, Any]


def rollback_decisions(before: bytes | None, after: bytes | None) -> dict[str, Any]:
    """Return how the earlier state is restored from the later one."""
    if before is None:
        return {"was": "", "is": fingerprint(after), "edits": []}
    old, new = lines_of(before), lines_of(after)
    edits = [
        [start, end, "".join(old[old_start:old_end])]
        for tag, start, end, old_start, old_end in SequenceMatcher(None, new, old).get_opcodes()
        if tag != "equal"
    ]
    return {"was": fingerprint(before), "is": fingerprint(after), "edits": edits}


def put_back(delta: Delta, after: bytes) -> bytes | None:
    """Return the earlier state; the later one must be unchanged."""
    if not delta["was"]:
        return None
    lines = lines_of(after)
    edits: Sequence[Sequence[Any]] = delta["edits"]
    for start, end, text in reversed(edits):
        lines[int(start) : int(end)] = [str(text)]
    before = "".join(lines).encode()
    if fingerprint(before) != delta["was"]:
        hint = "see `tacit store verify`"
        raise StoreOutage("the record of a backport does not lead back to what was there", hint=hint)
    return before


MANIFEST = "BACKPORT_MANIFEST.json"
APPEND = "SKILL_APPEND.md"
README = "README.md"
PATCH = "backport.patch"
_NAME_BYTES = 150
"""A file system takes 255 for the whole name."""


def bundle_name(target: Target, backport_id: str) -> str:
    """Return the folder name of a bundle."""
    return f"{target.name.encode()[:_NAME_BYTES].decode(errors='ignore')}_{backport_id}"


def make_bundle(
    target: Target, planned: EditPlan, requested: Sequence[str], *, stamp: BackportStamp, with_patch: bool
) -> dict[str, bytes]:
    """Return the files of a bundle by path."""
    manifest = json.dumps(make_manifest(target, planned, requested, stamp=stamp), indent=2, ensure_ascii=False) + "\n"
    files = {
        REFERENCE: planned.reference.encode(),
        APPEND: planned.block.encode(),
        MANIFEST: manifest.encode(),
        README: _readme(target, stamp, with_patch=with_patch).encode(),
    }
    return files | ({PATCH: make_patch(planned.changes)} if with_patch else {})


def make_manifest(
    target: Target, planned: EditPlan, requested: Sequence[str], *, stamp: BackportStamp
) -> dict[str, Any]:
    """Return what was requested, and which files change."""
    changes: list[dict[str, Any]] = []
    hashes = {
        change.path: {"before": fingerprint(change.before), "after": fingerprint(change.after)}
        for change in planned.changes
    }
    for path in (target.main, target.reference):
        if not path:
            continue
        markers = {"start": block_start(stamp.backport_id), "end": BLOCK_END}
        # in the folder of a skill, elsewhere in the repository
        base = f"{target.path}/" if target.kind is TargetKind.SKILL and target.path != "." else ""
        change: dict[str, Any] = {"path": path.removeprefix(base), "kind": "create_or_update"}
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


def _readme(target: Target, stamp: BackportStamp, *, with_patch: bool) -> str:
    main, path = plain_line(target.main), plain_line(target.path)
    steps = [f"Put the block of `{APPEND}` at the end of `{main}`, or in place of the block that is there."]
    if target.kind is TargetKind.SKILL:
        steps.insert(0, f"Copy `{REFERENCE}` over `{plain_line(target.reference)}`.")
    patch = f"In the repository's root: `git apply {PATCH}`, or `patch -p1 < {PATCH}`. Or by hand:"
    return "\n".join(
        (
            f"# Backport {stamp.backport_id} into {plain_line(target.name)}",
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
            "`tacit cards backport` with the same target and ids and `--apply` does all of this. By other means:",
            "",
            *((patch, "") if with_patch else ()),
            *(f"{number}. {step}" for number, step in enumerate(steps, 1)),
            "",
            "## To take it back",
            "",
            f"`tacit cards backport --undo {stamp.backport_id}` where Tacit applied it, or revert the commit."
            + (f" A patch goes back by `git apply -R {PATCH}`." if with_patch else ""),
            "By hand: delete the blocks between the `self-learning` markers that bear this id.",
            "",
        )
    )
