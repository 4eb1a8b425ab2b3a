"""The three tiers in which an agent meets a skill: name and description, then the body, then single files.

Entries of the catalogue → text. Tier 1 keeps to a token budget; tier 2 puts a skill's overlays behind its own text;
tier 3 reads one bundled file and refuses every path that leads out of the skill's folder. Nothing is loaded eagerly.

A skill may ask for tools, by patterns such as ``Bash(git:*)``. Nothing here runs a tool or asks a person; where a client has
its own permission rules, those still apply.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from tacit.domain.errors import NotFound, NotPermitted
from tacit.render.catalogue import Entry
from tacit.render.context import evidence_line
from tacit.render.safe_files import folder_entries, is_file, is_folder, is_link
from tacit.render.sections import instructions
from tacit.render.validation import path_fault
from tacit.text.bundled_files import bytes_of
from tacit.text.safe_markdown import attribute, clean, shown, shown_line
from tacit.text.words import estimate_tokens

READ_BYTES_MAX = 1 << 20
LISTED_FILES_MAX = 200
"""Bytes of one file, and files in one list, that an agent is given."""
_MARKDOWN = (".md", ".markdown", ".mdx", ".txt", ".rst")


def listing(entries: Sequence[Entry], *, budget_tokens: int) -> str:
    """Tier 1: a line per skill, whole lines only, within the budget; nothing at all for no skills."""
    lines = [f"- {shown_line(entry.name)}: {shown_line(entry.description)}" for entry in entries if not entry.hidden]
    for count in range(len(lines), 0, -1):
        more = [f"- ({len(lines) - count} more)"] if count < len(lines) else []
        text = "\n".join(lines[:count] + more)
        if estimate_tokens(text) <= budget_tokens:
            return text
    return ""


def body_of(entry: Entry) -> str:
    """Tier 2: the skill's instructions, then what each overlay adds to them, set apart with its standing."""
    parts = [shown(instructions(entry.content)), *(_overlay(overlay) for overlay in entry.overlays)]
    return "\n\n".join(part for part in parts if part.strip())


def standing(entry: Entry) -> str:
    """Say in a few words how far a skill is to be relied on: its status, its evidence and where it came from."""
    if entry.status is None:
        return "static: a file of this project or user, which Tacit has not reviewed"
    return "; ".join(part for part in (entry.status, evidence_line(entry.reliability), entry.source) if part)


def _overlay(overlay: Entry) -> str:
    opening = f'<tacit-overlay name="{attribute(overlay.name)}" standing="{attribute(standing(overlay))}">'
    body = "\n\n".join(part for part in (shown_line(overlay.description), shown(instructions(overlay.content))) if part)
    return f"{opening}\n{body}\n</tacit-overlay>"


def file_paths(entry: Entry) -> tuple[str, ...]:
    """Tier 3: what can be read on demand, at most a few hundred paths."""
    folder = _folder(entry)
    if folder is None:
        return tuple(sorted(file.path for file in entry.content.files))[:LISTED_FILES_MAX]
    found: list[str] = []
    pending = [folder]
    while pending and len(found) < LISTED_FILES_MAX:
        for path in folder_entries(pending.pop(0)):
            name = path.relative_to(folder).as_posix()
            if path_fault(name) or path == entry.path or is_link(path):
                continue
            if is_folder(path):
                pending.append(path)
            elif is_file(path):
                found.append(name)
    return tuple(sorted(found[:LISTED_FILES_MAX]))


def _folder(entry: Entry) -> Path | None:
    """Where a static skill's files lie. Those of a learned one are what was approved, whatever lies beside its export."""
    return entry.path.parent if entry.path and not entry.version_id else None


