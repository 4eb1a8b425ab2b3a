"""A patch, or the changes of files that came of one → one edit per file, reduced to the file and what is replaced in it.

An edit has the arguments that other clients' editing tools have, so that later stages treat them alike: `file_path` with
`old_string` and `new_string`, with a list of such `edits` where there are several places, with `content` for a new file.
Paths are relative to the workspace where they lie in it. Applies nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from tacit.ingest.decoding import bounded, text_of

Edit = dict[str, Any]

_FILE = re.compile(r"\*\*\* (Add|Update|Delete) File: (.+)")
_MOVE = re.compile(r"\*\*\* Move to: (.+)")
_MAX_FILES = 100


def edits_of_patch(patch: str, workspace: str) -> list[Edit]:
    """Read the edits of a patch in the client's own format; none if it is no such patch."""
    edits: list[Edit] = []
    how, path, moved, lines = "", "", "", list[str]()
    for line in [*patch.splitlines(), "*** End Patch"]:
        header = _FILE.fullmatch(line.strip())
        if header or line.startswith("*** End Patch"):
            if path and len(edits) < _MAX_FILES:
                edits.append(_edit(how.casefold(), within(path, workspace), lines, moved=within(moved, workspace)))
            how, path, moved, lines = (header[1], header[2].strip(), "", []) if header else ("", "", "", [])
        elif move := _MOVE.fullmatch(line.strip()):
            moved = move[1].strip()
        elif path and not line.startswith("*** "):
            lines.append(line)
    return edits


def edits_of_changes(changes: Any, workspace: str) -> list[Edit]:
    """Read the edits out of the changes that the client notes by file."""
    found = changes.items() if isinstance(changes, dict) else ()
    return [edit for path, change in found for edit in _edits_of_change(path, change, workspace)][:_MAX_FILES]


def within(path: str, workspace: str) -> str:
    """Give a path relative to the workspace if it lies in it."""
    root = workspace.rstrip("/\\")
    return path[len(root) + 1 :] if root and path.startswith((f"{root}/", f"{root}\\")) else path


def _edits_of_change(path: str, change: Any, workspace: str) -> Iterator[Edit]:
    if not isinstance(change, dict):
        return
    how, moved = text_of(change.get("type")), within(text_of(change.get("move_path")), workspace)
    if how == "update":
        yield _edit(
            how, within(path, workspace), bounded(text_of(change.get("unified_diff"))).splitlines(), moved=moved
        )
    elif how in ("add", "delete"):
        sign = "+" if how == "add" else "-"
        lines = [sign + line for line in bounded(text_of(change.get("content"))).splitlines()]
        yield _edit(how, within(path, workspace), lines)


def _edit(how: str, path: str, lines: list[str], *, moved: str = "") -> Edit:
    edit: Edit = {"file_path": path}
    if moved:
        edit["moved_to_path"] = moved
    if how == "delete":
        return edit | {"deleted": True}
    if how == "add":
        return edit | {"content": "".join(line[1:] + "\n" for line in lines)}
    hunks = [{"old_string": old, "new_string": new} for old, new in _hunks(lines)]
    return edit | (hunks[0] if len(hunks) == 1 else {"edits": hunks} if hunks else {})


def _hunks(lines: list[str]) -> Iterator[tuple[str, str]]:
    """What each hunk replaces, and by what; lines around the change count for both."""
    old: list[str] = []
    new: list[str] = []
    for line in [*lines, "@@"]:
        if line.startswith(("@@", "--- ", "+++ ")):
            if old or new:
                yield "\n".join(old), "\n".join(new)
            old, new = [], []
        else:
            if not line.startswith("+"):
                old.append(line[1:])
            if not line.startswith("-"):
                new.append(line[1:])
