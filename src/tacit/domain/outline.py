"""The outline of an attempt: what was asked, what was changed by which calls, and what was read before and after.

Made once from a trajectory and kept beside it, so that many attempts can be compared without reading them all again. It
holds facts and no judgement; the trajectory stays the evidence.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

OUTLINE_VERSION = 1
"""Of the way outlines are made; one of another version is made anew."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """A call that changed something, or whose answer was the point of the task."""

    index: int
    tool: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    worked: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """A call that only looked, and what its answer said."""

    index: int
    tool: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    facts: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """As `text.facts` reads the answer."""
    after: int = 0
    """How many moves had been made before it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outline:
    """One attempt in outline."""

    trajectory_id: str
    task: str
    success: bool | None = None
    """Verified success or failure; nothing where nobody but the agent vouches for it."""
    session_id: str = ""
    project: str = ""
    moves: tuple[Move, ...] = ()
    readings: tuple[Reading, ...] = ()
    version: int = OUTLINE_VERSION
