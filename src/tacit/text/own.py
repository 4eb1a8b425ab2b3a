"""How Tacit's own things are known in somebody else's text: its tools, its folder, and the skills it wrote.

What Tacit said or wrote is not learned from. Names and patterns only; what follows from a match is the caller's business.
"""

from __future__ import annotations

import re

TOOLS = ("mcp__tacit__", "tacit__", "tacit.")
"""How the names of its MCP tools begin, as clients write them in lower case."""
_FOLDER = re.compile(r"(?:^|[\s/\\'\"=])\.tacit(?:[/\\]|$)")
_MARK = re.compile(r"^[^\w\n]*(?:\d+[^\w\n]+)?tacit-[a-z-]+:", re.MULTILINE)
_MARK_REACH = 8_000


def names_folder(text: str) -> bool:
    """Whether a path or a command names something in a `.tacit` folder."""
    return _FOLDER.search(text) is not None


def is_written_skill(text: str) -> bool:
    """Whether a SKILL.md, as a tool shows it, carries Tacit's metadata at its head."""
    return _MARK.search(text, 0, _MARK_REACH) is not None
