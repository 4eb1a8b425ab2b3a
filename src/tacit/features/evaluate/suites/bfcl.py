"""BFCL: which calls does a request need, among tools of several programs? Turns of its multi-turn scenarios, each by itself.

Learned from are the turns of scenarios whose number is a multiple of four, asked those of the scenarios between them; the
category is the plain one, as the others repeat its requests. Turns of one scenario hang together and make one group. DATA
holds `turns.jsonl.gz` and `tools.json`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tacit.domain.errors import Mistake, NotFound
from tacit.domain.tool import Call, Tool
from tacit.domain.trajectory import Trajectory
from tacit.features.evaluate.suites.next_call import NextCallSuite
from tacit.features.evaluate.suites.reference import parsed, read_rows, solved, without_held_out

_FIELDS = {"id": str, "category": str, "number": int, "text": str, "tools": list, "gold": list, "kind": str}
_POSITIONAL = "_positional"
_PREAMBLE = "Tool description:"
"""What stands before it says which program a tool belongs to, and is the same for all tools of that program."""


class BfclSuite(NextCallSuite):
    """The asked turns, and what may be learned from."""

    def __init__(self, data: Path) -> None:
        documented = _documented(data / "tools.json")
        rows = [
            row
            for row in read_rows(data / "turns.jsonl.gz", fields=_FIELDS)
            if row["category"] == "base" and row["kind"] == "answer" and row["text"].strip()
        ]
        numbers = {row["id"]: row["number"] for row in rows}
        learned, held_out = (
            [_attempt(row, documented) for row in rows if row["number"] % 4 == part] for part in (0, 2)
        )
        super().__init__(
            "bfcl",
            held_out,
            lambda trajectory: [documented[name] for name in trajectory.environment.tools],
            group=lambda trajectory: f"scenario {numbers[trajectory.session_id]}",
        )
        self._documented = documented
        self._training = without_held_out(learned, held_out)

    def training_trajectories(self) -> list[Trajectory]:
        """Turns of other scenarios, solved; none of them is asked."""
        return list(self._training)

    def tools_of(self, trajectory: Trajectory) -> list[Tool]:
        """The tools that there were at a turn."""
        return [self._documented[name] for name in trajectory.environment.tools]


def _attempt(row: Mapping[str, Any], documented: Mapping[str, Tool]) -> Trajectory:
    try:
        unknown = sorted({*row["tools"], *(call["name"] for call in row["gold"])} - set(documented))
        if unknown:
            raise Mistake(
                f"{row['id']} names tools without documentation: {', '.join(unknown)}", hint="fetch both files"
            )
        calls = [
            Call(tool=call["name"], arguments=_named(call["arguments"], documented[call["name"]]))
            for call in row["gold"]
        ]
    except (KeyError, TypeError, AttributeError) as error:
        raise Mistake(
            f"{row['id']} has a reference call that cannot be read: {error}", hint="fetch the file again"
        ) from error
    return solved(row["id"], row["text"], calls, tools=row["tools"])


def _named(arguments: Mapping[str, Any], tool: Tool) -> dict[str, Any]:
    """Arguments with those that the reference gives by position named as the documentation has them."""
    named = {name: value for name, value in arguments.items() if name != _POSITIONAL}
    free = [name for name in (*tool.required, *tool.optional) if name not in named]
    return dict(zip(free, arguments.get(_POSITIONAL, ()), strict=False)) | named


def _documented(path: Path) -> dict[str, Tool]:
    if not path.is_file():
        raise NotFound(f"no such file: {path}", hint="give the folder with the suite's files by --data")
    try:
        classes: Mapping[str, Sequence[Mapping[str, Any]]] = parsed(path.read_text("utf-8"))
        tools = [_tool(tool) for documented in classes.values() for tool in documented]
    except (ValueError, AttributeError, KeyError, TypeError) as error:
        raise Mistake(f"{path} does not document tools by class: {error}", hint="fetch the file again") from error
    return {tool.name: tool for tool in tools}


def _tool(told: Mapping[str, Any]) -> Tool:
    required = tuple(told["parameters"].get("required", ()))
    if not isinstance(told["name"], str):
        raise TypeError(f"{told['name']!r} is no name of a tool")
    return Tool(
        name=told["name"],
        description=told["description"].rpartition(_PREAMBLE)[2].strip(),
        required=required,
        optional=tuple(name for name in told["parameters"].get("properties", {}) if name not in required),
    )
