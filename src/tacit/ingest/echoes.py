"""What Tacit itself said or printed, as it comes back in an agent's log → a mark in its place: no learning from oneself.

Its hooks speak in blocks whose tags begin with `tacit-`; its commands, tools, files and exported skills are known by
name. Each leaves a mark where it stood. What the agent does on such advice is the agent's own, and stays.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from tacit.text.shell import parse_command
from tacit.text.text_sources import TACIT_TOOL_PREFIXES, is_tacit_skill, names_tacit_folder

ECHO = "<tacit-output/>"
"""Stands where something was that Tacit itself printed."""
MOST_KEYS = 20
_KEY = re.compile(r"\ba_[0-9a-f]{8,64}\b")
"""What an assumption is called; the one thing that a run must be able to say again of what it was told."""

_OPENING = re.compile(r"<(tacit-[a-z]+(?:-[0-9a-f]{4,64})?)(?:\s[^<>]{0,400})?>")
_SKILL = re.compile(r"[/\\]SKILL\.md\b")
_SILENT = frozenset({"cd", "export", "set", "source", "true"})
_NAMING = ("file_path", "path", "command", "cmd")


def without_echo(text: str) -> str:
    """Take out what Tacit's hooks have said."""
    if "<tacit-" not in text:
        return text
    kept: list[str] = []
    behind = 0
    unclosed: set[str] = set()
    for opening in _OPENING.finditer(text):
        tag = opening[1]
        if opening.start() < behind or tag in unclosed:
            continue
        close = text.find(f"</{tag}>", opening.end())
        if close < 0:
            unclosed.add(tag)
            continue
        kept += (text[behind : opening.start()], ECHO)
        behind = close + len(tag) + 3
    return "".join((*kept, text[behind:]))


def observed(tool: str, arguments: Mapping[str, Any], observation: str) -> str:
    """What a call brought back, unless Tacit itself said it."""
    if not observation:
        return observation
    if tool.casefold().startswith(TACIT_TOOL_PREFIXES):
        return _mark(observation)
    for key in _NAMING:
        named = arguments.get(key)
        named = " ".join(map(str, named)) if isinstance(named, list) else named
        if isinstance(named, str) and ("acit" in named or "SKILL" in named) and _is_own(named, observation):
            return _mark(observation)
    return without_echo(observation)


def _mark(observation: str) -> str:
    """The mark, with the keys of assumptions that were told, so that a run can be held against what it stated itself."""
    keys = list(dict.fromkeys(_KEY.findall(observation)))[:MOST_KEYS]
    return f'<tacit-output keys="{" ".join(keys)}"/>' if keys else ECHO


def _is_own(named: str, observation: str) -> bool:
    if names_tacit_folder(named):
        return True
    if _SKILL.search(named) and is_tacit_skill(observation):
        return True
    programs = [command.program for command in parse_command(named) if command.program not in _SILENT]
    return bool(programs) and all(program == "tacit" for program in programs)
