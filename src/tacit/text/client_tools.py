"""What clients' own tools say: which skill a call loads, and what a command printed. Loads nothing heavy."""

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
_LOADERS = frozenset({"Skill", "skill", "activate_skill"})
"""Tools of clients that load a skill, which an argument names: `skill`, or `name` in Gemini CLI and opencode."""
_READING = frozenset({"read", "read_file", "view", "view_file"})
_COMMANDS = ("command", "cmd")
_REACH = 400
_MAX_NAMED = 8
"""Characters before a SKILL.md that may hold the command which shows it, and mentions that are tried."""


def loaded_skill(tool: str, arguments: Mapping[str, object]) -> str:
    """Return the name of the skill that a call loads, without a plugin's prefix; empty for any other call."""
    if tool in _LOADERS:
        return (_text(arguments.get("skill")) or _text(arguments.get("name"))).rpartition(":")[2].strip()
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


SHELL = "run_shell_command"
"""The shell tool of Gemini CLI and Qwen Code."""
_HOOKED = r"\s*<hook_context>.*?</hook_context>\s*"
_UNTRUSTED = r"\A<untrusted_context>\n|\n</untrusted_context>\s*\Z"
_PRINTED = r"(?ms)^Output: (.*?)(?:\n(?:Error|Exit Code|Signal|Background PIDs|Process Group PGID): [^\n]*)+\s*\Z"
_EXIT_CODE = r"(?m)^Exit Code: (-?\d{1,9})$"
_SHELL_END = r"\n?<shellId: [^>\n]{1,80}? completed with exit code (-?\d{1,9})>\s*\Z"


def without_hook_texts(text: str) -> str:
    """Return a text of Gemini CLI without what hooks have put into it."""
    return re.sub(_HOOKED, "", text, flags=re.DOTALL) if "<hook_context>" in text else text


def framed_output(text: str, *, tool: str) -> tuple[str, int | None]:
    """Return what a tool of Gemini CLI, Qwen Code or Copilot CLI gave back without its frame, and a command's exit code."""
    if tool != SHELL and (ended := re.search(_SHELL_END, text)):
        return text[: ended.start()], int(ended[1])
    text = re.sub(_UNTRUSTED, "", without_hook_texts(text))
    if tool != SHELL:
        return text, None
    code, printed = re.search(_EXIT_CODE, text), re.search(_PRINTED, text)
    return printed[1] if printed else text, int(code[1]) if code else None


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
