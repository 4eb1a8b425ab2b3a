"""A file written anew over an old one → the lines that changed, from the client's own comparison. Other calls stay."""

from __future__ import annotations

from typing import Any

from tacit.ingest.claude_code.records import Structured
from tacit.ingest.decoding import bounded


def reduced(tool: str, arguments: dict[str, Any], noted: Structured) -> dict[str, Any]:
    """Give the arguments of a whole-file write as those of an edit, if the file was there before.

    Several places that changed are joined to one; what stands between them does not matter for what was done.
    """
    if tool != "Write" or noted.type != "update" or not isinstance(noted.structuredPatch, list):
        return arguments
    lines = [line for hunk in noted.structuredPatch for line in _lines(hunk)]
    if not lines:
        return arguments
    kept = {key: value for key, value in arguments.items() if key != "content"}
    return {**kept, "old_string": _side(lines, "-"), "new_string": _side(lines, "+")}


def _lines(hunk: Any) -> list[str]:
    lines = hunk.get("lines") if isinstance(hunk, dict) else None
    return [line for line in lines if isinstance(line, str) and line] if isinstance(lines, list) else []


def _side(lines: list[str], sign: str) -> str:
    """The text before (`-`) or after (`+`) the change, with the unchanged lines around it."""
    return bounded("\n".join(line[1:] for line in lines if line[0] in (sign, " ")))
