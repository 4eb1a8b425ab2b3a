"""An action with its parameters put in → the sentence that a person or an agent reads as one step.

Says only what the call says. Long texts are counted, not repeated: the call itself stands beside the sentence.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from tacit.learn.actions import Action, Effect, Family, delegates
from tacit.text.edits import edits_of
from tacit.text.tools import plain_name

_MAX_INLINE = 160
_MAX_COMMAND = 400
_WHOLE_FILE = frozenset({"write", "write_file", "create", "create_file"})
_MAX_FILES = 3
_EDITS = ("old_string", "new_string")


def step_text(action: Action, arguments: Mapping[str, Any]) -> str:
    """Word one step; `arguments` are the call's, with parameters in place."""
    if action.family is Family.SHELL:
        return _shell_text(arguments, action)
    if action.family is Family.FILE:
        return _file_text(action, arguments)
    if delegates(action) and isinstance(arguments.get("description"), str):
        return f"Let a subagent do this: {shorten(arguments['description'], _MAX_INLINE)}"
    return f"{sentence_of(action.step.tool)}: {code(call_text(action.step.tool, arguments))}"


def command_of(arguments: Mapping[str, Any]) -> str:
    """The shell text in some arguments, parameters in place."""
    for key in ("command", "cmd", "script", "code", "input"):
        value = arguments.get(key)
        if isinstance(value, str):
            return value
        if isinstance(value, list) and value:
            return str(value[2]) if len(value) > 2 and str(value[1]).endswith("c") else " ".join(map(str, value))
    return ""


def call_text(tool: str, arguments: Mapping[str, Any]) -> str:
    """A plain tool call as one would write it: `cancel_order(order_id={order_id})`."""
    inner = ", ".join(f"{key}={_value(value)}" for key, value in arguments.items())
    return shorten(f"{tool}({inner})", _MAX_COMMAND)


def sentence_of(tool: str) -> str:
    """A tool's name as words: `get_order_details` and `getOrderDetails` → `Get order details`."""
    parted = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", tool)
    words = plain_name(parted).replace("_", " ").replace("-", " ").strip()
    return words[:1].upper() + words[1:]


def code(text: str) -> str:
    """Text set as code, with a fence that the text cannot close."""
    fence = "`" * (max(map(len, re.findall("`+", text)), default=0) + 1)
    blank = " " if len(fence) > 1 else ""
    return f"{fence}{blank}{text}{blank}{fence}"


def shorten(text: str, limit: int) -> str:
    """One line of at most `limit` characters."""
    line = " ".join(text.split())
    return line if len(line) <= limit else line[: limit - 1].rstrip() + "…"


def local(text: str) -> str:
    """Paths and commands as seen from the project's root."""
    return text.replace("cd {workspace} && ", "").replace("{workspace}/", "")


def _shell_text(arguments: Mapping[str, Any], action: Action) -> str:
    command = local(command_of(arguments))
    lines = command.count("\n") + 1
    shown = code(shorten(command, _MAX_COMMAND)) if lines <= 3 else f"{code(action.label)} (a script of {lines} lines)"
    purpose = arguments.get("description")
    if isinstance(purpose, str) and 0 < len(purpose) <= 100:
        return f"{purpose.strip().rstrip('.')}: {shown}"
    return f"{'Check with' if action.effect is Effect.CHECK else 'Run'} {shown}"


def _file_text(action: Action, arguments: Mapping[str, Any]) -> str:
    path = next(
        (str(arguments[key]) for key in ("file_path", "path", "filePath", "absolute_path") if key in arguments), ""
    )
    place = code(local(path)) if path else ""
    if action.effect is Effect.READ:
        searched = arguments.get("pattern") or arguments.get("query") or arguments.get("url")
        target = code(shorten(str(searched), _MAX_INLINE)) if searched else place
        verb = {"read": "Read", "grep": "Search for", "glob": "Find files", "webfetch": "Fetch"}.get(
            plain_name(action.step.tool)
        )
        return f"{verb or sentence_of(action.step.tool)} {target}".strip()
    old, new = (arguments.get(key) for key in _EDITS)
    if isinstance(old, str) and isinstance(new, str) and old:
        if len(old) + len(new) <= _MAX_INLINE and "\n" not in (old + new).strip():
            return f"In {place}, replace {code(old.strip())} with {code(new.strip())}"
        added = _added(old, new)
        return f"In {place}, {added}" if added else f"In {place}, replace {_lines(old)} by {_lines(new)}"
    content = arguments.get("content") or arguments.get("file_text")
    if isinstance(content, str):
        return f"Write {place} ({_lines(content)})"
    if not place and (files := dict.fromkeys(code(edit.file) for edit in edits_of(arguments))):
        return f"Change {', '.join(list(files)[:_MAX_FILES])}{' and more files' if len(files) > _MAX_FILES else ''}"
    verb = "Write" if plain_name(action.step.tool) in _WHOLE_FILE else "Change"
    return f"{verb} {place}" if place else sentence_of(action.step.tool)


def _added(old: str, new: str) -> str:
    """A short line put before or after a short text that stays."""
    before, after = new.removesuffix(old).strip(), new.removeprefix(old).strip()
    stays = old.strip()
    for word, line in (("after", after), ("before", before)):
        if len(line) < len(new.strip()) and "\n" not in line + stays and len(line) + len(stays) <= _MAX_INLINE and line:
            return f"add {code(line)} {word} {code(stays)}"
    return ""


def _lines(text: str) -> str:
    count = len(text.strip("\n").split("\n"))
    return "one line" if count == 1 else f"{count} lines"


def _value(value: Any) -> str:
    if isinstance(value, str):
        return value if value.startswith("{") and value.endswith("}") else f'"{shorten(value, 80)}"'
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key}: {_value(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_value(item) for item in value) + "]"
    return str(value)
