"""Outlines → groups of attempts that worked with the same tools: what is compared with what.

Two attempts belong together if a chain of attempts leads from one to the other in which neighbours share a tool. Looks at
nothing but tools and projects.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tacit.domain.outline import Outline


@dataclass(frozen=True, slots=True)
class Group:
    """Attempts with the same tools, oldest first."""

    outlines: tuple[Outline, ...]

    @property
    def successes(self) -> tuple[Outline, ...]:
        """Those that are verified to have worked."""
        return tuple(outline for outline in self.outlines if outline.success)

    @property
    def failures(self) -> tuple[Outline, ...]:
        """Those that are verified to have failed."""
        return tuple(outline for outline in self.outlines if outline.success is False)

    @property
    def ids(self) -> tuple[str, ...]:
        """The trajectories in it."""
        return tuple(outline.trajectory_id for outline in self.outlines)


def groups_of(outlines: Sequence[Outline]) -> list[Group]:
    """Sort attempts into groups; those without a move are left out."""
    parent: dict[str, str] = {}
    for outline in outlines:
        tools = _tools(outline)
        for tool in tools:
            parent.setdefault(tool, tool)
            _join(parent, tools[0], tool)
    gathered: dict[str, list[Outline]] = {}
    for outline in outlines:
        tools = _tools(outline)
        if outline.moves and tools:
            gathered.setdefault(_root(parent, tools[0]), []).append(outline)
    return [Group(tuple(members)) for members in gathered.values()]


def _tools(outline: Outline) -> list[str]:
    called = [*(move.tool for move in outline.moves), *(reading.tool for reading in outline.readings)]
    return list(dict.fromkeys(f"{outline.project}\n{tool}" for tool in called))


def _root(parent: dict[str, str], tool: str) -> str:
    while parent[tool] != tool:
        parent[tool] = parent[parent[tool]]
        tool = parent[tool]
    return tool


def _join(parent: dict[str, str], left: str, right: str) -> None:
    """The tool that was seen first names the group, whatever comes later."""
    a, b = _root(parent, left), _root(parent, right)
    if a != b:
        parent[b] = a
