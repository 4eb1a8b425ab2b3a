"""A call as Codex writes it → the tool's name and arguments as later stages know them. Says nothing on how it ended.

A shell command is what a person would type: without the shell around it, with `cd` before it if it ran elsewhere than
in the workspace. A patch becomes one edit per file. An MCP tool is named by server and tool.
"""

from __future__ import annotations

import re
import shlex
from typing import Any
from urllib.parse import unquote, urlsplit

import msgspec

from tacit.ingest.codex.edits import edits_of_changes, edits_of_patch, within
from tacit.ingest.codex.records import Item, Response
from tacit.ingest.decoding import bounded, text_of

SHELL = "exec_command"
PATCH = "apply_patch"
Call = tuple[str, dict[str, Any]]

_SHELLS = frozenset({"exec_command", "shell", "shell_command", "container.exec", "local_shell", "local_shell_call"})
_WRAPPERS = frozenset(
    {"bash", "sh", "zsh", "dash", "ksh", "powershell", "powershell.exe", "pwsh", "pwsh.exe", "cmd.exe"}
)
_COMMAND_FLAGS = frozenset({"-c", "-lc", "-ic", "-lic", "-cl", "-command", "/c"})
_SKILL = "SKILL.md"
_SHOWS_SKILL = re.compile(
    r"\s*(?:cat|sed|head|tail|less|more|bat|nl|type|Get-Content)\s.*?([^\s/\\'\"]+)[/\\]", re.DOTALL
)
_SKILL_REACH = 400
_SKILLS_MAX = 8

_arguments = msgspec.json.Decoder(dict[str, Any])


def calls_of_response(given: Response, *, cwd: str, workspace: str) -> list[Call]:
    """The calls that the model asks for here; several where one patch touches several files."""
    name = text_of(given.name) or text_of(given.type)
    arguments = _decoded(given.arguments if given.arguments is not None else given.input)
    if given.type == "local_shell_call":
        arguments = given.action if isinstance(given.action, dict) else {}
    namespace = text_of(given.namespace)
    if namespace.startswith("mcp__"):
        return [(f"{namespace}__{name}", arguments)]
    if name == PATCH:
        return _edits(text_of(given.input) or text_of(arguments.get("input") or arguments.get("patch")), workspace)
    if name not in _SHELLS:
        return [(name, arguments)]
    typed = command_text(arguments.get("cmd", arguments.get("command")))
    if typed.lstrip().startswith((PATCH, "applypatch")) and (edits := edits_of_patch(bounded(typed), workspace)):
        return [(PATCH, edit) for edit in edits]
    where = text_of(arguments.get("workdir") or arguments.get("working_directory")) or cwd
    return [command_call(typed, cwd=where, workspace=workspace)]


def calls_of_item(item: Item, *, workspace: str) -> list[Call]:
    """The calls that an item tells of."""
    if item.type == "CommandExecution":
        return [(SHELL, {"command": _placed(command_text(item.command), _folder(item.cwd), workspace)})]
    if item.type == "FileChange":
        return [(PATCH, edit) for edit in edits_of_changes(item.changes, workspace)]
    arguments = item.arguments if isinstance(item.arguments, dict) else _decoded(item.arguments)
    server = text_of(item.server)
    return [(f"mcp__{server}__{text_of(item.tool)}" if server else text_of(item.tool) or "unknown", arguments)]


def command_call(command: str, *, cwd: str, workspace: str) -> Call:
    """The call of a command that is known only by its text."""
    return SHELL, {"command": _placed(command, cwd, workspace)}


def patch_calls(patch: str, *, workspace: str) -> list[Call]:
    """The calls that a patch makes."""
    return _edits(patch, workspace)


def command_text(command: Any) -> str:
    """The command as a person would type it, without the shell that the client puts around it."""
    if not isinstance(command, list):
        return text_of(command)
    words = [word for word in command if isinstance(word, str)]
    shell = re.split(r"[/\\]", words[0])[-1].casefold() if words else ""
    if shell in _WRAPPERS:
        flag = next((at for at, word in enumerate(words) if word.casefold() in _COMMAND_FLAGS), None)
        if flag is not None and len(words) > flag + 1:
            return " ".join(words[flag + 1 :])
    return shlex.join(words)


def skill_read_by(command: str) -> str:
    """Name the skill whose file a command shows, if it does: this client has no other way to load one."""
    at = -1
    for _ in range(_SKILLS_MAX):
        at = command.find(_SKILL, at + 1)
        if at < 0:
            break
        before = re.split(r"[|;&<>\n]", command[max(0, at - _SKILL_REACH) : at])[-1]
        if found := _SHOWS_SKILL.fullmatch(before):
            return found[1]
    return ""


def _edits(patch: str, workspace: str) -> list[Call]:
    return [(PATCH, edit) for edit in edits_of_patch(bounded(patch), workspace)] or [(PATCH, {"input": patch})]


def _placed(command: str, folder: str, workspace: str) -> str:
    place, root = folder.rstrip("/"), workspace.rstrip("/")
    return command if place in ("", root) else f"cd {shlex.quote(within(place, root))} && {command}"


def _folder(cwd: Any) -> str:
    """The folder that a path or a `file:` address names."""
    text = text_of(cwd)
    if not text.startswith("file:"):
        return text
    try:
        return unquote(urlsplit(text).path)
    except ValueError:
        return ""


def _decoded(arguments: Any) -> dict[str, Any]:
    if isinstance(arguments, dict):
        return arguments
    try:
        return _arguments.decode(text_of(arguments))
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return {"input": text_of(arguments)} if arguments else {}
