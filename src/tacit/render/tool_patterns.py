"""Tool patterns such as ``Bash(git:*)``: reading them, and deciding which tools the active skills leave open.

The text of `allowed-tools` → patterns; patterns and the tools at hand → what is allowed, what is denied and why.
Nothing here runs a tool or asks a person; where a client has its own permission rules, those still apply.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Protocol

_PATTERN = re.compile(r"(?P<tool>[^\s()]+)(?:\((?P<argument>.*)\))?", re.DOTALL)
# What lets one shell line run a second command, so that a permitted beginning says nothing about the rest.
_CHAINING = re.compile(r"[;|&<>`\n]|\$\(")


class Gating(Protocol):
    """Anything with a name that may declare tools."""

    @property
    def name(self) -> str: ...
    @property
    def tools(self) -> tuple[str, ...]: ...


@dataclass(frozen=True, slots=True)
class ToolPattern:
    """A tool by name (``*`` allowed), and optionally a pattern for its argument."""

    tool: str
    argument: str | None = None

    @classmethod
    def parse(cls, text: str) -> ToolPattern:
        """Read one pattern; text that is none stands for a tool of exactly that name."""
        match = _PATTERN.fullmatch(text)
        return cls(match["tool"], match["argument"]) if match else cls(text)

    def names(self, tool: str) -> bool:
        """Whether it speaks of this tool."""
        return fnmatchcase(tool, self.tool)

    def covers(self, argument: str) -> bool:
        """Whether it lets this argument through; a pattern never covers a chained command."""
        if self.argument in (None, "", "*"):
            return True
        assert self.argument is not None
        if argument == self.argument:
            return True
        if _CHAINING.search(argument):
            return False
        prefix = self.argument.removesuffix(":*")
        if prefix != self.argument:
            return argument == prefix or argument.startswith(prefix + " ")
        return fnmatchcase(argument, self.argument)


def split_tools(text: str) -> tuple[str, ...]:
    """Split the value of `allowed-tools` at blanks outside parentheses; commas between tools are forgiven."""
    found: list[str] = []
    current, depth = "", 0
    for character in text:
        depth += (character == "(") - (character == ")" and depth > 0)
        if depth == 0 and (character.isspace() or character == ","):
            found.append(current)
            current = ""
        else:
            current += character
    return tuple(tool for tool in (*found, current) if tool)


@dataclass(frozen=True, slots=True, kw_only=True)
class GatedTools:
    """Which of the tools at hand the active skills leave open."""

    allowed: tuple[str, ...]
    denied: tuple[str, ...]
    reasons: Mapping[str, str]
    """Tool → why it is allowed or denied."""
    patterns: tuple[ToolPattern, ...] = ()
    """What limits the arguments; empty means no limit."""
    missing: tuple[str, ...] = ()
    """Patterns that name no tool at hand."""

    def permits(self, tool: str, argument: str = "") -> bool:
        """Whether this call is within what the active skills allow."""
        if tool not in self.allowed:
            return False
        return not self.patterns or any(p.names(tool) and p.covers(argument) for p in self.patterns)


def gate_tools(active: Iterable[Gating], available: Sequence[str]) -> GatedTools:
    """Narrow the tools at hand to those that the active skills declare.

    Without a declaration everything stays open. With one, a tool is open if any active skill names it; an active skill
    that declares nothing neither narrows nor widens.
    """
    declared = [(skill.name, ToolPattern.parse(tool)) for skill in active for tool in skill.tools]
    if not declared:
        reasons = dict.fromkeys(available, "no active skill limits the tools")
        return GatedTools(allowed=tuple(available), denied=(), reasons=reasons)
    skills = ", ".join(dict.fromkeys(name for name, _ in declared))
    reasons, allowed = {}, []
    for tool in available:
        naming = ", ".join(dict.fromkeys(name for name, pattern in declared if pattern.names(tool)))
        reasons[tool] = f"allowed by {naming}" if naming else f"not among the allowed-tools of {skills}"
        if naming:
            allowed.append(tool)
    patterns = tuple(dict.fromkeys(pattern for _, pattern in declared))
    return GatedTools(
        allowed=tuple(allowed),
        denied=tuple(tool for tool in available if tool not in allowed),
        reasons=reasons,
        patterns=patterns,
        missing=tuple(p.tool for p in patterns if not any(p.names(tool) for tool in available)),
    )
