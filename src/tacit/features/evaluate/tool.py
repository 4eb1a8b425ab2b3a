"""Tools as their documentation describes them, calls of them, and what came back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tacit.domain.trajectory import Trajectory


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """A tool as its documentation describes it."""

    name: str
    description: str = ""
    required: tuple[str, ...] = ()
    """Arguments it cannot be called without."""
    optional: tuple[str, ...] = ()
    """Arguments it may be called with besides."""
    read_only: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One call of a tool."""

    tool: str
    arguments: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """A call that was made, and what came back."""

    call: Call
    observation: str = ""
    failed: bool = False


def turns_of(trajectory: Trajectory) -> list[Turn]:
    """The calls of an attempt with what came back."""
    return [
        Turn(
            call=Call(tool=step.tool, arguments=dict(step.arguments)), observation=step.observation, failed=step.failed
        )
        for step in trajectory.actions
    ]
