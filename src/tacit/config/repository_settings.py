"""Environment variables that the checkout's own files set: they must not redirect the store, the home or the settings.

A client starts hooks and servers with the variables of the project's `.claude/settings.json`, direnv loads `.envrc`, and so
on. Those files come with the repository, so a stranger may have written them.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping

GUARDED = ("TACIT_STORE", "TACIT_HOME", "TACIT_CONFIG", "CLAUDE_CONFIG_DIR", "CODEX_HOME", "HOME")
"""Variables that decide which store, settings and transcripts are used."""
FILES = (
    ".claude/settings.json", ".claude/settings.local.json", ".mcp.json", ".codex/config.toml", ".gemini/settings.json",
    ".cursor/mcp.json", ".vscode/settings.json", ".vscode/mcp.json", ".devcontainer/devcontainer.json", ".devcontainer.json",
    "opencode.json", ".env", ".env.local", ".envrc", "mise.toml", ".mise.toml", "mise.local.toml", ".mise/config.toml",
    ".config/mise.toml", ".config/mise/config.toml",
)  # fmt: skip
"""Files of a checkout from which clients and shells take environment variables."""
_BYTES_MAX = 1 << 20


def without_repository_settings(
    variables: Mapping[str, str], starts: Iterable[str]
) -> tuple[Mapping[str, str], tuple[tuple[str, str], ...]]:
    """Return the variables without guarded ones that a file of the checkout assigns, and those with their file.

    An assignment is enough: its value may be computed (`$PWD/x`), so values are not compared. `starts` are folders inside the
    checkout. The person's home folder is not a checkout.
    """
    home = _account_home()
    names = [name for name in GUARDED if variables.get(name) and not (name == "HOME" and variables[name] == home)]
    if not names:
        return variables, ()
    ignored: dict[str, str] = {}
    for file in _setting_files(starts, {os.path.realpath(each) for each in (home, variables.get("HOME", "")) if each}):
        text = _read(file)
        ignored.update((name, file) for name in names if name in text and _assigns(text, name))
    if not ignored:
        return variables, ()
    return {name: value for name, value in variables.items() if name not in ignored}, tuple(sorted(ignored.items()))


def _setting_files(starts: Iterable[str], homes: set[str]) -> Iterator[str]:
    """Yield the existing setting files of the checkouts around some folders."""
    for folder in dict.fromkeys(above for start in starts if os.path.isabs(start) for above in _checkout(start, homes)):
        for name in FILES:
            file = os.path.join(folder, name)
            if os.path.isfile(file):
                yield file


def _checkout(start: str, homes: set[str]) -> Iterator[str]:
    """Yield a folder and those above it, up to the root of its repository or below the home folder."""
    folder = os.path.realpath(start)
    while folder not in homes:
        yield folder
        above = os.path.dirname(folder)
        if above == folder or os.path.exists(os.path.join(folder, ".git")):
            return
        folder = above


def _assigns(text: str, name: str) -> bool:
    """Whether a text assigns the variable, in JSON, TOML or shell syntax."""
    import re

    return re.search(rf"""(?:^|[\s"'{{,;.]){name}["']?\s*[:=]""", text, re.MULTILINE) is not None


def _read(file: str) -> str:
    try:
        with open(file, encoding="utf-8", errors="replace") as opened:
            return opened.read(_BYTES_MAX)
    except OSError:
        return ""


def _account_home() -> str:
    try:
        import pwd

        return pwd.getpwuid(os.getuid()).pw_dir
    except (ImportError, KeyError):
        return ""
