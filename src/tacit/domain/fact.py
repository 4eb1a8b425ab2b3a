"""Facts about a project that sessions confirm or contradict: counted, dated, ageing."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from tacit.domain.trajectory import Span


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
