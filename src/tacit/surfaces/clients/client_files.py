"""What a client is to be given: which piece belongs into which file, and where a person may want it.

Values only. A client's module makes `File`s; `installation` changes the files on disk.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from enum import StrEnum
from importlib import resources
from pathlib import Path
from typing import Protocol

from tacit.surfaces.clients.launcher import Launcher
from tacit.surfaces.clients.text_edits import TextDraft

PERSONS_COMMANDS = (
    ("review",),
    ("promote",),
    ("cards", "promote"),
    ("backport", "--apply"),
    ("backport", "--undo"),
    ("cards", "backport", "--apply"),
    ("cards", "backport", "--undo"),
    ("forecast",),
    ("moments", "forecast"),
    ("intake",),
    ("moments", "intake"),
    ("moments", "check", "--run"),
    ("research", "remove"),
    ("skills", "rollback"),
    ("skills", "edit"),
    ("skills", "invalidate"),
    ("skills", "pin"),
    ("undo",),
    ("config", "token"),
    ("config", "--new-token"),
    ("purge",),
    ("store", "purge"),
    ("restore",),
    ("store", "restore"),
    ("check", "--apply"),
    ("tend", "--apply"),
    ("train",),
    ("consolidate",),
    ("adapters", "train"),
    ("adapters", "activate"),
    ("adapters", "rollback"),
    ("adapters", "remove"),
    ("index",),
    ("store", "index"),
    ("pause",),
    ("init",),
    ("uninstall",),
)
"""Commands that only a person may run, by their old and new names; clients deny them to the agent."""
HOOK_TIMEOUT_S = 10
SERVER = "MCP server"
"""What the file is for that tells a client of the server."""


class Audience(StrEnum):
    """For whom something is installed."""

    LOCAL = "local"
    """This person, this project; kept out of version control."""
    USER = "user"
    """This person, every project."""
    SHARED = "shared"
    """Everybody who works on this project; committed."""


class ClientPiece(Protocol):
    """What Tacit puts into a file: entries of a JSON document, a block of text, a table, or all of it."""

    def is_complete(self, text: str) -> bool:
        """Whether it is there as it should be."""
        ...

    def names(self, text: str) -> list[str]:
        """What is there of it, whatever its state."""
        ...

    def put(self, draft: TextDraft) -> list[str]:
        """Add what is missing; returns its names."""
        ...

    def take(self, text: str, names: Collection[str] | None) -> str:
        """Remove what has these names, or everything that is Tacit's."""
        ...

    def is_taken(self, text: str, expected: str) -> bool:
        """Whether a text still says everything that another one says."""
        ...

    @property
    def by_hand(self) -> str:
        """What a person would have to delete."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientFile:
    """One file and what belongs into it."""

    path: Path
    piece: ClientPiece
    client: str
    audience: Audience
    project: str = ""
    """The project that it is for; empty when it is for all of them."""
    what: str
    """In a word or two: what this file gives the client."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientFolders:
    """The folders that settings lie in."""

    project: Path
    """The root of the checkout, also of a linked worktree."""
    user_home: Path
    claude_home: Path
    codex_home: Path
    git_exclude: Path | None = None
    """The list of files that only this clone ignores."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Client:
    """A coding agent that Tacit can be connected to."""

    name: str
    title: str
    program: str
    events: Mapping[str, int]
    """The moments its hooks are called at, and how many seconds each may take."""
    files: Callable[[ClientFolders, Audience, Launcher], list[ClientFile]]
    home: Callable[[ClientFolders], Path]
    default: Audience


def skill_text(launcher: Launcher) -> str:
    """The skill that teaches an agent to use Tacit."""
    return _text("SKILL.md").replace("{tacit}", launcher.program)


def policy_text(launcher: Launcher, audience: Audience) -> str:
    """What an agent is told about Tacit in its standing instructions."""
    everywhere = "Projects with a `.tacit` folder learn from their sessions"
    learns = everywhere if audience is Audience.USER else "This project learns from its sessions"
    return _text("policy.md").replace("{tacit}", launcher.program).replace("{learns}", learns)


def _text(name: str) -> str:
    return (resources.files("tacit.surfaces.clients") / "texts" / name).read_text(encoding="utf-8")
