"""Parse the arguments of editing tools of all clients: which files change, and what is replaced in each.

Reads edits by old and new text, lists of edits, whole files, `*** Begin Patch` patches, unified diffs, and lists of hunks.
Unchanged lines are left out of a hunk. It applies nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tacit.text.canonical import canonical_path

_PATHS = ("file_path", "filePath", "path", "absolute_path", "notebook_path", "filename", "target_file")
_OLD = ("old_string", "old_str", "oldString", "old_text", "search")
_NEW = ("new_string", "new_str", "newString", "new_text", "replace", "new_source", "insert_text")
_WHOLE = ("content", "contents", "file_text", "fileText")
_MAX_TEXT = 2_000_000
_FILE = re.compile(r"\*\*\* (?P<how>Add|Update|Delete) File: (?P<file>.+)")
_MOVE = re.compile(r"\*\*\* Move to: (?P<file>.+)")
_UNIFIED = re.compile(r"^--- .*\n\+\+\+ ", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Hunk:
    """One change: the removed lines, and the added lines."""

    old: str
    new: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FileEdit:
    """The edits of one file."""

    file: str
    """Relative to the workspace."""
    hunks: tuple[Hunk, ...] = ()
    whole: bool = False
    """The whole file is written."""
    deleted: bool = False
    moved_to: str = ""


def edits_of(arguments: Mapping[str, Any], *, workspace: str = "") -> tuple[FileEdit, ...]:
    """Return the edits in a tool's arguments; empty if there are none."""
    given = [arguments.get(key) for key in ("patch", "input", "diff", "command", "cmd", "content_patch")]
    texts = (text for each in given for text in (each if isinstance(each, list | tuple) else [each]))
    for text in texts:
        if isinstance(text, str) and (
            "*** Begin Patch" in text or _FILE.match(text) or _UNIFIED.search(text[:_MAX_TEXT])
        ):
            return tuple(_file_edit(*parts, workspace=workspace) for parts in patch_files(text[:_MAX_TEXT]))
    file = _first(arguments, _PATHS)
    if not file:
        return ()
    seen = canonical_path(file, workspace=workspace)
    moved = _first(arguments, ("moved_to_path", "move_path"))
    if arguments.get("deleted") is True:
        return (FileEdit(file=seen, deleted=True),)
    hunks = tuple(_hunks(arguments))
    whole = _first(arguments, _WHOLE)
    if not hunks and whole:
        return (FileEdit(file=seen, hunks=(Hunk("", whole),), whole=True),)
    if not hunks and not moved:
        return ()
    return (FileEdit(file=seen, hunks=hunks, moved_to=canonical_path(moved, workspace=workspace) if moved else ""),)


def hunk_of(old: str, new: str) -> Hunk:
    """Return a hunk without the equal lines at both ends."""
    before, after = old.split("\n"), new.split("\n")
    while before and after and before[0] == after[0]:
        del before[0], after[0]
    while before and after and before[-1] == after[-1]:
        del before[-1], after[-1]
    return Hunk("\n".join(before), "\n".join(after))


def _hunks(arguments: Mapping[str, Any]) -> Iterator[Hunk]:
    patch = arguments.get("structuredPatch") or arguments.get("structured_patch")
    edits = arguments.get("edits")
    if isinstance(patch, list):
        for part in patch:
            if isinstance(part, Mapping) and isinstance(part.get("lines"), list):
                yield from _of_lines([str(line) for line in part["lines"]])
    elif isinstance(edits, list):
        for edit in edits:
            if isinstance(edit, Mapping):
                yield from _hunks(edit)
    else:
        old, new = (_first(arguments, keys) for keys in (_OLD, _NEW))
        if old or new:
            yield hunk_of(old, new)


def patch_files(patch: str) -> Iterator[tuple[str, str, str, list[str]]]:
    """Yield each file of a patch: what happens (empty in a unified diff), its path, where it moves, its lines."""
    how = file = moved = ""
    lines: list[str] = []
    for line in [*patch.splitlines(), "*** End Patch"]:
        head = _FILE.fullmatch(line.rstrip())
        plus = line.startswith("+++ ") and not how
        if head or plus or line.startswith("*** End Patch") or (line.startswith("diff --git ") and not how):
            if file:
                yield how, file, moved, lines
            unified = line[4:].split("\t", maxsplit=1)[0].strip().removeprefix("b/") if plus else ""
            how, file = (head["how"], head["file"].strip()) if head else ("", unified)
            moved, lines = "", []
        elif move := _MOVE.fullmatch(line.rstrip()):
            moved = move["file"].strip()
        elif file and not line.startswith(("*** ", "--- a/", "--- /dev/null")):
            lines.append(line)


def _file_edit(how: str, file: str, moved: str, lines: list[str], *, workspace: str) -> FileEdit:
    seen = canonical_path(file, workspace=workspace)
    if how == "Delete":
        return FileEdit(file=seen, deleted=True)
    if how == "Add":
        return FileEdit(file=seen, hunks=(Hunk("", "".join(f"{line[1:]}\n" for line in lines)),), whole=True)
    to = canonical_path(moved, workspace=workspace) if moved else ""
    return FileEdit(file=seen, hunks=tuple(_of_lines(lines)), moved_to=to)


def _of_lines(lines: Sequence[str]) -> Iterator[Hunk]:
    """Yield the hunks of lines marked with a blank, `-` or `+`."""
    old: list[str] = []
    new: list[str] = []
    for line in [*lines, "@@"]:
        if line.startswith("@@"):
            if old != new:
                yield hunk_of("\n".join(old), "\n".join(new))
            old, new = [], []
        elif not line.startswith("\\"):  # "\ No newline at end of file"
            old.extend([] if line.startswith("+") else [line[1:]])
            new.extend([] if line.startswith("-") else [line[1:]])


def _first(arguments: Mapping[str, Any], keys: Sequence[str]) -> str:
    return next((value for key in keys if isinstance(value := arguments.get(key), str)), "")
