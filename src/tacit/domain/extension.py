"""The port by which a feature, or another package, takes part in what a memory does; and what entry points register.

Readers, checks and verifiers are loaded by entry points too.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import Any

from tacit.domain.candidate import Candidate, Verdict
from tacit.domain.errors import ConfigError
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


_GROUP = "tacit.extensions"


@cache
def extension_classes() -> tuple[type[Extension], ...]:
    """Return every registered extension, in the order of their names."""
    return tuple(dict(load_entry_points(_GROUP, kind="extension")).values())


def load_entry_points(
    group: str, *, kind: str, skip: Collection[str] = (), create: bool = False
) -> Iterator[tuple[str, Any]]:
    """Yield (value, loaded object) of a group's entry points, by name, without the values in `skip`.

    With `create` the loaded object is a class, and an instance of it is yielded.

    A feature whose folder was removed is left out; anything else that does not load raises `ConfigError`.
    """
    from importlib.metadata import entry_points  # slow to import

    for entry in sorted(entry_points(group=group), key=lambda entry: entry.name):
        if entry.value in skip:
            continue
        try:
            loaded = entry.load()
            found = loaded() if create else loaded
        except (ImportError, AttributeError, TypeError) as error:
            if _feature_is_removed(entry.module, error):
                continue
            raise ConfigError(
                f"the {kind} {entry.name!r} ({entry.value}) does not load: {error}",
                code=f"{kind}_not_loadable",
                hint="update or remove the package that provides it",
            ) from error
        yield entry.value, found


def _feature_is_removed(module: str, error: Exception) -> bool:
    missing = error.name if isinstance(error, ModuleNotFoundError) else None
    return missing is not None and missing.startswith("tacit.features.") and f"{module}.".startswith(f"{missing}.")
