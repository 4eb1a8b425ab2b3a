"""Which skill a tool call loads: by its name, or by showing its SKILL.md. Loads nothing heavy."""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

_SKILL = "SKILL.md"
_FOLDER_BEFORE = re.compile(
    r"\s*(?:cat|sed|head|tail|less|more|bat|nl|type|Get-Content)\s.*?([^\s/\\'\"]+)[/\\]", re.DOTALL
)
_FILE = re.compile(r"([^/\\]+)[/\\]SKILL\.md\Z")
_READING = frozenset({"read", "read_file", "view", "view_file"})
_COMMANDS = ("command", "cmd")
_REACH = 400
_MAX_NAMED = 8
"""Characters before a SKILL.md that may hold the command which shows it, and mentions that are tried."""


def loaded_skill(tool: str, arguments: Mapping[str, object]) -> str:
    """Return the name of the skill that a call loads, without a plugin's prefix; empty for any other call."""
    if tool == "Skill":
        return _text(arguments.get("skill")).rpartition(":")[2].strip()
    if tool.casefold() in _READING:
        found = _FILE.search(_text(arguments.get("file_path")) or _text(arguments.get("path")))
        return found[1] if found else ""
    return next((name for key in _COMMANDS if (name := skill_read_by(_text(arguments.get(key))))), "")


def skill_read_by(command: str) -> str:
    """Return the name of the skill whose file a command shows, if it does: some clients have no other way to load one."""
    at = -1
    for _ in range(_MAX_NAMED):
        at = command.find(_SKILL, at + 1)
        if at < 0:
            break
        before = re.split(r"[|;&<>\n]", command[max(0, at - _REACH) : at])[-1]
        if found := _FOLDER_BEFORE.fullmatch(before):
            return found[1]
    return ""


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
