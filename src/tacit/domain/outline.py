"""The outline of an attempt: what was asked, what was changed by which calls, what was read, and which errors were met.

Made once from a trajectory and kept beside it, so that many attempts can be compared without reading them all again. It
holds facts and no judgement; the trajectory stays the evidence. A `Fact` is what
the outlines of many sessions show of a project.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

from tacit.domain.trajectory import Span

OUTLINE_VERSION = 4
"""Of the way outlines are made; one of another version is made anew."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """A call that changed something, or whose answer was the point of the task."""

    index: int
    tool: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    worked: bool = True
    facts: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """What its answer said: other attempts may show that it only looks."""


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
class CallRecord:
    """One call of an attempt, as far as it can be compared with others."""

    step: int
    command: str = ""
    """The shell text; empty for other tools."""
    tool: str = ""
    """The tool of a plain call."""
    arguments: tuple[str, ...] = ()
    """The names of its arguments."""
    worked: bool | None = None
    """Nothing where the record does not show it."""
    lines: tuple[str, ...] = ()
    """Of a failed call: the lines of its output that may tell the error."""
    seen: tuple[str, ...] = ()
    """Of a call that worked: digests of the lines it printed."""
    edited: tuple[str, ...] = ()
    """Files that it edited."""
    reason: str = ""
    """What the agent wrote right before a command."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What a person said about the way of working: a rule at once, or a request that counts when it is repeated."""

    step: int
    text: str
    at: datetime | None = None


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
    session: str = ""
    """The session that it counts for: that of the agent which started it, if any."""
    at: datetime | None = None
    calls: tuple[CallRecord, ...] = ()
    """Its calls, for counting over sessions."""
    wishes: tuple[Wish, ...] = ()
    """What the person wished for, for counting over sessions."""
    keeps_folder: bool = False
    """Whether a `cd` holds for the calls after it, too."""
    version: int = OUTLINE_VERSION


class Topic(StrEnum):
    """What a command or a way of a project is for."""

    BEFORE_COMMIT = "before a commit"
    TEST = "test"
    CHECK = "check"
    FORMAT = "format"
    BUILD = "build"
    RUN = "run"
    INSTALL = "install"
    DEPLOY = "deploy"
    COMMIT = "commit"
    BRANCH = "branch"
    PUBLISH = "publish"
    LOG = "CI log"
    MISSING = "not installed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """A command that sessions use in a project, or how they name commits and branches."""

    command: str
    topic: Topic | None = None
    folders: tuple[str, ...] = ()
    """Where it is run, if not only in the project's root, which is then the empty one."""
    sessions: int = 0
    """Sessions in which it was used and not seen to fail."""
    failed: int = 0
    """Sessions in which it failed."""
    likelihood: float = 0.0
    """The share of sessions that use it, recent ones counting more."""
    last_used: datetime | None = None
    sources: tuple[Span, ...] = ()
    """The newest calls that show it."""
    place: float = 0.0
    """How many other commands sessions mostly run before it."""
