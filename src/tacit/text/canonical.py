"""Canonical forms of shell commands and paths, the same on every machine: for comparing only, not for running or showing.

Paths are relative to the workspace. `cd web && npm test` and `npm --prefix web test` both become `web$ npm test`. Directory
changes, wrappers such as `sudo` and `timeout`, activation of environments, a final `| tail` and redirected error output
are left out; everything that decides the effect stays.
"""

from __future__ import annotations

import posixpath
import re
import shlex
from collections.abc import Iterator
from hashlib import blake2b

from tacit.text.programs import FOLDER_FLAGS
from tacit.text.shell import Command, folders_named, inside, nested_script, parse_command, without_heredocs

_HOME = re.compile(r"(?:/home/[^/]+|/Users/[^/]+|/root|\$HOME|\$\{HOME\}|~)(?=/|$)|[A-Za-z]:/Users/[^/]+(?=/|$)")
_PATH = re.compile(r"(?:[\w.@+~$-]*/)+[\w.@+*?-]*|\.{1,2}|[\w@+-][\w.@+-]*\.[A-Za-z]\w{0,7}")
_VERSIONED = re.compile(r"(python|pip|node|ruby|perl)[\d.]+")
_OWN = re.compile(r"/.*\.(?:py|sh|js|mjs|cjs|ts|rb|pl|php)$|^(?!.*/s?bin/)\.{0,2}\w[^/]*/|^\./")
"""A program of the project, named by its path, unless that is an environment's `bin`."""
_UNQUOTED = re.compile(r"[\w@%+=:,./~*?$!\[\]{}^-]+")
_SCENERY = frozenset({"cd", "pushd", "popd", "set", ":", "true"})
_ON_FILES = frozenset(
    "cat head tail less more bat nl wc stat file ls tree find fd du rm rmdir mkdir touch cp mv ln chmod chown diff cmp "
    "sed awk gawk grep egrep fgrep rg ag sort uniq cut tee xxd hexdump realpath readlink tar unzip zip".split()
)
"""Programs whose effect depends on their files, not on the working directory."""
_SCRIPT_FIRST = frozenset("sed awk gawk grep egrep fgrep rg ag perl jq yq".split())
_LAST_LOOK = frozenset({"head", "tail", "less", "more", "cat"})


def canonical_path(path: str, *, workspace: str = "", directory: str = "") -> str:
    """Return a path relative to the workspace (`.`); `~/…` for any home folder."""
    root = _slashes(workspace).rstrip("/")
    seen = posixpath.normpath(inside(_slashes(directory), _slashes(path.removeprefix("file://"))) or ".")
    if root and (seen == root or seen.startswith(f"{root}/")):
        return seen[len(root) + 1 :] or "."
    return _HOME.sub("~", seen, count=1) if _HOME.match(seen) else seen


def canonical_command(text: str, *, workspace: str = "", directory: str = "") -> str:
    """Return the canonical form of a shell text; `directory` is where it started, if not in the workspace."""
    commands: list[tuple[Command, str]] = []  # those that do something, each with the operator to the next
    for command in parse_command(text):
        activates = command.program in ("source", ".") and any(word.endswith("activate") for word in command.operands)
        if not activates and command.program not in _SCENERY:
            commands.append((command, command.connector))
        elif commands:
            commands[-1] = commands[-1][0], command.connector
    if len(commands) == 1 and (script := nested_script(commands[0][0])):
        return canonical_command(script, workspace=workspace, directory=inside(directory, commands[0][0].directory))
    while len(commands) > 1 and commands[-2][1] == "|":
        last = commands[-1][0]
        if last.program not in _LAST_LOOK or last.operands or last.outputs:
            break
        commands.pop()
    parts: list[str] = []
    for at, (command, connector) in enumerate(commands, start=1):
        parts.append(_rendered(command, workspace=workspace, directory=directory))
        if connector == "&" or (connector and at < len(commands)):
            parts.append(connector)
    bare = without_heredocs(text)
    if bare != text:  # the input matters, but is data
        fed = text.replace(workspace, "") if workspace else text
        parts.append(f"<<{blake2b(fed.encode(errors='replace'), digest_size=4).hexdigest()}")
    return " ".join(parts)


def _rendered(command: Command, *, workspace: str, directory: str) -> str:
    where = inside(directory, command.directory) if command.directory else directory
    place = canonical_path(where or ".", workspace=workspace)
    words = [
        word if _UNQUOTED.fullmatch(word) else shlex.quote(word)
        for word in _located(command, workspace=workspace, directory=where)
    ]
    launched = [_VERSIONED.sub(r"\1", word) for word in (*command.runner.split(), words[0])]
    for name in command.outputs:
        words += [">", canonical_path(name, workspace=workspace, directory=where)]
    line = " ".join([*command.assignments, *launched, *words[1:]])
    files = len(command.operands) - (command.program in _SCRIPT_FIRST)
    return line if place == "." or (command.program in _ON_FILES and files > 0) else f"{place}$ {line}"


def _located(command: Command, *, workspace: str, directory: str) -> Iterator[str]:
    """Return the words with paths relative to the workspace, without the flags that set the directory."""
    taken = list(folders_named((command.program,), command.words))
    flags = FOLDER_FLAGS.get(command.program, frozenset())
    scripts = 1 if command.program in _SCRIPT_FIRST and not {"-e", "-f"} & set(command.flags) else 0
    yield (
        _seen(command.typed, workspace=workspace, directory=directory)
        if _OWN.search(command.typed)
        else command.program
    )
    for word in command.words[1:]:
        if taken and (word.partition("=")[0] in flags or word == taken[0]):
            taken = taken[1:] if "=" in word or word == taken[0] else taken
        elif word.startswith("-"):
            name, given, value = word.partition("=")
            yield f"{name}={_seen(value, workspace=workspace, directory=directory)}" if given else word
        else:
            yield word if scripts else _seen(word, workspace=workspace, directory=directory)
            scripts = 0


def _seen(word: str, *, workspace: str, directory: str) -> str:
    path, mark, behind = word.partition("::")  # how pytest names a test in a file
    if "://" in word or not _PATH.fullmatch(path):
        return word.replace(f"{workspace.rstrip('/')}/", "") if workspace else word
    return canonical_path(path, workspace=workspace, directory=directory) + mark + behind


def _slashes(path: str) -> str:
    return path.replace("\\", "/") if re.match(r"[A-Za-z]:\\", path) else path
