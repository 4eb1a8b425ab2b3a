"""The port by which a feature, or another package, takes part in what a memory does. Found by entry points."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from tacit.domain.candidate import Candidate, Verdict
from tacit.domain.lifecycle import Transition
from tacit.domain.selection import Selection
from tacit.domain.stored import StoredVersion
from tacit.domain.trajectory import Trajectory


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpectedReview:
    """What a person will probably decide on a version."""

    decision: str
    """`approve` or `reject`."""
    text: str
    """The forecast in words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryEvent:
    """One thing that happened to a skill, or in a session."""

    at: datetime
    what: str
    why: str = ""
    by: str = ""
    version_id: str = ""
    count: int = 1
    """How many equal events in a row it covers."""


class Extension:
    """Base class with empty methods: a subclass overrides what it needs. One instance is made for each open memory.

    Register a subclass under the entry point group `tacit.extensions`.
    """

    def __init__(self, memory: Any) -> None:
        self.memory = memory
        """The open `tacit.Tacit`."""
        self.notices: list[str] = []
        """Messages for the person about what this extension did by itself, oldest first."""

    def candidates(self, trajectory: Trajectory, *, at: datetime) -> Iterable[Candidate]:
        """Return further candidates from a trajectory; they pass the gate together with what was learned from it."""
        return ()

    def after_learning(
        self,
        trajectory: Trajectory,
        admit: Callable[[Candidate], Verdict],
        *,
        verdicts: Sequence[Verdict],
        at: datetime,
    ) -> Sequence[Verdict]:
        """Run after a trajectory was learned from, in the same transaction; `verdicts` are those on its candidates.

        Return the verdicts of what was admitted.
        """
        return ()

    def on_review(self, stored: StoredVersion, transition: Transition) -> None:
        """Run after a person decided on a version, in the same transaction."""

    def on_recall(self, session_id: str, selection: Selection) -> None:
        """Run after a recall that belongs to a session."""

    def history(self, subjects: Collection[str]) -> Iterable[HistoryEvent]:
        """Return what this extension knows of a skill and its versions, given by their ids."""
        return ()

    def session_history(self, session_id: str) -> Iterable[HistoryEvent]:
        """Return what this extension knows of a session."""
        return ()

    def in_background(self) -> None:
        """Run at the end of a background learning pass."""

    def on_purge(self) -> None:
        """Run after a purge."""

    def expect_review(self, stored: StoredVersion, person: str, *, shown: bool = True) -> ExpectedReview | None:
        """Record what a person will probably decide, before they do; return it where it is sure and may be shown."""
        return None

    def taught_by_review(self, stored: StoredVersion, person: str) -> str:
        """Return the name of the preference that a person's last review of a version taught; empty if none."""
        return ""

    def on_journal(
        self, session: str, lines: Sequence[tuple[Mapping[str, object], datetime]], texts: Mapping[str, str]
    ) -> None:
        """Run for each hook journal that is read, in one transaction; `texts` are the texts behind digests."""

    @classmethod
    def mcp_tools(
        cls, open_memory: Callable[..., AbstractContextManager[Any]], session_id: str
    ) -> Sequence[Callable[..., str]]:
        """Return functions to offer as MCP tools. `open_memory(create=False)` opens the memory for one call."""
        return ()
