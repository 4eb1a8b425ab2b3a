"""What a client may be given, where a person may want it, and how the client starts Tacit. Values only.

`Launcher` has the words of a command that work in any shell, in any folder, with no environment activated. Settings of one
person name the program by its absolute path. Settings that a team shares name it by what `PATH` finds, and do nothing,
silently, where Tacit is not installed.
"""

from __future__ import annotations

import os
import shlex
import shutil
import sys
import sysconfig
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from importlib import resources
from pathlib import Path

from tacit.surfaces.clients.json_settings import SettingsEntries
from tacit.surfaces.clients.text_edits import MarkedBlock, TomlTable, WholeFile

_PERSONS_COMMANDS = (
    "review", "promote", "cards promote", "backport --apply", "backport --undo", "cards backport --apply",
    "cards backport --undo", "forecast", "moments forecast", "intake", "moments intake", "moments check --run",
    "research remove", "skills rollback", "skills edit", "skills invalidate", "skills pin", "undo", "config token",
    "config --new-token", "purge", "store purge", "restore", "store restore", "check --apply", "tend --apply",
    "train", "consolidate", "adapters train", "adapters activate", "adapters rollback", "adapters remove", "index",
    "store index", "pause", "init", "uninstall",
)  # fmt: skip
PERSONS_COMMANDS = tuple(tuple(command.split()) for command in _PERSONS_COMMANDS)
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


ClientPiece = SettingsEntries | MarkedBlock | TomlTable | WholeFile
"""What Tacit puts into a file: entries of a JSON document, a block of text, a table, or all of it."""


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


_GUARD = 'PATH="$PATH:$HOME/.local/bin"; command -v tacit >/dev/null 2>&1'
"""Finds what pipx and uv install, also from a desktop program whose PATH lacks their folder."""
STAND_IN_VERSION = "0"
_STAND_IN = (
    "while IFS= read -r l; do case $l in *'\"initialize\"'*) i=${l#*'\"id\":'}; i=${i%%[,\\}]*}; "
    "p=${l#*'\"protocolVersion\":\"'}; p=${p%%'\"'*}; "
    'printf \'{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"%s","capabilities":{},'
    f'"serverInfo":{{"name":"tacit","version":"{STAND_IN_VERSION}"}}}}}}\\n\' "$i" "$p";; esac; done'
)
"""An MCP server in shell that offers nothing, so that no client reports a failed one to somebody without Tacit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Launcher:
    """The words before `hook` and `mcp`, and why they may stop working one day."""

    words: tuple[str, ...]
    warning: str = ""
    shared: bool = False
    plain: bool = False
    """Whether a plain `tacit` in this person's shell is this one."""

    @property
    def program(self) -> str:
        """What an agent types to run Tacit."""
        return "tacit" if self.shared or self.plain else shlex.join(self.words)

    def hook(self, client: str) -> str:
        """The shell command of a hook."""
        if self.shared:
            return f"sh -c '{_GUARD} || exit 0; exec tacit hook --client {client}'"
        return shlex.join((*self.words, "hook", "--client", client))

    def server(self, client: str) -> tuple[str, list[str]]:
        """Command and arguments of the MCP server."""
        if self.shared:
            able = f"{_GUARD} && tacit mcp --check >/dev/null 2>&1"
            return "sh", ["-c", f"{able} && exec tacit mcp --client {client}; {_STAND_IN}"]
        return self.words[0], [*self.words[1:], "mcp", "--client", client]


SHARED = Launcher(words=("tacit",), shared=True)


def is_hook_command(command: str, client: str) -> bool:
    """Whether a command is a hook as Tacit writes it, here or in another installation, and nothing besides."""
    if command == SHARED.hook(client):
        return True
    try:
        *start, hook, option, name = shlex.split(command)
    except ValueError:
        return False
    if shlex.join([*start, hook, option, name]) != command or (hook, option, name) != ("hook", "--client", client):
        return False
    program = start[0].rpartition("/")[2] if start else ""
    return (len(start) == 1 and program == "tacit") or (
        program.startswith("python") and [word for word in start[1:] if word != "-P"] == ["-m", "tacit"]
    )


def find_launcher(project: Path, user_home: Path) -> Launcher:
    """The most lasting way to start the Tacit that is running now."""
    own = Path(sys.prefix).resolve()
    # Folders of environments are on the PATH only while these are activated.
    lasting = [folder for folder in os.get_exec_path() if not (Path(folder).parent / "pyvenv.cfg").exists()]
    found = (shutil.which("tacit", path=folder) for folder in (str(user_home / ".local" / "bin"), *lasting))
    for shim in found:
        if shim and Path(shim).is_absolute() and Path(shim).resolve().is_relative_to(own):
            plain = shutil.which("tacit", path=os.pathsep.join(lasting))
            return Launcher(words=(shim,), plain=plain is not None and Path(plain).resolve().is_relative_to(own))
    script = Path(sysconfig.get_path("scripts")) / "tacit"
    # -P: the folder that a hook runs in is not a place to import from.
    words = (str(script),) if os.access(script, os.X_OK) else (sys.executable, "-P", "-m", "tacit")
    warning = ""
    kept_for_good = any((own / receipt).exists() for receipt in ("pipx_metadata.json", "uv-receipt.toml"))
    if sys.prefix != sys.base_prefix and not kept_for_good:
        if {"archive-v0", ".cache"} & set(own.parts):
            warning = f"{own} is a cache that is emptied now and then"
        elif own.is_relative_to(project.resolve()):
            warning = f"{own} belongs to this project and may go with it"
        else:
            warning = f"{own} is a virtual environment; without it the hooks stop working"
    return Launcher(words=words, warning=warning)