def file_block(entry: Entry, relative_path: str, data: bytes) -> str:
    """Tier 3: a file's text with its skill's standing, to be framed: Markdown without effects, all else as a block of code."""
    text = data.decode("utf-8", "replace")
    if relative_path.lower().endswith(_MARKDOWN):
        quoted = shown(text)
    else:
        quoted = clean(text)
        mark = "`" * max(3, 1 + max(map(len, re.findall("`+", quoted)), default=0))
        quoted = f"{mark}\n{quoted}\n{mark}"
    return f"[{standing(entry)}; file {shown_line(relative_path)} of {shown_line(entry.name)}]\n{quoted}"


def read_file(entry: Entry, relative_path: str) -> bytes:
    """Tier 3: read one bundled file; refuses paths out of the folder, links out of it, and files over a megabyte."""
    if fault := path_fault(relative_path):
        raise NotPermitted(
            f"{relative_path!r} {fault}", code="outside_folder", hint="give a path below the skill's folder"
        )
    folder = _folder(entry)
    data = _stored(entry, relative_path) if folder is None else _on_disk(folder, relative_path)
    if len(data) > READ_BYTES_MAX:
        raise NotPermitted(
            f"{relative_path!r} is larger than {READ_BYTES_MAX} bytes",
            code="file_too_large",
            hint="read it with a tool that pages",
        )
    return data


def _stored(entry: Entry, relative_path: str) -> bytes:
    for file in entry.content.files:
        if file.path == relative_path:
            return bytes_of(file)
    raise _absent(entry.name, relative_path)


def _on_disk(folder: Path, relative_path: str) -> bytes:
    try:
        target = (folder / relative_path).resolve()
        if not target.is_relative_to(folder.resolve()):
            raise NotPermitted(
                f"{relative_path!r} is a link out of the skill's folder",
                code="link_outside_folder",
                hint="copy the file into the folder",
            )
        if not target.is_file():
            raise _absent(folder.name, relative_path)
        with target.open("rb") as file:
            return file.read(READ_BYTES_MAX + 1)
    except (OSError, RuntimeError) as error:  # Python 3.11 calls a ring of links a RuntimeError
        reason = getattr(error, "strerror", None) or "its links form a ring"
        raise NotPermitted(
            f"{relative_path!r} cannot be read: {reason}", code="unreadable", hint="check its permissions"
        ) from error


def _absent(name: str, relative_path: str) -> NotFound:
    return NotFound(
        f"the skill {name!r} has no file {relative_path!r}", code="no_such_file", hint="list its files first"
    )


# --- tools ----------------------------------------------------------------------------------------------------------

_PATTERN = re.compile(r"(?P<tool>[^\s()]+)(?:\((?P<argument>.*)\))?", re.DOTALL)
# What lets one shell line run a second command, so that a permitted beginning says nothing about the rest.
_CHAINING = re.compile(r"[;|&<>`\n]|\$\(")


def covers(pattern: str, tool: str, argument: str) -> bool:
    """Whether a pattern such as `Read` or `Bash(git:*)` lets a call through; it never covers a chained command."""
    match = _PATTERN.fullmatch(pattern)
    name, wanted = (match["tool"], match["argument"]) if match else (pattern, None)
    if not fnmatchcase(tool, name):
        return False
    if wanted in (None, "", "*", argument):
        return True
    if _CHAINING.search(argument):
        return False
    prefix = wanted.removesuffix(":*")
    if prefix != wanted:
        return argument == prefix or argument.startswith(prefix + " ")
    return fnmatchcase(argument, wanted)


@dataclass(frozen=True, slots=True, kw_only=True)
class Applied:
    """An activated skill."""

    entry: Entry
    text: str
    files: tuple[str, ...]
    unlocked: tuple[str, ...] = ()
    """The tools that it and its overlays ask for and a person confirmed at review."""
    use_id: str = ""
    """The use to record its outcome under; empty for a static skill without overlays."""

    def unlocks(self, tool: str, argument: str = "") -> bool:
        """Whether a call is within the tools that a person unlocked."""
        return any(covers(pattern, tool, argument) for pattern in self.unlocked)

    def read(self, path: str) -> bytes:
        """Read one of its files."""
        return read_file(self.entry, path)
